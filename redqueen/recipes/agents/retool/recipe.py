"""ReTool: an interpreter within the reasoning, learned from outcomes alone by PPO (Feng et al. 2025, arXiv:2504.11536).

Who says what is right: the check of the question set.

A reply that ends with a call is run and its output is shown as part of the next prompt, until the policy answers
without a call. Nothing says when to call: the answer alone is paid, on the last turn,

    R = 1 where right,  min(tried, -1 + per_call c) where wrong after c calls that were run
    A = R - V                        V of a critic before each turn (GAE with gamma = lambda = 1), whitened
    L = - mean over own tokens of min(r A, clip(r, 1 - eps, 1 + eps) A)

The output's tokens are in neither the loss nor the critic's, and the advantage of a turn follows from the next turn of
the policy's own. `--tried -0.6` is the released code's: up to four calls make a wrong answer less bad, which may teach
idle calls (`calls_of_wrong` beside `calls_of_right`); at -1 all wrong answers are alike.

A policy that never calls learns no calls: begin with one that imitated some, as `redqueen train cold_start --questions
tool_sums`. The tool `python` runs scripts in the sandbox. Controls: `--tool none`, which is reinforcement on text
alone, and a tool whose results are shuffled (`experiments/retool.py`).

Differences: the start's texts with code in the place of calculations, which a larger model wrote, are the question
set's demonstrations here. The settings of the critic are not public; the released code goes on to GRPO.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from redqueen.credit.rewards import score
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.calls import calling
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import evenly, graded
from redqueen.questions.catalogue import find_questions
from redqueen.questions.verdicts import Truncated, check_known
from redqueen.recipes.agents.retool.steps import Answered, AtMost, equipped
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Amount, Count, NotWith, Several
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=96)
    questions: str = "tool_sums"
    tool: Literal["calculator", "python", "none"] = "calculator"
    calls: Annotated[Count, NotWith("tool", "none")] = 4  # of an answer; the turn after the last must answer
    tried: Annotated[AtMost, NotWith("tool", "none")] = -1.0  # the most that a wrong answer earns (-0.6 in the code)
    per_call: Annotated[Amount, NotWith("tried", -1.0)] = 0.1  # how much less bad each call makes it
    steps: Count = 100  # (400 in the paper)
    tasks: Count = 16  # a step
    attempts: Several = 8  # at each
    truncated_score: Truncated = "wrong"  # of an answer that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level
    update: Update = Update()
    paper = Update(  # eps is clip_low and clip_high
        estimator="gae",
        scale="batch",
        loss="ppo",
        clip_low=0.2,
        clip_high=0.2,
        aggregate="token",
        updates_per_batch=2,
    )
    batch = (("tasks", "attempts"),)


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    learner = config.learner.build_model(run.derived("learner"))
    solver, reward = equipped(config, learner), Answered(config.tried, config.per_call)
    measure = HeldOut(questions, solver, config.problems, seed=run.tests, truncated=config.truncated_score)
    check_known(questions, measure.tests)
    step = LearningStep(config, [learner])

    for _ in run.steps(config.steps, [learner], step.parts, [measure]):
        tasks = evenly(questions, config.tasks, run.rng, measure.tests)
        tries = attempts(solver.game, tasks, learner, config.attempts, run.rng)
        groups = graded(questions, tries, config.truncated_score)
        trajectories = step.shaped(score(groups, reward))
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics)
        run.note(calling(groups))
    return learner
