"""`tasks`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from redqueen.cli.words import parse
from redqueen.curricula.history import TaskHistory
from redqueen.curricula.on_disk import export_dataset, write_tasks
from redqueen.curricula.store import TaskStore
from redqueen.markup import visible
from redqueen.runs.checkpoints import check, checkpoints, read_parts
from redqueen.runs.folder import settings
from redqueen.settings.limits import unset
from redqueen.types import RedQueenError


@dataclass(frozen=True)
class TasksOptions:
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """the folder of a run, such as outputs/absolute_zero-0"""
    write: Annotated[Path | None, unset("FILE.jsonl")] = None
    """a file for the tasks, one per line; an existing file is replaced"""
    dataset: Annotated[Path | None, unset("FOLDER")] = None
    """a new folder for the tasks with their results, as Hugging Face's datasets and Parquet"""


def tasks(words: Sequence[str]) -> None:
    """RUN [--write FILE.jsonl] [--dataset FOLDER]: counts the tasks that a run keeps, and writes them"""
    options = parse(TasksOptions, words, "redqueen tasks")
    step, histories = _kept(options.run)
    kinds = _counted(history.task.kind for history in histories)
    origins = _counted(history.origin for history in histories)
    print(f"{options.run}, after {step} updates: {kinds}; by origin: {origins}")
    if options.write is not None:
        write_tasks(options.write, [history.task for history in histories])
        print(f"written to {options.write}")
    if options.dataset is not None:
        export_dataset(histories, options.dataset)
        print(f"written to {options.dataset}")


def _counted(words: Iterable[str]) -> str:
    return ", ".join(f"{count} {visible(word)}" for word, count in Counter(words).most_common())


def _kept(folder: Path) -> tuple[int, list[TaskHistory]]:
    """The number of updates of a run's newest checkpoint, and the tasks in its stores, oldest first."""
    recipe = settings(folder)["recipe"]
    saved = checkpoints(folder)
    if not saved:
        raise RedQueenError(f"{folder} has no checkpoint yet")
    step, stores = check(saved[-1]), []
    for state in read_parts(saved[-1]):
        if isinstance(state, dict) and state.keys() == TaskStore().state().keys():
            stores.append(TaskStore(screens=()))
            stores[-1].restore(state)
    if not stores:
        raise RedQueenError(
            f"{folder} keeps no tasks: the recipe {recipe} has no store of them, as absolute_zero and r_zero have"
        )
    histories = [history for store in stores for history in store.histories()]
    if not histories:
        raise RedQueenError(f"{folder} keeps no tasks after {step} updates: its store is empty as yet")
    return step, histories
