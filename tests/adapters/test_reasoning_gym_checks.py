"""Tasks of reasoning-gym: the same for the same seed, scored by the library, apart from the trainer's process."""

from __future__ import annotations

import json
import random
import sys

import numpy as np
import pytest

from redqueen.adapters.reasoning_gym_checks import ReasoningGym, prepare, tasks
from redqueen.checks.worker import Undecided
from redqueen.records import task_from_json, task_to_json
from redqueen.types import RedQueenError, Task

pytest.importorskip("reasoning_gym")


@pytest.fixture(scope="module")
def verify():
    verifier = ReasoningGym(seconds=3.0)
    yield verifier
    verifier.close()


@pytest.fixture(scope="module")
def sums(verify):
    return verify.tasks("chain_sum", 5, seed=3, settings={"max_terms": 3})


def test_tasks_hold_a_prompt_its_answer_and_plain_facts(sums):
    for number, task in enumerate(sums):
        expression = task.facts["metadata"]["expression"]
        assert task.prompt.endswith(f"{expression} =") and len(expression.split()) <= 5
        assert sum(int(part) for part in expression.replace("- ", "-").replace("+ ", "+").split()) == int(task.answer)
        assert (task.id, task.kind, task.facts["index"]) == (f"chain_sum-3-{number}", "chain_sum", number)
    assert len({task.prompt for task in sums}) > 1


@pytest.mark.slow
def test_a_seed_means_the_same_tasks_in_any_process(sums):
    assert tasks("chain_sum", 5, 3, {"max_terms": 3}) == sums != tasks("chain_sum", 5, 4, {"max_terms": 3})


def test_data_sets_that_walk_sets_or_depend_on_their_size_repeat_too(verify, monkeypatch):
    names = ("word_ladder", "isomorphic_strings", "ransom_note", "acre")
    made = {name: verify.tasks(name, 2, 9) for name in names}
    monkeypatch.setenv("PYTHONHASHSEED", "2")
    other = ReasoningGym()
    for name in reversed(names):
        assert all(other(task, task.answer) for task in reversed(made[name]))
        assert other.tasks(name, 2, 9) == made[name]
    other.close()


def test_nothing_moves_the_global_generators(verify):
    random.seed(1)
    np.random.seed(1)
    before = random.getstate(), np.random.get_state()[1].tolist()
    made = verify.tasks("pool_matrix", 1, 0)
    verify(made[0], "1 2")
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def test_the_librarys_own_scoring_decides(verify, sums):
    task = sums[0]
    assert verify(task, task.answer) and verify(
        task, f"+{int(task.answer)}.0" if int(task.answer) >= 0 else task.answer
    )
    assert (
        not verify(task, str(int(task.answer) + 1))
        and not verify(task, "")
        and not verify(task, f"it is {task.answer}")
    )
    assert 0 < verify.score(task, f"it is {task.answer}") < 1
    assert ReasoningGym(threshold=0.01)(task, f"it is {task.answer}")


def test_a_stored_task_is_scored_as_it_was(verify):
    task = verify.tasks("countdown", 2, 1)[1]
    stored = task_from_json(json.loads(json.dumps(task_to_json(task))))
    assert stored == task and verify(stored, task.answer)


def test_a_task_with_many_answers_takes_one_that_the_library_did_not_name(verify):
    task = verify.tasks("countdown", 1, 1)[0]
    assert verify(task, f"({task.answer})")
    assert not verify(task, str(task.facts["metadata"]["target"]))  # it must use the numbers


def test_an_answer_is_calculated_and_never_run(verify, tmp_path):
    mark = tmp_path / "mark"
    attack = f"__import__('pathlib').Path({str(mark)!r}).write_text('x')"
    for dataset in ("countdown", "string_insertion", "simple_integration", "polynomial_multiplication", "n_queens"):
        task = verify.tasks(dataset, 1, 0)[0]
        assert not verify(task, attack) and not verify(task, f"[{attack}]")
        assert verify(task, task.answer)
    assert not mark.exists()


@pytest.mark.slow
def test_an_answer_that_hangs_gets_no_verdict(verify):
    task = verify.tasks("puzzle24", 1, 0)[0]
    with pytest.raises(Undecided):
        verify(task, "9**9**9")
    assert verify.verdicts([task, task], ["1", task.answer]) == [False, True]


def test_an_answer_the_library_cannot_read_is_wrong(verify):
    assert not verify(verify.tasks("prime_factorization", 1, 0)[0], "zzz")


@pytest.mark.parametrize(
    ("dataset", "settings", "says"),
    [
        ("chain_sums", {}, r"'chain_sums'.*did you mean chain_sum"),
        ("composite", {}, "composite cannot be used here: make the tasks"),
        ("game_of_life_halting", {}, "every answer right"),
        ("chain_sum", {"terms": 2}, r"no setting 'terms': it has .*max_terms"),
        ("chain_sum", {"max_terms": 1}, r"refuses .*max_terms"),
        ("chain_sum", {"max_terms": {1, 2}}, "not plain data"),
    ],
)
def test_what_cannot_be_made_is_named(verify, dataset, settings, says):
    with pytest.raises(RedQueenError, match=says):
        verify.tasks(dataset, 1, 0, settings)


def test_no_tasks_are_none():
    with pytest.raises(RedQueenError, match="1 task or more"):
        tasks("chain_sum", 0, 0)


def test_tasks_from_elsewhere_and_empty_thresholds_are_refused(verify):
    with pytest.raises(RedQueenError, match="was not made by"):
        verify(Task("t", "chain_sum", answer="1"), "1")
    with pytest.raises(RedQueenError, match="threshold"):
        ReasoningGym(threshold=0.0)


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    with pytest.raises(RedQueenError, match=r"redqueen\[gym\]"):
        prepare()
