"""Any OpenSpiel game with turns or simultaneous moves (Lanctot et al., 2019), shown as OpenSpiel's own strings.

A seat of a perfect-information game is shown the board (observation string); of any other game the
information state string, or, if the game has none, the observations at all its turns, with
the moves it made. Legal replies are OpenSpiel's action strings.

Chance comes from the task if all of it precedes the first decision, so that exact measures are
possible (the tasks then list every deal); else from `rng`. Games that sample internally are seeded
from `rng` if they take an `rng_seed`, and refused otherwise, as are mean-field games.

A forfeit costs the offender the least the game can pay. In a zero-sum game the others share that
amount; in a common-payoff game all get it; else the others keep what they had so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from random import Random
from typing import Any

from redqueen.chance import pick
from redqueen.games.talk import ORDINALS, ask_together, forfeit, offence, told
from redqueen.protocols import Play
from redqueen.types import Ask, Message, Outcome, RedQueenError, Seat, Task

MAX_DEALS = 10_000  # more deals than this are drawn from `rng` and not listed


@dataclass(frozen=True)
class OpenSpiel:
    game_string: str  # "leduc_poker(players=3)"
    retries: int = 0  # second chances after an illegal reply, before it is a forfeit
    name: str = field(default="", init=False)
    roles: tuple[str, ...] = field(default=(), init=False)
    zero_sum: bool = field(default=False, init=False)
    perfect_information: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        kind = _kind(self.game_string)
        object.__setattr__(self, "name", f"openspiel:{self.game_string}")
        object.__setattr__(self, "roles", ORDINALS[: kind.players])
        object.__setattr__(self, "zero_sum", kind.zero_sum)
        object.__setattr__(self, "perfect_information", kind.perfect_information)

    def tasks(self) -> list[Task]:
        """Every deal with its probability, if all chance precedes the decisions; else one task."""
        return [
            Task("deal-" + "-".join(map(str, deal)) if deal else "start", "deal", facts={"chance": deal}, weight=weight)
            for deal, weight in _deals(self.game_string)
        ]

    def play(self, task: Task, rng: Random) -> Play:
        kind = _kind(self.game_string)
        seats = tuple(Seat(role) for role in self.roles)
        state = _seeded(self.game_string, rng).new_initial_state()
        dealt = iter(task.facts.get("chance", ()))
        views = {seat: _View(kind, seat, number) for number, seat in enumerate(seats)}
        gains: tuple[tuple[int, dict[str, float]], ...] = ()
        returns = tuple(0.0 for _ in seats)
        history: tuple[str, ...] = ()
        spoken = 0
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(_drawn(state, dealt, rng))
            else:
                movers = _movers(state)
                moves = {seats[number]: _moves(state, number) for number in movers}
                asks = [views[seat].ask(state, tuple(moves[seat])) for seat in moves]
                answers = yield from ask_together(asks, self.retries)
                spoken += sum(answer.attempts for answer in answers)
                for seat, answer in zip(moves, answers, strict=True):
                    if not answer.legal:
                        outcome = self._forfeited(seat, seats, returns, answer.text)
                        lost = {str(s): outcome.scores[s] - returns[n] for n, s in enumerate(seats)}
                        facts = {"history": history} | (
                            {"gains": (*gains, (spoken - 1, lost))} if kind.pays_on_the_way else {}
                        )
                        return Outcome(outcome.scores, {**outcome.facts, **facts})
                    views[seat].moves.append(answer.text)
                history += tuple(answer.text for answer in answers)
                chosen = {
                    seats.index(seat): moves[seat][answer.text] for seat, answer in zip(moves, answers, strict=True)
                }
                if state.is_simultaneous_node():
                    state.apply_actions([chosen.get(number, 0) for number in range(len(seats))])
                else:
                    state.apply_action(chosen[movers[0]])
            if kind.pays_on_the_way:
                now = tuple(state.returns())
                if now != returns:
                    paid = {str(seat): now[number] - returns[number] for number, seat in enumerate(seats)}
                    gains += ((spoken - 1, paid),)
                returns = now
        scores = dict(zip(seats, map(float, state.returns()), strict=True))
        return Outcome(scores, {"history": history} | ({"gains": gains} if kind.pays_on_the_way else {}))

    def _forfeited(self, seat: Seat, seats: Sequence[Seat], returns: Sequence[float], text: str) -> Outcome:
        kind = _kind(self.game_string)
        if kind.zero_sum:
            return forfeit(seat, seats, -kind.least, text)
        scores = {
            other: kind.least if other == seat or kind.shared else float(returns[n]) for n, other in enumerate(seats)
        }
        return Outcome(scores, offence(seat, text))


@dataclass(frozen=True)
class _Kind:
    """The properties that OpenSpiel states of a game."""

    title: str
    players: int
    zero_sum: bool
    shared: bool  # all are paid alike
    perfect_information: bool
    has_information_states: bool
    pays_on_the_way: bool
    samples_its_chance: bool
    least: float  # the least a seat can be paid


@dataclass
class _View:
    """The observations and moves of one seat so far."""

    kind: _Kind
    seat: Seat
    number: int
    seen: list[str] = field(default_factory=list)
    moves: list[str] = field(default_factory=list)

    def ask(self, state: Any, choices: tuple[str, ...]) -> Ask:
        return Ask(self.seat, self.describe(state, choices), choices)

    def describe(self, state: Any, choices: tuple[str, ...]) -> tuple[Message, ...]:
        """The messages with the game's name, what the seat sees, and the legal moves; nothing about how to play
        well."""
        head = f"You are playing {self.kind.title}. You are the {self.seat.role} of {self.kind.players} players."
        if self.kind.perfect_information:
            story = f"What you see:\n{state.observation_string(self.number).rstrip()}"
        elif self.kind.has_information_states:
            made = ", ".join(self.moves) or "none"
            seen = state.information_state_string(self.number).rstrip() or "nothing"
            story = f"Your moves so far: {made}.\nWhat you know:\n{seen}"
        else:
            self.seen.append(f"What you see:\n{state.observation_string(self.number).rstrip()}")
            lines = [self.seen[0]]
            for move, view in zip(self.moves, self.seen[1:], strict=True):
                lines += [f"Your move: {move}", view]
            story = "\n".join(lines)
        return told(f"{head}\n\n{story}\nYour legal moves are: {'; '.join(choices)}. Your move?")


def _movers(state: Any) -> list[int]:
    """The players who must move now, in order."""
    if not state.is_simultaneous_node():
        return [state.current_player()]
    return [number for number in range(state.num_players()) if state.legal_actions(number)]


def _moves(state: Any, player: int) -> dict[str, int]:
    """The legal actions by their action strings; numbered where two strings are equal."""
    actions = state.legal_actions(player)
    words = [" ".join(state.action_to_string(player, action).split()) for action in actions]
    if len(set(words)) < len(words) or "" in words:
        words = [f"{word} ({action})" for word, action in zip(words, actions, strict=True)]
    return dict(zip(words, actions, strict=True))


def _drawn(state: Any, dealt: Any, rng: Random) -> int:
    """The next action of chance: from the task if it has one, else drawn from `rng`."""
    action = next(dealt, None)
    if action is not None:
        return int(action)
    outcomes = state.chance_outcomes()
    if len(outcomes) == 1:
        return int(outcomes[0][0])
    return int(outcomes[pick([chance for _, chance in outcomes], rng.random())][0])


def _pyspiel() -> Any:
    try:
        import pyspiel
    except ImportError:
        raise RedQueenError("the game openspiel needs the extra [games]: pip install 'redqueen[games]'") from None
    return pyspiel


@lru_cache(maxsize=64)
def _load(game_string: str) -> Any:
    pyspiel = _pyspiel()
    title = game_string.partition("(")[0].strip()
    if title not in pyspiel.registered_names():
        close = get_close_matches(title, pyspiel.registered_names(), n=3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise RedQueenError(f"OpenSpiel has no game {title!r}{hint}")
    try:
        return pyspiel.load_game(game_string)
    except (RuntimeError, IndexError) as error:  # what the C++ library raises, SpielError among them
        raise RedQueenError(f"OpenSpiel cannot load {game_string!r}: {' '.join(str(error).split())}") from None


def _seeded(game_string: str, rng: Random) -> Any:
    """The game to play: a new one, seeded from `rng`, if it samples its chance internally."""
    game = _load(game_string)
    if not _kind(game_string).samples_its_chance:
        return game
    parameters = {**game.get_parameters(), "rng_seed": rng.getrandbits(30)}
    return _pyspiel().load_game(game.get_type().short_name, parameters)


@lru_cache(maxsize=64)
def _kind(game_string: str) -> _Kind:
    pyspiel = _pyspiel()
    game = _load(game_string)
    about = game.get_type()
    if about.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        raise RedQueenError(f"{game_string!r} is a mean-field game: it has no players to seat")
    if game.num_players() > len(ORDINALS):
        raise RedQueenError(f"{game_string!r} has {game.num_players()} players; at most {len(ORDINALS)} can be seated")
    samples = about.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC
    if samples and "rng_seed" not in game.get_parameters():
        raise RedQueenError(f"{game_string!r} draws chance of its own that cannot be seeded")
    if not (about.provides_information_state_string or about.provides_observation_string):
        raise RedQueenError(f"{game_string!r} offers no text of what a player sees")
    sequential = about.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
    zero_sum = about.utility == pyspiel.GameType.Utility.ZERO_SUM or (
        about.utility == pyspiel.GameType.Utility.CONSTANT_SUM and game.utility_sum() == 0.0
    )
    perfect = about.information == pyspiel.GameType.Information.PERFECT_INFORMATION
    return _Kind(
        title=f"{about.long_name} (OpenSpiel's {game_string})",
        players=game.num_players(),
        zero_sum=zero_sum and game.num_players() > 1,
        shared=about.utility == pyspiel.GameType.Utility.IDENTICAL,
        perfect_information=perfect and sequential and about.provides_observation_string,
        has_information_states=about.provides_information_state_string,
        pays_on_the_way=about.reward_model == pyspiel.GameType.RewardModel.REWARDS,
        samples_its_chance=samples,
        least=float(game.min_utility()),
    )


@lru_cache(maxsize=64)
def _deals(game_string: str) -> tuple[tuple[tuple[int, ...], float], ...]:
    """Every sequence of chance actions before the first decision with its probability, if no chance comes later; else
    the empty sequence."""
    game = _load(game_string)
    drawn_later = (((), 1.0),)
    if _kind(game_string).samples_its_chance:
        return drawn_later
    deals: list[tuple[tuple[int, ...], float]] = []
    openings: list[tuple[Any, tuple[int, ...], float]] = [(game.new_initial_state(), (), 1.0)]
    while openings:
        state, deal, weight = openings.pop()
        if not state.is_chance_node():
            deals.append((deal, weight))
        else:
            openings += [
                (state.child(action), (*deal, action), weight * chance)
                for action, chance in reversed(state.chance_outcomes())
                if chance > 0.0
            ]
        if len(deals) + len(openings) > MAX_DEALS:
            return drawn_later
    if game.max_chance_nodes_in_history() > min(len(deal) for deal, _ in deals):
        return drawn_later
    return tuple(deals)
