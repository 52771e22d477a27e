"""Procedural tasks of the library reasoning-gym (Stojanovski et al., 2025), and its own scoring of answers.

The library runs in a process of its own (`worker`), for reasons measured on the 106 data sets of version 0.1.25:

- importing it and `pool_matrix` change the process-wide generators of `random` and `numpy`;
- five iterate over sets of strings, so that a seed gives other tasks under another hash seed;
- nine evaluate the answer as Python while scoring it. Here only calculations are evaluated (`calculation`); any
  other answer is wrong.

Unchanged: the score of an answer is the library's, from 0 to 1, and partial credit below the threshold is wrong.
Two data sets are refused (`REFUSED`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from redqueen.checks.calculation import guarded_eval
from redqueen.checks.worker import Undecided, Worker
from redqueen.types import RedQueenError, Task, tuples

PREPARE = "redqueen.adapters.reasoning_gym_checks:prepare"
REFUSED = {
    "composite": "make the tasks of each of its data sets, and mix them with a curriculum",
    "game_of_life_halting": "its scoring finds every answer right",
}
MAKING = 600.0  # seconds of processor time


def tasks(dataset: str, count: int, seed: int, settings: Mapping[str, Any] | None = None) -> list[Task]:
    """The tasks of `ReasoningGym.tasks`, made in a process that ends with the call and takes 1 to 2 s to start."""
    maker = ReasoningGym(seconds=MAKING)
    try:
        return maker.tasks(dataset, count, seed, settings)
    finally:
        maker.close()


def _task(source: Mapping[str, Any], index: int, entry: Mapping[str, Any]) -> Task:
    made = {key: source[key] for key in ("seed", "size", "settings")}
    facts = tuples(json.loads(json.dumps({**made, "index": index, "metadata": entry["metadata"]})))
    name = str(source["dataset"])
    return Task(f"{name}-{source['seed']}-{index}", name, str(entry["question"]), entry["answer"] or "", facts)


@dataclass(frozen=True)
class ReasoningGym:
    """Makes tasks, and says whether an answer scores at least `threshold` by the rules of its data set.

    The process is kept, so that a curriculum can make fresh tasks every step. To score an answer it makes the task
    again from its facts. If the process had to be killed, or the library raised an error, there is no verdict: a call
    raises Undecided, and `verdicts` gives None. A ValueError of the library means an answer in the wrong format: such
    an answer is wrong.
    """

    threshold: float = 1.0
    seconds: float = 10.0  # of processor time for one answer, or for the tasks of one call
    memory: int = 4 << 30  # bytes of address space
    _worker: Worker = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0.0 < self.threshold <= 1.0:
            raise RedQueenError(f"a threshold on scores lies above 0 and at most at 1, not at {self.threshold}")
        object.__setattr__(self, "_worker", Worker(PREPARE, self.seconds, self.memory))

    def tasks(self, dataset: str, count: int, seed: int, settings: Mapping[str, Any] | None = None) -> list[Task]:
        """The first `count` tasks of `dataset` under `seed`, of the kind `dataset`. `settings` are the fields of its
        config, such as {"max_terms": 3}.

        `Task.answer` is one right answer, or "" if the library names none and only scores. The facts are the library's
        "metadata", and what is needed to make the task again: "seed", "index", "size", "settings". Equal arguments
        give equal tasks. Raises RedQueenError for an unknown data set or setting, and if `seconds` or `memory` do not
        suffice.
        """
        if count < 1:
            raise RedQueenError(f"tasks() makes 1 task or more, not {count}")
        source = {"dataset": dataset, "seed": seed, "size": count, "settings": dict(settings or {})}
        try:
            entries = self._worker.ask({"source": source})
        except Undecided as error:
            raise RedQueenError(f"reasoning-gym made no {count} tasks of {dataset}: out of {error.reason}") from None
        except TypeError as error:  # of `json`
            raise RedQueenError(f"the settings {settings} are not plain data: {error}") from None
        return [_task(source, index, entry) for index, entry in enumerate(entries)]

    def numbers(self, dataset: str) -> list[tuple[str, tuple[str, ...], int, int]]:
        """The whole numbers that the library's curriculum of `dataset` varies: the name of each, the fields of the
        config that take it, its lowest and its highest level. None if there is no such curriculum."""
        found = self._worker.ask({"numbers": dataset})
        return [(name, tuple(fields), low, high) for name, fields, low, high in found]

    def __call__(self, task: Task, answer: str) -> bool:
        return self.score(task, answer) >= self.threshold

    def verdicts(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool | None]:
        """For each answer whether it is right, None if there is no verdict."""
        found: list[bool | None] = []
        for task, answer in zip(tasks, answers, strict=True):
            found.append(None)
            with suppress(Undecided):
                found[-1] = self(task, answer)
        return found

    def score(self, task: Task, answer: str) -> float:
        """The library's score of the answer, from 0 to 1."""
        missing = {"seed", "size", "settings", "index"} - set(task.facts)
        if missing:
            raise RedQueenError(f"task {task.id!r} was not made by reasoning_gym.tasks(): it has no {sorted(missing)}")
        source = {"dataset": task.kind, **{key: task.facts[key] for key in ("seed", "size", "settings")}}
        return float(self._worker.ask({"source": source, "index": task.facts["index"], "answer": answer}))

    def close(self) -> None:
        """Ends the process."""
        self._worker.close()


