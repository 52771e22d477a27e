"""`evaluate RUN --suite`: what a run gained and forgot in tests that others wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from redqueen.measures.before_after import HEADINGS, Change, changes
from redqueen.players.transformer.loading import hub_answers
from redqueen.protocols import PlainModel, Policy, SpeaksPlainly, has
from redqueen.runs.folder import Saved, stored_policy
from redqueen.types import Mark, RedQueenError
from redqueen.views.report.collected import write_suite

# where a suite is asked, by its name before the colon
SUITES: Mapping[str, str] = {
    "lm-eval": "redqueen.adapters.lm_eval:marks",
    "inspect": "redqueen.adapters.inspect:marks",
}
_EXAMPLES = "lm-eval:TASK,path/to/task.yaml or inspect:path/to/task.py"


def tasks_of(spec: str) -> tuple[str, list[str]]:
    """The suite and the names of its tasks. Raises RedQueenError for what names none."""
    suite, _, rest = spec.partition(":")
    names = [name.strip() for name in rest.split(",") if name.strip()]
    if suite not in SUITES or not names:
        raise RedQueenError(f"--suite says who asks what, {_EXAMPLES}, not {spec!r}")
    return suite, names


def measure_suites(
    run: Path, step: Saved, specs: Sequence[str], settings: Mapping[str, Any]
) -> tuple[int, dict[str, list[Change]]]:
    """How many updates the policy has had, and for each suite what has changed since the start of its training. The
    tables are kept for the report of the run. `settings` are those of `marks`."""
    asked = {spec: tasks_of(spec) for spec in specs}  # a wrong name is told before a model is loaded
    policy = stored_policy(run, step)
    after = _all_marks(_plain(run, policy), asked, settings)
    before = _all_marks(_plain(run, stored_policy(run, "start")), asked, settings)
    found = {spec: changes(before[spec], after[spec]) for spec in before}
    said = {name: value for name, value in settings.items() if value}
    for spec, each in found.items():
        write_suite(run, f"{spec}", list(HEADINGS), [change.cells() for change in each], policy.version, said)
    return policy.version, found


def _plain(run: Path, policy: Policy) -> PlainModel:
    if not has(policy, SpeaksPlainly):
        raise RedQueenError(f"the learner of {run} is no language model on this machine: no suite can ask it")
    return policy.verbatim()


def _all_marks(
    model: PlainModel, asked: Mapping[str, tuple[str, list[str]]], settings: Mapping[str, Any]
) -> dict[str, list[Mark]]:
    """What the model gets in each suite."""
    found = {}
    for spec, (suite, names) in asked.items():
        module, _, function = SUITES[suite].partition(":")
        found[spec] = getattr(import_module(module), function)(model, names, online=hub_answers, **settings)
        if not found[spec]:
            raise RedQueenError(f"{', '.join(names)} gave no figure")
    return found
