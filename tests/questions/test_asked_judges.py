"""A judge's budget, and its judgements on disk."""

import json
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.questions.asked_judges import AskedJudge, Kept
from redqueen.types import RedQueenError, Reply, Task

TASKS = [Task(f"q{n}", prompt=f"{n}?", choices=("A", "B")) for n in range(4)]
ABOUT = [(f"{n}?",) for n in range(4)]


class Counting:
    """A judge that repeats what it is asked and counts how often."""

    name = "judge"

    def __init__(self, weights="w", seen=0):
        self.weights = weights
        self.seen = seen

    def identity(self):
        return self.weights

    def reply(self, asks):
        self.seen += len(asks)
        return [Reply(f"{ask.messages[-1].text} {self.seen} {ask.choices}", self.name) for ask in asks]


class Sure(Counting):
    def probabilities(self, asks):
        self.seen += len(asks)
        return [np.array([0.9, 0.1]) for _ in asks]


def test_the_budget_is_held_before_a_call_is_made():
    judge = Counting()
    asked = AskedJudge(judge, "judge:http://h/v1#m", budget=6)
    asked.said(TASKS, ABOUT, Random(0))
    with pytest.raises(RedQueenError, match=r"asked 4 times, and 4 more are above --judge.budget 6: raise it \("):
        asked.said(TASKS, ABOUT, Random(0))
    asked.said(TASKS[:2], ABOUT[:2], Random(0))
    assert (judge.seen, asked.metrics()["judge/calls"]) == (6, 6.0)


def test_the_budget_holds_over_a_resumed_run():
    asked = AskedJudge(Counting(), "j", budget=6)
    asked.said(TASKS, ABOUT, Random(0))
    again = AskedJudge(Counting(), "j", budget=6)
    again.restore(asked.state())
    with pytest.raises(RedQueenError, match="asked 4 times"):
        again.said(TASKS, ABOUT, Random(0))


def test_what_is_on_disk_is_not_asked_again_and_pays_nothing(tmp_path):
    judge = Counting()
    first = AskedJudge(judge, "j", 4, Kept.in_folder(tmp_path)).said(TASKS, ABOUT, Random(0))
    other = Counting()
    asked = AskedJudge(other, "j", 4, Kept.in_folder(tmp_path))
    assert asked.said(TASKS, ABOUT, Random(9)) == first
    assert (judge.seen, other.seen, asked.metrics()) == (4, 0, {"judge/calls": 0.0, "judge/kept": 4.0})
    with pytest.raises(RedQueenError, match="asked 4 times, and 1 more"):
        asked.said(TASKS[:1], [("another question",)], Random(0))


def test_a_question_that_is_asked_twice_at_once_is_one_call_and_was_not_on_disk(tmp_path):
    judge = Counting()
    asked = AskedJudge(judge, "j", None, Kept.in_folder(tmp_path))
    for counts in ({"judge/calls": 1.0, "judge/kept": 0.0}, {"judge/calls": 1.0, "judge/kept": 2.0}):
        one, other = asked.said(TASKS[:2], [("0?",)] * 2, Random(0))
        assert (one, judge.seen, asked.metrics()) == (other, 1, counts)


@pytest.mark.parametrize("judge, about", [(Counting("other weights"), ABOUT), (Counting(), [("x",)] * 4)])
def test_another_judge_or_another_question_is_another_judgement(tmp_path, judge, about):
    AskedJudge(Counting(), "j", kept=Kept.in_folder(tmp_path)).said(TASKS, ABOUT, Random(0))
    AskedJudge(judge, "j", kept=Kept.in_folder(tmp_path)).said(TASKS, about, Random(0))
    assert judge.seen == len(set(about))


def test_chances_and_replies_are_kept_apart_and_no_verdict_stays_none(tmp_path):
    judge = Sure()
    asked = AskedJudge(judge, "j", kept=Kept.in_folder(tmp_path))
    asked.said(TASKS[:1], ABOUT[:1], Random(0))
    for _ in range(2):
        assert asked.chances(TASKS[:1], ABOUT[:1], Random(0))[0].tolist() == [0.9, 0.1]
    assert judge.seen == 2


def test_the_draw_from_the_generator_is_the_same_with_and_without_a_folder(tmp_path):
    left = []
    for kept in (None, Kept.in_folder(tmp_path), Kept.in_folder(tmp_path)):
        rng = Random(0)
        AskedJudge(Counting(), "j", kept=kept).said(TASKS, ABOUT, rng)
        left.append(rng.random())
    assert len(set(left)) == 1


