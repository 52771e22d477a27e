"""The evidence for SPC in small: how the gain of a round is read from the measurements."""

from experiments.spc import _gain
from redqueen.trials.paired import Trial


def line(now, before):
    return {"deceived/now": now, "deceived/before": before}


def test_the_gain_of_a_round_is_read_where_it_ends():
    trial = Trial((line(0.2, 0.2), {"loss": 1.0}, line(0.6, 0.2)), line(0.5, 0.4))
    assert _gain([trial], 0).startswith("+0.400")
    assert _gain([trial], 1).startswith("+0.100")
