"""The pull of the magnet over free text has the gradient that the docstring says."""

import pytest

from redqueen.objectives import regularizers
from redqueen.objectives.regularizers import KLPenalty, k2
from redqueen.recipes.games import magnetic
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner


@pytest.mark.parametrize(("answer", "estimators"), [("plain", {k2}), (None, set())])
def test_free_text_is_pulled_by_the_gradient_of_the_kl_to_the_magnet(tmp_path, monkeypatch, answer, estimators):
    met = set()

    def penalty(coefficient, estimator):
        met.add(estimator)
        return KLPenalty(coefficient, estimator)

    monkeypatch.setattr(regularizers, "KLPenalty", penalty)
    learner = Learner(model="tiny:hidden=16,heads=2", answer=answer, max_completion_length=3)
    magnetic.train(magnetic.Config(learner, steps=2, matches_per_step=2, magnet_every=1), Run(tmp_path))
    assert met == estimators
