"""The prompts of an iteration: proposed ones first, the question set's own for the rest, never one that measures."""

from random import Random

from redqueen.play.groups import attempts
from redqueen.players.scripted import Constant, Scripted
from redqueen.questions.asking import JUDGE, PROPOSE, SOLVE
from redqueen.questions.small.sums import Sums
from redqueen.recipes.preferences.self_rewarding.steps import Judging, Prompts

SUMS = Sums(digits=1)


def test_prompts_that_are_not_proposed_are_dealt():
    prompts = Prompts(SUMS, count=6, invented=0.5, problems=8, seed=0)
    tests = {task.prompt for task in prompts._tests["1_digits"]}
    free = next(f"{n}+9" for n in range(10) if SUMS.task(n, 9).prompt not in tests)
    held = next(task.id for task in prompts._tests["1_digits"])
    proposals = attempts(PROPOSE, prompts.invited(Random(0))[:2], Constant(free), 1, Random(0))
    proposals += attempts(PROPOSE, prompts.invited(Random(0))[:1], Constant(held), 1, Random(0))
    proposals += attempts(PROPOSE, prompts.invited(Random(0))[:1], Constant("no sum"), 1, Random(0))
    taken = prompts.taken(proposals, Random(1), step=0)
    assert [task.id for task in taken[:2]] == [free] * 2
    assert len(taken) == 6 and not {task.prompt for task in taken} & tests
    assert prompts.metrics() == {"invented": 2 / 6}


def test_nothing_is_proposed_where_nothing_is_to_be():
    prompts = Prompts(SUMS, count=4, invented=0.0, problems=2, seed=0)
    assert prompts.invited(Random(0)) == []
    assert len(prompts.taken([], Random(0), step=0)) == 4
    assert prompts.metrics() == {"invented": 0.0}


def test_examples_outlast_a_checkpoint():
    one, other = (Prompts(SUMS, 4, 0.5, 2, 0) for _ in range(2))
    one.taken(attempts(PROPOSE, one.invited(Random(0)), Constant("9+9"), 1, Random(0)), Random(0), step=0)
    other.restore(one.state())
    assert other.state() == one.state() != Prompts(SUMS, 4, 0.5, 2, 0).state()


def test_each_answer_has_the_mean_of_what_the_judge_says_of_it():
    answers = attempts(SOLVE, [SUMS.task(2, 3)], Scripted(("5", "6")), 2, Random(0))
    judging = Judging(SUMS)
    asked = judging.asked(answers)
    assert judging.game is JUDGE and len(asked) == 2
    said = attempts(JUDGE, asked[:1], Constant("<score>10</score>"), 2, Random(0))
    said += attempts(JUDGE, asked[1:], Constant("<score>1</score>"), 2, Random(0))
    (told,) = judging.heard(answers, said)
    assert [each.outcome.facts["opinion"] for each in told.attempts] == [1.0, 0.0]
    assert judging.metrics()["judge_seen"] == 2.0


def test_an_answer_that_says_nothing_earns_nothing_whatever_the_judge_says_of_it():
    """As one that ended within its thoughts."""
    answers = [
        group for text in ("5", "") for group in attempts(SOLVE, [SUMS.task(2, 3)], Constant(text), 1, Random(0))
    ]
    judging = Judging(SUMS)
    told = judging.heard(answers, attempts(JUDGE, judging.asked(answers), Constant("It is fine: 10/10"), 1, Random(0)))
    assert [each.outcome.facts["opinion"] for group in told for each in group.attempts] == [1.0, 0.0]
    assert judging.metrics()["judge_mean_score"] == 1.0  # what the judge said
