"""Guests: what they say, and every way in which they can fail."""

import gc
import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path
from random import Random

import pytest

from redqueen.contracts.games import check_game
from redqueen.contracts.worlds import check_world
from redqueen.games.acting import Acting, Working
from redqueen.guests.guest_process import member, module_of
from redqueen.guests.guest_world import game_of, seat_of
from redqueen.guests.process import Guest, GuestFailed, GuestLimits
from redqueen.play.lockstep import play, replay
from redqueen.players.scripted import Scripted
from redqueen.types import Match, RedQueenError

DRIVER = Path(__file__).with_name("counting.py")


@pytest.fixture
def make(tmp_path):
    made = []

    def guest(limits=GuestLimits(seconds=20.0), **settings):
        settings.setdefault("mark", str(tmp_path / "mark"))
        made.append(Guest("counting", Path(sys.executable), DRIVER, settings, limits))
        return made[-1]

    yield guest
    for each in made:
        each.close()


def played(guest, *acts, seed=0):
    """The outcome of acts, and the warnings."""
    game = Acting(seat_of(guest, "counting"))
    match = Match(game, game.tasks()[0], {"agent": Scripted(acts, "bot")}, seed)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        (episode,) = play([match], Random(0))
    return episode, [str(each.message) for each in said]


@pytest.mark.slow
def test_a_guest_keeps_the_contract_of_worlds(make):
    said = check_world(seat_of(make(listed=True), "counting"))
    assert said == "counting keeps the contract of worlds: 3 tasks, 2 held out"
    check_world(seat_of(make(), "counting"), ["1", "2", "nothing"])


@pytest.mark.slow
def test_a_guest_of_two_seats_keeps_the_contract_of_games(make):
    game = game_of(make(seats=2, listed=True), "counting")
    assert game.roles == ("first", "second")
    assert "played by first, second" in check_game(game)


def test_one_of_two_seats_is_no_world(make):
    with pytest.raises(RedQueenError, match="has the seats first, second: it is a game, --game counting"):
        seat_of(make(seats=2), "counting")


def test_what_is_printed_meets_no_reply(make):
    episode, said = played(make(), "1", "2")
    assert episode.outcome.facts["total"] == 3
    assert [*episode.outcome.scores.values()] == [1.0]
    assert not said


def test_gains_and_facts_arrive(make):
    facts = played(make(), "1", "2")[0].outcome.facts
    assert facts["gains"] == ((0, {"agent": 1.0}), (1, {"agent": 2.0}))
    assert facts["parts"] == {"near": 1.0}


def test_global_generators_belong_to_a_visit(make):
    guest = make()
    assert played(guest, "1", "2", seed=3)[0] == played(guest, "1", "2", seed=3)[0]
    seen = {played(guest, "1", "2", seed=seed)[0].outcome.facts["shown"][0] for seed in range(5)}
    assert len(seen) > 1


def test_another_process_shows_the_same(make):
    assert played(make(), "1", "2")[0] == played(make(), "1", "2")[0]


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        ("die", "died, and again when it was told the same"),
        ("raise", 'raised KeyError: "an environment\'s own fault"'),
        ("eat", "needs more than 512 MiB"),
        ("talk", "says more than it may"),
        ("spin", "takes more processor time than it may"),
        ("print", "said what is no reply: 'hello'"),
    ],
)
def test_an_act_that_fails_a_guest_ends_that_episode_in_one_line(make, act, reason):
    guest = make(GuestLimits(seconds=0.5, memory=512 << 20, characters=50_000, patience=200))
    episode, said = played(guest, "1", act, "1")
    facts = episode.outcome.facts
    assert facts["failed"].startswith(reason)
    assert facts["right"] is None
    assert len(said) == 1
    assert said[0].startswith(f"the guest counting {reason}")
    assert "\n" not in said[0]
    assert played(guest, "1", "2")[0].outcome.facts["total"] == 3, "the next visit is as good as ever"


def test_a_guest_that_hangs_is_ended_after_its_seconds(make):
    guest = make(GuestLimits(seconds=1.0))
    talk = guest.open(guest.about["tasks"][0], 0)
    begun = time.monotonic()
    with pytest.raises(GuestFailed, match="does not answer"):
        talk.say(["hang"])
    assert 1.0 <= time.monotonic() - begun < 5.0
    episode, _ = played(guest, "hang")
    assert episode.outcome.facts["failed"] == "does not answer"


