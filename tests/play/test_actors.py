"""Games that are stepped in processes of their own."""

import os
from collections.abc import Sequence
from pathlib import Path
from random import Random
from socket import SHUT_RDWR

import numpy as np
import pytest

from redqueen.games.catalogue import find_game
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.play.actors import END, Actors
from redqueen.play.ahead import Ahead
from redqueen.play.lockstep import finished, play
from redqueen.play.seating import mirror
from redqueen.players.scripted import Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.types import Match, RedQueenError, Reply
from redqueen.user_code import module_from_file
from tests.play.stepped_games import (
    SEAT,
    AsksNothing,
    Coloured,
    Deep,
    Fails,
    Found,
    Hangs,
    Kills,
    Locked,
    OfThisProcess,
    Once,
    Refuses,
    Returns,
    Waiting,
)

GAME = KuhnPoker()
GAME_FILE = (
    "from redqueen.types import *\n"
    "class Own:\n"
    "    name, roles = 'own', ('only',)\n"
    "    def tasks(self):\n        return [Task('1')]\n"
    "    def play(self, task, rng):\n"
    "        (reply,) = yield [Ask(Seat('only'), (Message('game', '?'),), ('four',))]\n"
    "        return Outcome({{Seat('only'): {score}}})\n"
)


@pytest.fixture(scope="module")
def actors():
    with_two = Actors(2)
    yield with_two
    with_two.close()


def matches(game, count=1, player=None) -> Sequence[Match]:
    return [Match(game, game.tasks()[0], {"only": player or Uniform()}) for _ in range(count)]


@pytest.mark.parametrize("name", ["kuhn_poker", "tic_tac_toe", "liars_dice:sides=2"])
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_the_episodes_are_those_without_actors(name, parts, actors):
    game = find_game(name)
    dealt = mirror(game, game.tasks()[:5], Uniform())
    assert finished(actors.seated(dealt), 7, parts) == finished(dealt, 7)


@pytest.mark.parametrize(("cores", "parts"), [(2, 1), (3, 2)])
def test_a_run_of_steps_is_that_without_actors(monkeypatch, cores, parts):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(cores))
    assert Ahead(TabularPolicy(), actors=2)._parts == parts
    found = []
    for count in (0, 2):
        learner, seen = TabularPolicy(), []
        ahead = Ahead(learner, 1, actors=count)
        for step in range(3):
            seen += ahead.play(lambda learner=learner: mirror(GAME, GAME.tasks()[:3], learner), Random(step))
            learner.version += 1
        found.append([turn for episode in seen for turn in episode.turns])
    alone, apart = found
    assert [turn.reply.text for turn in apart] == [turn.reply.text for turn in alone]
    assert [turn.ask.messages for turn in apart] == [turn.ask.messages for turn in alone]
    for one, two in zip(alone, apart, strict=True):  # a table rounds by who is asked with whom
        assert np.allclose(one.reply.logprobs, two.reply.logprobs, rtol=1e-12)


def test_matches_are_dealt_to_processes_in_turn(actors):
    episodes = finished(actors.seated(matches(OfThisProcess(), 4)), 0)
    said = [int(episode.turns[0].ask.messages[0].text) for episode in episodes]
    assert said[:2] == said[2:]
    assert len({*said, os.getpid()}) == 3


def test_a_game_of_a_file_is_stepped(tmp_path: Path, actors):
    (tmp_path / "lengths.py").write_text("def of(text):\n    return float(len(text))\n")
    (tmp_path / "own.py").write_text("from lengths import of\n" + GAME_FILE.format(score="of(reply.text)"))
    (episode,) = finished(actors.seated(matches(find_game(f"{tmp_path}/own.py:Own"))), 0)
    assert episode.outcome.scores == {SEAT: 4.0}


def test_a_game_of_a_file_that_lies_in_a_package_is_stepped(tmp_path: Path, actors):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "deep.py").write_text(GAME_FILE.format(score="2.0"))
    (tmp_path / "own.py").write_text("from inner.deep import Own\n")
    (episode,) = finished(actors.seated(matches(find_game(f"{tmp_path}/own.py:Own"))), 0)
    assert episode.outcome.scores == {SEAT: 2.0}


