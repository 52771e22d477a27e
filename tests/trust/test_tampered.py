"""States of a checkpoint with one value that cannot be."""

import importlib.util
import math
import sys
from pathlib import Path

import pytest
import torch

from redqueen.credit.advantages.keys import by_game_and_role
from redqueen.credit.advantages.statistics import MovingBaseline
from redqueen.credit.novelty import CountNovelty
from redqueen.curricula.epochs import Epochs
from redqueen.measures.alarms import Alarms
from redqueen.measures.judges import Agreement
from redqueen.objectives.rounds import Round
from redqueen.objectives.tensors import alike, check_adamw
from redqueen.opponents.payoffs import Payoffs
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import AMOUNT, COUNT, FINITE, SHARE, Maybe, Row, shaped
from redqueen.runs.collapse import Collapse
from redqueen.runs.signal import Signal
from redqueen.trust.reading import within
from redqueen.types import Damaged, Task

PLAN = importlib.util.spec_from_file_location("tamper", Path(__file__).parent / "tamper.py")
tamper = importlib.util.module_from_spec(PLAN)
sys.modules[PLAN.name] = tamper
PLAN.loader.exec_module(tamper)


@pytest.mark.parametrize(
    ("value", "shape", "said"),
    [
        (-3, COUNT, r"must be a whole number from 0 to 2\^53, not -3"),
        (True, COUNT, "must be a whole number from 0"),
        (2.0, COUNT, "must be a whole number from 0"),
        (10**400, COUNT, "must be a whole number from 0"),
        (math.nan, FINITE, "must be a finite number, not nan"),
        (10**400, FINITE, "must be a finite number"),
        (-1.0, AMOUNT, "must be a finite number of at least 0, not -1.0"),
        (1.5, SHARE, "must be a number from 0 to 1, not 1.5"),
        ("x", Maybe(COUNT), "must be a whole number"),
        ([1], Row(COUNT, COUNT), "must have 2 parts, not 1"),
        ([1, "x"], Row(COUNT, COUNT), r"it\[1\] must be a whole number"),
        ({"a": [1, math.inf]}, {"a": [FINITE]}, r"it\.a\[1\] must be a finite number, not inf"),
        ({3: 1}, {...: COUNT}, "a name must be a text, not 3"),
        ({}, {"a": COUNT}, "has no 'a'"),
    ],
)
def test_a_value_that_cannot_be_is_named_with_its_place(value, shape, said):
    with pytest.raises(Damaged, match=said):
        shaped(value, shape, "it")


def test_values_that_can_be_are_given_back():
    value = {"a": [0, 2**53], "b": None, "c": (1, "x"), "d": 0.5}
    shape = {"a": [COUNT], "b": Maybe(COUNT), "c": Row(COUNT, str), "d": SHARE}
    assert shaped(value, shape, "it") is value


def test_the_place_of_a_file_stands_before_that_in_it():
    with pytest.raises(Damaged, match=r"parts\.pt: part 0, it must be a text"), within("parts.pt: part 0, "):
        shaped(3, str, "it")


ALARMS = {"steps": {}, "messages": {}, "trials": {}, "fired": []}
COLLAPSE = {"best_step": None, "roll_backs": 0, "score": "", "first": 0.0, "best": 0.0, "entropies": {}}
STATES = {
    "an average that is not finite": (MovingBaseline(by_game_and_role), {"averages": [[["a", "b"], math.nan, 1]]}),
    "averages of other keys": (
        MovingBaseline(by_game_and_role),
        {"averages": [[["a", "b"], 1.0, 1], [["a", 5], 1.0, 1]]},
    ),
    "a count of words": (CountNovelty(), {"counts": [["a", -1]]}),
    "draws": (Epochs([Task("a")]), {"drawn": -1}),
    "an alarm's steps": (Alarms([]), {**ALARMS, "steps": {"a": -1}}),
    "an alarm's message": (Alarms([]), {**ALARMS, "messages": {"a": 3}}),
    "a judge's score": (Agreement(), {"seen": [[math.inf, True]], "early": [], "total": 1, "alarms": ALARMS}),
    "passes": (Round(passes=3), {"rows": None, "left": [], "done": 4, "stopped": False, "equal": 0}),
    "pairs": (Round(), {"rows": None, "left": [-1], "done": 1, "stopped": False, "equal": 0}),
    "matches won": (Payoffs(), {"met": [["a", "b", -1.0, 2.0]]}),
    "a version": (TabularPolicy(), {"name": "learner", "version": -1, "asks": [], "logits": []}),
    "a logit": (TabularPolicy(), {"name": "learner", "version": 1, "asks": [], "logits": [[math.nan]]}),
    "a best score": (Collapse(), {**COLLAPSE, "best": math.nan, "alarms": ALARMS}),
    "roll-backs": (Collapse(), {**COLLAPSE, "roll_backs": -1, "alarms": ALARMS}),
    "tallies": (Signal(), {"alarms": ALARMS, "late": {"a": [{"replies": -1}]}, "causes": {}}),
}


