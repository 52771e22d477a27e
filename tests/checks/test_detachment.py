"""The kernel of condensed detachment: known proofs, counts, truth tables, and strings that prove nothing."""

import itertools
import time
from collections import Counter
from contextlib import suppress

import pytest

from redqueen.checks.detachment import MOST_SYMBOLS, NoProof, is_instance, proved, read, size, theorems, written


@pytest.mark.parametrize(
    ("proof", "formula"),
    [
        ("1", "> p > q p"),
        ("D 1 1", "> p > q > r q"),
        ("D 2 1", "> > p q > p p"),
        ("D D 2 1 1", "> p p"),  # id of set.mm
        ("D D 2 D 1 2 1", "> > p q > > r p > r q"),  # imim2
        ("D D 2 D 1 3 1", "> ~ p > p q"),  # pm2.21
    ],
)
def test_known_proofs_prove_known_formulas(proof, formula):
    assert written(proved(proof)) == formula


def test_there_are_as_many_theorems_of_each_length_as_were_counted():
    found = Counter(len(proof.split()) for term, proof in theorems(13).items() if size(term) <= 13)
    assert found == {1: 3, 3: 3, 5: 9, 7: 21, 9: 35, 11: 52, 13: 125}


def holds(term, values):
    if isinstance(term, int):
        return values[term]
    if term[0] == "~":
        return not holds(term[1], values)
    return not holds(term[1], values) or holds(term[2], values)


def variables(term):
    return {term} if isinstance(term, int) else set().union(*(variables(each) for each in term[1:]))


def test_every_theorem_is_a_tautology_and_its_proof_proves_it():
    for term, proof in list(theorems(9).items()):
        assert proved(proof) == term
        assert read(written(term)) == term
        names = sorted(variables(term))
        assert all(
            holds(term, dict(zip(names, values, strict=True)))
            for values in itertools.product((True, False), repeat=len(names))
        )


@pytest.mark.parametrize(
    ("statement", "general", "fits"),
    [
        ("> p > q p", "> p > q p", True),
        ("> ~ p > p ~ p", "> p > q p", True),
        ("> p > q q", "> p > q p", False),
        ("p", "> p p", False),
        ("> p q", "p", True),
        ("> ~ p p", "> p p", False),
    ],
)
def test_an_instance_puts_one_formula_for_each_variable(statement, general, fits):
    assert is_instance(read(statement), read(general)) is fits


@pytest.mark.parametrize(
    ("proof", "said"),
    [
        ("", "there is no proof"),
        ("D 1", "too few parts"),
        ("1 1", "2 proofs and not one"),
        ("D 1 4", "'4' is no symbol"),
        ("D 1 \x00", "no symbol"),
        ("D D 1 1 D D 1 1 1 1", "not one"),
        ("1 " * 300, "200 symbols at most"),
        ("D " * 100 + "1 " * 100, "not one|too few|do not fit|too large"),
    ],
)
def test_what_proves_nothing_says_why(proof, said):
    with pytest.raises(NoProof, match=said) as raised:
        proved(proof)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["", ">", "> p", "p q", "> p Q", "> " * 1000, "p'"])
def test_what_is_no_formula_says_why(text):
    with pytest.raises(NoProof):
        read(text)


def test_a_proof_whose_formulas_grow_is_stopped():
    began, proof = time.process_time(), "1"
    for _ in range(99):
        proof = f"D 1 {proof}"
    assert size(proved(proof)) == 5 + 2 * 99
    for way in ("D {} 2", "D {} {}", "D 2 {}", "D D 2 {} {}"):
        proof = "D 2 2"
        while len(proof.split()) < 100:
            proof = way.replace("{}", proof)
        with suppress(NoProof):
            assert size(proved(proof)) <= MOST_SYMBOLS
    assert time.process_time() - began < 10.0
