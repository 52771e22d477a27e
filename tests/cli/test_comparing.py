"""`redqueen compare`: on the screen, and in the report of a run."""

import dataclasses

import pytest

from redqueen.cli.main import main
from redqueen.recipes.games import spiral
from redqueen.runs.run import Run, Schedule, SettingsFile
from redqueen.views.report.collected import collected


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of Kuhn poker with the checkpoints 10 and 20."""
    place = tmp_path_factory.mktemp("compared") / "run"
    config, schedule = spiral.Config(steps=20, matches_per_step=32), Schedule(checkpoint_every=10)
    settings = {"recipe": "spiral", "config": dataclasses.asdict(config), "seed": 0, "schedule": {}, "versions": {}}
    spiral.train(config, Run(place, 0, schedule, [SettingsFile(settings)]))
    return place


def said(capsys, *words):
    status = main(["compare", *map(str, words)])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_two_checkpoints_are_shown_and_kept_for_the_report(folder, capsys):
    names = (f"{folder}@10", f"{folder}@20")
    status, text, _ = said(capsys, *names, "--matches", 60, "--output", folder, "--show", 1)
    assert status == 0
    assert "kuhn_poker, 60 matches in all seats: they part in" in text
    assert "Your card is" in text or "card" in text
    assert "says" in text and "0." in text
    (kept,) = collected([folder])["comparisons"]
    assert kept["names"] == list(names) and kept["matches"] == 60
    assert (
        kept["parted"]
        == sum(pair["fork"] is not None for pair in kept["pairs"])
        == sum(crossing["count"] for crossing in kept["crossings"])
    )
    for crossing in kept["crossings"]:
        assert crossing["said"][0] != crossing["said"][1]
        assert all(abs(sum(chances) - 1.0) < 1e-3 for chances in crossing["chances"])
    for pair in kept["pairs"]:
        one, other = pair["said"]
        assert (one == other) is (pair["fork"] is None)
        if pair["fork"] is not None:
            assert one[: pair["fork"]] == other[: pair["fork"]]


def test_a_checkpoint_is_compared_with_a_bot(folder, capsys):
    status, text, _ = said(capsys, folder, "honest", "--against", "uniform", "--matches", 20)
    assert status == 0 and "against uniform" in text


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("{run}", "{run}"), "two different players are compared"),
        (("{run}@7", "{run}"), "has no checkpoint at step 7: it has 10, 20"),
        (("uniform", "honest"), "name the game: --game kuhn_poker"),
        (("{run}", "uniform", "--matches", "0"), "--matches must be at least 1"),
        (("{run}", "uniform", "--output", "nothing"), "is not a run"),
        (("{run}", "uniform", "--against", "nobody"), "there is no player 'nobody'"),
    ],
)
def test_what_cannot_be_compared_is_one_line(words, line, folder, capsys):
    status, _, error = said(capsys, *(word.format(run=folder) for word in words))
    assert status == 2
    assert line in error and len(error.splitlines()) == 1
