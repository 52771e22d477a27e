"""R-Zero: the challenger's reward by hand, and rounds in which one learns while the other stands still."""

from random import Random

import pytest

from redqueen.credit.rewards import score
from redqueen.play.groups import attempts, authors
from redqueen.players.scripted import Constant
from redqueen.questions.asking import PROPOSE, SOLVE, tasks_among
from redqueen.recipes.proposers.r_zero import recipe as r_zero
from redqueen.recipes.proposers.r_zero.recipe import challenge
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError, Refusal, Reply, Task

ALIKE = "what is seven plus eight"
TASKS = [Task(f"q{n}", prompt=ALIKE) for n in range(3)] + [Task("q3", prompt="name the largest of all primes")]


class Agreeing:
    """Gives one answer in this share of ten attempts, and others in the rest."""

    name = "agreeing"

    def __init__(self, share):
        self.share = share

    def reply(self, asks):
        texts = ["15" if n % 10 < 10 * self.share else f"no {n}" for n in range(len(asks))]
        return [Reply(text, self.name) for text in texts]


def paid(written, share, as_coded):
    proposals = attempts(PROPOSE, [Task(f"i{n}") for n in range(len(written))], Constant("?"), 1, Random(0))
    answers = attempts(SOLVE, tasks_among(written), Agreeing(share), 10, Random(1), authors(proposals, written))
    return [float(each.rewards[0]) for each in score(proposals, challenge(written, answers, as_coded))]


@pytest.mark.parametrize(
    ("share", "as_coded", "alike", "alone"),
    [(0.5, False, 0.25, 0.75), (0.8, False, 0.0, 0.15), (0.5, True, -0.25, 0.25), (0.8, True, -0.55, -0.05)],
)
def test_uncertainty_is_paid_and_repetition_costs(share, as_coded, alike, alone):
    assert paid(TASKS, share, as_coded) == pytest.approx([alike] * 3 + [alone])


def test_no_question_earns_nothing_and_in_the_code_less_than_nothing():
    written = [*TASKS[2:], Refusal("malformed"), Refusal("malformed")]
    assert paid(written, 0.5, False) == pytest.approx([0.75, 0.75, 0.0, 0.0])
    assert paid(written, 0.5, True) == pytest.approx([0.25, 0.25, -1.5, -1.5])
    assert paid([Refusal("malformed")], 0.5, True) == [-2.0]


TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)


def lines(folder, **changes):
    challenging = {} if "challenger" in changes else {"challenger_steps": 2, "proposals": 4}
    config = r_zero.Config(learner=TINY, steps=6, solver_steps=2, questions=4, problems=2, **challenging, **changes)
    r_zero.train(config, Run(folder, 0, Schedule(100, 100, record_episodes=0)))
    return read_metrics(folder)


def test_challenger_and_solver_take_turns(tmp_path):
    found = [[name for name in ("loss", "challenger/loss") if name in line] for line in lines(tmp_path)]
    assert found == [["challenger/loss"]] * 2 + [["loss"]] * 2 + [["challenger/loss"]] * 2


def test_a_challenger_that_stands_still_leaves_all_steps_to_the_solver(tmp_path):
    found = lines(tmp_path, challenger="frozen")
    assert all("loss" in line and "challenger/loss" not in line for line in found)
    assert [line["step"] for line in found if "labels" in line] == [0, 2, 4]


def test_one_model_for_both_roles_is_refused_in_one_line(tmp_path):
    with pytest.raises(RedQueenError, match="a challenger of its own"):
        lines(tmp_path, challenger="shared")
