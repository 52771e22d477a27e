"""The evaluator of EvolvR: pairs in both orders, the filters of its card, what is taught, and what is measured."""

from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
import pytest

from redqueen.contracts.recipes import check_resume, metrics, trained
from redqueen.play.groups import attempts
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.questions.asking import SOLVE, graded
from redqueen.questions.dataset import preferences
from redqueen.questions.small.sums import Sums
from redqueen.recipes.labels.self_j import recipe as self_j
from redqueen.recipes.labels.self_j.measures import Told, told_apart
from redqueen.recipes.labels.self_j.questions import pairs_in, reason_in, survives
from redqueen.recipes.labels.self_j.steps import Given, Reasons
from redqueen.settings.learner import Learner
from redqueen.settings.limits import check_settings
from redqueen.types import RedQueenError, Reply

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=6)
SMALL = self_j.Config(TINY, pairs=True, reasons=2, filter="none", steps=2, tasks=2, problems=2, attempts=2)
SUMS = Sums(digits=1)
TASK = SUMS.task(3, 4)


def group_of(*texts):
    """The graded group of attempts that say these texts."""
    tries = [attempts(SOLVE, [TASK], Scripted((text,)), 1, Random(0))[0] for text in texts]
    (found,) = graded(SUMS, [replace(tries[0], attempts=tuple(each.attempts[0] for each in tries))])
    return found


def test_the_first_right_and_the_first_wrong_answer_are_a_pair_in_both_orders():
    shown = pairs_in([group_of("5", "7", "6"), group_of("7", "7"), group_of("", "5")])
    assert [(pair.first, pair.second, pair.verdict) for pair in shown] == [("7", "5", "A"), ("5", "7", "B")]
    assert [pair.other for pair in shown] == ["B", "A"]
    assert "7" not in shown[0].plain(Random(0)).prompt.split("Answer B:")[1].split("=====")[2]


def test_two_thirds_of_what_stands_the_attack_is_sound():
    """A sound reason is held to fit .8 of the time, and with the other verdict .4; a hollow one .6 whatever is claimed.
    Half of them are sound: of those that pass .667, by the plain check alone .571."""
    passing = {
        name: [
            (survives(fits, other), fits > 0.5)
            for fits, other in product(np.arange(10) < 10 * true, np.arange(10) < 10 * false)
        ]
        for name, true, false in (("sound", 0.8, 0.4), ("hollow", 0.6, 0.6))
    }
    attacked, plain = ({name: np.mean([row[way] for row in rows]) for name, rows in passing.items()} for way in (0, 1))
    assert (attacked["sound"], attacked["hollow"]) == pytest.approx((0.48, 0.24))
    assert attacked["sound"] / sum(attacked.values()) == pytest.approx(0.667, abs=1e-3)
    assert plain["sound"] / sum(plain.values()) == pytest.approx(0.571, abs=1e-3)


def test_no_verdict_of_the_attack_is_none():
    assert not survives(np.nan, 0.0) and not survives(1.0, np.nan) and not survives(0.5, 0.0)


def test_a_reason_stands_before_the_last_line():
    assert [reason_in(text) for text in ("It is 7.\nA", "A", "one\ntwo\nB\n")] == ["It is 7.", "", "one\ntwo"]


@pytest.fixture
def says(monkeypatch):
    """A tiny model whose reasons are `reasons` in turn, that takes a reason for one of a verdict where `fits` says so,
    and after it holds the verdict likelier where `after` says so."""
    told = {"reasons": [], "fits": lambda reason, claim, prompt: True, "after": lambda prompt: 0.9, "shown": []}

    def write(policy, asks):
        replies = []
        for number, ask in enumerate(asks):
            voice, text = policy._voice(ask), told["reasons"][number % len(told["reasons"])]
            told["shown"].append(ask.messages[-1].text)
            tokens = [*voice.chat.tokenizer.encode(text), voice.chat.end]
            replies.append(voice.say(ask, policy.prompt(ask), tokens, [-1.0] * len(tokens), truncated=False))
        return replies

    def probabilities(policy, asks):
        rows = []
        for ask in asks:
            shown = ask.messages[-1].text
            if ask.choices == ("YES", "NO"):
                reason = shown.split("Reason:\n")[1].split("\n")[1]
                claim = shown.split("Verdict:\n")[1].split("\n")[1][0]
                chance = float(told["fits"](reason, claim, shown))
            else:
                chance = told["after"](shown)
            rows.append(np.array([chance, 1.0 - chance]))
        return rows

    monkeypatch.setattr(TransformerPolicy, "_write", write)
    monkeypatch.setattr(TransformerPolicy, "probabilities", probabilities)
    return told


def taught(says, keep, count=2):
    learner = TINY.build_model(0)
    reasons = Reasons(learner.freeze(), count, keep)
    return reasons, reasons([group_of("7", "5")], learner, Random(0))


def test_reasons_are_asked_for_with_the_verdict_in_view_and_taught_without_it(says):
    says["reasons"] = ["It is 7.\nA", "It is 7.\nA", "Mine.\nB", "Mine.\nB"]
    _, episodes = taught(says, "rule")
    assert ["It is known that A is better" in shown for shown in says["shown"]] == [True, True, False, False]
    assert "as a scholar would" in says["shown"][0] and "as an artist would" in says["shown"][1]
    assert [one.turns[0].reply.text for one in episodes] == ["It is 7.\nA", "Mine.\nB"]
    assert all("It is known" not in one.turns[0].ask.messages[-1].text for one in episodes)
    assert all(one.turns[0].reply.recited for one in episodes)


