"""Trust-and-Split: the anchors of the cards, what a seat may know, who speaks when, forfeits."""

from random import Random

import pytest

from redqueen.contracts import games as contract
from redqueen.games.trust_and_split import BEATS, FIRST, HANDS, SECOND, TrustAndSplit
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, Uniform
from redqueen.types import Match, Outcome, RedQueenError, Reply, Task


class Truthful:
    """Names its own hand; claims all coins with the upper hand and none with the lower, as the messages have it."""

    name = "truthful"

    def reply(self, asks):
        return [Reply(self.said(ask), self.name) for ask in asks]

    def said(self, ask):
        text = " ".join(message.text for message in ask.messages)
        mine = text.rpartition("you hold ")[2].partition(".")[0]
        if ask.choices == HANDS:
            return mine
        theirs = text.rpartition("The other player says: '")[2].partition("'")[0]
        return "10" if (mine, theirs) in BEATS else "0"


def mean_score(player):
    """A seat's gain in one round, over all deals."""
    game = TrustAndSplit(listed=True)
    episodes = play([Match(game, task, dict.fromkeys(game.roles, player)) for task in game.tasks()], Random(0))
    return sum(sum(each.outcome.scores.values()) for each in episodes) / len(episodes) / 2 / game.rounds


class Claiming:
    def __init__(self, claim):
        self.name, self.claim = "claiming", claim

    def reply(self, asks):
        return [Reply(self.claim if self.claim in ask.choices else ask.choices[0], self.name) for ask in asks]


@pytest.mark.parametrize(("player", "points"), [(Truthful(), 50.0), (Claiming("10"), 27.5), (Claiming("5"), 27.5)])
def test_the_anchors_of_the_cards(player, points):
    assert mean_score(player) == pytest.approx(points)


@pytest.mark.parametrize(
    ("hands", "claims", "gained"),
    [
        (("rock", "scissors"), (10, 10), (50.0, 5.0)),
        (("scissors", "rock"), (10, 10), (5.0, 50.0)),
        (("paper", "rock"), (6, 3), (60.0, 3.0)),
        (("rock", "paper"), (10, 5), (10 * 10 / 15, 5 * 10 / 15 * 10)),
        (("paper", "scissors"), (0, 0), (0.0, 0.0)),
    ],
)
def test_claims_beyond_the_coins_are_cut_in_proportion(hands, claims, gained):
    assert TrustAndSplit().payoffs(hands, claims) == pytest.approx(gained)


@pytest.mark.parametrize(
    "game",
    [
        TrustAndSplit(),
        TrustAndSplit(rounds=3, listed=True),
        TrustAndSplit(rounds=2, coins=20, unit=5, listed=True),
    ],
    ids=lambda game: game.name,
)
def test_the_game_keeps_the_contract(game):
    contract.check_game(game)


def test_a_hand_is_shown_to_nobody_else():
    game = TrustAndSplit(rounds=1, listed=True)
    tasks = [
        Task(f"{mine} {theirs}", facts={"hands": ((mine, theirs),), "opens": 0})
        for mine, theirs in (("rock", "paper"), ("rock", "scissors"), ("paper", "rock"), ("scissors", "rock"))
    ]
    contract.check_information_wall(game, lambda task, seat: task.facts["hands"][0][seat == SECOND], tasks=tasks)


def played(game, *rounds):
    """Everything that was asked, and the outcome, when these replies are given to each batch of asks."""
    talk = game.play(Task("t", facts={"hands": (("rock", "paper"),) * game.rounds, "opens": 0}), Random(0))
    asked = [next(talk)]
    for texts in rounds:
        try:
            asked.append(talk.send([Reply(text) for text in texts]))
        except StopIteration as stop:
            return asked, stop.value
    return asked, None


def test_the_first_speaker_alternates_and_the_second_one_has_heard_it():
    asked, _ = played(TrustAndSplit(rounds=2), ["I have rock"], ["paper"], ["10", "0"], ["me again"])
    assert [[str(ask.seat) for ask in batch] for batch in asked] == [
        ["first"],
        ["second"],
        ["first", "second"],
        ["second"],
        ["first"],
    ]
    assert "'I have rock'" in asked[1][0].messages[-1].text
    assert "'paper'" in asked[2][0].messages[-1].text  # the first speaker hears the answer before it claims
    assert "says" not in asked[2][1].messages[-1].text  # the second one has heard all


def test_after_a_round_each_is_told_the_hand_and_the_claims():
    asked, _ = played(TrustAndSplit(rounds=2), ["a"], ["b"], ["10", "5"], ["c"])
    assert "You had the upper hand, you claimed 5 and the other player 10." in asked[3][0].messages[-1].text
    assert "You had the lower hand, you claimed 10 and the other player 5." in asked[4][0].messages[-1].text


def test_only_the_first_500_characters_of_a_message_are_heard():
    asked, _ = played(TrustAndSplit(rounds=1), ["#" * 700])
    assert asked[1][0].messages[-1].text.count("#") == 500


def test_without_memory_the_last_round_alone_is_shown():
    game = TrustAndSplit(rounds=3, listed=True, remember=False)
    one, _ = played(game, ["rock"], ["paper"], ["1", "2"], ["rock"], ["rock"], ["3", "4"])
    other, _ = played(game, ["paper"], ["rock"], ["9", "9"], ["rock"], ["rock"], ["3", "4"])
    assert one[-1] == other[-1]
    assert len(one[-1][0].messages) == 1
    assert "Round" not in one[-1][0].messages[0].text


def test_a_forfeit_ends_the_match_and_consoles_the_other_with_half_at_the_lower_value():
    _, outcome = played(TrustAndSplit(rounds=3), ["a"], ["b"], ["10", "0"], ["c"], ["d"], ["0", "eleven"])
    # round 1: the first seat holds rock against paper, the lower hand: 10 x 1; then 2 rounds x 5 coins x 1
    assert outcome == Outcome(
        {FIRST: 20.0, SECOND: 0.0},
        {
            "forfeit": "second",
            "reason": "illegal",
            "history": ((10, 0),),
            "gains": ((3, {"first": 10.0, "second": 0.0}), (7, {"first": 10.0, "second": 0.0})),
        },
    )


def test_a_free_message_must_not_be_empty():
    _, outcome = played(TrustAndSplit(rounds=1), [""])
    assert (outcome.facts["forfeit"], outcome.facts["reason"]) == ("first", "malformed")


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"rounds": 0}, "1 to 1000 rounds, not 0"),
        ({"rounds": 1001}, "not 1001"),
        ({"unit": 3}, "units of 3"),
        ({"lower": 10}, "worth more"),
    ],
)
def test_rules_that_make_no_game_are_refused(rules, words):
    with pytest.raises(RedQueenError, match=words):
        TrustAndSplit(**rules)


def test_strangers_play_it_through():
    game = TrustAndSplit(listed=True)
    (episode,) = play([Match(game, game.tasks()[0], {"first": Uniform(), "second": Constant("rock")})], Random(0))
    assert episode.outcome.facts["forfeit"] == "second"  # "rock" is no claim
