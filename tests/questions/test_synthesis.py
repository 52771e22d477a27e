"""Synthesis: budgets into invitations, votes into labels, solve rates into a band, attempts into pairs."""

from random import Random

from redqueen.credit.group_rewards import correct
from redqueen.credit.outcomes import rate
from redqueen.credit.rewards import score
from redqueen.play.groups import attempts, with_facts
from redqueen.questions.asking import SOLVE, graded
from redqueen.questions.labels import held_to_label
from redqueen.questions.small.concepts import Concepts
from redqueen.questions.synthesis import aimed, aimed_at, elected, verified_pairs, within
from redqueen.types import Reply

DOMAIN = Concepts()
TASKS = [DOMAIN.task("rest", 7, 5), DOMAIN.task("gcd", 4, 6), DOMAIN.task("sum", 1, 2)]


class Says:
    """Answers the questions with these texts, one after the other."""

    name = "says"

    def __init__(self, *texts):
        self.texts = iter(texts)

    def reply(self, asks):
        return [Reply(next(self.texts), self.name) for _ in asks]


def test_new_problems_are_shared_out_by_failures():
    assert aimed({"rest": 1, "gcd": 2, "sum": 0}, 6) == ["rest"] * 2 + ["gcd"] * 4
    assert aimed({"rest": 0, "sum": 0}, 6) == []


def test_an_invitation_is_for_its_category_beside_a_concept_that_failed():
    invitations = aimed_at(DOMAIN, ["rest", "gcd"], [TASKS[1]], Random(0))
    assert [each.facts["concepts"] for each in invitations] == [("rest", "gcd"), ("gcd",)]
    assert len({each.id for each in invitations}) == 2


def test_a_label_is_the_answer_on_which_more_than_half_of_all_attempts_agree():
    votes = ["1", "1", "1", "2", *["2", "2", "3", "4"], *["", "3", "3", "3"]]
    found = elected(attempts(SOLVE, TASKS, Says(*votes), 4, Random(0)))
    assert [(task.id, task.answer) for task in found] == [("rest 7 5", "1"), ("sum 1 2", "3")]


def test_attempts_without_an_answer_never_win_but_count():
    assert elected(attempts(SOLVE, TASKS[:1], Says("", "", "3", "3"), 4, Random(0))) == []
    votes = attempts(SOLVE, TASKS[:1], Says("", "", "", "3"), 4, Random(0))
    assert [task.answer for task in elected(votes, above=0.0)] == ["3"]


def test_the_band_holds_both_its_ends_and_nothing_unknown():
    answers = Says("2", "0", "0", "0", *["2"] * 3, "0", *["3"] * 4)
    groups = held_to_label(attempts(SOLVE, TASKS, answers, 4, Random(0)))
    assert [rate(group).mean for group in groups] == [0.25, 0.75, 1.0]
    assert within(groups, 0.25, 0.75) == TASKS[:2]
    unknown = with_facts(groups, [{"right": None} for _ in range(12)])
    assert within(unknown, 0.0, 1.0) == []


def test_pairs_are_of_hard_tasks_one_wrong_attempt_for_each_right_one():
    answers = ["2", "0", "0", "1", *["2", "2", "0", "0"], *["0", "0", "0", "0"]]
    trajectories = score(graded(DOMAIN, attempts(SOLVE, TASKS, Says(*answers), 4, Random(0))), correct)
    chosen, rejected = verified_pairs(trajectories, below=0.5)
    said = [[each.turns[0].reply.text for each in side] for side in (chosen, rejected)]
    assert said == [["2"], ["0"]]
    assert chosen[0].episode.task.id == rejected[0].episode.task.id == "rest 7 5"
    assert len(verified_pairs(trajectories, below=0.75)[0]) == 3


def test_attempts_without_a_verdict_do_not_make_a_task_hard():
    groups = graded(DOMAIN, attempts(SOLVE, TASKS[:1], Says(*["2"] * 3, "0", *["0"] * 4), 8, Random(0)))
    facts = [each.outcome.facts["right"] for each in groups[0].attempts]
    half = with_facts(groups, [{"right": each if at < 4 else None} for at, each in enumerate(facts)])
    assert sum(facts) == 3
    assert verified_pairs(score(half, correct), below=0.5) == ([], []), "three of the four that are known are right"


def test_a_task_that_was_drawn_twice_makes_pairs_in_each_of_its_groups():
    groups = graded(DOMAIN, attempts(SOLVE, TASKS[:1] * 2, Says("2", "0", "0", "0", "0", "0"), 3, Random(0)))
    chosen, rejected = verified_pairs(score(groups, correct), below=0.5)
    assert [each.group for each in chosen + rejected] == [groups[0].number] * 2