def test_other_files_that_were_loaded_here_are_not_run_by_an_actor(tmp_path: Path, actors):
    other = tmp_path / "other.py"
    other.write_text("")
    module_from_file(other)
    other.write_text("raise RuntimeError('not for an actor')\n")
    (tmp_path / "own.py").write_text(GAME_FILE.format(score="3.0"))
    (episode,) = finished(actors.seated(matches(find_game(f"{tmp_path}/own.py:Own"))), 0)
    assert episode.outcome.scores == {SEAT: 3.0}


@pytest.mark.parametrize(
    ("game", "said"),
    [
        (Fails(), "the game once failed: ZeroDivisionError: no such thing; where stands above"),
        (Refuses(), "^this task has no board$"),
        (AsksNothing(), r"game 'once' must yield a list of Ask objects, not \[\]"),
        (Locked(), "the game once cannot be sent between processes of --actors: .*lock.*; leave --actors out"),
        (Deep(), "the game once cannot be sent between processes of --actors: .*recursion.*; leave --actors out"),
        (Returns(), "what a game said in a process of --actors cannot be taken here: ValueError: .*no number"),
        (Waiting(), "once waits for a program, which steps by itself: leave --actors out"),
    ],
)
def test_what_goes_wrong_is_one_line_and_the_next_step_is_played(game, said, actors):
    with pytest.raises(RedQueenError, match=said):
        finished(actors.seated(matches(game, 3)), 0)
    assert len(finished(actors.seated(matches(Once(), 3)), 0)) == 3


def test_a_class_of_a_function_is_no_game_for_another_process(actors):
    class Inner(Once):
        pass

    with pytest.raises(RedQueenError, match="the game once cannot be sent between processes of --actors"):
        finished(actors.seated(matches(Inner())), 0)


def test_what_a_game_found_for_this_process_stays_here(actors):
    game = Found()
    with game.held:
        (episode,) = play(actors.seated(matches(game)), Random(0))
    assert episode.outcome.scores == {SEAT: 1.0}
    assert "held" in vars(game)


def test_what_a_player_said_must_be_plain(actors):
    class Says:
        name = "says"

        def reply(self, asks):
            return [Reply("a", self.name, logprobs=[lambda: 0.0]) for _ in asks]

    with pytest.raises(
        RedQueenError, match=r"what a player said cannot be sent between processes of --actors: .*lambda"
    ):
        finished(actors.seated(matches(Once(), player=Says())), 0)


def test_an_error_of_a_game_is_printed_for_the_eye_alone_and_one_that_hangs_ends_with_its_owner(capfd):
    mine = Actors(1)
    with pytest.raises(RedQueenError, match="coloured"):
        finished(mine.seated(matches(Coloured())), 0)
    said = capfd.readouterr().err
    assert "\\u001b[2Jcoloured\\u0007" in said and said.replace("\n", "").isprintable()
    (match,) = mine.seated(matches(Hangs()))
    begun = match.game.play(match.task, Random(0))
    next(begun)
    mine._flush()
    ((process, ours),) = mine._held
    ours.shutdown(SHUT_RDWR)  # as where this process is killed
    assert process.wait(10 * END) == 1
    mine.close()


def test_a_process_that_ends_is_one_line():
    mine = Actors(1)
    with pytest.raises(RedQueenError, match=r"a process that steps games has ended \(exit status -9\)"):
        finished(mine.seated(matches(Kills(), 2)), 0)
    mine.close()


def test_processes_end_with_their_owner():
    mine = Actors(1)
    finished(mine.seated(matches(Once())), 0)
    (actor,) = mine._all
    mine.close()
    assert actor._process.returncode == 0


@pytest.mark.parametrize("count", [0, 257])
def test_a_wrong_number_is_refused(count):
    with pytest.raises(RedQueenError, match=f"1 to 256 processes, not by {count}"):
        Actors(count)
