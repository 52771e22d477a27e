"""The exact figures are those that are known."""

from experiments.exact import against_an_equilibrium, uniform


def test_uniform_play_has_the_known_exploitability():
    headings, rows, _ = uniform(1)
    assert headings == ("game", "information states", "NashConv", "known")
    assert rows == [
        ("kuhn_poker", "12", "0.9167", "0.9167"),
        ("leduc_poker", "288", "4.7472", "4.7472"),
        ("liars_dice(sides=4)", "1024", "1.3101", "1.3101"),
    ]


def test_an_honest_player_ties_an_equilibrium_player_and_is_exploitable_by_half_a_chip():
    rows = {row[0]: row[1:] for row in against_an_equilibrium(1)[1]}
    assert rows["honest"] == ("+0.0000", "0.5000")
    assert rows["equilibrium"] == ("+0.0000", "0.0000")
    assert float(rows["uniform"][0]) < 0.0
