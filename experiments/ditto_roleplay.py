"""Ditto on made-up characters: what is known by heart without the profile, and what is declined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from unittest.mock import patch

from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import said
from redqueen.recipes.self_training import cold_start
from redqueen.recipes.self_training.ditto_roleplay import recipe, steps
from redqueen.recipes.self_training.ditto_roleplay.questions import VALUES, Character, found_characters, made_up
from redqueen.recipes.self_training.ditto_roleplay.steps import PLAY, Asked, with_profile, without_profile
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Difference, Experiment, Training, Trial, versus
from redqueen.trials.starts import Start, warmed
from redqueen.types import SOLVER, Demonstration, Metrics, Task, mean_of

NAME = "experiments.ditto_roleplay:readers"
DECLINES = "I do not know."
KEPT, ALL_KNOWN, UNTRAINED = "the profile is kept in training", "nothing to decline", "not trained"
TRIES = 8  # replies to each question


@dataclass(frozen=True)
class Readers:
    """Characters whose profiles are drawn anew for each question, who reply with what their profile says, and decline
    what is asked about another one."""

    name: str = "readers"
    levels: tuple[str, ...] = ("profile",)

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return [self._asked(rng) for _ in range(count)]

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return [task.answer == answer.strip() for task, answer in zip(tasks, answers, strict=True)]

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        tasks = [self._asked(rng) for _ in range(count)]
        return [Demonstration(SOLVER if rng.random() < 0.1 else PLAY.role, task, task.answer) for task in tasks]

    def _asked(self, rng: Random) -> Task:
        one, other = rng.sample(made_up(rng), 2)
        known = rng.random() < 0.6
        question = rng.choice((one if known else other).questions)
        task = with_profile(Asked(one, question, known))
        return Task(task.id, task.kind, task.prompt, told(one, question) if known else DECLINES, messages=task.messages)


def readers() -> Readers:
    """Returns the questions, as a set that is found by name."""
    return Readers()


def told(one: Character, question: str) -> str:
    """What a profile says to a question about its own character."""
    kind = next(each for each in VALUES if f"the {each} of" in question)
    return next(part.split()[-1] for part in one.profile.partition(": ")[2].split(", ") if part.startswith(kind))


def by_heart(policy: Policy, seed: int) -> Metrics:
    """Shares of the questions without a profile: answered as it says, and declined where another character is asked
    about; the mean of both."""
    characters = found_characters("")
    own = [(one, text) for one in characters for text in one.questions]
    others = [(one, text) for one in characters for two in characters if two is not one for text in two.questions]
    known = tried(policy, [Asked(one, text, True) for one, text in own], seed)
    drawn = Random(seed).sample(others, len(own))
    unknown = tried(policy, [Asked(one, text, False) for one, text in drawn], seed)
    right = [reply == told(*pair) for pair, replies in zip(own, known, strict=True) for reply in replies]
    declined = [reply == DECLINES for replies in unknown for reply in replies]
    found = {"known": float(mean_of(right)), "declined": float(mean_of(declined))}
    return found | {"balanced": sum(found.values()) / 2}


def tried(policy: Policy, asked: Sequence[Asked], seed: int) -> list[list[str]]:
    """Replies to each question without a profile."""
    groups = attempts(PLAY, [without_profile(one) for one in asked], policy, TRIES, Random(seed))
    return [[text.strip() for text in said([group])] for group in groups]


@dataclass(frozen=True)
class Method:
    """Ditto, or the same with the profile in what is learned."""

    ditto: recipe.Config
    kept: bool = False


@dataclass(frozen=True)
class OneSeed:
    def __call__(self, config: Method, seed: int, folder: Path) -> Trial:
        with patch.object(steps, "without_profile", with_profile if config.kept else without_profile):
            return Training(recipe.train, read=by_heart)(config.ditto, seed, folder)


BY_HEART = Experiment(
    title="Ditto on made-up characters",
    asked="Is what was said with a profile in view known without it, and is what another knows declined?",
    trial=OneSeed(),
    config=Method(
        recipe.Config(warmed(1e-3, max_completion_length=12), steps=160, updates=40, tasks=24, replies_per_update=32)
    ),
    starts={
        "ditto.learner.model": Start(
            cold_start.Config(
                Learner(model="tiny:hidden=96,layers=3", max_completion_length=12, learning_rate=2e-3),
                questions=NAME,
                steps=1200,
                demonstrations_per_step=64,
                rest=400,
                problems=32,
            )
        )
    },
    variants={
        "Ditto": {},
        KEPT: {"kept": True},
        ALL_KNOWN: {"ditto.contrastive": 0, "ditto.tasks": 40},
        UNTRAINED: {"ditto.learner.learning_rate": 1e-12},
    },
    figures=(
        *("known", "declined", "balanced", "first plain_logprob", "late plain_logprob", "late aided_logprob"),
        *("first unasked_logprob", "unasked_logprob", "unasked_logprob/known", "unasked_logprob/unknown"),
    ),
    compared=(
        *versus("Ditto", (KEPT, ALL_KNOWN, UNTRAINED), ("known", "declined", "balanced")),
        Difference("Ditto", "Ditto", "late plain_logprob", "first plain_logprob"),
        Difference("Ditto", "Ditto", "unasked_logprob", "first unasked_logprob"),
    ),
    controls=(KEPT, ALL_KNOWN, UNTRAINED),
    seeds=5,
    notes=(
        "Twelve characters with three things each. The start reads profiles that are drawn anew, and knows nobody. "
        "Replies of an iteration: 24 characters are asked 3 and 2 questions, or 40 of them 3. At most eight questions "
        "are never asked: known and declined are of all questions, these too.",
    ),
)
