"""Multi-Agent Evolve on sums: what it gains without any answer, and what its judge and its difficulty term add."""

from __future__ import annotations

from dataclasses import replace

from experiments.absolute_zero import CONTROLS, SUMS, Controlled, dealt_store
from redqueen.checks.judge import Proposed, mae_proposer
from redqueen.protocols import Policy
from redqueen.questions.judging import Judging
from redqueen.questions.small.sums import Sums
from redqueen.questions.taught import Taught, TaughtProposable, taught
from redqueen.recipes.proposers.multi_agent_evolve import recipe
from redqueen.recipes.proposers.multi_agent_evolve.steps import Rewards
from redqueen.runs.run import Run
from redqueen.settings.roles import Role
from redqueen.trials.experiment import Changes, Difference, Experiment, Training, versus
from redqueen.trials.starts import further, warmed

DOMAIN = "experiments.multi_agent_evolve:sums"
OTHERS: dict[str, Changes] = {
    "judge frozen": {"method.judge": Role("frozen")},
    "no difficulty term": {"pays": "without difficulty"},
    **CONTROLS,
}


def sums() -> Taught | TaughtProposable:
    """Returns sums of one and two digits that are often answered wrongly, and demonstrated judgements that hardly ever
    are."""
    inner = Sums(digits=2, lengths=(0.3, 0.7), slips=(0.75, 0.9), name="slipping_sums")
    return taught(inner, Judging(0.97), "judged_sums")


def train(config: Controlled, run: Run) -> Policy:
    """The method with the rewards and the store that the variant asks for."""

    def pays(quality: float, answers: float, form: float, threshold: float) -> Proposed:
        paid = mae_proposer(quality, 1.0 if config.pays == "without difficulty" else answers, form, threshold)
        return replace(paid, reward=run.rng.random()) if config.pays == "by chance" else paid

    store = dealt_store(config.config, run) if config.dealt else None
    return recipe.train(config.config, run, Rewards(config.method.quality, pays), store)


UNLABELLED = Experiment(
    title="Multi-Agent Evolve on sums, with its controls",
    asked="Without any answer, what do three roles of one model gain, and which of them has to learn?",
    trial=Training(train, evaluate_every=3),
    config=Controlled(recipe.Config(learner=warmed(1e-4), questions=DOMAIN, tasks=64), steps=60),
    starts={"method.learner.model": further(SUMS, DOMAIN, 2000, 600)},
    one_start=True,
    variants={"MAE": {}, **OTHERS},
    figures=(
        *("first accuracy", "late accuracy", "late pass@8"),
        *("first judge_accuracy", "late judge_accuracy", "late judge_right"),
        *("first proposals/distinct_share", "late proposals/distinct_share", "late proposals/solve_rate"),
    ),
    compared=(
        Difference("MAE", "MAE", "late accuracy", "first accuracy"),
        *versus("MAE", tuple(OTHERS), ("late accuracy",)),
    ),
    controls=("judge frozen", "proposer frozen", "random reward"),
    notes=("No answer reaches a reward. Late: the mean of the last four of twenty measurements.",),
)
