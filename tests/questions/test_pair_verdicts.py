"""Pairs as questions: both orders, the right verdict, nothing of a held-out pair in training."""

from random import Random

import pytest

from redqueen.questions.catalogue import find_questions
from redqueen.questions.dataset import preferences
from redqueen.questions.pair_verdicts import paired
from redqueen.types import RedQueenError

PAIRED = paired()


def of(task):
    """The id of the task whose pair this is."""
    return task.id.removeprefix("pair of ").rpartition(",")[0]


def test_each_pair_stands_in_both_orders_with_the_better_answer_as_the_right_one():
    pairs = {pair.task.id: pair for pair in preferences().preferences("train", 9999, Random(0))}
    tasks = PAIRED.problems("train", 2 * len(pairs), Random(0))
    assert len({task.id for task in tasks}) == len({task.prompt for task in tasks}) == 2 * len(pairs)
    for task in tasks[:40]:
        pair = pairs[of(task)]
        shown = (pair.chosen, pair.rejected) if task.answer == "A" else (pair.rejected, pair.chosen)
        places = [task.prompt.index(f"Answer {name}:\n") for name in "AB"]
        assert shown[0] in task.prompt[places[0] : places[1]] and shown[1] in task.prompt[places[1] :]


def test_a_question_is_the_same_whenever_it_is_drawn():
    assert {task.id: task for task in PAIRED.problems("train", 50, Random(1))}.items() <= {
        task.id: task for task in PAIRED.problems("train", 2000, Random(2))
    }.items()


def test_a_verdict_is_right_where_it_names_the_better_one_and_no_other():
    one = next(task for task in PAIRED.problems("train", 50, Random(0)) if task.answer == "B")
    assert PAIRED.right([one] * 4, ["It is clear.\nB", "A", "A or B", ""]) == [True, False, False, False]
    assert one.choices == () and paired(letters=True).problems("train", 1, Random(0))[0].choices == ("A", "B")
    assert all(each.text == each.task.answer for each in PAIRED.demonstrations(20, Random(0)))


def test_held_out_pairs_are_in_no_training_question_in_either_order():
    train, test = ({of(task) for task in PAIRED.problems(part, 999, Random(0))} for part in PAIRED.levels)
    assert train and test and not train & test


def test_a_set_without_pairs_or_without_a_held_out_part_is_refused(tmp_path):
    with pytest.raises(RedQueenError, match="sums is not a question set with preference pairs"):
        find_questions("paired:sums")
    (tmp_path / "pairs.jsonl").write_text('{"prompt": "a?", "chosen": "b", "rejected": "c"}\n')
    with pytest.raises(RedQueenError, match="holds no pairs out to measure by"):
        paired(f"dataset:path={tmp_path / 'pairs.jsonl'},held_out=0")
