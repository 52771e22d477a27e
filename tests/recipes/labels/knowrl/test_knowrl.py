"""KnowRL: the vectors of its card, the collapse that it can fall into, and that no oracle is paid."""

import math
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from experiments import knowrl as tables
from redqueen.contracts.recipes import check_resume, metrics, trained
from redqueen.credit.group_rewards import FromBelow
from redqueen.credit.rewards import score
from redqueen.curricula.store import TaskStore
from redqueen.play.groups import attempts
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.questions.asking import PROPOSE
from redqueen.questions.small.sums import Sums
from redqueen.recipes.labels.knowrl import recipe as knowrl
from redqueen.recipes.labels.knowrl.measures import boundary
from redqueen.recipes.labels.knowrl.steps import (
    ASSESS,
    FEASIBLE,
    INFEASIBLE,
    Assessments,
    Consensus,
    about_reach,
    both_ways,
    read_verdicts,
    verdict,
)
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError, Refusal, Reply, Task
from tests.forged import FORGED, between_last_fences

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=6)
SMALL = knowrl.Config(learner=TINY, steps=2, proposals=2, attempts=4, problems=2, truncated_score="graded")
SUM = Sums(digits=2).task(31, 4)


class Says:
    """A player that says these texts in turn."""

    name = "learner"

    def __init__(self, *texts):
        self.texts, self.shown = list(texts), []

    def reply(self, asks):
        self.shown += asks
        return [Reply(self.texts.pop(0), self.name, tokens=np.arange(1), logprobs=np.zeros(1)) for _ in asks]


def heard_by(tests=(), consistent=0.75):
    return Assessments(Sums(), {"1_digits": list(tests)}, "words", consistent, "consensus")


def assessed(feasible, infeasible, intended=FEASIBLE, unread=0):
    """A proposal, and the group of verdicts on it."""
    (invitation,) = [each for each in both_ways([Task("i", "sum", "Write.")]) if each.facts["intended"] == intended]
    proposals = attempts(PROPOSE, [invitation], Says("31+4"), 1, Random(0))
    texts = [FEASIBLE] * feasible + [INFEASIBLE] * infeasible + ["perhaps"] * unread
    shown = [about_reach(SUM, "words")]
    return proposals, read_verdicts(attempts(ASSESS, shown, Says(*texts), len(texts), Random(1), proposals))


def paid(group, pay="consensus"):
    return [float(each.rewards[-1]) for each in score([group], Consensus(pay))]


def test_the_rewards_of_the_card():
    heard = heard_by()
    proposals, groups = assessed(6, 2)
    assert heard.agreed(groups) == [0.75]
    assert paid(groups[0]) == [1.0] * 6 + [0.0] * 2
    (one,) = score(proposals, FromBelow(groups, {"agreed": heard.agreed(groups)}))
    assert one.rewards.tolist() == [0.75]
    _, groups = assessed(6, 2, INFEASIBLE)
    assert heard.agreed(groups) == [0.0]
    assert paid(groups[0]) == [1.0] * 6 + [0.0] * 2
    assert paid(groups[0], "intended") == [0.0] * 8
    assert paid(assessed(6, 2)[1][0], "intended") == [1.0] * 6 + [0.0] * 2


def test_to_call_everything_feasible_is_an_optimum_that_the_proposer_alone_loses_by():
    for intended, earned in ((FEASIBLE, 1.0), (INFEASIBLE, 0.0)):
        _, groups = assessed(8, 0, intended)
        assert paid(groups[0]) == [1.0] * 8
        assert heard_by().agreed(groups) == [earned]


def test_a_tie_and_what_cannot_be_read_teach_nothing():
    _, (tie,) = assessed(4, 4)
    assert np.isnan(paid(tie)).all()
    assert np.isnan(heard_by().agreed([tie])).all()
    _, (some,) = assessed(3, 1, unread=4)
    assert paid(some)[:4] == [1.0, 1.0, 1.0, 0.0] and np.isnan(paid(some)[4:]).all()
    assert (verdict(some).answer, verdict(some).share) == (FEASIBLE, 0.75)
    proposals, groups = assessed(0, 0, unread=4)
    (one,) = score(proposals, FromBelow(groups, {"agreed": heard_by().agreed(groups)}))
    assert np.isnan(one.rewards).all()


