from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest

from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.talk import ask, told
from redqueen.games.tic_tac_toe import TicTacToe
from redqueen.measures.exact.exploitability import GameTree
from redqueen.measures.exact.minimax import Solution, minimax_regret, solve, worst_case
from redqueen.play.lockstep import play
from redqueen.players.scripted import FirstChoice, Strategic, Uniform
from redqueen.protocols import Play
from redqueen.types import Ask, Match, Outcome, RedQueenError, Seat, Task

FIRST, SECOND = SEATS = Seat("first"), Seat("second")


@dataclass(frozen=True)
class Nim:
    """One heap: take one or two, whoever takes the last wins. Lost for the mover at multiples of three."""

    heaps: tuple[int, ...] = (4,)
    name: str = "nim"
    roles: tuple[str, ...] = ("first", "second")
    perfect_information: bool = True

    def tasks(self) -> Sequence[Task]:
        return [Task(str(heap), facts={"heap": heap}) for heap in self.heaps]

    def play(self, task: Task, rng: Random) -> Play:
        heap, turn = task.facts["heap"], 0
        while heap:
            choices = tuple(str(n) for n in (1, 2) if n <= heap)
            taken = yield from ask(SEATS[turn], told(f"{SEATS[turn]}: {heap} left"), choices)
            heap -= int(taken)
            turn = 1 - turn
        return Outcome({SEATS[turn]: -1.0, SEATS[1 - turn]: 1.0})


def position(solution: Solution, text: str) -> Ask:
    return next(ask for ask in solution.values if ask.messages[0].text == text)


@pytest.fixture(scope="module")
def tic_tac_toe() -> Solution:
    return solve(TicTacToe())


def test_nim_is_lost_at_multiples_of_three():
    solution = solve(Nim((10,)))
    assert len(solution.values) == 18  # 10 for the first seat alone, 9 for the second alone, 8 ... 1 for either
    for state, value in solution.values.items():
        heap = int(state.messages[0].text.split()[1])
        assert value == (-1.0 if heap % 3 == 0 else 1.0)
    np.testing.assert_array_equal(solution.choice_values[position(solution, "first: 4 left")], [1.0, -1.0])
    assert solution.value(FIRST) == 1.0
    assert solution.value(SECOND) == -1.0


def test_starts_are_weighed():
    assert solve(Nim((3, 4, 5, 6, 7))).value(FIRST) == pytest.approx((3 - 2) / 5)


def test_regret_of_uniform_nim_by_hand():
    # from 3: no move is right or wrong (lost). first at 3 -> second at 2 or 1 -> first at 1.
    # values: 1: +1 (one move); 2: take two +1, take one -1; 3: -1 either way
    solution = solve(Nim((3,)))
    metrics = minimax_regret(solution, Uniform())
    regrets = {"first: 3 left": 0.0, "second: 2 left": 1.0, "second: 1 left": 0.0, "first: 1 left": 0.0}
    assert len(solution.values) == len(regrets)
    assert metrics["minimax_regret_mean"] == pytest.approx(1.0 / 4)
    assert metrics["minimax_regret_max"] == 1.0
    # as first: 1 move at 3, 1/4 of a move at 1; as second: 1/2 a move at 2, 1/2 a move at 1
    assert metrics["minimax_regret_reached"] == pytest.approx(0.5 / (1.25 + 1.0))
    assert metrics["minimax_mistakes"] == pytest.approx(0.5 / 4)


def test_replies_are_worth_what_follows_them_between_players_who_follow_a_strategy():
    solution = solve(Nim((3,)))
    found = solution.reply_values(
        {state: np.full(len(state.choices), 1 / len(state.choices)) for state in solution.states}
    )
    # uniform: 1 is won; 2 is -1 or 1, 0 in the mean; 3 leads to 2 or to 1
    assert found[position(solution, "second: 2 left")].tolist() == [-1.0, 1.0]
    assert found[position(solution, "first: 3 left")].tolist() == [0.0, -1.0]
    game, rng = Nim((5, 7)), np.random.default_rng(0)
    solution, tree = solve(game), GameTree(game)
    drawn = {state: rng.dirichlet(np.ones(len(state.choices))) for state in tree.states}
    merged, histories = solution.reply_values(drawn), tree.reply_values(drawn)
    assert set(merged) == set(histories) == set(solution.states)
    for state in tree.states:
        np.testing.assert_allclose(merged[state], histories[state], atol=1e-12)


def test_worst_case_of_a_greedy_player_by_hand():
    # first_choice takes one. From 4 that is right, and then the other leaves 2 or 1: from 2 it takes one and loses.
    metrics = worst_case(solve(Nim((4,))), FirstChoice())
    assert metrics["worst_score_first"] == -1.0
    assert metrics["lost_lines_first"] == 0.5
    # as second: from 3 it takes one, and the other takes the last two or one, then it takes the last;
    # from 2 it takes one and the other the last
    assert metrics["worst_score_second"] == -1.0
    assert metrics["lost_lines_second"] == pytest.approx(2 / 3)


