"""Seeds are trained in processes of their own, kept, and used again while nothing that they imported changes."""

import os
from pathlib import Path

import pytest
from rich.console import Console

from redqueen.trials.paired import Asked, trials_of
from redqueen.trials.running import HowMuch, run
from redqueen.trials.shipped import experiments_of
from redqueen.types import RedQueenError

OWN = '''
"""An experiment of a user's own: it writes down who begins, and is interrupted once where a file says so."""

import os
from dataclasses import replace
from pathlib import Path

from redqueen.recipes.games import spiral
from redqueen.runs.run import read_metrics
from redqueen.trials.experiment import Experiment, Training, versus
from redqueen.types import RedQueenError

CACHE = Path(os.environ["REDQUEEN_CACHE"])


def train(config, run):
    begun = f"{config.learner.learning_rate} {run.seed} at {len(read_metrics(run.folder))}"
    with (CACHE / "begun.txt").open("a") as notes:
        notes.write(f"{begun}\\n")
    if begun == "1.0 1 at 0" and (CACHE / "stumbles").exists():
        spiral.train(replace(config, steps=30), run)
        raise RedQueenError("killed")
    return spiral.train(config, run)


RATES = Experiment(
    title="Rates",
    asked="Is a higher rate better?",
    trial=Training(train),
    config=spiral.Config(steps=40, matches_per_step=4),
    variants={"low": {"learner.learning_rate": 1.0}, "high": {"learner.learning_rate": 2.0}},
    figures=("exploitability",),
    compared=versus("high", ("low",), ("exploitability",)),
    controls=("low",),
)
'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.setenv("REDQUEEN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})  # one after the other
    path = tmp_path / "rates.py"
    path.write_text(OWN)
    return path


def trained(path):
    said = []
    found = trials_of(Asked(str(path), "rates", seeds=2), experiments_of(str(path))["rates"], said.append)
    return found, said


def begun(path):
    notes = path.parent / "cache" / "begun.txt"
    lines = notes.read_text().splitlines()
    notes.unlink()
    return lines


def without_time(trial):
    return [{**line, "time": 0} for line in trial.lines]


@pytest.mark.slow
def test_a_finished_seed_is_kept_until_what_it_imported_changes_and_an_interrupted_one_goes_on(own):
    (own.parent / "cache" / "stumbles").touch()
    with pytest.raises(RedQueenError, match="rates, low, seed 1: killed"):
        trained(own)
    assert begun(own) == ["1.0 0 at 0", "2.0 0 at 0", "1.0 1 at 0"]
    first, said = trained(own)
    assert begun(own) == ["1.0 1 at 30", "2.0 1 at 0"], "what was finished is kept, what was begun goes on"
    assert said[0] == "2 of 4 trials are kept from before"
    assert [trial.updates for trial in (*first["low"], *first["high"])] == [40] * 4
    assert [len(trial.lines) for trial in first["low"]] == [40, 40]

    (own.parent / "unrelated.py").write_text("x = 1\n")
    again, said = trained(own)
    assert said == ["4 of 4 trials are kept from before"]
    assert again == first
    assert not list((own.parent / "cache" / "begun").iterdir())

    own.write_text(OWN + "# changed\n")
    (own.parent / "cache" / "stumbles").unlink()
    anew, _ = trained(own)
    assert len(begun(own)) == 4
    for one, other in zip(first["low"], anew["low"], strict=True):
        assert without_time(one) == without_time(other), "an interrupted training comes to the same"
        assert one.final == other.final


@pytest.mark.slow
def test_a_module_that_changes_while_it_is_trained_is_said_before_the_next_training(own):
    changing = '    with Path(__file__).open("a") as own:\n        own.write("# changed")\n    return spiral'
    own.write_text(OWN.replace("    return spiral", changing))
    with pytest.raises(RedQueenError, match="low, seed 0: a module, or a file that it read, changed while"):
        trained(own)
    assert begun(own) == ["1.0 0 at 0"]


@pytest.mark.slow
def test_an_experiment_begins_with_its_first_seed(own):
    later = OWN.replace("    controls=", "    first_seed=3,\n    controls=")
    own.write_text(later.replace("steps=40", "steps=2"))
    trained(own)
    assert begun(own) == ["1.0 3 at 0", "2.0 3 at 0", "1.0 4 at 0", "2.0 4 at 0"]


@pytest.mark.slow
def test_a_page_is_written_beside_the_file_and_names_its_command(own):
    path = run(str(own), HowMuch(seeds=2, steps=2), "redqueen trial", Console(quiet=True))
    assert path == own.parent / "results" / "rates.md"
    text = path.read_text()
    assert "# rates\n\n## Rates\n\nIs a higher rate better?\n\n| asked | shown | not shown |" in text
    assert f"Made by `redqueen trial {own}:rates --seeds 2 --steps 2` in" in text
    assert "2 paired seeds. Means" in text
    assert "Settings: `steps=2, matches_per_step=4`.  \nlow: `learner.learning_rate=1.0`." in text


@pytest.mark.parametrize(
    ("spec", "how", "complaint"),
    [
        ("rates.py", HowMuch(seeds=1), "1 seed tells no difference from chance"),
        ("rates.py:rate", HowMuch(), "rates.py has no experiment 'rate': there are rates"),
        ("empty.py", HowMuch(), "empty.py has no Experiment: it needs NAME = Experiment"),
        ("missing.py", HowMuch(), "there is no file"),
        ("rates.py", HowMuch(results=Path("rates.py")), "cannot write to the folder rates.py: File exists"),
        ("rates.py", HowMuch(results=Path("rates.py/in")), "cannot write to the folder rates.py/in: Not a directory"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(own, monkeypatch, spec, how, complaint):
    monkeypatch.chdir(own.parent)
    Path("empty.py").write_text("x = 1\n")
    with pytest.raises(RedQueenError, match=complaint) as found:
        run(spec, how, "redqueen trial", Console(quiet=True))
    assert "\n" not in str(found.value)
