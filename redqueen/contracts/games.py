"""What every game must satisfy. `check_game(MyGame())` returns one line that says all is well, or
raises an AssertionError with one line that says what is wrong.

    determinism     the same task, seed and replies give the same asks and the same outcome
    replay          a recorded episode plays again to an equal one
    termination     a match ends, also when nobody says anything sensible
    scores          every role is scored, with finite numbers; a zero-sum game sums to zero, also after
                    a forfeit; gains add up to scores; facts can be stored
    walls           nobody's thought is shown to anyone; what only the other seat knows changes nothing
    recall          a seat that is shown the same has done the same before (not in games of perfect
                    information, which show the position alone)
    conversations   an ask that holds the seat's earlier words extends its last ask by exactly them, or is what the
                    game's window leaves of that conversation
    broken rules    after `retries` more chances an illegal or malformed reply is a forfeit

Players here draw uniformly from the listed replies, or from `phrases` where a game takes free text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import pairwise
from random import Random
from typing import Any, cast

from redqueen.chance import derive, one_of, uniform
from redqueen.games.talk import recent
from redqueen.play.lockstep import play, replay
from redqueen.play.table import MAX_TURNS, Table
from redqueen.protocols import Game, ShowsLastTurns, StatesInformation, StatesZeroSum, has
from redqueen.types import Ask, Episode, Match, Message, Reply, Seat, Task, Turn, tuples

MATCHES = 20  # random matches looked at for each property
PHRASES = ("yes", "no", "[0]", "[1]")
Knows = Callable[[Task, Seat], Hashable]  # all that a seat has been dealt when it is first asked


def check_game(game: Game, phrases: Sequence[str] = PHRASES, knows: Knows | None = None) -> str:
    """One line that says all is well, once every check that applies to the game has passed. Raises AssertionError at
    the first fault."""
    check_shape(game)
    check_tasks(game)
    check_asks(game, phrases)
    check_determinism(game, phrases)
    check_replay(game, phrases)
    check_scores(game, phrases)
    check_thoughts_stay_private(game, phrases)
    check_recall(game, phrases)
    check_conversations(game, phrases)
    check_broken_rules(game, phrases)
    if knows is not None:
        check_information_wall(game, knows, phrases)
    tasks, roles = len(game.tasks()), ", ".join(game.roles)
    return f"{game.name} keeps the contract of games: {tasks} {'task' if tasks == 1 else 'tasks'}, played by {roles}"


def check_shape(game: Game) -> None:
    """A name, roles that differ, and the facts of the game as booleans where it states them."""
    assert isinstance(game.name, str), f"the name of a game is a string, not {game.name!r}"
    assert game.name, "a game has a name"
    assert isinstance(game.roles, tuple), f"the roles of {game.name} must be a tuple, not {type(game.roles).__name__}"
    assert game.roles, f"{game.name} has no roles"
    assert len(set(game.roles)) == len(game.roles), f"{game.name} names a role twice: {game.roles}"
    stated = {
        "zero_sum": game.zero_sum if has(game, StatesZeroSum) else False,
        "perfect_information": game.perfect_information if has(game, StatesInformation) else False,
    }
    for fact, value in stated.items():
        assert isinstance(value, bool), f"{fact} of {game.name} must be True or False, not {value!r}"


def check_tasks(game: Game) -> None:
    """At least one task, ids that differ, weights above zero, and the same list each time."""
    tasks = list(game.tasks())
    assert tasks, f"{game.name} has no tasks"
    assert all(isinstance(task, Task) for task in tasks), f"tasks() of {game.name} must give Task objects"
    ids = [task.id for task in tasks]
    twice = sorted({name for name in ids if ids.count(name) > 1}) if len(set(ids)) < len(ids) else []
    assert not twice, f"{game.name} has two tasks with the id {twice[0]!r}"
    for task in tasks:
        assert math.isfinite(task.weight), f"task {task.id!r} of {game.name} has the weight {task.weight}"
        assert task.weight > 0, f"task {task.id!r} of {game.name} has the weight {task.weight}"
    assert list(game.tasks()) == tasks, f"tasks() of {game.name} gives another list each time"


def check_asks(game: Game, phrases: Sequence[str] = PHRASES) -> None:
    """Asks that name a role of the game, show something, and list replies that differ and are stripped."""
    for table in _tables(game):
        while table.outcome is None:
            seats = [ask.seat for ask in table.asks]
            assert len(set(seats)) == len(seats), f"{game.name} asks a seat twice at the same moment: {seats}"
            for ask in table.asks:
                _check_ask(game, ask)
            _answer(game, table, _Uniform(phrases))


def _check_ask(game: Game, ask: Ask) -> None:
    assert ask.seat.role in game.roles, f"{game.name} asks {ask.seat.role!r}, which is none of its roles {game.roles}"
    assert isinstance(ask.messages, tuple), f"the messages of an ask of {game.name} must be a tuple"
    assert isinstance(ask.choices, tuple), f"the choices of an ask of {game.name} must be a tuple"
    assert all(message.text.strip() for message in ask.messages), f"{game.name} shows {ask.seat} an empty message"
    assert ask.messages[-1].speaker != str(ask.seat), f"{game.name} ends an ask with the words of {ask.seat} itself"
    assert len(set(ask.choices)) == len(ask.choices), f"{game.name} lists a choice twice: {ask.choices}"
    for choice in ask.choices:
        assert choice, f"{game.name} lists an empty choice"
        assert choice == choice.strip(), f"{game.name} lists a choice with spaces around it: {choice!r}"


def check_determinism(game: Game, phrases: Sequence[str] = PHRASES) -> None:
    """Two plays of one match are equal, also when other matches are played in between."""
    players = dict.fromkeys(game.roles, _Uniform(phrases))
    matches = [Match(game, task, players, seed) for task, seed in _draws(game)]
    together = play(matches, Random(0))
    for match, episode in zip(matches, together, strict=True):
        (alone,) = play([match], Random(1))
        _check_outcome(game, episode)  # a score that is no number is not equal to itself
        assert alone.turns == episode.turns, (
            f"{game.name} played task {match.task.id!r} with seed {match.seed} twice and asked other things; "
            "chance must come from the task or from rng"
        )
        assert alone.outcome == episode.outcome, (
            f"{game.name} played task {match.task.id!r} with seed {match.seed} twice to two outcomes"
        )


def check_replay(game: Game, phrases: Sequence[str] = PHRASES) -> None:
    """A recorded episode, fed to the game again, gives an equal record."""
    for episode in _episodes(game, _Uniform(phrases)):
        assert replay(game, episode) == episode, f"{game.name} does not replay its own episode to an equal one"


def check_scores(game: Game, phrases: Sequence[str] = PHRASES) -> None:
    """Matches end with a finite score for every role, also when nobody keeps to the rules."""
    for player in (_Uniform(phrases), _Stubborn("", {}), _Stubborn("xyzzy", {})):
        for episode in _episodes(game, player):
            _check_outcome(game, episode)


def _check_outcome(game: Game, episode: Episode) -> None:
    scores, facts = episode.outcome.scores, episode.outcome.facts
    assert {seat.role for seat in scores} == set(game.roles), (
        f"{game.name} scores {[str(seat) for seat in scores]}, but its roles are {game.roles}"
    )
    assert all(math.isfinite(score) for score in scores.values()), f"{game.name} scores {scores}"
    if "gains" in facts:
        for seat, score in scores.items():
            total = sum(gain.get(str(seat), 0.0) for _, gain in facts["gains"])
            assert abs(total - score) < 1e-9, f"the gains of {seat} in {game.name} sum to {total}, its score is {score}"
        turns = [turn for turn, _ in facts["gains"]]
        assert turns == sorted(turns), f"{game.name} gives its gains out of order: {turns}"
        assert all(0 <= turn < len(episode.turns) for turn in turns), (
            f"{game.name} gives gains after turns {turns}, but the match had {len(episode.turns)}"
        )
    try:
        stored = json.loads(json.dumps(facts))
    except TypeError as error:
        raise AssertionError(f"the facts of {game.name} cannot be stored as JSON: {error}") from None
    assert tuples(stored) == facts, f"the facts of {game.name} must be strings, numbers, tuples and dicts of strings"


def check_thoughts_stay_private(game: Game, phrases: Sequence[str] = PHRASES) -> None:
    """What a player thinks, and does not say, is shown to nobody."""
    for episode in _episodes(game, _Uniform(phrases, thought="plugh-plover")):
        for turn in episode.turns:
            for message in turn.ask.messages:
                assert "plugh-plover" not in message.text, f"{game.name} shows {turn.ask.seat} a thought"


def check_information_wall(
    game: Game, knows: Knows, phrases: Sequence[str] = PHRASES, tasks: Sequence[Task] | None = None
) -> None:
    """The first ask of a seat is the same in any two tasks that gave it the same to know, as long as
    the same was said before. `knows` gives all that a seat has been dealt by then."""
    compared = 0
    for role in game.roles:
        first: dict[Hashable, tuple[Ask, Task]] = {}
        for task in tasks or game.tasks():
            said, ask = _until_asked(game, task, role, phrases)
            if ask is None:
                continue
            key = (knows(task, ask.seat), said)
            known, other = first.setdefault(key, (ask, task))
            compared += other is not task
            assert known == ask, (
                f"{game.name} shows {role} different things in tasks {other.id!r} and {task.id!r}, "
                "which differ only in what it may not know"
            )
    assert compared, f"no two tasks of {game.name} gave a seat the same to know: pass tasks that do"


def _until_asked(
    game: Game, task: Task, role: str, phrases: Sequence[str]
) -> tuple[tuple[tuple[Seat, str], ...], Ask | None]:
    """What was said before a role is first asked, and that ask."""
    table = Table(Match(game, task, dict.fromkeys(game.roles, _Uniform(phrases))), 0)
    while table.outcome is None:
        for ask in table.asks:
            if ask.seat.role == role:
                return tuple((turn.ask.seat, turn.reply.text) for turn in table.turns), ask
        _answer(game, table, _Uniform(phrases))
    return (), None


def check_recall(game: Game, phrases: Sequence[str] = PHRASES) -> None:
    """Equal asks of a seat come after equal turns of it, unless turns are left out. Free text is not looked at."""
    if (has(game, StatesInformation) and game.perfect_information) or _window(game):
        return
    pasts: dict[Ask, tuple[Any, ...]] = {}
    for episode in _episodes(game, _Uniform(phrases), count=5 * MATCHES):
        for turn in episode.turns:
            if turn.ask.choices:
                past = tuple((before.ask, before.reply.text) for before in turn.ask.past)
                assert pasts.setdefault(turn.ask, past) == past, (
                    f"{game.name} shows {turn.ask.seat} the same after it saw or did different things: an ask must "
                    "tell what the seat saw and did before, or (in code) the game say perfect_information = True"
                )


def check_conversations(game: Game, phrases: Sequence[str] = PHRASES) -> None:
    """An ask that holds the seat's own earlier words begins with its last ask and those words; with a window it is what
    the window leaves of that conversation."""
    if window := _window(game):
        _check_windows(game, window, phrases)
        return
    for episode in _episodes(game, _Uniform(phrases)):
        for turn in episode.turns:
            own = str(turn.ask.seat)
            if any(message.speaker == own for message in turn.ask.messages):
                last = turn.ask.past[-1]
                begins = _told((*last.ask.messages, Message(own, last.reply.text.strip())))
                assert _told(turn.ask.messages)[: len(begins)] == begins, (
                    f"{game.name} shows {own} its own words, but not as its last ask followed by what it said"
                )
                assert all(message.speaker != own for message in turn.ask.messages[len(begins) :]), (
                    f"{game.name} puts words into the mouth of {own}"
                )


def _window(game: Game) -> int:
    return game.window if has(game, ShowsLastTurns) else 0


def _check_windows(game: Game, window: int, phrases: Sequence[str]) -> None:
    for episode in _episodes(game, _Uniform(phrases)):
        for turn in episode.turns:
            whole = _whole([*turn.ask.past, turn])
            assert _told(turn.ask.messages) == _told(recent(whole, turn.ask.seat, window)), (
                f"{game.name} shows {turn.ask.seat} something else than the last {window} of its turns, what came "
                "before the first, and a line that says how many are left out"
            )


def _whole(turns: Sequence[Turn]) -> tuple[Message, ...]:
    """What the last of a seat's turns was asked, had nothing been left out."""
    whole, own = turns[0].ask.messages, str(turns[0].ask.seat)
    for before, turn in pairwise(turns):
        told = turn.ask.messages
        last = max((place for place, message in enumerate(told) if message.speaker == own), default=-1)
        whole = (*whole, Message(own, before.reply.text.strip()), *told[last + 1 :])
    return whole


