"""The contract of worlds: the shipped ones keep it, and each fault is said in one line."""

from dataclasses import dataclass, field

import pytest

from redqueen.contracts.games import check_game
from redqueen.contracts.worlds import check_world
from redqueen.games.catalogue import find_game
from redqueen.games.tools import ToolError
from redqueen.types import Assessment, Observation, Task
from redqueen.worlds.catalogue import WORLDS, find_world


@pytest.mark.parametrize(
    "name", [name for name in WORLDS if name not in ("web", "repository")]
)  # in tests of their own
def test_a_shipped_world_keeps_the_contract(name):
    assert f"{name} keeps the contract of worlds" in check_world(find_world(name))


@pytest.mark.parametrize("game", ["acting:site:shop", "acting:site", "working:sql", "hosted:site:mail"])
def test_a_game_in_a_world_keeps_the_contract_of_games(game):
    assert "keeps the contract of games" in check_game(find_game(game))


@dataclass
class Lamp:
    """A lamp that is to be on. Each field is a fault."""

    shared: bool = False
    leaks: bool = False
    forgetful: bool = False
    silent: bool = False
    assessed: bool = False
    moody: bool = False
    unfit: bool = False
    both: bool = False
    tool: str = ""
    name = "lamp"
    repeatable = True
    state: dict = field(default_factory=lambda: {"on": False})
    opened: int = 0

    def tasks(self):
        return [Task("train", prompt="Switch it on.", facts={"hidden": ("code 7",)})]

    def held_out(self):
        return self.tasks() if self.both else [Task("test", prompt="Make light.", facts={"hidden": ("code 7",)})]

    def expert(self, task):
        return ("off",) if self.unfit else ("on",)

    def open(self, task, seed):
        self.opened += 1
        return Switch(self, self.state if self.shared else {"on": False}, self.opened)


@dataclass
class Dimmer:
    """A tool with this fault."""

    fault: str
    name = "dim"
    usage = "<dim>half</dim>: half"

    def __call__(self, text):
        if self.fault == "broken":
            raise KeyError("bug")
        if text != "half":
            raise ToolError("dim to half")
        return 5 if self.fault == "number" else "half"


@dataclass
class Switch:
    lamp: Lamp
    now: dict
    number: int
    looks: int = 0

    @property
    def tools(self):
        return (Dimmer(self.lamp.tool),) * (1 + (self.lamp.tool == "twice"))

    def look(self):
        self.looks += self.lamp.forgetful
        return Observation(f"code 7 {self.looks}" if self.lamp.leaks else f"A lamp. {self.looks}", ("on", "off"))

    def act(self, said):
        if said in ("on", "off"):
            self.now["on"] = said == "on"
        light = "" if self.lamp.silent else f"light {self.now['on']}"
        return Observation(light + (f" {self.number}" if self.lamp.moody else ""), ("on", "off"))

    def state(self):
        return dict(self.now)

    def assess(self, answer=""):
        found = Assessment(float(self.now["on"]))
        if self.lamp.assessed:
            self.now["on"] = not self.now["on"]
        return found

    def close(self):
        return None


def test_a_sound_lamp_passes():
    assert "lamp keeps the contract of worlds: 1 tasks, 1 held out" in check_world(Lamp())


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("shared", "changed another visit"),
        ("leaks", "what is hidden is shown"),
        ("forgetful", "shows something else the second time"),
        ("silent", "answered with nothing"),
        ("assessed", "the second assessment of one state differs"),
        ("moody", "must say repeatable = False"),
        ("unfit", "score 0.0, not 1"),
        ("both", "two tasks with the id 'train'"),
    ],
)
def test_a_fault_is_one_line(fault, said):
    check_fault({fault: True}, said)


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("broken", "the tool dim called with '' fails with KeyError: 'bug': a faulty call raises ToolError"),
        ("number", "the tool dim gives a text, not 5"),
        ("twice", "two tools have one name: dim, dim"),
    ],
)
def test_a_fault_of_a_tool_is_one_line(tool, said):
    check_fault({"tool": tool}, said)


def check_fault(faults, said):
    with pytest.raises(AssertionError, match=said) as raised:
        check_world(Lamp(**faults), ("half",))
    assert "\n" not in str(raised.value)
