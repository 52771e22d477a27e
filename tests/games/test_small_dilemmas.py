"""Signalling, ultimatum, public goods, stag hunt: their equilibria by exact NashConv, walls, bad settings."""

from collections.abc import Callable

import numpy as np
import pytest

from redqueen.contracts import games as contract
from redqueen.games.public_goods import PublicGoods
from redqueen.games.signalling import Signalling
from redqueen.games.stag_hunt import StagHunt
from redqueen.games.ultimatum import Ultimatum
from redqueen.measures.exact.exploitability import GameTree
from redqueen.types import Ask, RedQueenError


def nash_conv(game, plays: Callable[[Ask], object]) -> tuple[float, list[float]]:
    """NashConv and values of a strategy: at each ask the reply that is chosen, or the chances of all."""
    tree = GameTree(game)
    strategy = {}
    for ask in tree.states:
        said = plays(ask)
        chances = np.array([text == said for text in ask.choices]) if isinstance(said, str) else said
        strategy[ask] = np.asarray(chances, dtype=float)
    return tree.nash_conv(strategy), tree.values(strategy).tolist()


def shown(ask: Ask) -> str:
    return ask.messages[-1].text


def truth(ask: Ask) -> str:
    """What the sender sees, and what the receiver hears."""
    return shown(ask).rpartition("It is " if ask.seat.role == "sender" else "says ")[2].partition(".")[0]


def test_the_truth_is_an_equilibrium_without_bias_and_up_to_a_half():
    assert nash_conv(Signalling(), truth) == (0.0, [1.0, 1.0])
    gain, _ = nash_conv(Signalling(bias=0.5), truth)
    assert gain == pytest.approx(0.0)


def test_with_a_bias_of_one_it_pays_to_say_the_next_number():
    """It earns 1 / D more for the lower two of three numbers, D = 9; the receiver believes what is true."""
    gain, values = nash_conv(Signalling(bias=1.0), truth)
    assert (gain, values) == (pytest.approx(2 / 3 / 9), [pytest.approx(8 / 9), pytest.approx(1.0)])


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_saying_nothing_and_guessing_the_middle_is_an_equilibrium(bias):
    gain, _ = nash_conv(Signalling(bias=bias), lambda ask: "1" if ask.seat.role == "sender" else "2")
    assert gain == pytest.approx(0.0)


def test_the_receiver_is_not_shown_the_number():
    contract.check_information_wall(
        Signalling(bias=1.0), lambda task, seat: task.facts["state"] if seat.role == "sender" else ()
    )


def takes(least):
    """A proposer who gives `least`, and a responder who takes it and no less."""

    def plays(ask):
        if ask.seat.role == "first":
            return str(least)
        return "accept" if int(shown(ask).rpartition("given ")[2].partition(".")[0]) >= least else "reject"

    return plays


@pytest.mark.parametrize("least", [0, 1, 5, 10])
def test_every_split_is_an_equilibrium_of_the_ultimatum(least):
    gain, values = nash_conv(Ultimatum(), takes(least))
    assert (gain, values) == (pytest.approx(0.0), pytest.approx([1 - least / 10, least / 10]))


def test_a_proposer_who_gives_less_than_is_taken_loses_it_all():
    """The responder would take .3 where it now gets nothing, the proposer keep .5 by giving 5."""
    gain, values = nash_conv(Ultimatum(), lambda ask: "3" if ask.seat.role == "first" else takes(5)(ask))
    assert (gain, values) == (pytest.approx(0.3 + 0.5), [0.0, 0.0])


@pytest.mark.parametrize(("players", "growth"), [(2, 1.5), (3, 1.5), (4, 3.0)])
def test_nobody_gives_though_all_would_gain(players, growth):
    game = PublicGoods(players, growth)
    assert nash_conv(game, lambda ask: "keep") == (pytest.approx(0.0), [1.0] * players)
    gain, values = nash_conv(game, lambda ask: "give")
    assert (gain, values) == (pytest.approx(players * (1 - growth / players)), pytest.approx([growth] * players))


def test_the_three_equilibria_of_the_stag_hunt():
    """Both stag, both hare, and the stag with chance 2 / (4 - 3 + 2)."""
    assert nash_conv(StagHunt(), lambda ask: "stag") == (0.0, [4.0, 4.0])
    assert nash_conv(StagHunt(), lambda ask: "hare") == (0.0, [2.0, 2.0])
    gain, values = nash_conv(StagHunt(), lambda ask: [2 / 3, 1 / 3])
    assert (gain, values) == (pytest.approx(0.0), pytest.approx([8 / 3, 8 / 3]))
    assert nash_conv(StagHunt(), lambda ask: [0.5, 0.5])[0] == pytest.approx(2 * (2.5 - 2.25))


def test_what_is_said_before_the_hunt_can_bind_by_agreement_alone():
    """To do as the other announces, after announcing the stag, is an equilibrium; to announce it and hunt the hare
    against one who believes it gains nothing either, since the stag is worth more."""
    heard = lambda ask: "stag" if "says" not in shown(ask) else shown(ask).partition("says: ")[2].partition(".")[0]  # noqa: E731
    assert nash_conv(StagHunt(talk=True), heard) == (pytest.approx(0.0), [4.0, 4.0])


@pytest.mark.parametrize(
    "game",
    [Signalling(2, 1.5), Ultimatum(4, 2), PublicGoods(4, 2.0), StagHunt(talk=True)],
    ids=lambda game: game.name,
)
def test_the_games_keep_the_contract(game):
    contract.check_game(game)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Signalling(1), "2 numbers or more"),
        (lambda: Signalling(bias=-1.0), "a bias of at least 0"),
        (lambda: Ultimatum(10, 3), "10 coins cannot be shared in units of 3"),
        (lambda: PublicGoods(1), "2 to 15 players, not 1"),
        (lambda: PublicGoods(3, 3.0), "less than 3, not 3"),
        (lambda: StagHunt(stag=1.0), "a stag is worth more"),
    ],
)
def test_a_game_that_cannot_be_is_refused(make, said):
    with pytest.raises(RedQueenError, match=said):
        make()
