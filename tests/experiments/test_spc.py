"""The evidence for SPC in small: how the gain of a round is read from the measurements."""

from experiments.spc import deceived
from redqueen.trials.experiment import Trial


def line(now, before):
    return {"deceived/now": now, "deceived/before": before}


def test_a_round_is_read_where_it_ends():
    trial = Trial((line(0.2, 0.2), {"loss": 1.0}, line(0.6, 0.2)), line(0.5, 0.4))
    assert [deceived(trial, 0, who) for who in ("now", "before")] == [0.6, 0.2]
    assert [deceived(trial, 1, who) for who in ("now", "before")] == [0.5, 0.4]