def test_the_assessor_is_not_told_what_was_intended_nor_the_answer():
    task = Task("t", "k", "What?", "zebra", {"intended": INFEASIBLE})
    shown = about_reach(task, "listed")
    assert (shown.choices, about_reach(task, "words").choices) == ((FEASIBLE, INFEASIBLE), ())
    assert "zebra" not in shown.prompt and "intended" not in shown.facts
    one, other = both_ways([Task("i", "sum", "Write.")])
    assert one.id != other.id and {one.facts["intended"], other.facts["intended"]} == {FEASIBLE, INFEASIBLE}
    assert about_reach(Refusal("malformed"), "listed") == Refusal("malformed")


def test_consistent_tasks_as_intended_are_kept_and_repeated_or_held_out_ones_refused():
    held, known, new = Sums().task(1, 1), Sums().task(2, 2), Sums().task(3, 3)
    heard, store = heard_by([held]), TaskStore(10)
    _, good = assessed(3, 1)
    _, split = assessed(5, 3)
    _, other = assessed(4, 0, INFEASIBLE)
    assert heard.kept([SUM, Refusal("malformed"), SUM, SUM], [*good, *split, *other]) == [SUM]
    assert heard_by(consistent=0.0).kept([SUM, SUM], [*split, *other]) == [SUM]
    store.add([known])
    proposals = attempts(PROPOSE, [Task("i")] * 5, Says("1+1", "2+2", "3+3", "3+3", "?"), 1, Random(0))
    found = heard.new(proposals, store)
    assert found == [Refusal("known"), Refusal("known"), new, Refusal("known"), Refusal("malformed")]
    assert heard.metrics()["written"] == pytest.approx(0.2)


def ringing(*groups):
    heard = heard_by()
    for _ in range(6):
        heard([group for each in groups for group in each[1]])
        found = heard.metrics()
    return {name.removeprefix("alarm/") for name, value in found.items() if name.startswith("alarm/") and value}


def test_alarms_ring_for_one_verdict_for_all_and_not_for_both():
    assert ringing(assessed(3, 1), assessed(1, 3, INFEASIBLE)) == set()
    assert ringing(assessed(4, 0), assessed(4, 0, INFEASIBLE)) == {"all_feasible"}
    assert ringing(assessed(0, 4), assessed(1, 3)) == {"all_infeasible"}
    assert ringing(assessed(2, 0, unread=6), assessed(0, 2, unread=6)) == {"unread_verdicts"}


@pytest.mark.parametrize(("texts", "rung"), [(("?", "1+1"), {"nothing_written"}), (("3+3", "4+4"), set())])
def test_proposals_that_are_no_new_tasks_ring_and_others_do_not(texts, rung):
    heard, store = heard_by([Sums().task(1, 1)]), TaskStore(10)
    for _ in range(6):
        heard.new(attempts(PROPOSE, [Task("i")] * 2, Says(*texts), 1, Random(0)), store)
        found = heard.metrics()
    assert {name.removeprefix("alarm/") for name, value in found.items() if name.startswith("alarm/") and value} == rung


@pytest.mark.parametrize(("pay", "advised"), [("consensus", True), ("intended", False)])
def test_what_is_set_is_not_advised(pay, advised):
    heard = Assessments(Sums(), {}, "words", 0.75, pay)
    for _ in range(6):
        heard(assessed(4, 0)[1])
        heard.metrics()
    assert [("--pay intended" in text) for text in heard.alarms()] == [advised]


def test_the_boundary_is_measured_by_f1_and_by_both_classes_alike():
    told, within = np.array([1.0, 1.0, 0.0, 1.0]), np.array([True, True, True, False])
    found = boundary(told, within)
    assert found["boundary_f1"] == pytest.approx(2 / 3)  # precision and recall are 2 of 3
    assert found["boundary_accuracy"] == pytest.approx((2 / 3 + 0) / 2)
    assert boundary(told, np.array([True] * 4)) == {}


