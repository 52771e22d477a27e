"""Protocols of others in guests. What needs a package that is not here is skipped with its reason."""

import json
import sys
import time
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest

from redqueen.adapters.guests.mcp_driver import judged
from redqueen.adapters.guests.trl_driver import given, usage
from redqueen.contracts.games import check_game
from redqueen.contracts.worlds import check_world
from redqueen.games.acting import Acting
from redqueen.games.catalogue import find_game
from redqueen.guests.guest_world import seat_of
from redqueen.guests.installed import environment
from redqueen.guests.process import Guest
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted
from redqueen.trust.door import Untrusted, shut
from redqueen.types import Match, RedQueenError
from redqueen.worlds.catalogue import find_world

HERE = Path(__file__).parent
DRIVERS = Path(find_spec("redqueen.adapters.guests").origin).parent


def here(protocol, module):
    """Skips where neither this interpreter nor a guest has what a protocol needs."""
    if environment(protocol) is None and find_spec(module) is None:
        pytest.skip(f"{module} is not here: redqueen guest add {protocol} ...")


@pytest.fixture
def tasks(tmp_path):
    path = tmp_path / "tasks.jsonl"
    rows = [{"prompt": f"Put the {item} there.", "answer": item, "hint": "be quick"} for item in ("cup", "pen", "hat")]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def outcome(spec, role, *replies):
    game = find_game(spec)
    (episode,) = play([Match(game, game.tasks()[0], {role: Scripted(replies, "bot")}, 0)], Random(0))
    return episode.outcome


def test_a_class_of_tools_is_a_world(tasks):
    spec = f"trl({HERE / 'shelf.py'}:Shelf,tasks={tasks})"
    assert "2 tasks, 1 held out" in check_world(find_world(spec), ["put cup", 'count {"item": "cup"}', "fly"])
    found = outcome(f"working:{spec}", "agent", "<put>cup</put>", '<count>{"item":"cup","twice":true}</count>', "done")
    assert [*found.scores.values()] == [1.0]
    assert found.facts["outputs"] == ("cup is on the shelf", "2")
    assert [*outcome(f"working:{spec}", "agent", "<put>pen</put>", "done").scores.values()] == [0.0]


def test_what_a_tool_raises_is_shown(tasks):
    spec = f"trl({HERE / 'shelf.py'}:Shelf,tasks={tasks})"
    found = outcome(f"working:{spec}", "agent", "<put>brick</put>", '<count>{"colour":"red"}</count>', "done")
    assert found.facts["outputs"] == (
        "Error: ValueError: too heavy",
        "Error: there is no argument 'colour'; they are item, twice",
    )


def test_arguments_are_read_by_the_signature():
    def tool(name: str, size: int = 1) -> str:
        """Does it."""
        return name * size

    def single(number: int) -> int:
        return number

    assert given(tool, '{"name": "a", "size": 2}') == {"name": "a", "size": 2}
    assert given(single, "3") == {"number": 3}
    assert usage("tool", tool) == '<tool>{"name": "str", "size": "int"}</tool> Does it.'
    with pytest.raises(ValueError, match="the arguments are an object with name, size"):
        given(tool, "a")
    with pytest.raises(ValueError, match="the argument 'name' is missing"):
        given(tool, '{"size": 2}')


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "acts"), [("Lamps", ["red", "blue"]), ("Field2", ['{"x": 1, "y": 1}', "here"])])
def test_an_object_of_openenv_is_a_world(kind, acts):
    settings = {"name": f"{HERE / 'lamps.py'}:{kind}", "action": "", "count": 4, "tests": 2}
    guest = Guest("lamps", Path(sys.executable), DRIVERS / "openenv_driver.py", settings)
    try:
        check_world(seat_of(guest, "lamps"), acts)
        game = Acting(seat_of(guest, "lamps"))
        said = {"Lamps": ["red", "blue"], "Field2": ["here", '{"x": 2, "y": 2}', '{"x": 9, "y": 1}']}[kind]
        (episode,) = play([Match(game, game.tasks()[0], {"agent": Scripted(said, "bot")}, 0)], Random(0))
        assert [*episode.outcome.scores.values()] == [1.0]
        if kind == "Field2":
            assert episode.outcome.facts["shown"][1].startswith('No action: it is JSON with "x", "y"')
    finally:
        guest.close()


