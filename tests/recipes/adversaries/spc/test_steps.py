"""Spoilt steps and judgements: who is paid what, and which attempt a critic chooses."""

from random import Random

import numpy as np
import pytest

from redqueen.credit.rewards import score
from redqueen.play.groups import authors, episodes_of, grouped
from redqueen.play.lockstep import play
from redqueen.questions.asking import read, tasks_among
from redqueen.questions.small.step_traces import Attempt, Solved, StepTraces, Trace
from redqueen.recipes.adversaries.spc.steps import (
    CRITICISE,
    SPOIL,
    Pay,
    Side,
    against,
    chosen,
    deception,
    figures,
)
from redqueen.types import Match, Reply, Task

DOMAIN = StepTraces()
TRACE = Trace(17, ("+8", "-9", "half"))
PAY = Pay()


class Teller:
    """Says what stands for the last line of what it is shown."""

    def __init__(self, says, name="teller"):
        self.says, self.name = says, name

    def reply(self, asks):
        return [Reply(self.says(ask.messages[-1].text.splitlines()[-1]), self.name) for ask in asks]


def spoilt(*steps):
    tasks = [Task(f"i{n}", "step", "17 +8 -9 half\nSpoil 17+8=25", facts=TRACE.facts(0)) for n in range(len(steps))]
    matches = [
        Match(SPOIL, task, {"generator": Teller(lambda _, s=s: s)}) for task, s in zip(tasks, steps, strict=True)
    ]
    return grouped(play(matches, Random(0)), 1)


def judged(tasks, *texts, parents=()):
    matches = [
        Match(CRITICISE, task, {"critic": Teller(lambda _, t=t: t)}) for task, t in zip(tasks, texts, strict=True)
    ]
    return grouped(play(matches, Random(0)), 1, parents)


def test_the_winner_gains_what_the_loser_loses():
    proposals = spoilt("17+8=27", "17+8=29", "17+8=25", "nonsense", "17+8=31")
    written = read(DOMAIN, proposals)
    texts = ("Correct", "17+8=25\nIncorrect", "who knows")
    judgements = judged(tasks_among(written), *texts, parents=authors(proposals, written))
    generators = score(proposals, PAY.generators(judgements))
    earned = [float(each.rewards[0]) for each in generators]
    np.testing.assert_equal(earned, [1.0, -1.0, -1.0, -1.0, np.nan])  # nobody knows of the last one
    critics = score(judgements, PAY)
    assert [float(each.rewards[0]) for each in critics] == [-1.0, 1.0, -1.0]


def test_natural_steps_pay_the_critic_for_both_verdicts():
    right, wrong = DOMAIN.judged(TRACE, 0, "17+8=25"), DOMAIN.judged(TRACE, 0, "17+8=26")
    judgements = judged([right, right, wrong, wrong], "Correct", "Incorrect", "Correct", "Incorrect")
    assert [float(each.rewards[0]) for each in score(judgements, PAY)] == [1.0, -1.0, -1.0, 1.0]


def test_figures_tell_planted_steps_from_natural_ones():
    episodes = spoilt("17+8=27", "17+8=29", "17+8=25", "nonsense")
    written = read(DOMAIN, episodes)
    natural = [DOMAIN.judged(TRACE, 0, "17+8=25")]
    found = figures(written, judged(tasks_among(written), "Correct", "Incorrect"), judged(natural, "?"))
    assert found["planted/valid_share"] == 0.5
    assert found["planted/deceives"] == 0.5
    assert found["critic/right_on_right"] == 0.0
    assert found["critic/right_on_wrong"] == 0.5
    assert found["critic/unread"] == pytest.approx(1 / 3)
    assert figures([], [], []) == {}


def test_deception_counts_errors_and_who_believes_them():
    tasks = DOMAIN.invitations(40, Random(0))
    adds = Teller(lambda line: line.removeprefix("Spoil ").rpartition("=")[0] + "=99")
    found = deception(DOMAIN, adds, Teller(lambda line: "Correct"), tasks, 0)
    assert found["valid"] == 1.0 and found["deceived"] == 1.0
    assert deception(DOMAIN, adds, Teller(lambda line: "Incorrect"), tasks, 0)["deceived"] == 0.0
    assert deception(DOMAIN, Teller(lambda line: "no"), adds, tasks, 0) == {"valid": 0.0}


def test_pairs_are_drawn_for_each_match():
    class Pool:
        def draw(self, rng):
            return Teller(str, f"number {rng.randrange(3)}")

    groups = against(Side(CRITICISE, None, Pool()), [Task(str(n), prompt="?") for n in range(30)], Random(0))
    said_by = {episode.turns[0].reply.player for episode in episodes_of(groups)}
    assert said_by == {"number 0", "number 1", "number 2"}


def test_a_critic_chooses_the_attempt_with_the_most_steps_called_correct():
    steps = {name: Task(name, "step", f"p\nCheck {name}") for name in ("good", "bad")}
    few, many = Attempt("8", (steps["good"], steps["good"])), Attempt("9", (steps["good"], steps["bad"]))
    solved = [Solved("8", (many, many, few)), Solved("9", (many, many, few))]
    knows = Teller(lambda line: "Correct" if "good" in line else "Incorrect")
    assert chosen(solved, knows, Random(0)) == {"majority": 0.5, "first_attempt": 0.5, "guided": 0.5}
    assert chosen(solved[:1], knows, Random(0))["guided"] == 1.0
    assert chosen(solved[:1], Teller(lambda line: "?"), Random(0)) == {
        "majority": 0.0,
        "first_attempt": 0.0,
        "guided": 0.0,
    }