def test_a_line_that_was_cut_off_is_not_read_and_the_next_stands_alone(tmp_path):
    AskedJudge(Counting(), "j", kept=Kept.in_folder(tmp_path)).said(TASKS, ABOUT, Random(0))
    file = tmp_path / "judgements.jsonl"
    file.write_text("[" * 9000 + "\n" + file.read_text()[:-9])
    judge = Counting()
    AskedJudge(judge, "j", kept=Kept.in_folder(tmp_path)).said(TASKS, ABOUT, Random(0))
    assert judge.seen == 1
    assert json.loads(file.read_text().splitlines()[-1])["said"].startswith("3?")


class Failing(Counting):
    """Tells of its replies one by one, from the last, and fails before the first."""

    def reply_each(self, asks, heard):
        for place in reversed(range(1, len(asks))):
            heard(place, Reply(f"said {place}", self.name))
        raise RedQueenError("credit used up")

    def rate_each(self, asks, heard):
        heard(1, np.array([0.25, np.nan]))
        raise RedQueenError("credit used up")


def test_what_was_paid_for_is_kept_where_a_later_judgement_fails(tmp_path):
    for ask in ("said", "chances"):
        with pytest.raises(RedQueenError, match="credit used up"):
            getattr(AskedJudge(Failing(), "j", kept=Kept.in_folder(tmp_path)), ask)(TASKS, ABOUT, Random(0))
    assert sorted(map(str, Kept.in_folder(tmp_path).known.values())) == ["[0.25, None]", "said 1", "said 2", "said 3"]
    judge = Counting()
    again = AskedJudge(judge, "j", kept=Kept.in_folder(tmp_path)).said(TASKS, ABOUT, Random(0))
    assert judge.seen == 1 and again[1:] == ["said 1", "said 2", "said 3"]


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("Answer B is better in style, but in substance", ""),
        ("B", "B"),
        ("Both add.\n**A**\n", "**A**"),
        ("Both add.\nA because", ""),
        ("", ""),
    ],
)
def test_of_a_judgement_that_was_cut_off_only_a_word_alone_is_heard(text, heard):
    class CutOff(Counting):
        def reply(self, asks):
            return [Reply(text, self.name, truncated=True) for _ in asks]

    assert AskedJudge(CutOff(), "j").said(TASKS[:1], ABOUT[:1], Random(0)) == [heard]


def test_what_cannot_be_kept_or_rated_is_refused_in_one_line(tmp_path):
    class Nobody:
        name = "x"

        def reply(self, asks):
            return []

    with pytest.raises(RedQueenError, match=r"leave --judge\.cache out"):
        AskedJudge(Nobody(), "j", kept=Kept.in_folder(tmp_path))
    with pytest.raises(RedQueenError, match=r"leave --judge\.expected out"):
        AskedJudge(Nobody(), "j").chances(TASKS, ABOUT, Random(0))
    (tmp_path / "file").write_text("")
    with pytest.raises(RedQueenError, match="cannot keep judgements in"):
        Kept.in_folder(tmp_path / "file")


class CutOff(Counting):
    """A judge of which the first three replies end before their end."""

    def reply(self, asks):
        return [replace(each, truncated=n < 3) for n, each in enumerate(super().reply(asks))]


def test_replies_that_were_cut_off_are_counted_and_are_the_excuse_where_they_are_most():
    asked = AskedJudge(CutOff(), "j")
    asked.said(TASKS, ABOUT, Random(0))
    assert asked.metrics()["judge/cut_off"] == 0.75
    resumed = AskedJudge(CutOff(), "j")
    resumed.restore(asked.state())
    for each in (asked, resumed):
        assert each.excuse() == "; 3 of 4 replies of the judge were cut off: raise --judge.max-completion-length"
    asked.said(TASKS, ABOUT, Random(0))
    asked.judge = Counting()
    asked.said(TASKS, ABOUT, Random(0))
    assert asked.excuse() == "" and asked.metrics()["judge/cut_off"] == 0.5


def test_the_counts_of_a_run_begun_before_replies_were_counted_are_taken():
    asked = AskedJudge(Counting(), "j")
    asked.restore({"calls": 3, "found": 1})
    assert asked.metrics() == {"judge/calls": 3.0, "judge/kept": 1.0}
