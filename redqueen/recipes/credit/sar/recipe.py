"""SAR: a reply is also paid for how much likelier the question makes it (Han et al. 2025, arXiv:2509.05489).

Who says what is right: the check of the question set.

Paid for right answers alone, a policy writes longer and longer replies, and cutting them short by their length costs
hard questions as much as easy ones. The self-aligned reward asks the policy itself: how much likelier are the tokens
of this reply y with the question q in view than without it? Padding, which fits any question, lowers it:

    D    = mean over the tokens of y of log pi(y | q) - log pi(y | no question)
    R_SA = max(1 - exp(-D), -1)       which is the relative fall in perplexity, (ppl(y) - ppl(y | q)) / ppl(y)
    R    = c + weight R_SA            c = 1 right, 0 wrong or without an answer; for wrong replies too
    A    = R - mean of R over the attempts at one question (no deviation, as in Dr. GRPO)

"No question" is the same conversation and template with an empty last message. One more forward pass a step rates it,
with the weights that sampled the reply. With I nats about q in L tokens R_SA is 1 - exp(-I / L). A right answer is
always paid more than a wrong one while weight < 1/2.

Repeating the question raises R_SA too. `copied_share`, the share of a reply's words that stand in its prompt, is
measured, and an alarm rings where it grows.

Controls: `--weight 0` is plain GRPO in the form of Dr. GRPO; `experiments/sar.py` has the rivals (R_SA of another
question of the batch, a price of length).

Differences: the clip has no effect at one update on fresh tokens (the paper: two, of 64 of 128 prompts).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from redqueen.credit.group_rewards import Correctness
from redqueen.credit.rewards import score
from redqueen.measures.accuracy import HeldOut
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, evenly, graded
from redqueen.questions.catalogue import find_questions
from redqueen.questions.verdicts import Truncated, check_known
from redqueen.recipes.credit.sar.steps import SelfAligned
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Count, Several, Within
from redqueen.settings.update import Update
from redqueen.types import Group


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=128)
    questions: str = "sums"
    steps: Count = 200
    tasks: Count = 16  # a step (128 in the paper)
    attempts: Several = 6
    weight: Annotated[float, Within(0.0, 0.5)] = 0.2  # of R_SA
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level
    update: Update = Update()
    paper = Update(
        estimator="group", scale="none", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="constant", kl=0.001
    )
    draws_anew = True  # tasks, where `step.rounds` says so
    batch = (("tasks", "attempts"),)
    pays_in_parts = True


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    learner = config.learner.build_model(run.derived("learner"))
    measure = HeldOut(questions, learner, config.problems, seed=run.tests, truncated=config.truncated_score)
    check_known(questions, measure.tests)
    outcome, aligned = Correctness(right=1.0, wrong=0.0, malformed=0.0), SelfAligned(learner, config.weight)
    step = LearningStep(config, [learner])

    for _ in run.steps(config.steps, [learner], [aligned, *step.parts], [measure]):
        groups: list[Group] = []
        for missing in step.rounds(groups, config.tasks):
            tasks = evenly(questions, missing, run.rng, measure.tests)
            tries = attempts(SOLVE, tasks, learner, config.attempts, run.rng)
            groups += graded(questions, tries, config.truncated_score)
        trajectories = step.shaped(aligned(score(groups, outcome)))
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics)
        run.note(aligned.metrics())
    return learner
