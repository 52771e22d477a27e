"""Training with matches in flight: the loop that is measured is that of the recipe."""

from dataclasses import replace

import pytest

from experiments.fictitious_self_play import STALENESS, Stale, train
from redqueen.recipes.games import fictitious_self_play
from redqueen.trials.experiment import NEVER, Training


def test_each_staleness_is_compared_with_none():
    assert {each.other for each in STALENESS.compared} == {"staleness 0"}
    stale = {name: STALENESS.config_of(name) for name in STALENESS.variants}
    assert stale["staleness 8, weighted"] == Stale(staleness=8, weights=True)
    assert stale["staleness 1, unweighted"] == Stale(staleness=1, weights=False)


@pytest.mark.parametrize(("stale", "weights"), [(0, False), (2, True)])
def test_the_loop_that_is_measured_is_that_of_the_recipe(tmp_path, stale, weights):
    ours = Training(train, NEVER)(Stale(4, stale, weights), 1, tmp_path / "ours").final
    config = replace(fictitious_self_play.Config(), steps=4, staleness=stale)
    assert ours == Training(fictitious_self_play.train, NEVER)(config, 1, tmp_path / "theirs").final
