"""Rational speech acts over sampled examples and patterns, and the sets of examples that are learned (2311.05740).

A lexicon matrix [H, U] says which of the examples (columns) each pattern (row) agrees with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

import numpy as np

from redqueen.games.by_example import ByExample, as_sets
from redqueen.games.catalogue import find_game
from redqueen.objectives.imitation import Imitation
from redqueen.objectives.rounds import Round
from redqueen.players.language.reciter import Demonstrating, reader
from redqueen.protocols import Policy, Resumable, State, shaped
from redqueen.runs.run import LEARNER
from redqueen.settings.roles import Cast
from redqueen.types import Batch, Damaged, Group, Match, Metrics, RedQueenError, Task, mean_of

Choose = Callable[[np.ndarray, Random], int]
"""Which column of a lexicon matrix whose first row is the target is shown next."""


def literal_listener(lexicon: np.ndarray) -> np.ndarray:
    """[H, U] L0: each column over the patterns that agree with its example; zeros where none does."""
    return _over(lexicon, lexicon.sum(axis=0, keepdims=True))


def pragmatic_speaker(lexicon: np.ndarray) -> np.ndarray:
    """[H, U] S1: each row over the examples, in proportion to what L0 makes of them."""
    known = literal_listener(lexicon)
    return _over(known, known.sum(axis=1, keepdims=True))


def pragmatic_listener(lexicon: np.ndarray) -> np.ndarray:
    """[H, U] L1: each column over the patterns, in proportion to how readily S1 shows the example for them."""
    shown = pragmatic_speaker(lexicon)
    return _over(shown, shown.sum(axis=0, keepdims=True))


def _over(values: np.ndarray, sums: np.ndarray) -> np.ndarray:
    return np.asarray(np.divide(values, sums, out=np.zeros(values.shape), where=sums > 0))


def rational(lexicon: np.ndarray, rng: Random) -> int:
    """The example that S1 shows most readily for the first row, the first of equals."""
    return int(pragmatic_speaker(lexicon)[0].argmax())


def at_random(lexicon: np.ndarray, rng: Random) -> int:
    """Any of the examples: what rational speech acts are compared with."""
    return rng.randrange(lexicon.shape[1])


def for_another(lexicon: np.ndarray, rng: Random) -> int:
    """The example that is the best for another pattern, drawn among the other rows, of those that agree with the
    target: a control in which the target is not known."""
    if len(lexicon) == 1:
        return at_random(lexicon, rng)
    return int(pragmatic_speaker(lexicon)[rng.randrange(1, len(lexicon))].argmax())


def sampled_lexicon(target: str, patterns: Sequence[str], texts: Sequence[str], game: ByExample) -> np.ndarray:
    """[H, U] the verdicts on `texts`, which all agree with the target, its first row. Patterns with the same verdicts
    on all of them count once, and those with the target's as the target."""
    known = as_sets(game)
    own = (True,) * len(texts)
    rows = {tuple(text in known[each] for text in texts) for each in patterns} - {own}
    return np.array([own, *sorted(rows)], dtype=np.float64)


def game_of(spec: str) -> ByExample:
    """The game of this spec. Raises RedQueenError for one that is not about examples."""
    game = find_game(spec)
    if not isinstance(game, ByExample):
        raise RedQueenError(f"examples and patterns are those of by_example, which --game may change: not {spec!r}")
    return game