def test_a_class_that_is_no_environment_of_openenv_is_refused_in_one_line():
    settings = {"name": f"{HERE / 'lamps.py'}:Seen", "action": "", "count": 4, "tests": 2}
    guest = Guest("lamps", Path(sys.executable), DRIVERS / "openenv_driver.py", settings)
    with pytest.raises(RedQueenError, match=r":Seen is no environment of OpenEnv: it has no reset and no step"):
        seat_of(guest, "lamps").tasks()


def test_a_server_of_tools_is_judged_by_its_final_state(tmp_path):
    here("mcp", "mcp")
    path = tmp_path / "tasks.jsonl"
    check = {"tool": "show", "holds": "cup pen"}
    rows = [{"prompt": "Add a cup and a pen.", "check": check}, {"prompt": "Say yes.", "answer": "yes"}]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    spec = f"working:mcp(python {HERE / 'server.py'},tasks={path},repeatable=true)"
    found = outcome(spec, "agent", "<add>cup</add>", '<add>{"item": "pen"}</add>', "done")
    assert found.facts["outputs"] == ("added cup", "added pen")
    assert [*found.scores.values()] == [1.0]
    assert [*outcome(spec, "agent", "<add>pen</add>", "done").scores.values()] == [0.0]


def test_a_server_whose_tools_change_tells_who_calls_and_a_check_that_fails_is_no_verdict(tmp_path):
    here("mcp", "mcp")
    path = tmp_path / "tasks.jsonl"
    row = {"prompt": "Add a cup.", "check": {"tool": "show", "holds": "cup"}}
    path.write_text(f"{json.dumps(row)}\n" * 2)
    spec = f"working:mcp(python {HERE / 'server.py'},tasks={path},repeatable=true)"
    found = outcome(spec, "agent", "<forget>add</forget>", "<add>cup</add>", "done")
    assert "add" in found.facts["outputs"][1]
    assert "right" not in found.facts
    with pytest.warns(UserWarning, match="the check calls show, which fails"):
        lost = outcome(spec, "agent", "<add>cup</add>", "<forget>show</forget>", "done")
    assert lost.facts["right"] is None
    assert [*outcome(spec, "agent", "<add>cup</add>", "done").scores.values()] == [1.0]


def test_a_server_that_hangs_ends_with_its_visit(tmp_path):
    here("mcp", "mcp")
    path, mark = tmp_path / "tasks.jsonl", tmp_path / "mark"
    path.write_text('{"prompt": "Say yes.", "answer": "yes"}\n' * 2)
    spec = f"working:mcp(python {HERE / 'server.py'},tasks={path},seconds=1)"
    with pytest.warns(UserWarning, match="does not answer"):
        found = outcome(spec, "agent", f'<spin>{{"mark": "{mark}"}}</spin>', "yes")
    assert found.facts["right"] is None
    alive, late = Path(f"/proc/{mark.read_text()}/stat"), time.monotonic() + 20.0
    while alive.exists() and " Z " not in alive.read_text():
        assert time.monotonic() < late, "it lives on"
        time.sleep(0.02)


def test_an_environment_of_gymnasium_in_a_guest():
    here("gym", "gymnasium")
    world = find_world("gym(FrozenLake-v1,acts=left/down/right/up,count=4,tests=2)")
    assert "4 tasks, 2 held out" in check_world(world)
    with closing(world.open(world.tasks()[0], 0)) as visit:
        assert visit.look().choices == ("left", "down", "right", "up")


