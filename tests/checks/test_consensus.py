"""Texts compared: edit distances, the vectors of the card of Consensus Entropy, and readers of a noisy channel."""

from random import Random

import numpy as np
import pytest

from redqueen.checks.consensus import LONGEST, apart, consensus, distance, distances, edits, nearest
from redqueen.checks.votes import Vote
from redqueen.measures.judges import auc

THREE = ["12345", "12345", "12845"]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("kitten", "sitting", 3), ("flaw", "lawn", 2), ("", "abc", 3), ("abc", "", 3), ("saturday", "sunday", 3)],
)
def test_edit_distances(one, other, expected):
    assert edits(list(one), list(other)) == edits(list(other), list(one)) == expected


def plainly(one, other):
    """The edit distance by its recursion."""
    if not one or not other:
        return len(one) + len(other)
    if one[0] == other[0]:
        return plainly(one[1:], other[1:])
    return 1 + min(plainly(one[1:], other), plainly(one, other[1:]), plainly(one[1:], other[1:]))


def test_edit_distances_are_those_of_their_recursion():
    rng = Random(0)
    for _ in range(40):
        one, other = ("".join(rng.choices("ab", k=rng.randrange(6))) for _ in range(2))
        assert edits(one, other) == plainly(one, other)


def test_the_three_and_the_four_readings_of_the_card():
    assert apart(THREE)[0].tolist() == [0.0, 0.0, 0.2]
    assert distances(THREE) == pytest.approx([0.1, 0.1, 0.2])
    assert distances(THREE).mean() == pytest.approx(0.1333, abs=1e-4)
    assert distances([*THREE, "99999"]) == pytest.approx([0.4, 0.4, 0.4667, 1.0], abs=1e-4)
    assert nearest(THREE) == nearest([*THREE, "99999"]) == "12345"


def test_equal_texts_are_certain_two_decide_nothing_and_blank_ones_are_nobody():
    assert distances(["Invoice"] * 3).tolist() == [0.0] * 3
    assert distances(["Invoice", "1nvoice", "Invoice"])[0] < distances(["Invoice", "1nvoice", "Invoice"])[1]
    assert nearest(["a", "b"]) is None and nearest(["a", "a"]) == "a"
    assert nearest(["", " ", "ab"]) == "ab" and nearest(["", ""]) is None
    assert np.isnan(distances(["alone"])).all() and distance("", "") == 0.0


def test_long_texts_are_compared_by_words():
    one = "word " * LONGEST
    assert distance(one, one.replace("word", "deed", 1)) == pytest.approx(1 / LONGEST)


def readings(rng, confused):
    """A string of five digits, and what three readers make of it: each takes some digits for others, `confused` says
    which for which reader."""
    truth = "".join(rng.choices("0123456789", k=5))
    return truth, ["".join(swap.get(d, d) if rng.random() < 0.35 else d for d in truth) for swap in confused]


def worth(confused):
    """How well distance tells wrong readings, how often the chosen one is right, and the best reader."""
    rng, wrong, far, chosen, right = Random(1), [], [], [], []
    for _ in range(400):
        truth, said = readings(rng, confused)
        wrong += [text != truth for text in said]
        far += distances(said).tolist()
        chosen.append(nearest(said) == truth)
        right.append([text == truth for text in said])
    return auc(far, wrong), np.mean(chosen), np.mean(right, axis=0).max()


def test_readers_that_err_apart_show_their_errors_and_readers_that_err_alike_do_not():
    own = [{"1": "7", "3": "8", "0": "6"}, {"5": "6", "2": "7", "9": "4"}, {"4": "9", "8": "3", "6": "0"}]
    found, chosen, best = worth(own)
    assert found > 0.85 and chosen > best + 0.1
    alike, chosen_alike, _ = worth([own[0]] * 3)
    assert alike < found - 0.05 and chosen_alike < chosen - 0.2


def test_a_choice_among_the_answers_of_several_minds():
    assert consensus([["12345", "12345 "], ["12845"], [""]]) == Vote("12345", pytest.approx(0.9), 3, 4)
    assert consensus([["a"], ["b"]]).answer == "" and consensus([["a"], [""]]) == Vote("a", 1.0, 1, 2)
    assert consensus([["", ""]]) == Vote("", 0.0, 0, 2)


def test_the_entropy_that_the_paper_prints_is_greatest_where_all_agree():
    """Section 10: three equal outputs have ln 3; Invoice, 1nvoice, Invoice 1.0961, which the paper takes for the less
    certain. The mean distance says 0 and more than 0."""

    def printed(texts):
        like = 1.0 - apart(texts)
        shares = like / like.sum(axis=1, keepdims=True)
        return float(-(shares * np.log(shares)).sum(axis=1)[0])

    equal, unlike = ("Invoice",) * 3, ("Invoice", "1nvoice", "Invoice")
    assert printed(equal) == pytest.approx(1.0986, abs=1e-4) and printed(unlike) == pytest.approx(1.0961, abs=1e-4)
    assert printed(equal) > printed(unlike), "the wrong way round"
    assert distances(equal).tolist() == [0.0] * 3 and distances(unlike).mean() > 0.0
