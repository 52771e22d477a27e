"""Agents of two libraries in one match, their code as they are: examples/two_agents.py."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pydantic_ai", reason="pip install 'redqueen[dev]'")

from redqueen.games.catalogue import find_game
from redqueen.guests import agents
from redqueen.play.lockstep import play
from redqueen.types import Match, Reply, Seat
from redqueen.user_code import module_from_file

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "two_agents.py"


@pytest.fixture
def example(monkeypatch):
    """The example's module, which the game finds too; its client is closed at the end, as the collector warns of a
    connection that it finds open."""
    module = module_from_file(EXAMPLE, "Repeating", "the example")
    monkeypatch.setattr(agents, "module_from_file", lambda *said: module)
    with module.CLIENT:
        yield module


class Says:
    """Always the same; `asked` holds what it was shown."""

    def __init__(self, name, text):
        self.name, self.text, self.asked = name, text, []

    def reply(self, asks):
        self.asked += [[message.text for message in ask.messages] for ask in asks]
        return [Reply(self.text) for _ in asks]


def test_each_library_has_a_seat_and_is_paid(example):
    game = find_game(f"agent:{EXAMPLE}:Repeating")
    writer, repeater = Says("w", "Salt lies."), Says("r", "salt is")
    matches = [Match(game, game.tasks()[0], {"writer": writer, "repeater": repeater}, number) for number in range(2)]
    for episode in play(matches, Random(0)):
        # of s a l t i e . the letters e and . are missing
        assert episode.outcome.scores == {Seat("writer"): pytest.approx(2 / 7), Seat("repeater"): pytest.approx(5 / 7)}
        assert [turn.reply.text for turn in episode.turns] == ["Salt lies.", "salt is"]
    assert writer.asked == [["Write about sea."]] * 2
    assert repeater.asked == [["Repeat.", "Salt lies."]] * 2


@pytest.mark.parametrize(("text", "again", "missing"), [("abc", "CAB", 0.0), ("ab ab", "b", 0.5), ("", "x", 0.0)])
def test_letters_that_are_missing(example, text, again, missing):
    assert example.share_missing(text, again) == missing
