"""The evaluator of EvolvR: pairs in both orders, the filters of its card, what is taught, and what is measured."""

import json
import re
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
from redqueen.questions.catalogue import find_questions
from redqueen.questions.dataset import preferences
from redqueen.questions.small.rhymes import Rhymes, scored
from redqueen.questions.small.sums import Sums
from redqueen.recipes.labels.self_j import recipe as self_j
from redqueen.recipes.labels.self_j.measures import Told, told_apart
from redqueen.recipes.labels.self_j.questions import (
    Letters,
    Scores,
    given_pairs,
    likeliest,
    pairs_in,
    reason_in,
    survives,
)
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
    assert [Letters().opposite(pair.verdict, Random(0)) for pair in shown] == ["B", "A"]
    assert "7" not in Letters().plain(shown[0], Random(0)).prompt.split("Answer B:")[1].split("=====")[2]


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
            if ask.choices == tuple("12345"):
                rows.append(np.array(told["digits"](shown)))
                continue
            if ask.choices == ("YES", "NO"):
                reason = shown.split("Reason:\n")[1].split("\n")[1]
                claim = shown.split("Verdict:\n")[1].split("\n")[1]
                claim = claim[0] if claim.endswith("is better.") else claim
                chance = float(told["fits"](reason, claim, shown))
            else:
                chance = told["after"](shown)
            rows.append(np.array([chance, 1.0 - chance]))
        return rows

    monkeypatch.setattr(TransformerPolicy, "_write", write)
    monkeypatch.setattr(TransformerPolicy, "probabilities", probabilities)
    return told


def taught(says, keep, count=2, form=Letters(), rewrite=False):
    learner = TINY.build_model(0)
    reasons = Reasons(learner.freeze(), count, keep, form, rewrite)
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


# --- scores from 1 to 5, and reasons that are told again ------------------------------------------

SCORES = Scores()


def scored_group():
    """An answer worth 4 and one worth 2."""
    group = group_of("7", "5")
    return replace(group, task=replace(group.task, facts={"scores": [4, 2]}))


def test_a_scored_pair_stands_in_both_orders_with_its_scores():
    shown = pairs_in([scored_group()], SCORES)
    assert [(pair.first, pair.second, pair.verdict) for pair in shown] == [("7", "5", "4 2"), ("5", "7", "2 4")]
    assert SCORES.claim("4 2") == "A has a score of 4 and B of 2, out of 5"
    assert "as in 4 2" in SCORES.plain(shown[0], Random(0)).prompt
    equal = scored_group()
    assert pairs_in([replace(equal, task=replace(equal.task, facts={"scores": [3, 3]}))], SCORES) == []


def test_the_attack_claims_scores_in_the_opposite_order():
    claimed = {SCORES.opposite("4 2", Random(seed)) for seed in range(300)}
    assert claimed == {f"{low} {high}" for low in range(1, 6) for high in range(low + 1, 6)}
    assert all(each[0] > each[2] for each in (SCORES.opposite("1 5", Random(seed)) for seed in range(50)))


def test_both_digits_must_be_the_likeliest_after_the_reason():
    asked = SCORES.asked_after("It is 7.", "4 2")
    assert [(words.splitlines()[-1], listed, true) for words, listed, true in asked] == [
        ("The score of Answer A:", tuple("12345"), "4"),
        ("The score of Answer B:", tuple("12345"), "2"),
    ]
    assert likeliest(np.array([0.1, 0.1, 0.2, 0.4, 0.2]), 3) and not likeliest(np.array([0.4, 0.4, 0.2]), 0)
    assert not likeliest(np.array([np.nan, np.nan]), 0)


def test_reasons_with_scores_pass_the_filters_in_turn(says):
    """In the first order: one score wrong, a reason that fits any scores, one after which B is held worth 3, a sound
    one; in the other all are sound."""
    says["reasons"] = ["No.\n4 3", "Hollow.\n4 2", "Third.\n4 2", "Sound.\n4 2", *["Sound.\n2 4"] * 4]

    def fits(reason, claim, shown):
        right = "A has a score of 4 and B of 2" if seven_first(shown) else "A has a score of 2 and B of 4"
        return reason == "Hollow." or claim.startswith(right)

    def digits(shown):
        true = 4 if (shown.endswith("Answer A:")) == seven_first(shown) else 2
        return np.eye(5)[2 if "Third." in shown and shown.endswith("Answer B:") else true - 1]

    says |= {"fits": fits, "digits": digits}
    learner = TINY.build_model(0)
    reasons = Reasons(learner.freeze(), 4, "all", SCORES)
    episodes = reasons([scored_group()], learner, Random(0))
    assert [one.turns[0].reply.text for one in episodes] == ["Sound.\n4 2", "Sound.\n2 4"]
    found = reasons.metrics()
    assert (found["told"], found["withstood"], found["likeliest"]) == pytest.approx((7 / 8, 6 / 7, 5 / 6))
    assert all("It is known" not in one.turns[0].ask.messages[-1].text for one in episodes)


def seven_first(shown):
    return shown.split("Answer A:")[1].split("\n")[2] == "7"


