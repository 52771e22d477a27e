"""EVOL-RL: the majority says what is right, and unlike reasoning is paid more (Zhou et al. 2025, arXiv:2509.15194).

Who says what is right: the majority of the attempts.

Learning from the majority of one's own answers (TTRL, arXiv:2504.16084) makes all attempts alike, until more of them
find nothing more. EVOL-RL keeps the majority as the sign of the reward and lets novelty say how large it is. `votes`
attempts at a question vote and are compared, the first `attempts` are learned from. s[i, j] is how alike two are:

    n[i] = 1 - 1/2 mean of s[i, j] over the others of its class - 1/2 max of s[i, j] over all others
    u[i] = (n[i] - min) / (max - min) over its class                1/2 where all are alike
    R    = 3/4 + v (u / 2 - 1/4) with the majority's answer, -3/4 + v (u / 2 - 1/4) with another; v is `novelty`
         = -1 without an answer, and for all where at most one attempt has one; none where two answers are commonest
    A    = (R - mean) / deviation over the attempts that are learned from

The classes are those who agree with the majority and those who do not; who is alone in one has u = 1 and is compared
with all. At v = 1 the bands are [1/2, 1] and [-1, -1/2]: no reply that disagrees is paid as much as one that agrees.

Controls: `--novelty 0` is TTRL (the same advantages up to rounding where every attempt has an answer), `--labels
shuffled` deals the rewards of a batch anew (no signal), `--labels known` takes the check of the question set in place
of the majority (the upper line). What no reward sees is measured: `majority`, the accuracy of the vote, next to
`accuracy` (a consensus only sharpens what is said most often, so that their difference at the start is all it can
gain), pass@8, `label_accuracy`, `majority_share`, `answered` and `unlike` (the mean of 1 - s).

Differences: s is BLEU of words, without what stands between the marks of a thought (the paper: cosine of sentence
embeddings of the same). A tie teaches nothing (released code: the answer that was given first wins). One update takes
all questions of a step, so that the clips have no effect (the paper: eight updates, one question each: `--minibatches
8`). An attempt without an answer is one in which none was found (the paper: no digit in the box). 16 votes and 8
learned from (64 and 32 there). Clip and entropy are the paper's (released script: .2 and 0 unless asked).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from redqueen.credit.rewards import score
from redqueen.measures.accuracy import HeldOut
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, evenly
from redqueen.questions.catalogue import find_questions
from redqueen.questions.verdicts import Truncated, check_known
from redqueen.recipes.labels.evol_rl.steps import Banded, Consensus
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Count, Several, Share
from redqueen.settings.update import Update
from redqueen.types import Group


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=128)
    questions: str = "sums"  # or a file: train.jsonl, train.csv, train.parquet, with answers or without
    labels: Literal["majority", "known", "shuffled"] = "majority"
    """who is right: the majority, the question set, or the majority with its rewards dealt anew within a batch"""
    steps: Count = 120
    tasks: Count = 8  # a step
    votes: Several = 16  # attempts at each question (64 in the paper)
    attempts: Several = 8  # of them that are learned from (32 in the paper)
    novelty: Share = 1.0  # v, the width of the bands
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level
    update: Update = Update()
    paper = Update(
        estimator="group",
        scale="group",
        loss="ppo",
        clip_low=0.2,
        clip_high=0.28,
        aggregate="token",
        kl=0.001,
        entropy=0.003,
    )
    draws_anew = True  # tasks, where `step.rounds` says so
    batch = (("tasks", "attempts"),)


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    learner = config.learner.build_model(run.derived("learner"))
    measure = HeldOut(questions, learner, config.problems, seed=run.tests, truncated=config.truncated_score, votes=True)
    if config.labels == "known":
        check_known(questions, measure.tests, "--labels majority learns from the votes of the attempts, ")
    consensus = Consensus(questions, config.labels, config.votes, config.attempts, config.truncated_score)
    step = LearningStep(config, [learner])

    for _ in run.steps(config.steps, [learner], [consensus, *step.parts], [measure]):
        groups: list[Group] = []
        for missing in step.rounds(groups, config.tasks):
            tasks = evenly(questions, missing, run.rng, measure.tests)
            groups += consensus(attempts(SOLVE, tasks, learner, config.votes, run.rng))
        trajectories = consensus.kept(score(groups, Banded(config.novelty, config.truncated_score)), run.rng)
        trajectories = step.shaped(trajectories)
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics)
        run.note(consensus.metrics())
    return learner
