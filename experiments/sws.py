"""SwS beside more of the same data, and beside new problems that aim at nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean

from rich.console import Console

from redqueen.measures.intervals import bootstrap_interval, paired_difference
from redqueen.questions.small.concepts import Concepts
from redqueen.recipes.proposers import sws
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role
from redqueen.trials.paired import Trial, trained, warm, warmed
from redqueen.trials.sheets import Bench, Result, Rows

WARM = cold_start.Config(
    Learner(model="tiny:hidden=64,layers=2", learning_rate=2e-3),
    questions="redqueen.questions.small.concepts:Concepts",
    steps=1000,
    rest=300,
    demonstrations_per_step=96,
    problems=32,
)
EXPERT = replace(WARM, questions="experiments.sws:expert")
WEAK = Concepts().weak
SYNTHESIS = 16  # steps


def expert() -> Concepts:
    """The same questions, nearly all answered as one should: what a stronger labeller was shown."""
    return Concepts(skill=0.97, skill_small=0.97, skill_weak=0.97)


def weaknesses(options: Bench, console: Console) -> Result:
    """What is found weak, and what training on more of it is worth."""
    steps = options.steps or 500
    config = sws.Config(
        warmed(warm(WARM), learning_rate=2e-4),
        labeller=Role(warm(EXPERT)),
        questions=WARM.questions,
        steps=steps,
        preliminary=64,
        synthesis=SYNTHESIS,
        data=24,
        slope=0.02,
    )
    variants = {
        "SwS": config,
        "new problems of all concepts": replace(config, aim=False),
        "more of the same data": replace(config, synthetic=0.0),
    }
    trials = trained("sws", variants, options.seeds, console, evaluate_every=64)
    rows: Rows = [
        (
            name,
            *(str(bootstrap_interval(list(map(of, group)), seed=0)) for of in (weak_accuracy, overall)),
            _found(group),
        )
        for name, group in trials.items()
    ]
    gains = [
        f"{name} {_gain(trials['SwS'], trials['more of the same data'], of)}"
        for name, of in (("weak", weak_accuracy), ("overall", overall))
    ]
    first = trials["SwS"][0].lines[0]
    note = (
        f"{steps - SYNTHESIS} updates of 16 x 8 attempts and {SYNTHESIS} steps of synthesis, {options.seeds} paired "
        f"seeds. At the start weak {fmean(first[f'accuracy/{concept}'] for concept in WEAK):.2f}, "
        f"overall {first['accuracy']:.2f}. SwS minus more of the same data: {', '.join(gains)}. "
        "The labels are a stronger model's."
    )
    headings = ("data", "accuracy on weak concepts", "accuracy", "weak problems found, mean by concept; label accuracy")
    return "Weakness-driven synthesis", headings, rows, note


def weak_accuracy(trial: Trial) -> float:
    return fmean(trial.final[f"accuracy/{concept}"] for concept in WEAK)


def overall(trial: Trial) -> float:
    return float(trial.final["accuracy"])


def _gain(ours: Sequence[Trial], others: Sequence[Trial], of: Callable[[Trial], float]) -> str:
    return str(paired_difference([of(trial) for trial in ours], [of(trial) for trial in others], seed=0))


def _found(trials: Sequence[Trial]) -> str:
    counts = {concept: fmean(trial.late(f"weak/{concept}") for trial in trials) for concept in Concepts().kinds}
    kept = fmean(sum(line.get("kept", 0.0) for line in trial.lines) for trial in trials)
    labels = fmean(trial.late("label_accuracy", 1.0) for trial in trials)
    listed = ", ".join(f"{concept} {count:.1f}" for concept, count in counts.items() if count)
    return f"{listed}; {labels:.2f} of {kept:.0f} kept"
