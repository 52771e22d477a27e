"""Play against a slow player: what it compares is what it says."""

from experiments.speed import staleness


def test_a_slow_player_holds_up_rounds_the_most(monkeypatch):
    monkeypatch.setattr(staleness, "SECONDS", 0.01)
    headings, rows, _ = staleness.slow_player(1, steps=5)
    assert [row[0] for row in rows][:2] == ["rounds (lockstep)", "in flight, staleness 0"]
    assert all(len(row) == len(headings) for row in rows)
    assert float(rows[4][2]) > 1.0
