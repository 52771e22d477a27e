"""PasoDoble: a proposer writes a question and its answer, a second model solves it (2025, arXiv:2511.11881).

Who says what is right: the proposer's own answer, where enough of the solver's attempts agree with it.

Two models with the same initial weights play against each other. The proposer is shown a passage of a corpus and
writes a problem with its own answer. The solver attempts it K times; p is the share of attempts that give the
proposer's answer. There are no labels: few attempts agree with a wrong answer, so a minimum p stands in for validity.

    proposer   R = 0 if p <= 0.2 or d <= 0.3, else 1.1 - p + 0.2 d;   d = the share of the last 100 questions that this
               one is unlike (Jaccard index of the words up to 0.8); 0 where problem or answer is missing or leaks
    solver     R = 1 if its answer is the proposer's, else 0, on problems with 0.2 < p < 1 alone
    Dr. GRPO   A = R - mean of the group (J problems after one passage, K attempts at one problem), every token counts
               1 / longest reply

Online, both learn at every step. Offline (`phase` above 0) they take turns: the proposer learns against a frozen
solver and fills a buffer with problems of 0.2 < p < 1; then the solver trains on the buffer, which a problem leaves at
p = 1 or after 3 rounds without improvement.

Differences: models are warmed up with `cold_start` (the paper: on a larger model's data). True answers are used for
figures only: `valid_share` (share of all proposals whose problem and answer are right) and `label_accuracy` (the same
share among those trained on). Steps without signal are taken (there: skipped), at temperature 1 (there:
0.6). The released code divides by the deviation unless told not to. The control in which the proposer learns to be
wrong is other `rewards`, without the gates: see `experiments/pasodoble.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.keys import by_group
from redqueen.credit.rewards import score
from redqueen.measures.accuracy import HeldOut
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import PROPOSE, SOLVE, read
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.proposers.pasodoble.steps import Buffer, Corpus, Rewards, find_informed
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Count, Several, Share, Whole
from redqueen.settings.roles import Cast, Role
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    proposer: Role = Role("separate")
    questions: str = "facts"
    steps: Count = 200
    passages: Count = 4  # a step
    proposals: Several = 6  # J, after each passage
    attempts: Several = 6  # K, at each problem
    phase: Whole = 0  # steps that each learns before the other does; 0: both at every step
    floor: Share = 0.2  # of p: R = 0 at or below it
    diverse: Share = 0.3  # R = 0 at or below this d
    diversity: Share = 0.2  # weight of d in R
    window: Count = 100  # questions that diversity looks back on
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level
    update: Update = Update()
    paper = Update(estimator="group", scale="none", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="constant")


def train(config: Config, run: Run, rewards: Rewards | None = None) -> Policy:
    questions = find_informed(config.questions)
    cast = Cast(config, run)
    solver = cast.learner
    proposer = cast["proposer"]
    corpus, buffer = Corpus(questions), Buffer()
    rewards = rewards or Rewards(
        config.floor, config.diverse, config.diversity, config.window, truncated=config.truncated_score
    )
    step = cast.learning_step(by_group)
    measure = HeldOut(questions, solver, config.problems, seed=run.tests, truncated=config.truncated_score)

    for number in run.steps(config.steps, cast.learning, [buffer, rewards, corpus, *step.parts], [measure]):
        proposing = config.phase == 0 or number // config.phase % 2 == 0
        trajectories = []
        if proposing:
            invitations = corpus.invited(config.passages, run.rng)
            proposals = attempts(PROPOSE, invitations, proposer, config.proposals, run.rng)
            written = read(questions, proposals)
            tries = attempts(SOLVE, written, solver, config.attempts, run.rng, proposals)
            tries = rewards.graded(tries)
            trajectories += score(proposals, rewards.proposer(tries))
            learned = measure.groups_apart(rewards.kept(tries))
            run.note(corpus.check(written, tries, learned) | rewards.metrics())
        else:
            drawn = buffer.draw(config.passages * config.proposals, run.rng)
            tries = attempts(SOLVE, drawn, solver, config.attempts, run.rng)
            learned = rewards.graded(tries)
            buffer.observe(learned)
        if proposing and config.phase:
            buffer.add(learned, proposer.name, number)
            learned = []
        trajectories += score(learned, rewards.solver)
        for policy, own in cast.spoken(step.shaped(trajectories)):
            advantages = step.estimate(own)
            batch = step.pack(own, advantages)
            metrics = step.update(policy, batch, run.rng)
            run.report(policy, own, advantages, metrics)
        run.note(buffer.metrics() if config.phase else {})
    return solver
