from dataclasses import replace
from random import Random

import pytest

from redqueen.chance import uniform
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.play.lockstep import play, replay
from redqueen.players.tabular import TabularPolicy
from redqueen.records import episode_from_json, episode_to_json
from redqueen.types import Ask, Match, Message, Outcome, RedQueenError, Reply, Seat, Task

GAME = KuhnPoker()


class Chooser:
    """Picks by the seed of the ask, and counts how often it was called."""

    def __init__(self, name="chooser"):
        self.name = name
        self.calls = []

    def reply(self, asks):
        self.calls.append([ask.seat.role for ask in asks])
        return [Reply(ask.choices[int(uniform(ask.seed) * len(ask.choices))], self.name) for ask in asks]


class Together:
    """Both seats speak at once."""

    name = "together"
    roles = ("left", "right")

    def play(self, task, rng):
        hello = (Message("game", "hello"),)
        left, right = yield [Ask(Seat("left"), hello), Ask(Seat("right"), hello)]
        return Outcome({Seat("left"): float(left.text), Seat("right"): float(right.text)})


class Says:
    def __init__(self, text):
        self.name = self.text = text

    def reply(self, asks):
        return [Reply(self.text, self.name)] * len(asks)


def matches(first, second, count=8, seed=None):
    tasks = GAME.tasks()
    return [
        Match(GAME, tasks[n % 6], {"first": first, "second": second}, None if seed is None else seed + n)
        for n in range(count)
    ]


def as_data(episodes):
    return [episode_to_json(episode) for episode in episodes]


def test_episodes_come_in_the_order_of_the_matches():
    one = Chooser()
    assert [episode.task for episode in play(matches(one, one), Random(0))] == [GAME.tasks()[n % 6] for n in range(8)]


def test_every_player_is_asked_once_a_round():
    first, second = Chooser(), Chooser()
    play(matches(first, second, 40), Random(1))
    # a hand has at most three moves: first, second, first
    assert [len(call) for call in second.calls] == [40]
    assert len(first.calls) == 2
    assert len(first.calls[0]) == 40


def test_a_player_in_both_seats_is_still_asked_once():
    both = Chooser()
    play(matches(both, both, 5), Random(1))
    assert [len(call) for call in both.calls[:2]] == [5, 5]

    class Counted(Says):
        asked = ()

        def reply(self, asks):
            self.asked = (*self.asked, len(asks))
            return super().reply(asks)

    player = Counted("1")
    play([Match(Together(), Task("t"), {"left": player, "right": player})] * 3, Random(1))
    assert player.asked == (6,)


def test_equal_players_are_not_taken_for_one():
    left, right = Says("1"), Says("2")
    left.name = right.name = "same"
    (episode,) = play([Match(Together(), Task("t"), {"left": left, "right": right})], Random(0))
    assert episode.outcome.scores == {Seat("left"): 1.0, Seat("right"): 2.0}


def test_a_match_with_a_seed_plays_the_same_in_any_company():
    learner = TabularPolicy()
    alone = [play([match], Random(n))[0] for n, match in enumerate(matches(learner, learner, seed=100))]
    company = play(list(reversed(matches(learner, learner, seed=100))), Random(77))
    assert as_data(alone) == as_data(reversed(company))


def test_the_generator_decides_matches_without_a_seed():
    one = Chooser()
    first, again, other = (as_data(play(matches(one, one, 20), Random(seed))) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_nothing_to_play_is_no_episode():
    assert play([], Random(0)) == []


def test_a_player_that_leaves_an_ask_out_gets_one_line():
    class Lazy(Chooser):
        def reply(self, asks):
            return super().reply(asks)[1:]

    with pytest.raises(RedQueenError, match="player 'chooser' gave 7 replies to 8 asks"):
        play(matches(Lazy(), Chooser()), Random(0))


def recorded():
    one = Chooser()
    episodes = play(matches(one, one, 30), Random(5))
    return next(episode for episode in episodes if len(episode.turns) == 3)


def test_a_record_plays_again_to_the_same_record():
    learner = TabularPolicy()
    for episode in play(matches(learner, learner), Random(5)):
        stored = episode_from_json(episode_to_json(episode))
        assert episode_to_json(replay(GAME, stored)) == episode_to_json(episode)


def test_a_changed_ask_is_found():
    episode = recorded()
    turns = list(episode.turns)
    turns[1] = replace(turns[1], ask=replace(turns[1].ask, messages=(Message("game", "Your card is the king."),)))
    with pytest.raises(RedQueenError, match="turn 1 of the record is not what 'kuhn_poker' asks second now"):
        replay(GAME, replace(episode, turns=tuple(turns)))


def test_a_changed_reply_is_found_where_it_changes_an_ask():
    episode = recorded()  # pass, bet, and the first seat again
    turns = (replace(episode.turns[0], reply=Reply("bet")), *episode.turns[1:])
    with pytest.raises(RedQueenError, match="turn 1 of the record"):
        replay(GAME, replace(episode, turns=turns))


def test_a_record_that_is_too_short_or_too_long_is_found():
    episode = recorded()
    with pytest.raises(RedQueenError, match="the record ends at turn 2, but 'kuhn_poker' asks first again"):
        replay(GAME, replace(episode, turns=episode.turns[:2]))
    with pytest.raises(RedQueenError, match="'kuhn_poker' ended at turn 3, but the record goes on"):
        replay(GAME, replace(episode, turns=(*episode.turns, episode.turns[0])))


@pytest.mark.parametrize("facts", [{}, {"cards": 5}, {"cards": ("jack",)}, {"cards": ("jack", "ace")}])
def test_a_record_with_a_task_that_is_none_of_its_game_is_one_line(facts):
    game = KuhnPoker()
    player = TabularPolicy()
    (episode,) = play([Match(game, game.tasks()[0], {"first": player, "second": player}, 1)], Random(0))
    assert replay(game, episode) == episode
    with pytest.raises(RedQueenError) as told:
        replay(game, replace(episode, task=replace(episode.task, facts=facts)))
    assert "\n" not in str(told.value)
    assert "cannot play the task of the record, 'jack-queen': " in str(told.value) or "is not what" in str(told.value)
