"""What an experiment is: variants of one configuration, the figures that are compared, the controls that decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from redqueen.protocols import Policy
from redqueen.runs.run import Line, Run, Schedule, read_final, read_metrics
from redqueen.settings.limits import check_settings
from redqueen.trials.starts import Measured, Start, measuring
from redqueen.types import Metrics, RedQueenError

Train = Callable[[Any, Run], Policy]  # what a recipe's `train` is
Changes = Mapping[str, Any]  # values by the name of a setting; "learner.model" is a setting of a setting
Rows = list[tuple[str, ...]]
Made = tuple[tuple[str, ...], Rows, str]  # headings, rows, a note
NEVER = 10**9


@dataclass(frozen=True)
class Trial:
    """One finished seed of one variant: its lines, and its last measurement."""

    lines: tuple[Line, ...]
    final: Line
    updates: int = 0  # of the policy that was returned
    seconds: float = 0.0  # of processor time

    def late(self, name: str, share: float = 0.2) -> float:
        """The mean of a figure over the last steps that have it, by default the last fifth."""
        values = [line[name] for line in self.lines if name in line]
        values = values[-max(1, int(share * len(values))) :]
        return float(sum(values) / len(values)) if values else float("nan")

    def first(self, name: str) -> float:
        """A figure at the first step that has it; NaN if none has."""
        return float(next((line[name] for line in self.lines if name in line), float("nan")))

    def episodes(self) -> float:
        """How many episodes were learned from, over all policies."""
        return float(
            sum(line[key] for line in self.lines for key in line if key == "episodes" or key.endswith("/episodes"))
        )


Derived = Mapping[str, Callable[[Trial], float]]  # figures that are worked out from a whole trial, by name


def figure(trial: Trial, key: str, derived: Derived = MappingProxyType({})) -> float:
    """A figure of a trial: one of `derived`, else of the last measurement; "late NAME" is the mean over the last fifth
    of the steps, "first NAME" that of the first step. NaN if it was never measured."""
    if key in derived:
        return derived[key](trial)
    if key.startswith("late "):
        return trial.late(key.removeprefix("late "))
    if key.startswith("first "):
        return trial.first(key.removeprefix("first "))
    return float(trial.final.get(key, np.nan))


class OneSeed(Protocol):
    """Returns one trial of a config and a seed; the folder may hold what was begun."""

    def __call__(self, config: Any, seed: int, folder: Path) -> Trial: ...


def nothing(learner: Policy, seed: int) -> Metrics:
    """No figures beyond those of the run."""
    return {}


@dataclass(frozen=True)
class Training:
    """One training of a recipe. The problems that measure are dealt by the seed (`Run.tests`); `read` adds figures of
    the trained policy, whatever it samples by the seed too."""

    train: Train
    evaluate_every: int = NEVER
    read: Callable[[Policy, int], Metrics] = nothing

    def __call__(self, config: Any, seed: int, folder: Path) -> Trial:
        schedule = Schedule(self.evaluate_every, checkpoint_every=25, keep_checkpoints=1, record_episodes=0)
        run = Run(folder, seed, schedule, tests=seed)
        learner = self.train(config, run)
        final = {**read_final(run.folder), **self.read(learner, seed)}
        return Trial(tuple(read_metrics(run.folder)), final, int(learner.version))


@dataclass(frozen=True)
class Measuring:
    """One call of a function of config and seed that returns figures."""

    measure: Callable[[Any, int], Metrics]

    def __call__(self, config: Any, seed: int, folder: Path) -> Trial:
        return Trial((), dict(self.measure(config, seed)))


@dataclass(frozen=True)
class Difference:
    """How much higher a figure is for `one` variant than for the `other`, seed by seed. The figure of the other is
    another one where `other_figure` names it."""

    one: str
    other: str
    figure: str
    other_figure: str = ""

    def __str__(self) -> str:
        if self.other_figure:
            return f"{self.figure} of {self.one} minus {self.other_figure} of {self.other}"
        return f"{self.figure}: {self.one} minus {self.other}"


def versus(one: str, others: Sequence[str], figures: Sequence[str]) -> tuple[Difference, ...]:
    """The differences of each figure between one variant and each of the others."""
    return tuple(Difference(one, other, name) for other in others for name in figures)


@dataclass(frozen=True)
class Experiment:
    """Variants of one configuration on the same seeds. `compared` is what is asked in numbers, and `controls` are the
    variants without which the answer would say nothing about the method."""

    title: str
    asked: str
    trial: OneSeed
    config: Any
    variants: Mapping[str, Changes]
    figures: tuple[str, ...]
    compared: tuple[Difference, ...]
    controls: tuple[str, ...]
    starts: Mapping[str, Start] = field(default_factory=dict)  # by the setting that takes the folder of the model
    one_start: bool = False  # all seeds share one; it is shown none of the problems that measure any seed
    measured: Measured = measuring  # the problems that measure, where they are not those of `HeldOut` alone
    derived: Derived = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what a reader of the figures has to know
    seeds: int | None = None  # None: ten where a seed takes less than a minute of processor time, else five
    first_seed: int = 0  # above the seeds that were looked at while the settings were chosen

    def settings(self, variant: str) -> dict[str, Any]:
        """What differs from `config`, by name; warm starts are named, not made."""
        return {**self.starts, **self.variants[variant]}

    def with_steps(self, steps: int) -> Experiment:
        """The experiment with `steps` steps in each training. Raises RedQueenError if its config has none, nor one
        method that has."""
        held = [name for name, value in vars(self.config).items() if is_dataclass(value) and "steps" in vars(value)]
        own = "steps" in vars(self.config) or len(held) != 1
        return replace(self, config=changed(self.config, {"steps" if own else f"{held[0]}.steps": steps}, self.title))

    def seeds_of(self, count: int) -> range:
        """The seeds of `count` trials of each variant."""
        return range(self.first_seed, self.first_seed + count)

    def warm(self) -> bool:
        """Whether any variant goes on from a warm start."""
        return any(isinstance(value, Start) for name in self.variants for value in self.settings(name).values())

    def config_of(self, variant: str, folders: Mapping[str, str] = MappingProxyType({})) -> Any:
        """The config of a variant; `folders` hold the warm models, by the settings that take them."""
        settings = {name: value for name, value in self.settings(variant).items() if not isinstance(value, Start)}
        return changed(self.config, {**settings, **folders}, f"the variant {variant!r} of {self.title!r}")

    def check(self) -> None:
        """Raises RedQueenError, one line, for what cannot be run."""
        if self.seeds is not None:
            check_seeds(self.seeds)
        if not is_dataclass(self.config):
            raise RedQueenError(f"the config of {self.title!r} is not a dataclass: it is the Config of a recipe")
        if len(self.variants) < 2:
            raise RedQueenError(f"{self.title!r} has {len(self.variants)} variant: it needs the method and a control")
        for variant in self.variants:
            folders = {name: "tabular" for name, value in self.settings(variant).items() if isinstance(value, Start)}
            check_settings(self.config_of(variant, folders))
        named = [*self.controls, *(name for each in self.compared for name in (each.one, each.other))]
        for name in named:
            if name not in self.variants:
                raise RedQueenError(f"{self.title!r} names the variant {name!r}: {_closest(name, list(self.variants))}")
        if not self.controls or not self.compared:
            raise RedQueenError(f"{self.title!r} has no control that decides: name variants in controls and compared")


@dataclass(frozen=True)
class Table:
    """Figures that no seed changes, or that are times: `make` is told how often each time is measured."""

    title: str
    asked: str
    make: Callable[[int], Made]

    def check(self) -> None:
        """Does nothing: a table has no settings that could be wrong."""


def check_seeds(seeds: int) -> None:
    """Raises RedQueenError for fewer seeds than an interval of a difference needs."""
    if seeds < 2:
        raise RedQueenError(f"{seeds} seed tells no difference from chance: take five, or ten where one is quick")


def changed(config: Any, changes: Changes, whose: str = "a variant") -> Any:
    """The config with other values; "learner.model" names a setting within a setting. Raises RedQueenError for one that
    does not exist."""
    for name, value in changes.items():
        outer, _, inner = name.partition(".")
        known = [each.name for each in fields(config)]
        if outer not in known:
            raise RedQueenError(f"{whose} sets {outer!r}, which is no setting: {_closest(outer, known)}")
        config = replace(config, **{outer: changed(getattr(config, outer), {inner: value}, whose) if inner else value})
    return config


def _closest(word: str, known: Sequence[str]) -> str:
    close = get_close_matches(word, known, n=1)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