def prepare() -> Callable[[Mapping[str, Any]], Any]:
    """The function that the process runs: it makes tasks, or scores one answer."""
    try:
        import reasoning_gym
    except ImportError:
        raise RedQueenError("tasks of reasoning-gym need the extra [gym]: pip install 'redqueen[gym]'") from None
    from reasoning_gym.factory import CURRICULA, DATASETS

    @lru_cache(maxsize=64)
    def made(source: str) -> Any:
        wanted = json.loads(source)
        name = wanted["dataset"]
        _check(name, wanted["settings"], DATASETS)
        given = {**wanted["settings"], "seed": wanted["seed"], "size": wanted["size"]}
        try:
            return reasoning_gym.create_dataset(name, **given)
        except (AssertionError, TypeError, ValueError) as error:  # its configs check themselves with assertions
            raise RedQueenError(f"reasoning-gym's {name} refuses {wanted['settings']}: {error}") from error

    @lru_cache(maxsize=4096)
    def entry(source: str, index: int) -> Any:
        dataset = made(source)
        try:
            return dataset[index]
        except (MemoryError, RecursionError):  # these are for the process to report
            raise
        except Exception as error:  # such as "Failed to generate valid puzzle after trying 100 different boards"
            raise RedQueenError(f"reasoning-gym makes no problem {index} of {source}: {error}") from error

    def serve(question: Mapping[str, Any]) -> Any:
        if "numbers" in question:
            name = question["numbers"]
            return _numbers(CURRICULA[name](), DATASETS[name][1]()) if name in CURRICULA else []
        source = json.dumps(question["source"])
        if "answer" not in question:
            entries = [entry(source, index) for index in range(question["source"]["size"])]
            return json.loads(json.dumps(entries, default=str))  # gsm_symbolic has fractions in its metadata
        task = entry(source, question["index"])
        with guarded_eval():
            return _scored(made(source), task, question["answer"])

    return serve


def _numbers(curriculum: Any, config: Any) -> list[tuple[str, list[str], int, int]]:
    """The attributes of a curriculum of which all levels are whole numbers."""
    return [
        (each.name, *_levels(each, config))
        for each in curriculum.attributes.values()
        if all(type(level) is int for level in each.levels)
    ]


def _levels(attribute: Any, config: Any) -> tuple[list[str], int, int]:
    """The fields of one number, its lowest and its highest level. Of a range that must not be a single number only the
    upper end is chosen, above the lower end that the data set has by default."""
    low, high = min(attribute.levels), max(attribute.levels)
    if hasattr(attribute, "field_name"):
        return [attribute.field_name], low, high
    if attribute.ensure_interval:
        lower = getattr(config, attribute.lower_field_name)
        return [attribute.upper_field_name], max(sorted(attribute.levels)[1], lower + 1), high
    return [attribute.lower_field_name, attribute.upper_field_name], low, high


def _scored(dataset: Any, task: Any, answer: str) -> float:
    try:
        return float(dataset.score_answer(answer, task))
    except ValueError:
        return 0.0
    except (MemoryError, RecursionError):  # these are for the process to report
        raise
    except Exception as error:
        raise Undecided(type(error).__name__) from error


def _check(name: str, settings: Mapping[str, Any], known: Mapping[str, tuple[type, type]]) -> None:
    if name in REFUSED:
        raise RedQueenError(f"reasoning-gym's {name} cannot be used here: {REFUSED[name]}")
    if name not in known:
        close = get_close_matches(name, known, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(sorted(known)[:12])}, ..."
        raise RedQueenError(f"reasoning-gym has no data set {name!r}; {hint}")
    fields = sorted(set(known[name][1].__dataclass_fields__) - {"seed", "size"})  # type: ignore[attr-defined]
    unknown = sorted(set(settings) - set(fields))
    if unknown:
        raise RedQueenError(f"reasoning-gym's {name} has no setting {unknown[0]!r}: it has {', '.join(fields)}")
