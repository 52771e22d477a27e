"""Every shipped game and games of both suites keep the contract, and the contract catches those that do not."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest

from redqueen.contracts import games as contract
from redqueen.games.catalogue import GAMES, find_game
from redqueen.games.described import DESCRIPTIONS
from redqueen.games.talk import ask, forfeit, told
from redqueen.play.lockstep import play
from redqueen.protocols import Play
from redqueen.types import Match, Outcome, RedQueenError, Seat, Task

NEGOTIATING = ("[deny]", "[accept]", "[offer 2 wood for 1 gold]", "I say: [offer 1 gold for 3 wood]", "hm")
PENNIES = json.dumps(DESCRIPTIONS["pennies"].root)
PHRASES = {"negotiation": NEGOTIATING, "interpreting": ('{"hider": 1, "seeker": 1}', PENNIES, '{"hider": {', "hm")}
VARIANTS = (
    "kuhn_poker:retries=2",
    "leduc_poker:retries=1",
    "liars_dice:sides=3",
    "connect:3,3,3",
    "connect:5,4,4,drop=true",
    "connect:11,10,5",
    "negotiation:moves=3",
    "negotiation:compare=false",
    "negotiation:compare=false,listed=true",
    "iterated_dilemma:rounds=1",
    "iterated_dilemma:rounds=3,temptation=4,retries=1",
    "mini_hanabi:colours=3,ranks=3,hand=4",
    "mini_hanabi:lives=1,information=1",
    "interpreting:stages=1",
)
OPENSPIEL = (
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "leduc_poker",
    "tic_tac_toe",
    "connect_four",
    "liars_dice",
    "goofspiel(imp_info=True,num_cards=3,points_order=descending)",
    "goofspiel(num_cards=4,points_order=random)",
    "goofspiel(players=3,num_cards=3)",
    "first_sealed_auction",
    "matrix_pd",
    "tiny_hanabi",
    "hanabi(players=2,colors=2,ranks=2,hand_size=3,max_information_tokens=3,max_life_tokens=3)",
    "oshi_zumo(coins=5,size=1)",
    "negotiation",
)
TEXTARENA = (
    "TicTacToe-v0",
    "TicTacToe-v0-raw",
    "KuhnPoker-v0-short",
    "SimpleNegotiation-v0",
    "PigDice-v0",
    "IteratedPrisonersDilemma-v0",
    "Nim-v0",
    "ConnectFour-v0",
    "ThreePlayerIPD-v0,players=3",
)
MOVES = ("[0]", "[1]", "[4]", "[5]", "[8]", "[check]", "[bet]", "[call]", "[fold]", "[roll]", "[hold]", "[deny]")

KNOWS: dict[str, Callable[[Task, Seat], Hashable]] = {
    "kuhn_poker": lambda task, seat: task.facts["cards"][seat.role == "second"],
    "leduc_poker": lambda task, seat: task.facts["cards"][seat.role == "second"],
    "liars_dice": lambda task, seat: task.facts["dice"][seat.role == "second"],
}


@pytest.mark.parametrize("spec", [*GAMES, *VARIANTS])
def test_every_shipped_game_keeps_the_contract(spec: str) -> None:
    game = find_game(spec)
    name = spec.partition(":")[0]
    contract.check_game(game, PHRASES.get(name, contract.PHRASES), KNOWS.get(name))


def test_a_seat_of_a_negotiation_is_not_shown_the_values_of_the_other() -> None:
    game = find_game("negotiation")
    task = game.tasks()[0]
    other = Task("other", facts={"goods": task.facts["goods"], "values": (task.facts["values"][0], (33, 11))})
    third = Task("third", facts={"goods": task.facts["goods"], "values": ((33, 11), task.facts["values"][1])})
    contract.check_information_wall(
        game, lambda task, seat: task.facts["values"][seat.role == "second"], NEGOTIATING, [task, other, third]
    )


def test_a_seat_of_mini_hanabi_is_not_shown_its_own_cards_nor_the_deck() -> None:
    game = find_game("mini_hanabi")
    deck = game.tasks()[0].facts["deck"]
    mine_reversed = Task("other", facts={"deck": (*deck[:3][::-1], *deck[3:6], *deck[6:][::-1])})
    contract.check_information_wall(
        game,
        lambda task, seat: task.facts["deck"][3:6] if seat.role == "first" else task.facts["deck"],
        tasks=[game.tasks()[0], mine_reversed],
    )


@pytest.mark.long
@pytest.mark.parametrize("game_string", OPENSPIEL)
def test_openspiel_games_keep_the_contract(game_string: str) -> None:
    pytest.importorskip("pyspiel")
    contract.check_game(find_game(f"openspiel:{game_string}"))


@pytest.mark.slow
@pytest.mark.parametrize("spec", TEXTARENA)
def test_textarena_games_keep_the_contract(spec: str) -> None:
    pytest.importorskip("textarena")
    contract.check_game(find_game(f"textarena:{spec}"), MOVES)


@pytest.mark.long
def test_the_global_generators_are_as_they_were_after_textarena_games() -> None:
    pytest.importorskip("textarena")
    game = find_game("textarena:KuhnPoker-v0-short")
    random.seed(7)
    before = random.getstate(), np.random.get_state()[1].tolist()
    contract.check_asks(game, MOVES)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


@pytest.mark.long
@pytest.mark.parametrize("spec", ["PigDice-v0", "KuhnPoker-v0-short", "SimpleNegotiation-v0"])
def test_interleaved_textarena_games_of_one_seed_play_as_each_would_alone(spec: str) -> None:
    pytest.importorskip("textarena")
    game = find_game(f"textarena:{spec}")
    task = game.tasks()[3]
    cast = dict.fromkeys(game.roles, contract._Uniform(("[roll]", "[check]", "[bet]", "[hold]", "[call]", "[fold]")))
    match = Match(game, task, cast, seed=11)
    (alone,) = play([match], Random(0))
    random.seed(3)
    twins = play([match, Match(game, game.tasks()[4], cast, seed=12), match], Random(0))
    assert twins[0] == twins[2] == alone


SEATS = Seat("first"), Seat("second")


@dataclass
class Rotten:
    """One question to each seat; each test breaks one thing of it."""

    retries: int = 0
    name: str = "rotten"
    roles: tuple[str, ...] = ("first", "second")
    zero_sum: bool = True

    def tasks(self) -> list[Task]:
        return [Task("a", facts={"card": "jack"}), Task("b", facts={"card": "king"})]

    def play(self, task: Task, rng: Random) -> Play:
        for seat in SEATS:
            text = yield from ask(seat, told("Yes or no?"), ("yes", "no"), self.retries)
            if text not in ("yes", "no"):
                return forfeit(seat, SEATS, 1.0, text)
        return Outcome(dict.fromkeys(SEATS, 0.0))


class Leaky(Rotten):
    def play(self, task: Task, rng: Random) -> Play:
        yield from ask(SEATS[0], told(f"The other has the {task.facts['card']}. Yes or no?"), ("yes", "no"))
        return Outcome(dict.fromkeys(SEATS, 0.0))


class Lopsided(Rotten):
    def play(self, task: Task, rng: Random) -> Play:
        yield from ask(SEATS[0], told("Yes or no?"), ("yes", "no"))
        return Outcome({SEATS[0]: 1.0, SEATS[1]: 0.0})


class Moody(Rotten):
    def play(self, task: Task, rng: Random) -> Play:
        yield from ask(SEATS[0], told(f"Yes or no? {random.random()}"), ("yes", "no"))
        return Outcome(dict.fromkeys(SEATS, 0.0))


class Endless(Rotten):
    def play(self, task: Task, rng: Random) -> Play:
        while True:
            yield from ask(SEATS[0], told("Yes or no?"), ("yes", "no"))


class Forgetful(Rotten):
    def play(self, task: Task, rng: Random) -> Play:
        for _ in range(2):
            yield from ask(SEATS[0], told("Yes or no?"), ("yes", "no"))
        return Outcome(dict.fromkeys(SEATS, 0.0))


class Lenient(Rotten):
    def play(self, task: Task, rng: Random) -> Play:
        for seat in SEATS:
            yield from ask(seat, told("Yes or no?"), ("yes", "no"), self.retries)
        return Outcome(dict.fromkeys(SEATS, 0.0))


class Twins(Rotten):
    def tasks(self) -> list[Task]:
        return [Task("a"), Task("a")]


def test_a_game_that_keeps_the_contract_is_told_so_in_one_line() -> None:
    assert contract.check_game(Rotten()) == "rotten keeps the contract of games: 2 tasks, played by first, second"


@pytest.mark.parametrize(
    ("game", "complaint"),
    [
        (Lopsided(), "says zero_sum, and its scores sum to 1"),
        (Moody(), "chance must come from the task or from rng"),
        (Endless(), "does not end"),
        (Forgetful(), "an ask must tell what the seat saw and did before"),
        (Lenient(), "facts\\['forfeit'\\]"),
        (Twins(), "two tasks with the id 'a'"),
        (Rotten(roles=("first", "first")), "names a role twice"),
    ],
)
def test_the_contract_says_what_a_game_does_wrong(game: Rotten, complaint: str) -> None:
    with pytest.raises((AssertionError, RedQueenError), match=complaint):
        contract.check_game(game)


def test_the_contract_finds_a_leak() -> None:
    with pytest.raises(AssertionError, match="differ only in what it may not know"):
        contract.check_information_wall(Leaky(), lambda *_: None)
