"""The evidence for Self-RedTeam in small: variants differ as they say, and figures of the listed game are exact."""

from dataclasses import replace

import numpy as np
import pytest

from redqueen.bench.self_redteam import LISTED, STATIC, TOGETHER, _exact, variants
from redqueen.config import Learner
from redqueen.recipes.self_redteam import Config


def test_variants_differ_from_the_whole_in_what_they_say():
    made = variants(Config())
    assert made[TOGETHER] == Config()
    assert made[STATIC] == Config(attacker="frozen")
    assert made["no benign seeds"] == Config(benign=0.0)
    assert made["defender frozen"] == Config(defender="frozen", imitation=0.0)


def test_figures_of_the_listed_game_start_from_even_chances():
    harm, success, refusal = _exact(replace(LISTED, steps=1, matches_per_step=4, learner=Learner()), 0)
    assert harm.sum() == pytest.approx(1.0)
    assert harm.shape == success.shape == refusal.shape == (4,)
    assert np.abs(success - 0.5).max() < 0.5