@pytest.mark.parametrize(("part", "state"), STATES.values(), ids=STATES)
def test_a_state_that_cannot_be_is_refused(part, state):
    with pytest.raises(Damaged, match=r"must|has no"):
        part.restore(state)


def test_logits_are_as_many_as_the_choices():
    ask = {"seat": ["first", 0], "messages": [["game", "?"]], "choices": ["a", "b"], "stops": []}
    with pytest.raises(Damaged, match=r"\.logits\[0\] must have 2 numbers, not 1"):
        TabularPolicy().restore({"name": "learner", "version": 1, "asks": [ask], "logits": [[0.0]]})


def spoiled(change):
    weight = torch.zeros(2, requires_grad=True)
    optimizer = torch.optim.AdamW([weight])
    weight.grad = torch.ones(2)
    optimizer.step()
    state = optimizer.state_dict()
    change(state)
    check_adamw(state, torch.optim.AdamW([torch.zeros(2, requires_grad=True)]), "adamw")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda state: state["param_groups"][0].update(maximize=True), r"maximize must be False, not True"),
        (lambda state: state["param_groups"][0].update(betas=(5.0, 5.0)), r"betas must be"),
        (lambda state: state["param_groups"][0].update(lr=math.nan), r"lr must be a finite number"),
        (
            lambda state: state["state"][0].update(exp_avg=torch.zeros(3)),
            r"exp_avg must be an array of finite float32 \[2\]",
        ),
        (lambda state: state["state"][0].update(exp_avg=torch.tensor([math.nan, 0])), r"must be an array of finite"),
        (
            lambda state: state["state"][0].update(exp_avg=torch.zeros(2, dtype=torch.float64)),
            r"float32 \[2\], not .* float64",
        ),
        (lambda state: state["state"][0].update(exp_avg_sq=-torch.ones(2)), "of at least 0"),
        (lambda state: state["state"][0].update(step=torch.tensor(0.5)), "a step"),
        (lambda state: state["state"].pop(0) and state["state"].update({7: {}}), "must be of the weights 0 to 0"),
        (lambda state: state.pop("state"), "has no 'state'"),
    ],
)
def test_an_optimiser_that_cannot_be_is_refused(change, said):
    spoiled(lambda state: None)
    with pytest.raises(Damaged, match=said):
        spoiled(change)


def test_tensors_are_compared_by_type_and_size():
    own = {"a": torch.zeros(2, 3)}
    shaped({"a": torch.ones(2, 3)}, alike(own), "it")
    shaped({"a": torch.ones(2, 3).double()}, alike(own), "it")
    for other in (torch.ones(3, 2), torch.ones(2, 3).long(), torch.full((2, 3), math.nan), [0.0]):
        with pytest.raises(Damaged, match=r"it\.a must be an array of finite real numbers \[2, 3\]"):
            shaped({"a": other}, alike(own), "it")


def test_tampered_checkpoints_are_refused(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert tamper.share(12, 0, ["eva"], ["magnetic"]) == {"taken": 0, "refused": 12, "without a place": 0, "other": 0}
