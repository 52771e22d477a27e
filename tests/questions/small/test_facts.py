"""Facts and sums: a proposer's own answer is the label, right or wrong, and the oracle knows better."""

from random import Random

import pytest

from redqueen.questions.catalogue import having
from redqueen.questions.small.facts import FACTS, Facts, Informed
from redqueen.questions.small.sums import Sums
from redqueen.types import RedQueenError, Refusal, Task

DOMAIN = Facts()


def read(*texts):
    written = [f"What is {text}".replace("? ", "?\n") for text in texts]
    return DOMAIN.read([DOMAIN.invite("sum", (), number) for number in range(len(texts))], written)


def test_the_answer_of_a_proposal_is_its_writers_own():
    (right, wrong) = read("deck+19? 17", "deck+19? 18")
    assert [task.prompt for task in (right, wrong)] == ["What is deck+19?"] * 2
    assert DOMAIN.right([right, wrong], ["17", "17"]) == [True, False]
    assert [DOMAIN.true_answer(task) for task in (right, wrong)] == ["17", "17"]
    assert right.id != wrong.id, "two labels are two groups"


def test_a_proposal_that_cannot_be_solved_or_gives_itself_away_is_refused():
    texts = ("deck+19", "deck+19?17", "deck+cat? 25", "week+5? 5", "deck+019? 17", "", "deck+19? 17 or 18", "a? 1")
    reasons = [each.reason if isinstance(each, Refusal) else "" for each in read(*texts)]
    assert reasons == ["malformed", "malformed", "no fact", "leak", *["malformed"] * 4]


def test_problems_need_a_fact_and_have_the_true_answer():
    for level in DOMAIN.levels:
        for task in DOMAIN.problems(level, 20, Random(0)):
            first, second = task.facts["terms"]
            total = FACTS[first] + (FACTS[second] if second in FACTS else int(second))
            assert task.answer == str(total)[::-1]
            assert not any(str(value) in task.prompt.replace(second, "") for value in FACTS.values())
    assert Facts(backwards=False).task("deck", "19").answer == "71"


def test_every_passage_tells_two_facts_that_the_solver_is_not_shown():
    passages = DOMAIN.passages()
    assert len(set(passages)) == len(FACTS) * (len(FACTS) - 1)
    assert f"A week has {FACTS['week']}." in passages[0]
    shown = DOMAIN.invite_after(passages[0], 1)
    assert passages[0] in shown.prompt
    assert shown.id != DOMAIN.invite_after(passages[0], 2).id


def test_demonstrations_are_as_faithful_as_they_are_told():
    shown = DOMAIN.demonstrations(3000, Random(0))
    proposals = [one for one in shown if one.role == "proposer"]
    tasks = DOMAIN.read([one.task for one in proposals], [one.text for one in proposals])
    sound = [task for task in tasks if isinstance(task, Task)]
    right = sum(DOMAIN.true_answer(task) == task.answer for task in sound) / len(sound)
    assert len(proposals) == 1500
    assert {each.reason for each in tasks if isinstance(each, Refusal)} <= {"leak"}
    assert right == pytest.approx(0.7, abs=0.05)
    solved = [one for one in shown if one.role == "solver"]
    rates = {
        digits: [one.text == one.task.answer for one in solved if len(one.task.facts["terms"][1]) == digits]
        for digits in (1, 2)
    }
    # without a carry the slip is no mistake: more are right than were worked out with it
    assert 0.6 < sum(rates[1]) / len(rates[1]) < 0.9
    assert 0.4 < sum(rates[2]) / len(rates[2]) < 0.8


def test_a_domain_without_a_corpus_is_named():
    with pytest.raises(
        RedQueenError, match=r"sums is not .*: it has no passages and no invite_after and no true_answer"
    ):
        having(Sums(), Informed)
    with pytest.raises(RedQueenError, match="one_digit"):
        DOMAIN.problems("9_digits", 1, Random(0))
    assert having(DOMAIN, Informed) is DOMAIN
