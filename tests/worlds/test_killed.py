"""A training in each world of the shelf, and in a guest, is killed at random, and leaves what one that was not does."""

import os
import shutil
import signal
import sys
import time
import traceback
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest

from redqueen.chance import derive
from redqueen.checks.sandbox.jail import why_not
from redqueen.contracts.recipes import left_behind
from redqueen.guests.guest_world import seat_of
from redqueen.guests.process import Guest, GuestLimits
from redqueen.recipes.credit.grpo import recipe
from redqueen.runs.run import Run, Schedule
from redqueen.runs.train import train
from redqueen.settings.learner import Flat
from redqueen.worlds.chromium import why_no_pages

DRIVER = Path(__file__).parents[1] / "guests" / "counting.py"
SMALL = Flat(model="tiny:hidden=16,heads=2", lora_rank=0, max_completion_length=6)
GAMES = {
    "site": "acting:site(shop,12,4),3",
    "real": "acting:real(shop,8,4),3",
    "sql": "working:sql(count=6,tests=2,trained=3,held=1)",
    "proofs": "acting:proofs(7,13),2",
    "circuits": "acting:circuits(two,12,4),2",
    "traces": "acting:traces(6,2),3",
    "grid": "acting:grid(count=6,tests=2),3",
    "repository": "acting:repository(2,1),2",
    "web": "acting:web(click-checkboxes,4,2),2",
    "pages": "acting:pages:site(shop,4,2),2",
    "guest": f"acting:{Path(__file__).resolve()}:counting,3",
}
PACKAGES = {"grid": "minigrid", "repository": "toolz", "web": "miniwob"}
KILLS = 2


def counting():
    """A guest of its own process, as a world."""
    return seat_of(Guest("counting", Path(sys.executable), DRIVER, {"listed": True}, GuestLimits()), "counting")


@dataclass
class Child:
    """A training in a process of its own."""

    game: str
    folder: Path

    def __post_init__(self):
        self.pid = os.fork()
        if not self.pid:
            try:
                warnings.simplefilter("ignore")
                config = recipe.Config(SMALL, game=self.game, steps=3, tasks=2, attempts=2)
                schedule = Schedule(evaluate_every=3, checkpoint_every=1, record_episodes=2)
                train("grpo", config, self.folder, seed=3, schedule=schedule)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)

    def ended(self, seconds):
        """The exit status, negative of a signal; it is killed after so many seconds."""
        end, found = time.monotonic() + seconds, (0, 0)
        while not found[0]:
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            time.sleep(0.01)
            found = os.waitpid(self.pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(found[1])


def lacks(name):
    if name in ("web", "pages") and (missing := why_no_pages()):
        return missing
    if name == "repository" and (missing := why_not()):
        return missing
    package = PACKAGES.get(name)
    return f"{package} is not installed" if package and find_spec(package) is None else ""


@pytest.mark.slow
@pytest.mark.parametrize("name", GAMES)
def test_a_training_that_was_killed_leaves_the_same(name, tmp_path):
    if reason := lacks(name):
        pytest.skip(reason)
    began = time.monotonic()
    assert Child(GAMES[name], tmp_path / "whole").ended(1800) == 0
    lasted = time.monotonic() - began
    killed, instants, kills = tmp_path / "killed", Random(derive(11, name)), 0
    while kills < KILLS:
        status = Child(GAMES[name], killed).ended(instants.uniform(0.1, 0.9) * lasted)
        assert status in (0, -signal.SIGKILL)
        if status == 0:  # it was quicker than the first: the instants come sooner
            shutil.rmtree(killed)
            kills, lasted = 0, lasted / 2
        else:
            kills += 1
    assert Child(GAMES[name], killed).ended(1800) == 0
    assert left_behind(Run(tmp_path / "killed", 3)) == left_behind(Run(tmp_path / "whole", 3))
