import math
from collections import Counter
from random import Random

import numpy as np
import pytest

from redqueen.protocols import has
from redqueen.questions.small.known import Chain, Known, KnownData
from redqueen.questions.small.sums import Sums
from redqueen.types import RedQueenError


def test_the_answers_come_as_often_as_the_distribution_says():
    domain = Known(outcomes=3)
    counts = Counter(task.answer for task in domain.problems("outcome", 20_000, Random(0)))
    assert domain.distribution.sum() == pytest.approx(1.0)
    assert [counts[answer] / 20_000 for answer in domain.answers] == pytest.approx(domain.distribution, abs=0.02)
    assert math.exp(domain.log_likelihood("b")) == pytest.approx(domain.distribution[1])
    assert domain.log_likelihood("z") == -math.inf


def test_a_spread_of_zero_is_uniform():
    assert pytest.approx(1 / 20) == Known(spread=0.0).distribution
    assert pytest.approx(1 / 12) == Chain(spread=0.0).rows


def test_each_problem_has_an_id_of_its_own():
    for domain in (Known(), Chain()):
        assert len({task.id for task in domain.problems(domain.levels[0], 50, Random(0))}) == 50


def test_the_likelihood_of_a_text_is_that_of_its_steps():
    domain = Chain(letters=2, length=3)
    steps = domain.rows[0, 1] * domain.rows[1, 1]
    assert math.exp(domain.log_likelihood("abb")) == pytest.approx(0.5 * steps)
    texts = [a + b + c for a in "ab" for b in "ab" for c in "ab"]
    assert sum(math.exp(domain.log_likelihood(text)) for text in texts) == pytest.approx(1.0)
    assert {domain.log_likelihood(text) for text in ("ab", "abba", "abc", "")} == {-math.inf}


def test_texts_follow_the_chain():
    domain = Chain(letters=3, length=200)
    (task,) = domain.problems("text", 1, Random(0))
    assert domain.right([task, task], [task.answer, "x"]) == [True, False]
    told = domain.demonstrations(1, Random(0))[0]
    assert (told.role, told.text) == ("solver", task.answer)
    following = Counter(b for a, b in zip(task.answer, task.answer[1:], strict=False) if a == "a")
    shares = np.array([following[letter] for letter in "abc"]) / sum(following.values())
    assert shares == pytest.approx(domain.rows[0], abs=0.15)


def test_only_domains_with_a_likelihood_are_known():
    assert not has(Sums(), KnownData)
    assert has(Known(), KnownData) and has(Chain(), KnownData)


def test_what_cannot_be_is_refused():
    with pytest.raises(RedQueenError, match="2 to 26 outcomes, not 1"):
        Known(outcomes=1)
    with pytest.raises(RedQueenError, match="length of at least 1"):
        Chain(length=0)
