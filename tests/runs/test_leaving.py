"""Ctrl-C and SIGTERM in a training: the step is ended and saved, and the run that goes on is one that never stopped."""

import os
import signal

import pytest

from redqueen.contracts.recipes import metrics
from redqueen.recipes.games.spiral import Config
from redqueen.runs.checkpoints import checkpoints
from redqueen.runs.collapse import Watch
from redqueen.runs.leaving import steps_are_ended
from redqueen.runs.run import Schedule
from redqueen.runs.train import begun, described, trained
from redqueen.settings.finding import find_recipe

SPIRAL, STEPS = find_recipe("spiral"), 6


class Signals:
    """A watcher that sends signals to its own process when a measurement has begun or a step has been written."""

    def __init__(self, *numbers, step=2):
        self.numbers, self.when = numbers, step

    def begin(self, run, start, count):
        pass

    def step(self, line):
        if line["step"] == self.when:
            for number in self.numbers:
                os.kill(os.getpid(), number)

    def end(self, run):
        pass


@pytest.fixture(autouse=True)
def heard():
    before = {each: signal.signal(each, signal.default_int_handler) for each in (signal.SIGINT, signal.SIGTERM)}
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


def train(folder, *watchers):
    config = Config(steps=STEPS, matches_per_step=4)
    settings = described("spiral", config, 3, Schedule(evaluate_every=2), Watch(), ["test"])
    run = begun(folder, settings, watchers)
    with steps_are_ended(run):
        trained(SPIRAL, settings, run)
    return run


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_ends_the_step_and_saves_it_and_the_resumed_run_is_as_one_that_never_stopped(tmp_path, capfd, number):
    whole = train(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "left", Signals(number))
    said = "Ctrl-C" if number == signal.SIGINT else "SIGTERM"
    assert f"redqueen: {said}: ends step 3, then saves it; once more ends at once" in capfd.readouterr().err
    assert [path.name for path in checkpoints(tmp_path / "left")] == ["step_000003"]  # 25 steps apart otherwise
    assert signal.getsignal(number) is signal.default_int_handler  # as before
    resumed = train(tmp_path / "left")
    assert metrics(resumed) == metrics(whole) and len(metrics(whole)) == STEPS
    last = f"checkpoints/step_{STEPS:06d}/learner.json"
    names = sorted(path.name for path in (whole.folder / last).parent.iterdir())
    assert names == sorted(path.name for path in (resumed.folder / last).parent.iterdir())
    assert (whole.folder / "final.json").read_bytes() == (resumed.folder / "final.json").read_bytes()


def test_the_second_ends_at_once(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, Signals(signal.SIGINT, signal.SIGINT))
    assert checkpoints(tmp_path) == []


def test_a_run_that_was_left_says_so_and_by_what(tmp_path):
    for number, words in ((signal.SIGINT, "interrupted from the keyboard"), (signal.SIGTERM, "interrupted by SIGTERM")):
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path / words[-7:], Signals(number))
        assert (tmp_path / words[-7:] / "error.txt").read_text() == f"step 2: {words}\n"


def test_what_is_ignored_stays_ignored(tmp_path):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    train(tmp_path, Signals(signal.SIGINT))
    assert (tmp_path / "final.json").exists()