def test_what_ends_with_the_verdict_is_told_again_and_stays_where_that_fails(says):
    """Two reasons for each order, of which one names the other verdict; one is told again well, one is not."""
    says["reasons"] = ["First.\nA", "Other.\nB", "Second.\nB", "Other.\nA"]
    learner = TINY.build_model(0)
    reasons = Reasons(learner.freeze(), 2, "rule", rewrite=True)
    write = TransformerPolicy._write

    def again(policy, asks):
        if "beyond question" not in asks[0].messages[-1].text:
            return write(policy, asks)
        says["reasons"] = ["Mended.\nA", "Lost.\nA"]
        return write(policy, asks)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransformerPolicy, "_write", again)
        episodes = reasons([group_of("7", "5")], learner, Random(0))
    assert [one.turns[0].reply.text for one in episodes] == ["Mended.\nA", "Second.\nB"]
    assert (reasons.metrics()["told"], reasons.metrics()["retold"]) == (0.5, 0.5)
    assert "It is known that A is better, beyond question." in says["shown"][4] and "First.\nA" in says["shown"][4]
    assert all("beyond question" not in one.turns[0].ask.messages[-1].text for one in episodes)


class ByQuality:
    """A judge that scores both stories, right by the world of `rhymes` but for one that it calls better by one."""

    name = "judge"

    def reply(self, asks):
        return [Reply(self.verdict(ask.messages[-1].text), "judge") for ask in asks]

    def verdict(self, text):
        hero, opening = re.search(r"Six words about (\w+), from (\w+) on:", text).groups()
        stories = re.findall(r"Answer \w:\n=+\w+=+\n(.*)\n", text)
        first, second = (scored(Rhymes().quality(Rhymes().task(hero, opening), story)) for story in stories)
        return f"{min(5, first + 1)} {second}"


def test_the_scores_of_held_out_pairs_measure_the_judge():
    """The first score is one too high, but for fives: a pair whose better one stands second by one point is a tie."""
    pairs = [pair.task.facts["scores"] for pair in Rhymes().preferences("held_out", 999, Random(0))]
    found = Told(Rhymes(), None, ByQuality(), 999, 0, "wrong", SCORES)()
    orders = [order for high, low in pairs for order in ((high, low), (low, high))]
    gaps = [min(5, first + 1) - first for first, _ in orders]
    assert found["held_out/score_exact"] == pytest.approx(gaps.count(0) / len(gaps))
    assert found["held_out/score_error"] == pytest.approx(np.mean(gaps) / 2)
    ties = np.mean([high - low == 1 for high, low in pairs])
    assert found["held_out/pair_accuracy"] == pytest.approx(1.0 - ties / 2)
    assert found["held_out/pair_consistency"] == pytest.approx(1.0 - ties) and found["held_out/pair_unread"] == 0.0


def test_a_judge_that_scores_is_taught_from_pairs_with_scores(tmp_path):
    config = replace(SMALL, questions="rhymes", given=True, scores=True, rewrite=True, filter="rule")
    (line, _) = metrics(trained(self_j, config, tmp_path))
    assert line["paired"] == 1.0 and line["held_out/score_exact"] == 0.0


def test_scores_in_a_file_are_its_columns(tmp_path):
    rows = [
        {"prompt": f"{n}?", "chosen": "b", "rejected": "c", "score_chosen": "4", "score_rejected": 2} for n in range(9)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = find_questions(str(tmp_path / "pairs.jsonl"))
    assert {tuple(pair.task.facts["scores"]) for pair in file.preferences("train", 9, Random(0))} == {(4.0, 2.0)}
    (shown,) = pairs_in(given_pairs(file, file.problems("held_out", 1, Random(0))[:1], Random(0)), SCORES)[:1]
    assert shown.verdict == "4 2"


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (None, r"columns are chosen_score and rejected_score"),
        ([8.5, 2], r"a whole number from 1 to 5: '.*' has 8.5"),
        ([2, 4], r"the rejected answer to '.*' has a higher score"),
    ],
)
def test_pairs_without_scores_or_with_others_are_refused(scores, message):
    task = replace(TASK, facts={} if scores is None else {"scores": scores})
    with pytest.raises(RedQueenError, match=message):
        SCORES.verdict(task, True)


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


def test_attempts_of_which_nobody_knows_what_is_right_make_no_pairs_and_are_refused(tmp_path):
    (tmp_path / "open.jsonl").write_text("".join(f'{{"question": "What is {at}+1?"}}\n' for at in range(8)))
    with pytest.raises(RedQueenError, match="does not know what is right: --given takes pairs"):
        trained(self_j, replace(SMALL, questions=str(tmp_path / "open.jsonl")), tmp_path / "run")


def test_given_pairs_need_a_file_of_pairs(tmp_path):
    with pytest.raises(RedQueenError, match="sums is not a question set with preference pairs"):
        trained(self_j, replace(SMALL, given=True), tmp_path)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"given": True, "attempts": 3}, "--attempts has no effect with --given True"),
        ({"mix": 0.7}, "--mix has no effect with --pairs True"),
        ({"scores": True}, "--scores has no effect with --given False"),
        ({"rewrite": True}, "--rewrite has no effect with --filter none"),
        ({"pairs": False}, "--reasons has no effect with --pairs False"),
    ],
)
def test_what_has_no_effect_is_refused(changes, message):
    with pytest.raises(RedQueenError, match=message):
        check_settings(replace(SMALL, **changes))
