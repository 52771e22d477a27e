"""ExPO: where no attempt is right, the policy's own explanation of the answer is (2025, arXiv:2507.02834).

Who says what is right: the check of the question set.

Where all attempts at a question q are wrong, the outcome teaches nothing. Told the answer a*, the policy can often
explain it, and its explanation c is likelier under the policy without the answer than an expert's, and makes the answer
likelier than its own attempts do. It is the positive sample that was missing:

    explain    c ~ policy(. | q, a*, "explain"), kept if it comes to a*
    GRPO       J = J_GRPO + imitation * log policy(c | q), where all attempts failed; imitation falls to 0 over the run
    DPO        chosen c, rejected a wrong attempt of the same group; the reference is the start

The likelihood is always that under q alone: what was said with the answer in view is learned as said without it, a
demonstration and never a sampled row.

Controls: `--positive none` is the inner algorithm alone, `--positive expert` imitates the worked solutions of the data
set instead. An explanation may begin with the answer and prove nothing: `answer_first` is measured, and an alarm rings.

Differences: an explanation that does not come to the answer is not learned (the paper: its form of the prompt alone).
One update a step, in which the clip has no effect; no KL penalty in GRPO. The coefficient and its fall are ours (not
found in the paper), and so is the wording of the request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from redqueen.credit.group_rewards import correct
from redqueen.credit.rewards import score
from redqueen.measures.accuracy import HeldOut
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, evenly, graded
from redqueen.questions.catalogue import find_questions
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.credit.expo.objective import inner_algorithm
from redqueen.recipes.credit.expo.steps import Explanations, Positive, Where
from redqueen.runs.run import Run
from redqueen.settings import limits
from redqueen.settings.learner import Flat


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=128)
    questions: str = "sums"
    inner: Literal["grpo", "dpo"] = "grpo"
    positive: Positive = "own"
    """the positive sample: the policy's own explanation of the answer, the data set's worked solution, none"""
    where: Annotated[Where, limits.NotWith("positive", "none")] = "all-failed"
    """in which groups: those that nobody solved, or all"""
    explanations: Annotated[limits.Count, limits.OnlyWith("positive", "own")] = (
        2  # of an answer, the first right one kept
    )
    imitation: Annotated[limits.Amount, limits.OnlyWith("inner", "grpo")] = (
        0.05  # coefficient at the start, 0 at the end
    )
    beta: Annotated[limits.Positive, limits.OnlyWith("inner", "dpo")] = 0.1  # of DPO
    steps: limits.Count = 150
    tasks: limits.Count = 16  # a step
    attempts: limits.Several = 8  # G
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: limits.Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    learner = config.learner.build_model(run.derived("learner"))
    measure = HeldOut(questions, learner, config.problems, seed=run.tests, truncated=config.truncated_score)
    explain = Explanations(
        questions, measure.tests, config.positive, config.where, config.explanations, config.truncated_score
    )
    estimate, pack, objective = inner_algorithm(config.inner, config.beta, learner.freeze())

    for step in run.steps(config.steps, [learner], [explain], [measure]):
        tasks = evenly(questions, config.tasks, run.rng, measure.tests)
        tries = attempts(SOLVE, tasks, learner, config.attempts, run.rng)
        groups = graded(questions, tries, config.truncated_score)
        shown = explain(groups, learner, run.rng)
        trajectories = score(groups, correct)
        advantages = estimate(trajectories, shown)
        batch = pack(trajectories, advantages, shown, config.imitation * (1.0 - step / config.steps))
        metrics = learner.update(batch, objective)
        run.report(learner, trajectories, advantages, metrics)
        run.note(explain.metrics())
    return learner
