"""Variants of a method that are functions like its `train`, and what several of them share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from redqueen.chance import derive
from redqueen.curricula.held_out import labelled, training_levels
from redqueen.curricula.store import TaskStore
from redqueen.measures.accuracy import held_out
from redqueen.questions.asking import seeds_of
from redqueen.questions.catalogue import find_questions
from redqueen.runs.run import Run
from redqueen.trials.paired import Train, Trial, trained
from redqueen.trials.sheets import Bench
from redqueen.types import Task

Variants = Mapping[str, tuple[Train, Any]]  # a function like a recipe's `train`, and its config
PROBLEMS = 1024  # of each level, at most


def of_variants(variants: Variants, options: Bench, console: Console, **more: Any) -> dict[str, list[Trial]]:
    """For each variant one trial a seed; `more` is for `trained`."""
    found: dict[str, list[Trial]] = {}
    for name, (train, config) in variants.items():
        found |= trained(train, {name: config}, options.seeds, console, **more)
    return found


class Closed:
    """A screen that keeps out every task."""

    refusal = "closed"

    def prepare(self, tasks: Sequence[Task]) -> None:
        return None

    def reason(self, task: Task) -> str:
        return "only the problems that were dealt are held"

    def hold(self, tasks: Sequence[Task]) -> None:
        return None

    def release(self, tasks: Sequence[Task]) -> None:
        return None


def dealt_store(config: Any, run: Run) -> TaskStore:
    """A store of the problems of `config.questions` but for those held out, from which each level is drawn alike, and
    to which nothing that is proposed is added."""
    questions = find_questions(config.questions)
    tests = held_out(questions, config.problems, seeds_of(questions), run.tests)
    store = TaskStore()
    for level in training_levels(questions):
        problems = labelled(questions, [level], PROBLEMS, tests, derive(run.seed, "dealt", level))
        store.add([replace(task, weight=1.0 / len(problems)) for task in problems], origin="dealt")
    store.screens = (Closed(),)
    return store
