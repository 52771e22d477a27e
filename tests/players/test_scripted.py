from random import Random

import numpy as np
import pytest

from redqueen.chance import derive
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, FirstChoice, Scripted, Strategic, Uniform
from redqueen.types import Ask, Match, Message, RedQueenError, Reply, Seat, Turn

SEAT = Seat("first")
ASK = Ask(SEAT, (Message("game", "Your move?"),), ("pass", "bet", "raise", "fold"))
FREE = Ask(SEAT, (Message("game", "Say something."),))


def seeded(count: int) -> list[Ask]:
    return [Ask(ASK.seat, ASK.messages, ASK.choices, seed=derive(7, number)) for number in range(count)]


def test_uniform_says_every_choice_equally_often():
    replies = [reply.text for reply in Uniform().reply(seeded(4000))]
    for choice in ASK.choices:
        assert replies.count(choice) == pytest.approx(1000, abs=110)  # four standard deviations
    np.testing.assert_array_equal(Uniform().probabilities([ASK])[0], [0.25] * 4)


def test_a_reply_depends_on_the_seed_of_its_ask_and_on_nothing_else():
    asks = seeded(20)
    together = [reply.text for reply in Uniform().reply(asks)]
    assert together == [Uniform().reply([ask])[0].text for ask in asks]
    assert together[::-1] == [reply.text for reply in Uniform().reply(asks[::-1])]


@pytest.mark.parametrize("player", [Uniform(), FirstChoice()])
def test_players_of_choices_say_that_they_need_them(player):
    with pytest.raises(RedQueenError, match="needs listed choices"):
        player.reply([FREE])
    with pytest.raises(RedQueenError, match="needs listed choices"):
        player.probabilities([FREE])


def test_first_choice_takes_the_first():
    assert FirstChoice().reply([ASK])[0].text == "pass"
    np.testing.assert_array_equal(FirstChoice().probabilities([ASK])[0], [1, 0, 0, 0])


def test_constant_says_its_words_legal_or_not():
    assert Constant("I resign").reply([ASK, FREE]) == [Reply("I resign", "constant")] * 2
    np.testing.assert_array_equal(Constant("bet").probabilities([ASK])[0], [0, 1, 0, 0])
    with pytest.raises(RedQueenError, match="'I resign', which is not one of: pass, bet"):
        Constant("I resign").probabilities([ASK])


def test_scripted_says_its_lines_turn_by_turn_in_every_match():
    player = Scripted(("pass", "bet"))
    game = KuhnPoker()
    task = game.tasks()[1]
    matches = [Match(game, task, {"first": player, "second": Constant("bet")}) for _ in range(3)]
    for episode in play(matches, Random(0)):
        assert episode.outcome.facts["history"] == ("pass", "bet", "bet")


def test_scripted_with_too_few_lines_says_so():
    third = Ask(SEAT, ASK.messages, ASK.choices, past=(Turn(ASK, Reply("pass")),))
    with pytest.raises(RedQueenError, match="'scripted' has 1 replies, but first needs more"):
        Scripted(("pass",)).reply([third])


def test_strategic_plays_its_strategy_as_often_as_it_says():
    player = Strategic({ASK: np.array([0.0, 0.75, 0.25, 0.0])}, "sharp")
    replies = [reply.text for reply in player.reply(seeded(4000))]
    assert set(replies) == {"bet", "raise"}
    assert replies.count("bet") == pytest.approx(3000, abs=110)
    assert player.reply([ASK])[0].player == "sharp"
    np.testing.assert_array_equal(player.probabilities([ASK])[0], [0.0, 0.75, 0.25, 0.0])


def test_strategic_refuses_what_its_strategy_does_not_list():
    with pytest.raises(RedQueenError, match=r"'strategic' does not cover what first is asked .*Say something"):
        Strategic({ASK: np.ones(4) / 4}).reply([FREE])