def test_the_filters_refuse_in_turn(says):
    """Both orders have four reasons: without a reason, with the other verdict, hollow, and sound."""
    says["reasons"] = ["A", "No.\nB", "Hollow.\nA", "Sound.\nA", "B", "No.\nA", "Hollow.\nB", "Sound.\nB"]
    says["fits"] = lambda reason, claim, shown: (
        reason == "Hollow." or claim == ("A" if shown.split("Answer A:")[1].split("\n")[2] == "7" else "B")
    )
    says["after"] = lambda shown: 0.9 if shown.split("Answer A:")[1].split("\n")[2] == "7" else 0.1
    reasons, episodes = taught(says, "all", 4)
    assert [one.turns[0].reply.text for one in episodes] == ["Sound.\nA", "Sound.\nB"]
    found = reasons.metrics()
    assert (found["paired"], found["told"], found["withstood"], found["likeliest"]) == (1.0, 0.5, 0.5, 1.0)
    assert found["kept_share"] == 0.25
    _, episodes = taught(says, "rule", 4)
    assert [one.turns[0].reply.text for one in episodes] == ["Hollow.\nA", "Hollow.\nB"]
    _, episodes = taught(says, "none", 4)
    assert [one.turns[0].reply.text for one in episodes] == ["A", "B"]
    says["after"] = lambda shown: 0.5
    assert taught(says, "all", 4)[1] == []


def test_hollow_reasons_ring_and_sound_ones_do_not(says):
    says["reasons"] = ["It is 7.\nA", "It is 7.\nB"]
    for fits, rung in ((lambda *_: True, True), (lambda reason, claim, shown: claim == verdict_of(shown), False)):
        says["fits"] = fits
        learner = TINY.build_model(0)
        reasons = Reasons(learner.freeze(), 1, "all")
        for _ in range(5):
            reasons([group_of("7", "5")], learner, Random(0))
        assert any("hollow" in line for line in reasons.alarms()) == rung


def verdict_of(shown):
    return "A" if shown.split("Answer A:")[1].split("\n")[2] == "7" else "B"


def test_verdicts_in_both_orders():
    """Right in both, first in both, nothing read in one, wrong in both."""
    found = told_apart(np.array([1.0, 0.0, 1.0, 1.0, 1.0, np.nan, 0.0, 1.0]))
    assert found["held_out/pair_accuracy"] == pytest.approx(4 / 8)
    assert found["held_out/pair_consistency"] == pytest.approx(2 / 4)
    assert found["held_out/pair_unread"] == pytest.approx(1 / 8)


def test_a_run_without_pairs_goes_on_and_says_so(tmp_path):
    lines = metrics(trained(self_j, SMALL, tmp_path))
    assert [line["paired"] for line in lines] == [0.0, 0.0]


def test_it_is_resumed_bit_for_bit():
    check_resume(self_j, replace(SMALL, questions="redqueen.questions.small.sums:Sums:digits=1"))


# --- pairs that somebody else compared -------------------------------------------------------------


def test_a_given_pair_is_shown_in_both_orders_and_none_of_those_held_out_is_learned():
    file = preferences(held_out=0.1)
    given = Given(file)
    drawn = given.graded(play(given.drawn(12, {"": file.problems("held_out", 30, Random(0))}, Random(1)), Random(2)))
    shown = pairs_in(drawn)
    known = {pair.task.id: pair for pair in file.preferences("train", 999, Random(0))}
    assert len(drawn) == 12 and len(shown) == 24
    for one, other in zip(shown[::2], shown[1::2], strict=True):
        pair = known[one.task.id]
        assert (one.first, one.second, one.verdict) == (pair.chosen, pair.rejected, "A")
        assert (other.first, other.second, other.verdict) == (pair.rejected, pair.chosen, "B")


def test_held_out_given_pairs_measure_the_judge():
    """A judge that likes the longer answer is right as often as the chosen one is the longer, in both orders."""
    file = preferences(held_out=0.1)
    pairs = file.preferences("held_out", 999, Random(0))
    longer = np.mean([len(pair.chosen) > len(pair.rejected) for pair in pairs])

    class Longer:
        name = "judge"

        def reply(self, asks):
            return [Reply(self.verdict(ask.messages[-1].text), "judge") for ask in asks]

        def verdict(self, text):
            fence = text.split("two lines ")[1].split(".")[0]
            first, second = (part.split("\n" + fence)[0] for part in text.split(fence + "\n")[2:][1::2][:2])
            return "A" if len(first) > len(second) else "B"

    found = Told(file, None, Longer(), 999, 0, "wrong")()
    assert found["held_out/pair_accuracy"] == pytest.approx(longer, abs=1e-9)
    assert found["held_out/pair_unread"] == 0.0 and found["held_out/pair_consistency"] > 0.9


def test_a_judge_is_taught_from_a_file_of_pairs(tmp_path):
    lines = metrics(trained(self_j, replace(SMALL, questions="preferences", given=True), tmp_path))
    assert lines[0]["paired"] == 1.0 and 0.0 <= lines[0]["held_out/pair_accuracy"] <= 1.0


def test_given_pairs_need_a_file_of_pairs(tmp_path):
    with pytest.raises(RedQueenError, match="sums is not a question set with preference pairs"):
        trained(self_j, replace(SMALL, given=True), tmp_path)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"given": True, "attempts": 3}, "--attempts has no effect with --given True"),
        ({"mix": 0.7}, "--mix has no effect with --pairs True"),
        ({"pairs": False}, "--reasons has no effect with --pairs False"),
    ],
)
def test_what_has_no_effect_is_refused(changes, message):
    with pytest.raises(RedQueenError, match=message):
        check_settings(replace(SMALL, **changes))
