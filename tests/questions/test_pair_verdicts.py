"""Pairs as questions: both orders, the right verdict, nothing of a held-out pair in training."""

from dataclasses import replace
from random import Random

import pytest

from redqueen.contracts.recipes import metrics, trained
from redqueen.questions.catalogue import find_questions
from redqueen.questions.dataset import preferences
from redqueen.questions.pair_verdicts import evaluator_reward, paired
from redqueen.questions.small.rhymes import Rhymes
from redqueen.recipes.credit.grpo import recipe as grpo
from redqueen.settings.learner import Learner
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


# --- scores of both answers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "true", "characters", "paid"),
    [(3, 4, 900, 0.7246), (4, 4, 900, 1.0), (4, 4, 250, 0.95), (2, 4, 900, 0.5575)],
)
def test_the_reward_of_the_evaluator_is_that_of_the_card(said, true, characters, paid):
    """The released code reads the first score alone, and pays for length."""
    for second in ("1", "5"):
        reply = f"{said} {second}".rjust(characters, "\n")
        assert evaluator_reward(f"{true} 2", reply) == pytest.approx(paid, abs=1e-4)


def test_what_cannot_be_read_is_paid_nothing():
    assert [evaluator_reward("4 2", text) for text in ("", "4", "6 2", "4 2 1", "it is 4 2 or so")] == [0.0] * 5


def test_scores_stand_in_both_orders_and_both_exact_is_right():
    scored, stories = find_questions("paired:inner=rhymes,scores=true"), Rhymes()
    pairs = {pair.task.id: pair for pair in stories.preferences("train", 999, Random(0))}
    for task in scored.problems("train", 60, Random(0)):
        pair, order = pairs[task.id.removeprefix("scores of ").rpartition(",")[0]], task.id[-1]
        high, low = pair.task.facts["scores"]
        assert task.answer == (f"{high} {low}" if order == "A" else f"{low} {high}")
        assert (pair.chosen in task.prompt.split("Answer B:")[order == "B"]) and not task.choices
        verdicts = [task.answer, f"Why?\n{task.answer[::-1]}", "4", ""]
        assert scored.right([task] * 4, verdicts) == [True, False, False, False]
    assert all(each.text == each.task.answer for each in scored.demonstrations(9, Random(0)))


def test_pairs_without_scores_from_one_to_five_are_refused():
    with pytest.raises(RedQueenError, match=r"columns chosen_score and rejected_score.* has none"):
        paired(scores=True).problems("train", 1, Random(0))
    with pytest.raises(RedQueenError, match="set one of them"):
        paired(letters=True, scores=True)


def test_grpo_pays_scores_that_are_near(tmp_path, monkeypatch):
    """What is paid is what the set pays, 0 where a reply was cut off; accuracy is of exact scores."""
    tiny = Learner(model="tiny:hidden=16,heads=2", max_completion_length=2)
    config = grpo.Config(
        tiny, "paired:inner=rhymes,scores=true", steps=1, tasks=1, attempts=2, problems=1, truncated_score="graded"
    )
    monkeypatch.setattr("redqueen.questions.pair_verdicts.evaluator_reward", lambda true, answer: 0.25)
    (line,) = metrics(trained(grpo, config, tmp_path))
    assert line["reward/solver"] == 0.25 and line["accuracy"] == 0.0
    (line,) = metrics(trained(grpo, replace(config, truncated_score="wrong"), tmp_path / "cut"))
    assert line["reward/solver"] == 0.0
