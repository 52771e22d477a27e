"""SAGE: a model writes hints for itself and learns what it then solves (arXiv:2602.03143).

Who says what is right: the check of the question set.

A group that nobody solved teaches nothing. SAGE attempts its task again with a hint in the prompt, which the current
policy wrote from the reference answer, at three levels: the concept, the method, the steps. The reward does not change,
no hint is shown when it counts (held-out problems have none), and the attempts replace the group whole:

    for level 1, 2, 3, while no attempt at x is right:  y_1 ... y_G ~ policy(. | x, hint of that level)
    A = (R - mean) / deviation            over the G attempts at one task; R = 1 where right and 0 where wrong
    L = - mean over tokens of min(r A, clip(r, 1 - eps_low, 1 + eps_high) A)     with the hint in the context

`--form light` attempts each task once, with a hint of the level that is remembered for it (0, none, at first): one
level more after a group whose accuracy was `rise` or less, one less after one above `fall`. It takes tasks that come
again: a file of questions.

`--hints opening` gives away the first quarter, half and three quarters of the answer instead of asking the policy, for
models that cannot write a hint. `--levels 0` is GRPO. A hint that holds the answer is not shown (`hint_leaks`).

Differences: one update a step by default, where the clip has no effect (the released code has two, by minibatches of
64 of 128). A reply to the request for hints that cannot be read is asked for once more, then the task goes without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from redqueen.credit.group_rewards import correct
from redqueen.credit.rewards import score
from redqueen.curricula.hints import with_hints
from redqueen.measures.accuracy import HeldOut
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, evenly, graded
from redqueen.questions.catalogue import find_questions
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.credit.sage.steps import HintLevels, Levels, hinter
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Count, Several, Share
from redqueen.settings.update import Update
from redqueen.types import Group, Task


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=128)
    questions: str = "sums"
    form: Literal["full", "light"] = "full"
    hints: Literal["written", "opening"] = "written"  # by the policy, from the answer; or the answer's opening
    levels: Levels = 3  # of hints
    rise: Share = 0.0  # accuracy at which a task's level rises, in the light form
    fall: Share = 0.35  # above which it falls
    steps: Count = 200  # (500 in the paper)
    tasks: Count = 16  # a step (128 in the paper)
    attempts: Several = 8  # G
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level
    update: Update = Update()
    paper = Update(estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.28, aggregate="token")
    batch = (("tasks", "attempts"),)


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    learner = config.learner.build_model(run.derived("learner"))
    measure = HeldOut(questions, learner, config.problems, seed=run.tests, truncated=config.truncated_score)
    hints = hinter(config, learner, run, questions, measure.tests)
    remembered = HintLevels(config.form == "light", config.levels, config.rise, config.fall)
    step = LearningStep(config, [learner])

    def attempted(tasks: list[Task]) -> list[Group]:
        tries = attempts(SOLVE, tasks, learner, config.attempts, run.rng)
        return graded(questions, tries, config.truncated_score)

    for _ in run.steps(config.steps, [learner], [remembered, *step.parts], [measure]):
        tasks = evenly(questions, config.tasks, run.rng, measure.tests)
        groups = attempted(remembered.asked(tasks, hints))
        groups = with_hints(groups, hints, remembered.rerolls, attempted)
        remembered.observe(groups)
        trajectories = step.shaped(score(groups, correct))
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics)
        run.note(remembered.metrics(groups) | hints.metrics())
    return learner
