"""How many patterns the listener names from the speaker's examples, and what exact rational speech acts come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from redqueen.chance import derive
from redqueen.games.by_example import ByExample, as_sets
from redqueen.play.lockstep import play
from redqueen.players.scripted import Uniform
from redqueen.protocols import MayBeClosed, OpenPlayer, Player, State, has
from redqueen.recipes.games.pragmatic_synthesis.steps import pragmatic_speaker
from redqueen.types import Ask, Basis, Match, Metrics, Reply, Task, mean_of


class Understood:
    """Of the held-out patterns (of all, where the game holds out none): `understood`, the share that the listener
    names from the speaker's examples, and `understood_random` from examples drawn at random, `draws` times each. Both
    say what they think likeliest where their probabilities can be read, else what they sample.

    For comparison (`exact`): a speaker and a listener who know all patterns and reason about each other, and a
    listener who only knows what is true, with random examples.
    """

    def __init__(
        self, game: ByExample, speaker: Player, listener: Player, draws: int = 2, patterns: int = 64, seed: int = 0
    ) -> None:
        self._game, self._speaker, self._listener = game, Likeliest(speaker), Likeliest(listener)
        self._draws, self._seed = draws, seed
        known = game.held_out() or game.tasks()
        self._tasks = Random(derive(seed, "patterns")).sample(known, min(patterns, len(known)))

    def __call__(self) -> Metrics:
        return {
            "understood": self._share(self._tasks, self._speaker),
            "understood_random": self._share(self._tasks * self._draws, Uniform()),
        }

    def _share(self, tasks: Sequence[Task], speaker: Player) -> float:
        cast = {"speaker": speaker, "listener": self._listener}
        episodes = play([Match(self._game, task, cast) for task in tasks], Random(derive(self._seed, "matches")))
        return mean_of(sum(each.outcome.scores.values()) > 0 for each in episodes)

    def basis(self) -> dict[str, Basis]:
        targets = [task.facts["pattern"] for task in self._tasks]
        exact = {"exact rational speech acts": exact_share(self._game, targets)}
        literal = {"the truth alone": literal_share(self._game, targets, self._draws, self._seed)}
        return {
            "understood": Basis(count=len(self._tasks), of="patterns", references=exact),
            "understood_random": Basis(count=len(self._tasks), of="patterns", attempts=self._draws, references=literal),
        }

    def limit(self, replies: int) -> None:
        """Fewer patterns, of which each is a match of several replies."""
        if replies:
            a_pattern = (1 + self._draws) * (1 + self._game.examples)
            self._tasks = self._tasks[: max(replies // a_pattern, 1)]

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


@dataclass(frozen=True)
class Likeliest:
    """Says the likeliest of the listed replies, as another player sees them; what that player says itself where its
    probabilities cannot be read."""

    player: Player

    @property
    def name(self) -> str:
        return self.player.name

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        player = self.player
        if not has(player, OpenPlayer) or (has(player, MayBeClosed) and not player.open):
            return player.reply(asks)
        chances = player.probabilities(asks)
        return [Reply(ask.choices[int(np.argmax(each))], self.name) for ask, each in zip(asks, chances, strict=True)]


class Exact:
    """Rational speech acts over a whole game: nothing is sampled."""

    def __init__(self, game: ByExample) -> None:
        known = as_sets(game)
        self.patterns = tuple(known)
        self.texts = tuple(sorted(set().union(*known.values())))
        self._matrix = np.array([[text in known[name] for text in self.texts] for name in self.patterns], dtype=float)
        self._count = game.examples

    def shown(self, target: str) -> tuple[str, ...]:
        """The examples that the speaker shows, each the best for the listener after those before it, the first of
        equals."""
        given: tuple[int, ...] = ()
        row = self.patterns.index(target)
        while len(given) < self._count:
            lexicon = self._left(given)
            if not lexicon[row].any():
                break
            given += (int(pragmatic_speaker(lexicon)[row].argmax()),)
        return tuple(self.texts[place] for place in given)

    def posterior(self, given: Sequence[str]) -> np.ndarray:
        """[H] what a listener who knows how the speaker chooses thinks of each pattern: the product of S1 over the
        examples, each after those before it."""
        places = [self.texts.index(text) for text in given]
        found = np.ones(len(self.patterns))
        for number, place in enumerate(places):
            found = found * pragmatic_speaker(self._left(places[:number]))[:, place]
        return np.asarray(found / found.sum())

    def _left(self, given: Sequence[int]) -> np.ndarray:
        """The lexicon of the patterns that agree with what was given, without these examples."""
        agree = self._matrix[:, list(given)].min(axis=1, initial=1.0)
        left = self._matrix * agree[:, None]
        left[:, list(given)] = 0.0
        return np.asarray(left)


def exact_share(game: ByExample, targets: Sequence[str]) -> float:
    """The share of the targets that the exact listener names from the exact speaker's examples."""
    exact = Exact(game)
    return float(
        np.mean([exact.patterns[int(exact.posterior(exact.shown(each)).argmax())] == each for each in targets])
    )


def literal_share(game: ByExample, targets: Sequence[str], draws: int, seed: int) -> float:
    """The share of the targets that a listener names from random examples who takes one of the patterns that agree."""
    rng, shares = Random(derive(seed, "literal")), []
    for target in [*targets] * draws:
        own = game.lexicon()[target]
        shares.append(1.0 / len(game.agreeing(rng.sample(own, min(game.examples, len(own))))))
    return float(np.mean(shares))
