"""Loops of greedy text, and what a penalty on repeats does about them (DITTO, arXiv:2206.02369; target: 9.8 of
`papers/preference_adversarial.md`).

A tiny model learns texts of sentences such as "king card fold bet pot deal row." Each word is drawn by the one before;
a share of the sentences says the one before again, as people hardly do. Greedy text then goes round: a sentence that
was said once is likelier the next time. From one model, as many more steps of imitation alone, and of imitation and
pseudo data in turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from random import Random

import numpy as np
import torch

from redqueen.credit.rewards import payoff, score
from redqueen.demonstrations.loops import distances, looped, repeated_sentences
from redqueen.objectives.batch import pack
from redqueen.objectives.imitation import Imitation
from redqueen.objectives.repetition import PseudoRepetition
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.language.reciter import Reciter
from redqueen.players.transformer.loading import LoadedModel, load_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.protocols import Player
from redqueen.questions.asking import SOLVE, said
from redqueen.questions.small.documents import NAMES
from redqueen.trials.experiment import Experiment, Measuring, versus
from redqueen.types import Match, Metrics, Task, Trajectory

CHANCES = (0.55, 0.25, 0.15, 0.05)  # of the words that may follow a word
WORDS, LENGTH, COPIED = 40, 7, 0.15  # different words; of a sentence; share of sentences that repeat
TEXT, TEXTS, TESTED = 10, 16, 64  # sentences of a text, texts of a step, of a measurement
CONTEXT = 96  # tokens of a row
RATE = 1e-3
MODEL = "tiny:hidden=64,layers=2"


@lru_cache(maxsize=1024)
def _after(seed: int, word: str) -> list[str]:
    """The words that may follow a word, the likeliest first."""
    return Random(seed * WORDS + NAMES.index(word)).sample(NAMES[:WORDS], len(CHANCES))


@dataclass(frozen=True)
class Language:
    """Texts of a first-order chain of words, in which four may follow each."""

    seed: int = 0

    def text(self, rng: Random) -> list[str]:
        """The sentences of one text."""
        sentences: list[str] = []
        for _ in range(TEXT):
            again = sentences and rng.random() < COPIED
            sentences.append(sentences[-1] if again else self._sentence(rng))
        return sentences

    def _sentence(self, rng: Random) -> str:
        words = [rng.choice(NAMES[:WORDS])]
        while len(words) < LENGTH:
            words += rng.choices(_after(self.seed, words[-1]), CHANCES)
        return " " + " ".join(words) + "."

    def tasks(self, count: int, rng: Random) -> list[Task]:
        """Texts to go on with: the first sentence is the prompt, the others are the answer."""
        texts = [self.text(rng) for _ in range(count)]
        return [Task(str(n), "text", text[0], "".join(text[1:])) for n, text in enumerate(texts)]


@dataclass(frozen=True)
class Figures:
    greedy: float  # share of sentences that say the one before again, the likeliest words taken
    sampled: float  # the same of sampled text
    cross_entropy: float  # nats a word of held-out texts


class Writer:
    """A learner, and the same weights where they take the likeliest words."""

    def __init__(self, seed: int) -> None:
        loaded: LoadedModel = load_model(MODEL, torch.float32, "cpu", seed)
        self.learner, self.greedy = (
            TransformerPolicy(loaded, learning_rate=RATE, temperature=heat, max_completion_length=80, constrain=False)
            for heat in (1.0, 0.0)
        )
        (self.end,) = loaded.tokenizer.encode(".")

    def read(self, tasks: Sequence[Task]) -> list[Trajectory]:
        """The texts as if the learner had written them."""
        matches = [Match(SOLVE, task, {"solver": Reciter(self.learner, task.answer)}) for task in tasks]
        return score(play(matches, Random(0)), payoff)

    def imitate(self, tasks: Sequence[Task]) -> None:
        texts = self.read(tasks)
        self.learner.update(pack(texts, [np.ones(1) for _ in texts]), Imitation())

    def avoid_loops(self, tasks: Sequence[Task], objective: PseudoRepetition, rng: Random) -> None:
        loops = looped(self.read(tasks), {self.end}, CONTEXT, rng)
        self.learner.update(pack(loops, [distances(loop) for loop in loops]), objective)

    def figures(self, tests: Sequence[Task]) -> Figures:
        for policy in (self.learner, self.greedy):
            policy.forget()
        texts = self.read(tests)
        batch = pack(texts, [np.ones(1) for _ in texts])
        nats = -float((batch.loss_weights * self.learner.likelihoods(batch).logprobs).sum())
        return Figures(_repeated(self.greedy, tests), _repeated(self.learner, tests), nats)


def _repeated(player: Player, tests: Sequence[Task]) -> float:
    texts = said(play(alone(SOLVE, tests, player), Random(1)))
    return float(np.mean([repeated_sentences(text) for text in texts]))


@dataclass(frozen=True)
class Config:
    """How long a text model is trained, and on what at the end."""

    steps: int = 700  # of imitation
    more: int = 250  # further ones
    decay: float | None = None  # of the penalty on pseudo data, every second step; None is more imitation


def trained(config: Config, seed: int) -> Metrics:
    """Returns the figures after `steps` of imitation and `more` from there."""
    language, rng = Language(seed), Random(seed)
    tests = language.tasks(TESTED, Random(-1 - seed))
    writer = Writer(seed)
    for _ in range(config.steps):
        writer.imitate(language.tasks(TEXTS, rng))
    own = Random(seed)
    for _ in range(config.more):
        tasks = language.tasks(TEXTS, own)
        if config.decay is not None and own.random() < 0.5:
            writer.avoid_loops(tasks, PseudoRepetition(config.decay), own)
        else:
            writer.imitate(tasks)
    return asdict(writer.figures(tests))


REPEATED = Experiment(
    title="Repeated sentences",
    asked="Does the penalty on repeated sentences make greedy text repeat less, and what does it cost in likelihood?",
    trial=Measuring(trained),
    config=Config(),
    variants={"more imitation": {}, "decay 0.5": {"decay": 0.5}, "decay 0.9": {"decay": 0.9}},
    figures=("greedy", "sampled", "cross_entropy"),
    compared=tuple(
        each
        for name in ("decay 0.5", "decay 0.9")
        for each in versus(name, ("more imitation",), ("greedy", "cross_entropy"))
    ),
    controls=("more imitation",),
    notes=(f"{TEXTS} texts a step; {TESTED} texts of {TEXT} sentences are gone on with.",),
)
