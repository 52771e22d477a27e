"""R-Zero: the proposer's reward by hand, and rounds in which one role learns at a time."""

from random import Random

import pytest

from redqueen.credit.advantages.keys import by_kind_or_group
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.rewards import score
from redqueen.measures.proposals import Proposals
from redqueen.play.groups import attempts
from redqueen.players.scripted import Constant
from redqueen.questions.asking import PROPOSE, SOLVE
from redqueen.questions.catalogue import find_proposable
from redqueen.recipes.proposers.r_zero import recipe as r_zero
from redqueen.recipes.proposers.r_zero.steps import Rewards
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role
from redqueen.types import Refusal, Reply, Task

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
    answers = attempts(SOLVE, written, Agreeing(share), 10, Random(1), proposals)
    rewards = Rewards((0.3, 0.8), as_coded)
    return [float(each.rewards[0]) for each in score(proposals, rewards.proposer(written, answers))]


@pytest.mark.parametrize(
    ("share", "as_coded", "alike", "alone"),
    [(0.5, False, 0.25, 0.75), (0.8, False, 0.0, 0.15), (0.5, True, -0.25, 0.25), (0.8, True, -0.55, -0.05)],
)
def test_uncertainty_is_paid_and_repetition_costs(share, as_coded, alike, alone):
    assert paid(TASKS, share, as_coded) == pytest.approx([alike] * 3 + [alone])


def test_no_question_earns_nothing_and_in_the_released_code_less_than_nothing():
    """There the BLEU of two empty texts is 0, so that each is a cluster of its own."""
    written = [*TASKS[2:], Refusal("malformed"), Refusal("malformed")]
    assert paid(written, 0.5, False) == pytest.approx([0.75, 0.75, 0.0, 0.0])
    assert paid(written, 0.5, True) == pytest.approx([0.25, 0.25, -1.25, -1.25])
    assert paid([TASKS[0]] * 8 + [Refusal("malformed")] * 24, 0.5, True) == pytest.approx([0.25] * 8 + [-1.03125] * 24)


def test_tasks_of_the_band_are_kept_with_the_vote_of_the_answers_given():
    (half,) = attempts(SOLVE, TASKS[:1], Agreeing(0.5), 10, Random(1))
    assert [(task.answer, task.facts["share"]) for task in Rewards((0.3, 0.8)).kept([half])] == [("15", 0.5)]
    (sure,) = attempts(SOLVE, TASKS[:1], Agreeing(0.9), 10, Random(1))
    assert Rewards((0.3, 0.8)).kept([sure]) == []


TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)


def lines(folder, proposer="separate"):
    learns = {} if proposer == "frozen" else {"proposer_steps": 2, "proposals": 4}
    config = r_zero.Config(TINY, Role(proposer), steps=6, solver_steps=2, pool=4, problems=2, **learns)
    r_zero.train(config, Run(folder, 0, Schedule(100, 100, record_episodes=0)))
    return read_metrics(folder)


def test_proposer_and_solver_take_turns(tmp_path):
    found = [[name for name in ("loss", "proposer/loss") if name in line] for line in lines(tmp_path)]
    assert found == [["proposer/loss"]] * 2 + [["loss"]] * 2 + [["proposer/loss"]] * 2


def test_a_run_that_ends_before_the_solver_has_its_turn_says_so(tmp_path):
    config = r_zero.Config(TINY, steps=5, pool=4, proposals=4, problems=2)
    with pytest.warns(UserWarning, match="--steps 5 ends before the solver learns, which begins after 5: .* takes 25"):
        r_zero.train(config, Run(tmp_path, 0, Schedule(100, 100, record_episodes=0)))


def test_a_proposer_that_does_not_learn_leaves_all_steps_to_the_solver(tmp_path):
    found = lines(tmp_path, "frozen")
    assert all("loss" in line and "proposer/loss" not in line for line in found)
    assert [line["step"] for line in found if "labels" in line] == [0, 2, 4]


def test_one_model_may_play_both_roles(tmp_path):
    found = lines(tmp_path, "shared")
    assert all("loss" in line for line in found)
    assert ["reward/proposer" in line for line in found] == [True, True, False, False, True, True]


def test_proposals_of_two_kinds_with_one_number_are_compared_within_their_kind():
    invitations = [Task(f"invitation {number}", kind) for kind in ("sum", "product") for number in range(2)]
    proposals = attempts(PROPOSE, invitations, Constant("?"), 1, Random(0))
    tasks = [Task(f"{word} {n}", prompt=f"{word * 3} {n}") for n, word in enumerate(("one", "two", "three", "four"))]
    shares = [0.5, 0.8, 0.1, 0.1]
    answers = [
        group
        for task, proposal, share in zip(tasks, proposals, shares, strict=True)
        for group in attempts(SOLVE, [task], Agreeing(share), 10, Random(1), [proposal])
    ]
    own = score(proposals, Rewards((0.3, 0.8)).proposer(tasks, answers))
    assert r_zero.Config.paper.estimator == r_zero.Config.paper.scale == "group"
    assert [float(each[0]) for each in GroupRelative(by_kind_or_group)(own)] == pytest.approx(
        [0.7071, -0.7071, 0.0, 0.0], abs=1e-4
    )


def test_a_round_in_which_no_majority_lies_in_the_band_is_told_in_words():
    health = Proposals(find_proposable("sums"))
    sure = attempts(SOLVE, TASKS[:2], Agreeing(1.0), 10, Random(1))
    assert health.labels(sure, [])["alarm/nothing_kept"] == 1.0
    (message,) = health.alarms()
    assert (
        "2 questions were read and answered, and none has a majority within the band" in message and "--band" in message
    )
    again = Proposals(find_proposable("sums"))
    again.restore(health.state())
    assert again.alarms() == [message]
    half = attempts(SOLVE, TASKS[:1], Agreeing(0.5), 10, Random(1))
    assert health.labels(half, Rewards((0.3, 0.8)).kept(half))["alarm/nothing_kept"] == 0.0
    assert health.alarms() == []