def test_a_guest_that_died_once_is_told_the_same_again(make, tmp_path):
    episode, said = played(make(mark=str(tmp_path / "once")), "1", "once", "2")
    assert episode.outcome.facts["total"] == 3
    assert not said


def test_a_killed_process_is_started_again(make):
    guest = make()
    before = played(guest, "1", "2")[0]
    os.kill(guest._process.pid, signal.SIGKILL)
    guest._process.wait()
    assert played(guest, "1", "2")[0] == before


def test_a_process_that_is_killed_amid_a_visit_changes_nothing(make):
    guest = make()
    talk = guest.open(guest.about["tasks"][0], 7)
    first = talk.turn
    talk.say(["1"])
    os.kill(guest._process.pid, signal.SIGKILL)
    guest._process.wait()
    assert talk.say(["1"])["shown"] == first["shown"].replace("at 0", "at 2")
    talk.close()


def descriptors():
    """The open ones of this process, but for the one with which they are listed."""
    return {each for each in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{each}")}


def test_visits_leave_nothing_behind(make):
    guest = make()
    for _ in range(3):
        played(guest, "1", "2")
    gc.collect()  # what other tests left open is no matter of this one
    before = descriptors()
    for _ in range(50):
        guest.open(guest.about["tasks"][0], 0).close()
    assert descriptors() <= before
    children = Path(f"/proc/{guest._process.pid}/task/{guest._process.pid}/children").read_text().split()
    assert children == []


def test_what_an_environment_starts_ends_with_its_visit(make, tmp_path):
    episode, said = played(make(), "fork", "1", "2")
    assert [*episode.outcome.scores.values()] == [1.0] and not said
    started = Path(f"/proc/{(tmp_path / 'mark').read_text()}/stat")
    late = time.monotonic() + 20.0
    while started.exists() and " Z " not in started.read_text():
        assert time.monotonic() < late, "it lives on"
        time.sleep(0.02)


def test_tools_are_called(make):
    world = seat_of(make(), "counting")
    game = Working(world)
    match = Match(game, game.tasks()[0], {"agent": Scripted(["<double>21</double>", "so 42"], "bot")}, 0)
    (episode,) = play([match], Random(0))
    assert episode.outcome.facts["outputs"] == ("42",)
    visit = world.open(world.tasks()[0], 0)
    with pytest.raises(Exception, match="a number, please"):
        visit.tools[0]("x")
    visit.close()


def test_a_recorded_game_of_guests_replays(make):
    game = game_of(make(seats=2, listed=True), "counting")
    cast = {"first": Scripted(["1", "1"], "a"), "second": Scripted(["1", "1"], "b")}
    (episode,) = play([Match(game, game.tasks()[0], cast, 1)], Random(0))
    assert {str(seat): score for seat, score in episode.outcome.scores.items()} == {"first": 1.0, "second": 1.0}
    assert "gains" not in episode.outcome.facts, "2 and 1 do not add up to the scores"
    assert replay(game, episode) == episode


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"broken": True}, "the guest counting does not start: ValueError: no such environment"),
        ({"crash": True}, "the guest counting does not start: a library that is not there"),
    ],
)
def test_a_guest_that_does_not_start_is_one_line(make, settings, said):
    with pytest.raises(RedQueenError) as error:
        seat_of(make(**settings), "counting")
    assert str(error.value) == said


def test_a_guest_of_which_no_visit_succeeds_stops_the_run(make):
    with pytest.raises(RedQueenError, match="the guest counting died, and again"):
        played(make(dies_at_once=True), "1")


def test_no_interpreter_is_one_line(tmp_path):
    guest = Guest("counting", tmp_path / "python", DRIVER)
    with pytest.raises(RedQueenError, match=r"the guest counting cannot be started: .* No such file"):
        seat_of(guest, "counting")


def test_a_file_is_one_module_however_often_it_is_named_and_hides_no_other(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    (tmp_path / "a_world_of_mine.py").write_text("class World: ...\nclass Act: ...\n")
    place = str(tmp_path / "a_world_of_mine.py")
    assert member(f"{place}:World").__module__ == "a_world_of_mine"
    assert member(f"{place}:Act") is module_of("a_world_of_mine").Act
    (tmp_path / "random.py").write_text("class World: ...\n")
    assert member(f"{tmp_path / 'random.py'}:World").__module__ == "own"
    assert module_of("random") is random