def _told(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Who said what: a game may note the call of a tool in a seat's own words as a part of its own."""
    return [(message.speaker, message.text) for message in messages]


def check_broken_rules(game: Game, phrases: Sequence[str] = PHRASES) -> None:
    """The stated rule for replies outside the listed choices, with no second chance and with one:
    the offender is asked once more for each retry, its conversation extended by what was wrong, and
    then forfeits, scoring no more than anyone else. A legal second reply plays on."""
    configurable = is_dataclass(game) and any(field.name == "retries" for field in fields(game))
    for retries in (0, 1) if configurable else ():
        strict = cast(Game, replace(cast(Any, game), retries=retries))
        for role in strict.roles:
            for text in ("", "xyzzy"):
                _check_offence(strict, role, text, retries, phrases)
    for role in game.roles:
        for text in ("", "xyzzy"):
            for episode in _episodes(game, _Stubborn(text, {role: _Uniform(phrases)}), count=3):
                _check_outcome(game, episode)


def _check_offence(game: Game, role: str, text: str, retries: int, phrases: Sequence[str]) -> None:
    helpers = {other: _Uniform(phrases) for other in game.roles if other != role}
    for episode in _episodes(game, _Stubborn(text, helpers), count=3):
        mine = [turn for turn in episode.turns if turn.ask.seat.role == role]
        if not mine or not mine[0].ask.choices:
            continue
        facts, scores = episode.outcome.facts, episode.outcome.scores
        assert len(mine) == retries + 1, (
            f"{game.name} with retries={retries} asked {role} {len(mine)} times for a reply that was never legal"
        )
        assert facts.get("forfeit") == str(mine[0].ask.seat), f"{game.name} does not name {role} in facts['forfeit']"
        reason = "illegal" if text else "malformed"
        assert facts.get("reason") == reason, f"{game.name} gives the reason {facts.get('reason')!r}, not {reason!r}"
        worst = min(scores.values())
        assert scores[mine[0].ask.seat] == worst, f"{game.name} pays the offender {role} more than another: {scores}"
        for before, after in pairwise(mine):
            begins = (*before.ask.messages, Message(str(before.ask.seat), text))
            assert after.ask.messages[: len(begins)] == begins, f"{game.name} asks {role} again, but not in its words"
            assert len(after.ask.messages) > len(begins), f"{game.name} does not tell {role} what was wrong"
            assert after.ask.choices == before.ask.choices, (
                f"{game.name} offers {role} other choices at a second chance"
            )
        _check_outcome(game, episode)
    if retries:
        for episode in _episodes(game, _Careless(text, _Uniform(phrases)), count=3):
            if all(turn.ask.choices for turn in episode.turns):
                assert "forfeit" not in episode.outcome.facts, f"{game.name} forfeits although the retry was legal"
                _check_outcome(game, episode)


@dataclass(frozen=True)
class _Uniform:
    """Draws from the listed replies, or from the phrases where there are none."""

    phrases: Sequence[str] = PHRASES
    thought: str = ""
    name: str = "uniform"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self.choice(ask), self.name, thought=self.thought) for ask in asks]

    def choice(self, ask: Ask) -> str:
        texts = ask.choices or self.phrases
        return one_of(texts, uniform(ask.seed))