class Examples:
    """The sets of examples of a game's patterns, built one example at a time."""

    def __init__(self, game: ByExample, choose: Choose) -> None:
        self._game, self._choose = game, choose
        self._telling: list[bool] = []  # of each choice of a round, whether some example says more than another

    def begun(self, tasks: Sequence[Task]) -> list[Task]:
        """The tasks without an example yet, each with an id of its own."""
        self._telling = []
        return [replace(task, id=f"{task.id} {number}") for number, task in enumerate(tasks)]

    def asked(self, role: str, tasks: Sequence[Task]) -> list[Task]:
        """The tasks as one seat alone is asked; those of whose pattern no example is left are left out."""
        return [
            replace(task, facts={**task.facts, "asked": role})
            for task in tasks
            if self._game.left(task.facts["pattern"], given_of(task)) or role == "listener"
        ]

    def extended(
        self, tasks: Sequence[Task], said: Sequence[Group], guessed: Sequence[Group], rng: Random
    ) -> list[Task]:
        """The tasks with one more example each, chosen from what was `said` of them, against the patterns that were
        `guessed`; as they are where nothing was said that agrees with the pattern."""
        examples, rivals = _replies(said), _replies(guessed)
        found = []
        for task in tasks:
            target, given = task.facts["pattern"], given_of(task)
            texts = sorted(set(examples.get(task.id, ())) & set(self._game.left(target, given)))
            others = set(rivals.get(task.id, ())) & set(self._game.agreeing(given))
            if not texts:
                found.append(task)
                continue
            lexicon = sampled_lexicon(target, sorted(others), texts, self._game)
            self._telling.append(bool(np.ptp(lexicon.sum(axis=0)) > 0))
            found.append(_shown(task, (*given, texts[self._choose(lexicon, rng)])))
        return found

    def lessons(self, tasks: Sequence[Task], learning: Mapping[str, Policy]) -> list[Match]:
        """What the sets teach those that learn, by role: the speaker each example after those before it, the listener
        the pattern after each of them, and before the first."""
        found = []
        for task in tasks:
            target, given = task.facts["pattern"], given_of(task)
            seen = [given[:place] for place in range(len(given) + 1)]
            said = {"speaker": given, "listener": [target] * len(seen)}
            for role, policy in learning.items():
                for before, text in zip(seen, said[role], strict=False):
                    if len(self._choices(role, target, before)) == 1:
                        continue  # nothing is to be learned where nothing else may be said
                    (asked,) = self.asked(role, [_shown(task, before)])
                    teller = Demonstrating(reader(policy), text)
                    found.append(Match(self._game, asked, dict.fromkeys(self._game.roles, teller)))
        return found

    def _choices(self, role: str, target: str, given: Sequence[str]) -> Sequence[str]:
        return self._game.left(target, given) if role == "speaker" else self._game.agreeing(given)

    def metrics(self) -> Metrics:
        """The share of the choices of this round in which some example says more than another."""
        return {"telling": mean_of(self._telling)} if self._telling else {}


class Students:
    """Those who learn, each from the sets of all rounds, and what they knew after the literal one."""

    def __init__(self, cast: Cast, passes: int, restart: bool) -> None:
        self.roles: dict[str, Policy] = {"listener": cast.policy}
        self.roles |= zip(("speaker",), cast.seated("speaker"), strict=False)  # none where it does not learn
        self.policies = list({id(each): each for each in self.roles.values()}.values())
        self._rounds = {each.name: Round(passes) for each in self.policies}
        self._restart = restart
        self._literal: dict[str, State] = {}

    @property
    def parts(self) -> list[Resumable]:
        return [self, *self._rounds.values()]

    def begin(self, number: int) -> None:
        """Puts them back, before they learn from the sets of a later round than the first two, to where the literal
        one left them."""
        if number == 1 and self._restart:
            self._literal = {each.name: each.state() for each in self.policies}
        for each in self.policies if self._literal else ():
            each.restore({**self._literal[each.name], "version": each.version})

    def take(self, policy: Policy, batch: Batch, number: int) -> None:
        """Adds a round's lessons of one of them; those of the literal round are not kept."""
        if number < 2:
            self._rounds[policy.name].renew(batch)
        else:
            self._rounds[policy.name].grow(batch)

    def update(self, count: int, rng: Random) -> Metrics:
        """Metrics of an update of each on `count` lessons."""
        found: Metrics = {}
        for each in self.policies:
            own = self._rounds[each.name]
            metrics = own.update(each, count, Imitation(), rng)
            above = "" if each.name == LEARNER else f"{each.name}/"
            found |= {f"{above}{name}": value for name, value in (metrics | own.metrics()).items()}
        return found

    def state(self) -> State:
        return {"literal": self._literal}

    def restore(self, state: State) -> None:
        shaped(state, {"literal": {...: dict}}, "the literal start: ")
        if state["literal"] and set(state["literal"]) != {each.name for each in self.policies}:
            raise Damaged(f"the literal start: .literal must be of {', '.join(each.name for each in self.policies)}")
        self._literal = dict(state["literal"])


def given_of(task: Task) -> tuple[str, ...]:
    """The examples that a task shows already."""
    return tuple(task.facts.get("given", ()))


def _shown(task: Task, given: Sequence[str]) -> Task:
    return replace(task, facts={**task.facts, "given": tuple(given)})


def _replies(groups: Sequence[Group]) -> Mapping[str, list[str]]:
    """What was said, by the id of the task."""
    return {group.task.id: [each.turns[-1].reply.text.strip() for each in group.attempts] for group in groups}
