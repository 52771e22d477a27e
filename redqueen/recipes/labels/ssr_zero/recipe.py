"""SSR-Zero: the policy scores its own answers and learns from the scores (Yang et al. 2025, arXiv:2505.16637).

Who says what is right: the model itself, which scores its own replies (`judge`).

The policy answers each question G times. The same weights, asked as a judge and without any right answer in view, score
each reply; that is the reward (the paper translates, and so needs sentences of one language alone):

    s = sum over the digits d of d P(d | question, reply) / 9        the exact expectation over the listed digits 0 to 9
    R = s where the reply is in the stated format, else 0            NaN where no score can be read
    A = R - mean of R over the attempts at one question

`--scores words` samples a judgement from 0 to 100 instead and reads it, as the paper does: for judges that reason, or
that do not say how likely each digit is. SSR-X is `--metric path/to/file.py:function`, a number of the user's for a
task and a reply: R is the mean of both, each less its mean in the group and divided by its deviation.

The second stage of EvolvR (Wang et al. 2025, arXiv:2508.06046), where a trained evaluator pays a writer, is `--judge
FOLDER --reference wins` with a judge that was trained for it (`self_j --pairs`). Each reply is set beside the reference
of its question, a reply in the data set:

    wins       s = share of both orders in which the judge prefers the reply, one half where both are equal
    sigmoid    s = sigmoid(S - S_0)    S and S_0 the scores of reply and reference alone, brought to 1 to 5
    evolvr     s = .1 (S - 1) / 4 + .8 rel(S - S_0) + .1 for 800 to 1,200 characters      the released form, where
               rel(d) = 1 - e^-d for d > 0, else .2 sigmoid(10 (d + .1))

`evolvr` is there to be compared: it pays an equal reply more than one that is a little better, and length for itself.

Nothing anchors the judge. What no reward sees is measured where the question set knows it: `judge_auc`, `reward_auc`,
`majority` next to `accuracy` (`room`), pass@8, `distinct`; and everywhere `judge_drift`, `unread`, `contrast` (a judge
that scores all alike teaches nothing), `answered`. `--judge frozen` keeps the first judge; the other controls
(rewards dealt anew, the majority, the check of the question set) are variants of `experiments/ssr_zero.py`.

Differences: the digits and their expectation (the paper: a sampled score from 0 to 100). No division by the deviation,
since scores bunch and a difference of one point would count as much as one of fifty (the paper's form: `--scale
group`). EvolvR asks for scores of six aspects and shows both stories to each evaluator; here one score is of all, and
`wins` alone shows both. How score and format are joined, G, the learning rate, and how SSR-X weighs its two parts are
not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from redqueen.credit.advantages.keys import by_group
from redqueen.credit.rewards import score
from redqueen.measures.accuracy import HeldOut
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, evenly
from redqueen.questions.catalogue import find_questions
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.labels.ssr_zero.steps import Beside, Scale, SelfScore, SelfScored
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Count, OnlyWith, Several
from redqueen.settings.roles import Cast, Helper, Role
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=128)
    judge: Helper = Role()
    questions: str = "scored:sums"  # or a file: train.jsonl, train.csv, train.parquet, with answers or without
    scores: Scale = "digits"
    """the mean over the probabilities of the digits 0 to 9, or sampled judgements from 0 to 100 that are read"""
    repeats: Annotated[Count, OnlyWith("scores", "words")] = 1  # of every sampled judgement
    reference: Beside = "none"
    """the reply of the data set beside which each is judged: none, wins, sigmoid of both scores, or evolvr"""
    metric: str = ""  # path/to/file.py:function, called with a task and a reply: SSR-X
    steps: Count = 150
    tasks: Count = 16  # a step
    attempts: Several = 8  # G
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level
    update: Update = Update()
    paper = Update(
        estimator="group", scale="none", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="token", kl=0.001
    )
    batch = (("tasks", "attempts"),)


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    cast = Cast(config, run)
    learner = cast.learner
    measure = HeldOut(questions, learner, config.problems, seed=run.tests, truncated=config.truncated_score, votes=True)
    judged = config.scores, config.repeats, config.metric, config.truncated_score, config.reference
    scored = SelfScored(questions, cast["judge"], *judged)
    reward, step = SelfScore(bool(config.metric), config.truncated_score), cast.learning_step(by_group)

    for _ in run.steps(config.steps, [learner], [scored, *step.parts], [measure]):
        tasks = evenly(questions, config.tasks, run.rng, measure.tests)
        groups = scored(attempts(SOLVE, tasks, learner, config.attempts, run.rng), run.rng)
        trajectories = score(groups, reward)
        scored.observe(groups, trajectories)
        trajectories = step.shaped(trajectories)
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics)
        run.note(scored.metrics())
    return learner
