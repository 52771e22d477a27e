"""Rationales: likelihoods of given words, the best of several rationales, and a bound that is one."""

from random import Random

import numpy as np
import pytest

from redqueen.play.groups import attempts
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.questions.asking import SOLVE
from redqueen.questions.small.templates import Templates
from redqueen.recipes.proposers.promptcot2.measures import Bound, Generated, agreement, log_likelihoods
from redqueen.recipes.proposers.promptcot2.questions import EXPLAIN, proposals_of
from redqueen.recipes.proposers.promptcot2.steps import Rationales
from redqueen.settings.learner import Learner
from redqueen.types import Demonstration, Reply, Task

DOMAIN = Templates()
TASKS = [DOMAIN.problems(kind, 1, Random(0))[0] for kind in DOMAIN.kinds]


@pytest.fixture(scope="module")
def policy():
    return Learner(model="tiny", max_completion_length=6).build_model(0)


class Says:
    """Answers every question with these texts in turn."""

    name = "says"

    def __init__(self, *texts):
        self.texts = texts

    def reply(self, asks):
        return [Reply(self.texts[n % len(self.texts)], self.name, logprobs=np.zeros(1)) for n in range(len(asks))]


def test_the_log_likelihood_of_what_a_policy_said_is_what_it_reported(policy):
    episodes = play(alone(SOLVE, TASKS, policy), Random(0))
    whole = [each for each in episodes if not each.turns[0].reply.truncated]
    tokens = policy.format
    for episode in episodes:
        reply = episode.turns[0].reply
        text = tokens.decode(reply.tokens)
        if tokens.reply_tokens(text) == tuple(reply.tokens.tolist()):  # the text has these tokens and no others
            (found,) = log_likelihoods(policy, [Demonstration("solver", episode.task, text)])
            assert found == pytest.approx(reply.logprobs.sum(), abs=1e-4)
    assert len(whole) <= len(episodes)


def test_every_word_and_the_end_count_whatever_stands_beside(policy):
    shown = [Demonstration("solver", TASKS[0], text) for text in ("7", "7 and 8", "")]
    together = log_likelihoods(policy, shown)
    assert together.shape == (3,)
    assert together == pytest.approx([log_likelihoods(policy, [one])[0] for one in shown], abs=1e-4)
    # an untrained model gives each of its 768 words about the same chance
    words = [len(policy.format.reply_tokens(one.text)) for one in shown]
    assert together == pytest.approx([-np.log(768) * count for count in words], rel=0.05)


def test_the_best_rationale_is_the_one_with_the_greatest_joint_likelihood(policy):
    texts = ("take a sum of nothing at all", "add", "times a sum and more")  # the shortest is likeliest for a novice
    rationales = Rationales(DOMAIN, policy, policy)
    explanations = attempts(EXPLAIN, rationales.asked(TASKS[:2]), Says(*texts), 3, Random(0))
    assert rationales.best(TASKS[:2], explanations) == ["add", "add"]
    joint = log_likelihoods(policy, proposals_of(DOMAIN, TASKS[:1] * 3, texts))
    assert int(joint.argmax()) == 1


def test_a_rationale_that_was_never_said_is_none(policy):
    """As that of a model that thinks and does not end: the empty text would be the likeliest."""
    rationales = Rationales(DOMAIN, policy, policy)
    for texts, best in ((("", "a sum", " "), "a sum"), (("", "", ""), "")):
        explanations = attempts(EXPLAIN, rationales.asked(TASKS[:2]), Says(*texts), 3, Random(0))
        assert rationales.best(TASKS[:2], explanations) == [best, best]
    shown = rationales.recited(TASKS[:2], ["", "a sum"], policy, writes=True)
    assert ["<rationale>" in each.turns[0].reply.text or "a sum" in each.turns[0].reply.text for each in shown] == [
        True
    ]
    assert rationales.recited(TASKS[:2], ["", ""], policy, writes=False) == []


def test_agreement_counts_where_the_rationale_is_known():
    assert agreement(TASKS[:2], ["add", "add"], "x") == {"x": 0.5}
    assert agreement([Task("1+1")], ["add"], "x") == {}


def test_the_bound_of_a_rationale_that_is_certain_is_its_joint_likelihood(policy):
    metrics = Bound(DOMAIN, Says("add"), policy, TASKS, samples=2)()
    joint = log_likelihoods(policy, proposals_of(DOMAIN, TASKS, ["add"] * 8))
    assert metrics["bound"] == pytest.approx(joint.mean(), abs=1e-4)
    assert metrics["explained"] == pytest.approx(1 / 8)
    # "add" is one of the rationales over which the sum goes
    assert metrics["problem_logprob"] > metrics["bound"]


def test_what_is_generated_is_rated_by_the_domains_own_answers():
    tasks = [TASKS[0], TASKS[0], TASKS[0], TASKS[0]]
    written = Says("add: 1+2", "add: 4+5", "add twice: 1+2+3", "nonsense")
    metrics = Generated(DOMAIN, written, Says("3", "4", "4", "4"), tasks)()
    assert metrics["generated/valid_share"] == 0.75
    assert metrics["generated/solve_rate"] == pytest.approx(1 / 12)  # 1+2 is 3, in one of 12 attempts
    assert metrics["generated/distinct_share"] == 1.0
    assert 0.0 < metrics["generated/spread"] < 1.0
    same = Generated(DOMAIN, Says("add: 1+2"), Says("3"), tasks)()
    assert same["generated/spread"] == pytest.approx(0.0, abs=1e-9)
