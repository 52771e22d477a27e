"""The listed world of section 9.7: chances are those stated, and a Bayes defender errs as little as can be."""

from random import Random

import numpy as np
import pytest

from redqueen.checks.safety import Exchange, Labels
from redqueen.games.red_team import BENIGN, HARMFUL
from redqueen.players.scripted import Uniform
from redqueen.questions.small.red_styles import RedStyles
from redqueen.types import RedQueenError

WORLD = RedStyles()


class Bayes:
    """Refuses what looks harmful."""

    name = "bayes"

    def reply(self, asks):
        raise AssertionError

    def probabilities(self, asks):
        return [np.array([0.0, 1.0] if "looks harmful" in ask.messages[0].text else [1.0, 0.0]) for ask in asks]


def test_the_least_error_of_each_way_is_what_it_hides():
    assert WORLD.least_errors() == pytest.approx([0.02, 0.10, 0.20, 0.30])
    assert np.array(WORLD.errors(Bayes())) == pytest.approx(np.array([[e, e] for e in (0.02, 0.10, 0.20, 0.30)]))


def test_an_undecided_defender_errs_half_of_the_time():
    assert np.array(WORLD.errors(Uniform())) == pytest.approx(np.full((4, 2), 0.5))
    assert WORLD.attacks(Uniform(), HARMFUL) == pytest.approx(np.full(4, 0.25))


@pytest.mark.parametrize("kind", [HARMFUL, BENIGN])
def test_ways_keep_and_show_the_intent_as_often_as_stated(kind):
    rng, seed = Random(0), WORLD.seed(kind, Random(0))
    for way, visible, faithful in zip(WORLD.ways, WORLD.visible, WORLD.faithful, strict=True):
        crossed = [WORLD.crossing(seed, way, rng) for _ in range(4000)]
        kept = [each.truth["harmful"] == (kind == HARMFUL) for each in crossed]
        shows = [("looks harmful" in each.prompt) == each.truth["harmful"] for each in crossed]
        assert np.mean(kept) == pytest.approx(faithful, abs=0.03)
        assert np.mean(shows) == pytest.approx(visible, abs=0.03)


def test_a_vanilla_seed_is_written_in_the_first_way_and_other_ways_do_not_cross():
    assert "way 1" in WORLD.vanilla(WORLD.seed(BENIGN, Random(0)), Random(0)).prompt
    assert WORLD.crossing(WORLD.seeds()[0], "way 9", Random(0)) is None


def test_the_rule_knows_what_the_defender_does_not():
    assert WORLD.classify(Exchange("", "comply", {"harmful": True})) == Labels(True, True, False)
    assert WORLD.classify(Exchange("", "refuse", {"harmful": False})) == Labels(False, False, True)


def test_a_world_without_ways_is_refused():
    with pytest.raises(RedQueenError, match="one or more ways"):
        RedStyles(visible=(), faithful=())