@dataclass(frozen=True)
class _Stubborn:
    """Says the same whatever it is asked, but for the roles that a helper plays."""

    text: str
    helpers: dict[str, _Uniform]
    name: str = "stubborn"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [
            Reply(self.helpers[ask.seat.role].choice(ask) if ask.seat.role in self.helpers else self.text, self.name)
            for ask in asks
        ]


@dataclass(frozen=True)
class _Careless:
    """Breaks the rules whenever it is asked for the first time, and keeps to them when asked again."""

    text: str
    helper: _Uniform
    name: str = "careless"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self.helper.choice(ask) if self.warned(ask) else self.text, self.name) for ask in asks]

    def warned(self, ask: Ask) -> bool:
        """Whether the ask is the seat's last one again, with what was wrong."""
        return bool(ask.past) and ask.past[-1].reply.text == self.text


def _draws(game: Game, count: int = MATCHES) -> Iterator[tuple[Task, int]]:
    """Tasks and seeds to look at, spread over all tasks."""
    tasks = list(game.tasks())
    for number in range(count):
        yield tasks[derive(number, "contract") % len(tasks)], derive(number, "seed")


def _tables(game: Game) -> Iterator[Table]:
    players = dict.fromkeys(game.roles, _Uniform())
    for task, seed in _draws(game):
        yield Table(Match(game, task, players), seed)


def _episodes(game: Game, player: Any, count: int = MATCHES) -> Iterator[Episode]:
    """Matches in which one player holds every seat, each of which must end."""
    for task, seed in _draws(game, count):
        table = Table(Match(game, task, dict.fromkeys(game.roles, player)), seed)
        while table.outcome is None:
            _answer(game, table, player)
        yield table.episode()


def _answer(game: Game, table: Table, player: Any) -> None:
    """One round: the player answers for every seat that is asked."""
    assert len(table.turns) < MAX_TURNS, f"{game.name} does not end: it asked {MAX_TURNS} times in one match"
    table.hear(player.reply(table.asks))
