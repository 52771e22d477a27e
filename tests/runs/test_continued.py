"""Matches that begin in the middle of recorded ones."""

from __future__ import annotations

from random import Random

import pytest

from redqueen.cli.main import main
from redqueen.games.acting import Acting
from redqueen.games.catalogue import find_game
from redqueen.games.iterated_dilemma import IteratedDilemma
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.leduc_poker import LeducPoker
from redqueen.play.lockstep import play, replay
from redqueen.players.scripted import FirstChoice, Uniform
from redqueen.runs.continued import Continued, from_turn
from redqueen.types import Match, Outcome, RedQueenError, Seat
from redqueen.worlds.site import Site


def recorded(game, seed=0, player=None):
    """A recorded match of a game."""
    (episode,) = play([Match(game, game.tasks()[0], dict.fromkeys(game.roles, player or Uniform()), seed)], Random(0))
    return episode


def rest(game, episode, turn, player, seed=5):
    """The continued game, and a match of it."""
    found = Continued(game, turn, {"it": episode})
    (played,) = play([Match(found, found.tasks()[0], dict.fromkeys(game.roles, player), seed)], Random(0))
    return found, played


@pytest.mark.parametrize("game", [LeducPoker(), Acting(Site("shop"), 6)], ids=str)
@pytest.mark.parametrize("turn", [0, 1, -1])
def test_a_match_goes_on_from_where_the_record_was_cut(game, turn):
    episode = next(each for seed in range(50) if len((each := recorded(game, seed)).turns) > 2)
    found, played = rest(game, episode, turn, FirstChoice())
    cut = turn if turn >= 0 else len(episode.turns) + turn
    assert played.turns[0].ask == episode.turns[cut].ask
    assert replay(found, played) == played
    said = [turn.reply.text for turn in (*episode.turns[:cut], *played.turns)]

    class Says:
        name = "says"

        def reply(self, asks):
            from redqueen.types import Reply

            return [Reply(said.pop(0)) for _ in asks]

    whole = play([Match(game, episode.task, dict.fromkeys(game.roles, Says()), episode.seed)], Random(0))[0]
    assert whole.outcome.scores == played.outcome.scores


def test_only_what_is_said_anew_is_a_turn_of_the_match():
    episode = next(each for seed in range(50) if len((each := recorded(KuhnPoker(), seed)).turns) == 3)
    _, played = rest(KuhnPoker(), episode, 2, Uniform())
    assert len(played.turns) == 1
    assert played.turns[0].ask.past == ()


def test_seats_that_speak_together_are_not_parted():
    game = IteratedDilemma()
    episode = recorded(game)
    found, played = rest(game, episode, 3, FirstChoice())
    assert played.turns[0].ask == episode.turns[4].ask  # two speak at once: the fourth turn is as recorded too
    assert replay(found, played) == played


def test_gains_before_are_not_in_the_scores():
    a, b = Seat("a"), Seat("b")
    outcome = Outcome({a: 5.0, b: 1.0}, {"gains": ((0, {"a": 2.0}), (1, {"b": 1.0}), (3, {"a": 3.0}))})
    assert from_turn(outcome, 2) == Outcome({a: 3.0, b: 0.0}, {"gains": ((1, {"a": 3.0}),)})
    assert from_turn(Outcome({a: 5.0}), 2) == Outcome({a: 5.0})


def test_a_game_that_asks_something_else_now_is_one_line():
    episode = recorded(LeducPoker(), 3)
    with pytest.raises(RedQueenError, match="is not what kuhn_poker asks now"):
        rest(KuhnPoker(), episode, 1, Uniform())


def test_a_run_is_continued_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    words = ["train", "magnetic", "--steps", "1", "--evaluate-every", "1", "--output"]
    assert main([*words, "first", "--game", "leduc_poker", "--record-episodes", "40"]) == 0
    game = find_game("continued:first,2")
    assert game.name == "continued:first,2"
    assert all(len(each.turns) > 2 for each in game.record.values())
    assert main([*words, "second", "--game", "continued:first,2"]) == 0
    capsys.readouterr()
    assert main([*words, "third", "--game", "continued:first,900"]) == 2
    assert "has recorded no match of leduc_poker with a turn after 900" in capsys.readouterr().err
    assert main([*words, "third", "--game", "continued:second,1"]) == 2
    assert "goes on from another run itself, continued:first,2" in capsys.readouterr().err
    assert main([*words, "third", "--game", "continued:nowhere,1"]) == 2
    assert "there is no run nowhere" in capsys.readouterr().err