def test_a_tie_about_a_task_beyond_reach_is_no_right_verdict():
    within = np.array([True, True, False, False])
    found = boundary(np.array([1.0, 1.0, np.nan, np.nan]), within)
    assert found == {"boundary_f1": 1.0, "boundary_accuracy": 0.5}
    assert boundary(np.full(4, np.nan), within) == {"boundary_f1": 0.0, "boundary_accuracy": 0.0}


def test_the_start_of_the_card_is_that_of_the_tables():
    """Accuracy .788 without a bias and .766 with one of .8, with which four digits are mostly called feasible."""
    logistic = [1.0 / (1.0 + math.exp(-(3.5 - digits))) for digits in range(1, 7)]
    assert tables.accuracy_of(logistic) == pytest.approx(0.788, abs=1e-3)
    biased = [1.0 / (1.0 + math.exp(-(3.5 - digits + 0.8))) for digits in range(1, 7)]
    assert tables.accuracy_of(biased) == pytest.approx(0.766, abs=1e-3)
    assert tables.accuracy_of([float(each > 0.5) for each in biased]) == pytest.approx(0.833, abs=1e-3)


@pytest.mark.slow
def test_tables_end_at_their_own_majority_right_or_wrong(tmp_path):
    short = replace(tables.TABLES.config.method, steps=40)
    level = tables.TABLES.trial(replace(tables.TABLES.config, method=short), 0, tmp_path / "level")
    assert level.final["verdict accuracy"] > 0.9
    sure = tables.TABLES.trial(replace(tables.TABLES.config, method=short, bias=0.8), 0, tmp_path / "sure")
    assert sure.final["verdict accuracy"] < 0.87


def test_a_verdict_is_read_without_the_thought_before_it_and_none_in_one_without_end(monkeypatch):
    def write(policy, asks):
        said = ["<think>\ninfeasible\n</think>\n\nIt can be done.\nfeasible", "<think>\nfeasible"]
        voices = [(policy._voice(ask), ask, text) for ask, text in zip(asks, said, strict=True)]
        pairs = [(voice, ask, [*voice.chat.tokenizer.encode(text), voice.chat.end]) for voice, ask, text in voices]
        return [
            voice.say(ask, policy.prompt(ask), tokens, [-1.0] * len(tokens), truncated=False)
            for voice, ask, tokens in pairs
        ]

    monkeypatch.setattr(TransformerPolicy, "_write", write)
    groups = attempts(ASSESS, [about_reach(SUM, "words")], TINY.build_model(0), 2, Random(0))
    assert [each.outcome.facts["verdict"] for each in read_verdicts(groups)[0].attempts] == [FEASIBLE, None]


class Lying(tables.Reach):
    """Says the opposite of what is so."""

    def right(self, tasks, answers):
        return [not each for each in super().right(tasks, answers)]


def truth():
    return tables.Reach()


def lie():
    return Lying()


def test_no_figure_of_the_question_set_reaches_a_reward(tmp_path):
    runs = [
        metrics(trained(knowrl, replace(SMALL, questions=f"{__name__}:{name}"), tmp_path / name))
        for name in ("truth", "lie")
    ]
    for one, other in zip(*runs, strict=True):
        kept = [
            {key: value for key, value in line.items() if "loss" in key or "reward" in key} for line in (one, other)
        ]
        assert kept[0] == kept[1]


def test_it_learns_and_goes_on_after_a_kill_as_if_nothing_had_happened(tmp_path):
    config = replace(SMALL, questions=tables.NAME)  # whose proposer chooses among listed tasks
    lines = metrics(trained(knowrl, config, tmp_path))
    assert any(line["gradient_norm"] > 0.0 for line in lines) and "consistency" in lines[-1]
    check_resume(knowrl, config)


def test_a_set_that_takes_no_proposals_is_refused_in_one_line(tmp_path):
    with pytest.raises(RedQueenError, match="proposed") as refused:
        trained(knowrl, replace(SMALL, questions="redqueen.questions.small.listed:Listed"), tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", FORGED)
def test_a_proposed_task_cannot_speak_as_its_assessor(text):
    assert between_last_fences(about_reach(Task("q", "sum", text), "words").prompt) == [text]
