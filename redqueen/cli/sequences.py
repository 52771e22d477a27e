"""`evaluate RUN --then RUN2 RUN3`: what a policy that learned one thing after another kept and passed on."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan
from pathlib import Path
from statistics import fmean

import numpy as np

from redqueen.measures.lifelong import Curve, relative_performance, retained, sample_efficiency
from redqueen.measures.of_games import usual_measures
from redqueen.protocols import Measure, Policy
from redqueen.runs.folder import stored_games, stored_measure, stored_policy, stored_questions
from redqueen.runs.run import Line, read_final, read_metrics
from redqueen.types import Damaged, RedQueenError, shown

HEADINGS = ("task of", "at the start", "after each run", "gain", "maintenance", "forward", "backward")
BESIDE_EXPERTS = ("task of", "expert", "relative performance", "sample efficiency")
WINDOW = 3  # measurements whose mean is a point of a curve, where its saturation is looked for
MOST_EPISODES = 1 << 40  # of one step
FROM_0_TO_1 = ("accuracy", "success")  # the figures that may be compared


def sequence(runs: Sequence[Path], most: int, seed: int) -> list[tuple[str, ...]]:
    """One row for the task of each run, as `HEADINGS` say, where each run went on from the policy of the one before.
    Measured with up to `most` problems of a level, or tasks of a game. Raises RedQueenError for a single run, and for
    one whose task has no figure from 0 to 1."""
    if len(runs) < 2:
        raise RedQueenError("a sequence is of two runs or more: redqueen evaluate FIRST --then SECOND")
    policies = [stored_policy(runs[0], "start"), *(stored_policy(run) for run in runs)]
    table = np.array([[performance(run, policy, most, seed) for run in runs] for policy in policies])
    return [
        (
            str(run),
            f"{column[0]:.3f}",
            " ".join(f"{value:.3f}" for value in column[1:]),
            *(_told(value) for value in (one.gain, one.maintenance, one.forward, one.backward)),
        )
        for run, column, one in zip(runs, table.T, retained(table), strict=True)
    ]


def performance(run: Path, policy: Policy, most: int, seed: int) -> float:
    """How well a policy does what a run learned, from 0 to 1, on what the run held out; in several games their mean."""
    questions = stored_questions(run)
    if questions is not None:
        return _figure(run, [stored_measure(run, questions, policy, most, seed)])
    return fmean(_figure(run, usual_measures(game, policy, seed, most)) for game in stored_games(run))


def _figure(run: Path, measures: Sequence[Measure]) -> float:
    figures = {name: value for measure in measures for name, value in measure().items()}
    found = next((figures[name] for name in FROM_0_TO_1 if name in figures), None)
    if found is None:
        raise RedQueenError(
            f"what {run} learned has no figure from 0 to 1 ({' or '.join(FROM_0_TO_1)}): a sequence is of questions, "
            "and of games for one with held-out tasks"
        )
    return float(found)


def beside_experts(runs: Sequence[Path], experts: Sequence[Path]) -> list[tuple[str, ...]]:
    """One row for the task of each run, as `BESIDE_EXPERTS` say, by what was measured while the run learned it, and
    while its expert did, which learned nothing else. Raises RedQueenError for another number of experts, for one that
    learned another task, and for a run that was not measured."""
    if len(experts) != len(runs):
        raise RedQueenError(f"--experts names one run for each of the sequence, {len(runs)}, not {len(experts)}")
    rows = []
    for run, expert in zip(runs, experts, strict=True):
        if (task := _task(run)) != _task(expert):
            raise RedQueenError(f"{run} learned {task}, and its expert {expert} {_task(expert)}")
        own, alone = _curve(run), _curve(expert)
        figures = relative_performance(own, alone), sample_efficiency(own, alone, WINDOW)
        rows.append((str(run), str(expert), *("-" if isnan(value) else f"{value:.3f}" for value in figures)))
    return rows


def _task(run: Path) -> str:
    questions = stored_questions(run)
    return ", ".join(game.name for game in stored_games(run)) if questions is None else questions.name


def _curve(run: Path) -> Curve:
    """What was measured in the steps of a run and at its end, after the episodes of the steps before. Raises Damaged
    for a figure that cannot be."""
    seen, points = 0.0, []
    for line in [*read_metrics(run), read_final(run)]:
        value, more = _noted(line, FROM_0_TO_1, 1, run), _noted(line, ("episodes",), MOST_EPISODES, run)
        if not isnan(value):
            points.append((seen, value))
        seen += 0.0 if isnan(more) else more
    kept = dict(points)  # the last where a step had no episodes
    if len(kept) < 2:
        raise RedQueenError(f"{run} was measured less than twice: a curve needs --evaluate-every")
    return Curve(np.array(list(kept)), np.array(list(kept.values())))


def _noted(line: Line, names: Sequence[str], most: int, run: Path) -> float:
    """The first of the figures that a line of metrics has; NaN where it has none, and for one that nobody knows. Raises
    Damaged for what is no number from 0 to `most`."""
    name = next((each for each in names if each in line), "")
    value = line.get(name)
    if value is None or value != value:
        return nan
    if isinstance(value, bool) or not isinstance(value, float | int) or not 0 <= value <= most:
        place = f"step {line.get('step', 0)} of the metrics of {run}"
        raise Damaged(f"{place}: {name} must be a number from 0 to {most:,}, not {shown(value)}")
    return float(value)


def _told(value: float) -> str:
    return "-" if isnan(value) else f"{value:+.3f}"