@pytest.mark.slow
def test_tic_tac_toe_has_4520_positions_and_is_a_draw(tic_tac_toe):
    assert len(tic_tac_toe.values) == 4520
    assert tic_tac_toe.value(FIRST) == tic_tac_toe.value(SECOND) == 0.0


def test_a_perfect_player_of_tic_tac_toe_regrets_nothing_and_never_loses(tic_tac_toe):
    perfect = tic_tac_toe.strategy()
    assert minimax_regret(tic_tac_toe, perfect) == pytest.approx(
        dict.fromkeys(("minimax_regret_mean", "minimax_regret_max", "minimax_regret_reached", "minimax_mistakes"), 0.0),
        abs=1e-12,
    )
    assert set(worst_case(tic_tac_toe, perfect).values()) == {0.0}
    game = TicTacToe()
    for cast in ({"first": perfect, "second": Uniform()}, {"first": Uniform(), "second": perfect}):
        mine = FIRST if cast["first"] is perfect else SECOND
        episodes = play([Match(game, game.tasks()[0], cast) for _ in range(200)], Random(0))
        scores = [episode.outcome.scores[mine] for episode in episodes]
        assert min(scores) >= 0.0
        assert np.mean(scores) > 0.6
    for episode in play([Match(game, game.tasks()[0], {"first": perfect, "second": perfect})] * 20, Random(0)):
        assert episode.outcome.scores[FIRST] == 0.0


def test_the_perfect_player_draws_among_equal_moves(tic_tac_toe):
    perfect = tic_tac_toe.strategy()
    empty, _ = tic_tac_toe.starts[0]
    np.testing.assert_allclose(perfect.probabilities([empty])[0], np.full(9, 1 / 9))


def test_one_mistake_shows_in_the_worst_case_of_its_seat_alone(tic_tac_toe):
    """Answering the centre with an edge loses by force."""
    strategy = dict(tic_tac_toe.strategy().strategy)
    for state in strategy:
        board = state.messages[0].text.split("The board:\n")[1].split("\nWhich")[0]
        if board == "1 2 3\n4 X 6\n7 8 9":
            strategy[state] = np.eye(8)[state.choices.index("2")]
    metrics = worst_case(tic_tac_toe, Strategic(strategy))
    assert metrics["worst_score_second"] == -1.0
    assert metrics["lost_lines_second"] > 0.0
    assert metrics["worst_score_first"] == metrics["lost_lines_first"] == 0.0
    regret = minimax_regret(tic_tac_toe, Strategic(strategy))
    assert regret["minimax_regret_max"] == 1.0
    assert regret["minimax_regret_mean"] == pytest.approx(1 / 4520)


def _returns(outcome: Outcome) -> Callable[[Task, Random], Play]:
    def rules(task: Task, rng: Random) -> Play:
        yield from ask(FIRST, told("go"), ("a",))
        return outcome

    return rules


def _round_in_circles(task: Task, rng: Random) -> Play:
    while (yield from ask(FIRST, told("round"), ("on", "off"))) == "on":
        yield from ask(SECOND, told("and round"), ("on",))
    return Outcome({FIRST: 0.0, SECOND: 0.0})


def _itself(task: Task, rng: Random) -> Play:
    while (yield from ask(FIRST, told("again"), ("on", "off"))) == "on":
        pass
    return Outcome({FIRST: 0.0, SECOND: 0.0})


def _together(task: Task, rng: Random) -> Play:
    yield [Ask(seat, told("now"), ("a", "b")) for seat in SEATS]
    return Outcome({FIRST: 0.0, SECOND: 0.0})


def _dice(task: Task, rng: Random) -> Play:
    yield from ask(FIRST, told("throw"), ("a", "b"))
    won = rng.choice((-1.0, 1.0))
    return Outcome({FIRST: won, SECOND: -won})


def _free(task: Task, rng: Random) -> Play:
    yield from ask(FIRST, told("speak"))
    return Outcome({FIRST: 0.0, SECOND: 0.0})


def _nothing(task: Task, rng: Random) -> Play:
    yield from ()
    return Outcome({FIRST: 0.0, SECOND: 0.0})


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        (_returns(Outcome({FIRST: 1.0, SECOND: 0.0})), "not a zero-sum game of two seats"),
        (_returns(Outcome({FIRST: 0.0})), "not a zero-sum game of two seats"),
        (_round_in_circles, "can come about again"),
        (_itself, "can come about again"),
        (_together, "move at the same time"),
        (_dice, "draws chance while it plays"),
        (_free, "asked for free text"),
        (_nothing, "nothing to solve"),
    ],
)
def test_games_that_minimax_cannot_solve_are_refused(rules, line):
    class Unfit:
        name = "unfit"
        roles = ("first", "second")
        perfect_information = True
        play = staticmethod(rules)

        def tasks(self) -> Sequence[Task]:
            return [Task("t")]

    with pytest.raises(RedQueenError, match=line):
        solve(Unfit())


def test_a_game_that_does_not_promise_perfect_information_is_refused():
    with pytest.raises(RedQueenError, match="kuhn_poker cannot be solved by minimax"):
        solve(KuhnPoker())


def test_a_game_too_large_is_refused():
    with pytest.raises(RedQueenError, match="more than 5 positions"):
        solve(Nim((10,)), max_positions=5)