@pytest.mark.parametrize("named", ["Vault", "Vault-v0"])
def test_an_environment_of_gymnasium_in_a_file_of_one_s_own(named):
    here("gym", "gymnasium")
    spec = f"gym({HERE / 'vaults.py'}:{named},count=3,tests=1)"
    assert "3 tasks, 1 held out" in check_world(find_world(spec))
    with closing(find_world(spec).open(find_world(spec).tasks()[0], 0)) as visit:
        assert visit.look().choices == ("0,0", "0,1", "1,0", "1,1", "2,0", "2,1")
        code = visit.look().shown
    replies = [f"{(int(code) + 1) % 3},1", f"{code},1"]
    assert [*outcome(f"acting:{spec}", "agent", *replies).scores.values()] == [1.0]


def test_agents_of_pettingzoo_are_seats():
    here("pettingzoo", "pettingzoo")
    assert "player_1, player_2" in check_game(find_game("pettingzoo:classic.tictactoe_v3,count=2,tests=1"))


def test_an_environment_of_skyrl_in_a_file_of_one_s_own(tasks):
    here("skyrl", "skyrl_gym")
    spec = f"skyrl({HERE / 'echoes.py'}:Echo,tasks={tasks})"
    assert "2 tasks, 1 held out" in check_world(find_world(spec), ["cup", "pen"])
    assert [*outcome(f"acting:{spec}", "agent", "no", "cup").scores.values()] == [1.0]


def test_agents_of_pettingzoo_in_a_file_of_one_s_own_are_seats():
    here("pettingzoo", "pettingzoo")
    assert "left, right" in check_game(find_game(f"pettingzoo:{HERE / 'vaults.py'}:duel,count=2,tests=1"))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("trl(nowhere.py:Shelf,tasks=x.jsonl)", "there is no file nowhere.py"),
        ("skyrl(gsm8k,tasks=nowhere.jsonl)", "there is no file of tasks nowhere.jsonl"),
        ("gym(FrozenLake-v1,guest=nobody)", "there is no guest 'nobody': redqueen guest add nobody gymnasium"),
        ("gym(FrozenLake-v1,count=0)", "a world needs a task and a held-out one, not 0 and 50"),
        ("gym(nowhere.py:Vault)", "there is no file nowhere.py"),
        (f"gym:{HERE / 'vaults.py'}:Safe", "the file has no class Safe and registers no environment of this name"),
        ("gym:vaults:Vault-v0", "no package vaults is installed here; a file is named FILE.py:Vault-v0"),
        ("gym", "cannot be made: missing a required argument: 'name'"),
    ],
)
def test_bad_names_are_one_line(spec, said):
    with pytest.raises(RedQueenError) as error:
        find_world(spec)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_without_its_packages_a_protocol_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    if find_spec("verifiers") is not None:
        pytest.skip("verifiers is here")
    with pytest.raises(RedQueenError, match=r"redqueen guest add verifiers verifiers==0\.4\.0"):
        find_world("verifiers:anything")


def test_a_folder_opens_no_guest_that_nobody_has_vouched_for(tasks):
    with shut(), pytest.raises(Untrusted, match="is named by a folder"):
        find_world(f"trl({HERE / 'shelf.py'}:Shelf,tasks={tasks})")


def test_faulty_tasks_are_named_by_their_line(tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_text('{"prompt": "a"}\n{"word": "b"}\n')
    with pytest.raises(RedQueenError, match="line 2: a task is an object with a prompt or a question"):
        find_world(f"trl({HERE / 'shelf.py'}:Shelf,tasks={path})")


@pytest.mark.parametrize(
    "row", [{"prompt": "Add."}, {"prompt": "Add.", "check": {"tool": "show"}}, {"prompt": "Add.", "check": "show"}]
)
def test_a_task_for_a_server_that_nothing_tells_done_is_named_by_its_line(row):
    with pytest.raises(ValueError, match="an answer or a check"):
        judged(2, row)


def test_a_task_for_a_server_has_an_answer_or_a_check():
    assert judged(1, {"prompt": "Add.", "answer": "4"})["answer"] == "4"
    check = {"tool": "show", "holds": 4}
    assert judged(2, {"prompt": "Add.", "check": check})["facts"]["row"] == {"check": check}
