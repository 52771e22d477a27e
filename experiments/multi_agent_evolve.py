"""Multi-Agent Evolve on sums: what it gains without any answer, and what its judge and its difficulty term add."""

from __future__ import annotations

from experiments.absolute_zero import CONTROLS, SUMS
from redqueen.questions.judging import Judging
from redqueen.questions.small.sums import Sums
from redqueen.questions.taught import Taught
from redqueen.recipes.proposers.multi_agent_evolve import Config, train
from redqueen.trials.experiment import Changes, Difference, Experiment, Training, versus
from redqueen.trials.starts import further, warmed

DOMAIN = "experiments.multi_agent_evolve:sums"
OTHERS: dict[str, Changes] = {
    "judge frozen": {"judge": "frozen"},
    "no difficulty term": {"question_reward": "no-difficulty"},
    **CONTROLS,
}


def sums() -> Taught:
    """Returns sums of one and two digits that are often answered wrongly, and demonstrated judgements that hardly ever
    are."""
    inner = Sums(digits=2, lengths=(0.3, 0.7), slips=(0.75, 0.9), name="slipping_sums")
    return Taught(inner, Judging(0.97), "judged_sums")


UNLABELLED = Experiment(
    title="Multi-Agent Evolve on sums, with its controls",
    asked="Without any answer, what do three roles of one model gain, and which of them has to learn?",
    trial=Training(train, evaluate_every=3),
    config=Config(learner=warmed(1e-4), domain=DOMAIN, steps=60, attempts=64),
    starts={"learner.model": further(SUMS, DOMAIN, 2000, 600)},
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
