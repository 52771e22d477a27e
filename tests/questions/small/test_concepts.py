"""Concepts: what they are worth, how they are read, and how badly the weak ones are shown."""

from random import Random

import pytest

from redqueen.questions.small.concepts import CONCEPTS, MISTAKEN_FOR, Concepts
from redqueen.types import RedQueenError, Refusal, Task

DOMAIN = Concepts()


def test_the_eight_concepts_of_twelve_and_five():
    found = {concept: DOMAIN.task(concept, 12, 5).answer for concept in DOMAIN.kinds}
    assert found == {
        "sum": "17",
        "gap": "7",
        "product": "60",
        "quotient": "2",
        "rest": "2",
        "larger": "12",
        "smaller": "5",
        "gcd": "1",
    }
    assert DOMAIN.task("gcd", 8, 12).answer == "4"
    assert DOMAIN.task("gap", 5, 12).answer == "7"


def test_an_invitation_names_the_concept_and_one_beside_it():
    one = DOMAIN.invite("rest", [DOMAIN.task("gcd", 1, 1)], 0)
    assert (one.prompt, one.facts["concepts"]) == ("Write a question on rest or gcd.", ("rest", "gcd"))
    alone = DOMAIN.invite("rest", [DOMAIN.task("rest", 1, 1)], 0)
    assert (alone.prompt, alone.facts["concepts"]) == ("Write a question on rest.", ("rest",))


def test_only_a_question_on_a_concept_that_was_asked_for_is_read():
    invitation = DOMAIN.invite("rest", [DOMAIN.task("gcd", 1, 1)], 0)
    texts = ["rest 7 5", " gcd 12 8 ", "sum 1 1", "gcd 13 1", "gcd 0 1", "gcd 1", "power 2 3", "", "rest 7 5 1"]
    read = DOMAIN.read([invitation] * len(texts), texts)
    found = [each.reason if isinstance(each, Refusal) else (each.kind, each.answer) for each in read]
    refused = ["other concept", "too large", *["malformed"] * 5]
    assert found == [("rest", "2"), ("gcd", "4"), *refused]


def test_what_a_concept_is_mistaken_for_is_another_one():
    assert set(MISTAKEN_FOR) == set(CONCEPTS)
    assert all(MISTAKEN_FOR[concept] in CONCEPTS and MISTAKEN_FOR[concept] != concept for concept in CONCEPTS)


def test_weak_concepts_are_shown_wrong_unless_their_numbers_are_small():
    shown = [one for one in DOMAIN.demonstrations(24000, Random(0)) if one.role == "solver" and one.task.kind == "rest"]
    by_size = {True: [], False: []}
    for one in shown:
        first, second = one.task.facts["numbers"]
        if first // second != first % second:  # otherwise the mistake is right by chance
            by_size[max(first, second) <= 5].append(one.text == one.task.answer)
    rates = {small: sum(right) / len(right) for small, right in by_size.items()}
    assert rates[True] == pytest.approx(0.5, abs=0.06)
    assert rates[False] == pytest.approx(0.06, abs=0.02)


def test_a_quarter_of_the_demonstrations_are_proposals_that_can_be_read():
    shown = [one for one in DOMAIN.demonstrations(400, Random(1)) if one.role == "proposer"]
    assert len(shown) == 100
    read = DOMAIN.read([one.task for one in shown], [one.text for one in shown])
    assert all(isinstance(each, Task) for each in read)


def test_an_unknown_concept_and_sizes_that_do_not_fit_are_refused():
    with pytest.raises(RedQueenError, match="there is no concept 'power'"):
        Concepts(weak=("power",))
    with pytest.raises(RedQueenError, match="small <= largest"):
        Concepts(small=13)
