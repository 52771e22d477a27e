"""What variational synthesis keeps alive: SvS beside plain reinforcement from the same labelled problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from redqueen.measures.intervals import bootstrap_interval
from redqueen.recipes.proposers.svs.recipe import Config
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.trials.paired import Trial, difference, trained, warm, warmed
from redqueen.trials.sheets import Bench, Result, Rows

STEPS = 200
WARM = cold_start.Config(  # so long that a sum is seldom wrong: what is wrong is the way that is taken
    learner=Learner(model="tiny:hidden=96,layers=3", max_completion_length=24, learning_rate=2e-3),
    questions="variants:skill=0.3,faithful=1",
    steps=2000,
    demonstrations_per_step=96,
    rest=700,
    problems=32,
)
LABELLED = 12  # of each level: so few that plain reinforcement comes to know them by heart
OF_EQUAL_ROLLOUTS = 14  # attempts of plain reinforcement at each original


def svs(options: Bench, console: Console) -> Result:
    """SvS, plain RLVR at equal updates, and plain RLVR at equal rollouts, from one warm start."""
    learner = warmed(warm(WARM), max_completion_length=24)
    plain = Config(
        learner=learner,
        questions="variants",
        steps=options.steps or STEPS,
        labelled=LABELLED,
        tasks=16,
        responses=0,
    )
    variants = {
        "SvS": replace(plain, responses=8, variants=6),
        "plain RLVR, equal updates": plain,
        "plain RLVR, equal rollouts": replace(plain, attempts=OF_EQUAL_ROLLOUTS),
    }
    trials = trained("svs", variants, options.seeds, console)
    rows: Rows = [(name, *_figures(group)) for name, group in trials.items()]
    compared = [
        difference(trials, "SvS", name, key) for name in variants if name != "SvS" for key in ("pass@8", "accuracy")
    ]
    headings = (
        *("method", "pass@1", "pass@8", "pass@8, turned", "answer entropy, share of its start"),
        *("entropy of all words learned from, share of its start", "rollouts a step", "accepted variants true"),
    )
    start = trials["SvS"][0]
    note = (
        f"{options.seeds} paired seeds, {plain.steps} updates from one warm start, whose pass@1 is "
        f"{start.first('accuracy'):.2f} and pass@8 {start.first('pass@8'):.2f}. {'. '.join(compared)}."
    )
    return "Variational synthesis", headings, rows, note


def _figures(trials: Sequence[Trial]) -> tuple[str, ...]:
    accepted = sum(line.get("accepted", 0.0) for trial in trials for line in trial.lines)
    true = sum(line["accepted"] * line["accepted_true"] for t in trials for line in t.lines if "accepted_true" in line)
    return (
        *(_mean([trial.final[key] for trial in trials]) for key in ("accuracy", "pass@8", "pass@8/turned")),
        _mean([trial.final["entropy/solver"] / trial.first("entropy/solver") for trial in trials]),
        _mean([trial.late("entropy") / trial.first("entropy") for trial in trials]),
        f"{sum(trial.late('rollouts', 1.0) for trial in trials) / len(trials):.0f}",
        f"{true:.0f} of {accepted:.0f}" if accepted else "none",
    )


def _mean(values: Sequence[float]) -> str:
    return str(bootstrap_interval(values, seed=0))
