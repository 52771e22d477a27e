"""Proposing and solving: what the episodes of one seat say."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.checks.sandbox import jail
from redqueen.credit.outcomes import rate, verdicts
from redqueen.curricula.store import TaskStore
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.health import ProposerHealth
from redqueen.measures.proposals import proposed
from redqueen.play.groups import attempts, authors, episodes_of
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.scripted import Constant
from redqueen.questions.asking import (
    JUDGE,
    PROPOSE,
    SOLVE,
    evenly,
    graded,
    invited,
    judged_answers,
    read,
    said,
    seeded,
    tasks_among,
    with_opinions,
)
from redqueen.questions.catalogue import find_questions
from redqueen.questions.small.sums import Sums
from redqueen.types import RedQueenError, Refusal, Reply, Task

SUMS = Sums()


class CutOff:
    name = "cut_off"

    def reply(self, asks):
        return [Reply("91", self.name, truncated=True) for _ in asks]


def asked_for(*texts):
    invitations = [SUMS.invite("sum", (), number) for number in range(len(texts))]
    matches = [
        match for one, text in zip(invitations, texts, strict=True) for match in alone(PROPOSE, [one], Constant(text))
    ]
    return play(matches, Random(0))


def test_proposals_become_tasks_or_refusals_in_their_order():
    proposals = asked_for("12+7", "twelve", "3+4")
    written = read(SUMS, proposals)
    assert said(proposals) == ["12+7", "twelve", "3+4"]
    assert [each.id for each in tasks_among(written)] == ["12+7", "3+4"]
    assert written[1] == Refusal("malformed")
    assert [each.task.id for each in authors(proposals, written)] == [proposals[n].task.id for n in (0, 2)]


def test_what_is_held_out_changes_no_draw_where_it_is_not_drawn():
    one, other = Random(0), Random(0)
    assert evenly(SUMS, 9, one) == evenly(SUMS, 9, other, {"1_digits": [Task("none", prompt="none")]})
    assert one.getstate() == other.getstate()


def test_attempts_are_graded_group_by_group():
    tasks = [SUMS.task(12, 7), SUMS.task(1, 1)]
    groups = graded(SUMS, attempts(SOLVE, tasks, Constant("91"), 3, Random(0)))
    assert [verdicts(group).tolist() for group in groups] == [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
    assert [each.outcome.facts["right"] for each in episodes_of(groups)] == [True] * 3 + [False] * 3
    assert [sum(each.outcome.scores.values()) for each in episodes_of(groups)] == [0.0] * 6


@pytest.mark.parametrize(("truncated", "right"), [("wrong", 0.0), ("graded", 1.0), ("unknown", np.nan)])
def test_an_attempt_that_was_cut_off_is_wrong_unless_asked_otherwise(truncated, right):
    groups = attempts(SOLVE, [SUMS.task(12, 7)], CutOff(), 2, Random(0))
    (group,) = graded(SUMS, groups, truncated)
    np.testing.assert_equal(verdicts(group), [right, right])
    np.testing.assert_equal(rate(group).mean, right)
    found = HeldOut(SUMS, CutOff(), {"one": [SUMS.task(12, 7)]}, 2, truncated=truncated)()
    assert found.get("accuracy") == (None if np.isnan(right) else right)


def test_an_attempt_that_was_cut_off_is_wrong():
    (group,) = graded(SUMS, attempts(SOLVE, [SUMS.task(12, 7)], CutOff(), 2, Random(0)))
    assert verdicts(group).tolist() == [0.0, 0.0]


def test_nothing_proposed_is_nothing_tried():
    assert attempts(SOLVE, [], Constant("91"), 8, Random(0)) == []
    assert read(SUMS, []) == [] and graded(SUMS, []) == []


def test_an_opinion_is_the_mean_of_its_judgements_and_none_where_nothing_is_read():
    tries = attempts(SOLVE, [SUMS.task(12, 7)], Constant("91"), 2, Random(0))
    lines = iter(["<score>1</score>", "<score>10</score>", "?", "no score"])

    class Judge:
        name = "judge"

        def reply(self, asks):
            return [Reply(next(lines), self.name) for _ in asks]

    (group,) = with_opinions(tries, attempts(JUDGE, judged_answers(tries), Judge(), 2, Random(0)))
    assert [each.outcome.facts["opinion"] for each in group.attempts] == [0.5, None]


def test_a_judge_sees_the_working_of_an_answer_and_no_thoughts():
    class Boxed:
        name = "boxed"

        def reply(self, asks):
            return [Reply("19", self.name, thought="Perhaps 20? 12+7 is 19.", working="12+7 is 19.") for _ in asks]

    (shown,) = judged_answers(attempts(SOLVE, [SUMS.task(12, 7)], Boxed(), 1, Random(0)))
    assert "12+7 is 19.\n19" in shown.prompt and "20" not in shown.prompt


def test_what_became_of_the_proposals_is_told_to_the_alarms():
    written = [SUMS.task(12, 7), Refusal("too long"), SUMS.task(1, 1)]
    seen = proposed(written, np.array([[1.0, 0.0, np.nan], [np.nan, np.nan, np.nan]]))
    assert [one.refused for one in seen] == ["", "too long", ""]
    assert (seen[0].text, seen[0].answer, seen[0].solve_rate) == ("What is 12+7?", "91", 0.5)
    assert np.isnan(seen[1].solve_rate) and np.isnan(seen[2].solve_rate)


def test_an_answer_in_its_question_is_a_leak_only_where_answers_are_hidden():
    zero, hinted = SUMS.task(1, 0), replace(SUMS.task(2, 5), facts={"hint": "it is 7"})
    halves = np.full((2, 1), 0.5)
    for hidden, kinds in (
        (False, {"leaks/answer_in_hint"}),
        (True, {"leaks/answer_in_hint", "leaks/answer_in_question"}),
    ):
        figures = ProposerHealth().check(proposed([zero, hinted], halves, hidden=hidden))
        assert {name for name in figures if name.startswith("proposals/leaks")} == {
            f"proposals/{each}" for each in kinds
        }


@pytest.mark.parametrize("name", ["expressions", "programs"])
def test_honest_tasks_of_three_kinds_are_no_leaks(name):
    if name == "programs" and jail.why_not():
        pytest.skip(jail.why_not())
    domain = find_questions(name)
    tasks = [task for level in domain.levels for task in domain.problems(level, 30, Random(0))]
    figures = ProposerHealth().check(proposed(tasks, np.full((len(tasks), 1), 0.5)))
    assert figures["proposals/leak_share"] == 0.0


def test_a_task_that_was_cut_off_is_refused():
    class Cut(CutOff):
        def reply(self, asks):
            return [replace(each, text=text) for each, text in zip(super().reply(asks), ("9+1", "91"), strict=True)]

    invitations = [SUMS.invite("sum", (), number) for number in range(2)]
    whole, cut = (
        read(SUMS, play(alone(PROPOSE, invitations, player), Random(0))) for player in (Constant("9+1"), Cut())
    )
    assert [each.id for each in whole] == ["9+1"] * 2
    assert [each.reason for each in cut] == ["cut off", "malformed"]
    assert [each.cut_off for each in cut] == [True, True]


def test_a_store_that_cannot_hold_a_seed_of_each_kind_is_refused():
    domain = find_questions("expressions")
    assert {each.task.kind for each in seeded(TaskStore(3), domain).histories()} == set(domain.kinds)
    with pytest.raises(RedQueenError, match="--capacity 3 or more"):
        seeded(TaskStore(2), domain)


class Curious:
    """A domain that notes what it was shown."""

    kinds = ("easy", "hard")

    def sources(self, kind):
        return ("easy",) if kind == "hard" else ("easy", "hard")

    def invite(self, kind, references, number):
        return Task(f"{kind} {number}", kind, " ".join(task.kind for task in references))


def test_a_proposer_is_shown_tasks_of_the_kinds_that_the_domain_names():
    store = TaskStore()
    store.add([Task(f"{kind} {n}", kind, f"{kind} {n}") for kind in ("easy", "hard") for n in range(3)])
    invitations = invited(Curious(), store, 2, 2, Random(0))
    assert [one.id for one in invitations] == ["easy 0", "easy 1", "hard 0", "hard 1"]
    assert [one.prompt for one in invitations[2:]] == ["easy easy"] * 2
    assert len(invited(Curious(), store, 1, 100, Random(0))[0].prompt.split()) == 6
    shown = [len(task.prompt.split()) for task in invited(Curious(), store, 4, 1, Random(0), share=0.5)]
    assert shown == [1, 1, 0, 0] * 2


def test_labels_hints_and_judgements_are_told_to_the_alarms():
    written = [Task("a", prompt="A?", answer="7", facts={"hint": "it is 7"}), Refusal("leak"), Task("b", prompt="B?")]
    rates, judged = np.array([[1.0, np.nan, 0.0], [0.0, 0.0, 1.0]]), np.array([[0.5, 1.0, np.nan], [np.nan] * 3])
    first, _, second = proposed(written, rates, judged, [False, None])
    assert (first.hint, first.answer_right, second.answer_right) == ("it is 7", False, None)
    assert (first.judged, first.actual, first.solve_rate) == (0.5, 1.0, 0.5)  # judge and oracle on the same attempts
    assert np.isnan(second.judged) and np.isnan(second.actual) and second.solve_rate == pytest.approx(1 / 3)
    figures = ProposerHealth().check([first, second])
    assert (figures["proposals/label_accuracy"], figures["proposals/leaks/answer_in_hint"]) == (0.0, 0.5)
