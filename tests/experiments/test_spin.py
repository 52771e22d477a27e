"""SPIN in expectation has every figure that is compared."""

from experiments.spin import SPIN_EXPECTED, Expected, expected
from redqueen.trials.experiment import Trial, figure


def test_one_seed_has_every_figure():
    trial = Trial((), expected(Expected(beta=1.0, updates=5), 0))
    assert all(figure(trial, name) == figure(trial, name) for name in SPIN_EXPECTED.figures)
    assert trial.final["KL after 4"] == trial.final["KL at the end"] < trial.final["KL after 0"]
    assert (trial.final["rises"], trial.final["alarm"]) == (0.0, 0.0)
