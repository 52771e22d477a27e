"""PasoDoble: a proposer writes a question and its answer, a second model solves it (2025, arXiv:2511.11881).

Who says what is right: the proposer's own answer, where enough of the solver's attempts agree with it.

Two models from one base play against each other. The proposer is shown a passage of a corpus and writes a problem
with its own answer; K attempts of the solver agree with that answer at a rate p. There is no label and no oracle: a
wrong answer is one with which few attempts agree, so a floor under p stands for validity.

    proposer   R = 0 if p <= 0.2 or d <= 0.3, else 1.1 - p + 0.2 d;   d = the share of the last 100 questions that this
               one is unlike (Jaccard index of the words up to 0.8); 0 where problem or answer is missing or leaks
    solver     R = 1 if its answer is the proposer's, else 0, on problems with 0.2 < p < 1 alone
    Dr. GRPO   A = R - mean of the group (J problems after one passage, K attempts at one problem), every word counts
               1 / longest reply

Online, both learn at every step. Offline (`phase` above 0) they take turns: the proposer learns against a solver that
stands still, and fills a buffer with problems of 0.2 < p < 1; then the solver learns from the buffer, which a problem
leaves at p = 1 or after 3 rounds without improvement.

Differences: models are warmed up with `cold_start` (the paper: on a larger model's data). `gate` off pays 1.1 - p + 0.2
d at any p, whatever d, and trains at 0 < p < 1: the control in which the proposer learns to be wrong. The oracle of the
question set is asked for figures only, `valid_share` (of all proposals, problem and answer right) and `label_accuracy`
(of those trained on). Attempts cut off count in no p. Steps without signal are taken (there: skipped), at temperature 1
(there: 0.6). The code divides by the deviation unless told not to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.group_rewards import FromBelow, correct
from redqueen.credit.learnability import HardAboveFloor
from redqueen.credit.novelty import WindowNovelty
from redqueen.credit.outcomes import rate, scores
from redqueen.credit.rewards import score
from redqueen.curricula.held_out import groups_apart
from redqueen.curricula.sampling import Distinct, Uniform
from redqueen.curricula.store import TaskStore
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.health import ProposerHealth
from redqueen.measures.proposals import proposed
from redqueen.objectives.batch import ConstantMean, pack
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.play.groups import attempts, authors
from redqueen.protocols import Policy
from redqueen.questions.asking import PROPOSE, SOLVE, read, tasks_among
from redqueen.questions.catalogue import find_questions_with
from redqueen.questions.labels import held_to_label
from redqueen.questions.small.facts import Informed
from redqueen.recipes.proposers.pasodoble.steps import after_passages, between, exhausted, oracle_figures
from redqueen.runs.run import Run
from redqueen.schedules import Phases
from redqueen.settings.learner import LONGEST_REPLY, Flat
from redqueen.settings.limits import Count, Several, Whole
from redqueen.settings.roles import Cast, Role
from redqueen.types import Trajectory

FLOOR = 0.2


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
    gate: bool = True  # R = 0 at p <= 0.2 or d <= 0.3
    window: Count = 100  # questions that diversity looks back on
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    questions = find_questions_with(config.questions, Informed)
    cast = Cast(config, run)
    solver, proposer = cast.learner, cast["proposer"]
    buffer = TaskStore(sampling=Distinct(Uniform()), name="buffer")
    novelty, health = WindowNovelty(config.window), ProposerHealth()
    estimate, objective = GroupRelative(divide_by_deviation=False), ClippedRatio()
    weigh = ConstantMean(config.learner.max_completion_length or LONGEST_REPLY)
    phases = Phases({"proposer": config.phase or 1, "solver": config.phase})
    measure = HeldOut(questions, solver, config.problems, seed=run.tests)

    for step in run.steps(config.steps, cast.learning, [buffer, novelty, health], [measure]):
        proposing = phases.at(step).name == "proposer"
        if proposing:
            invitations = after_passages(questions, config.passages, run.rng)
            proposals = attempts(PROPOSE, invitations, proposer, config.proposals, run.rng)
            written = read(questions, proposals)
            tasks, parents = tasks_among(written), authors(proposals, written)
        else:
            tasks, parents = buffer.draw(config.passages * config.proposals, run.rng) if len(buffer) else [], []
        tries = held_to_label(attempts(SOLVE, tasks, solver, config.attempts, run.rng, parents))

        trajectories: list[Trajectory] = []
        if proposing:
            texts = [task.prompt for task in tasks]
            paid = limits_reward([rate(group).mean for group in tries], novelty(texts), config.gate)
            trajectories += score(proposals, FromBelow(tries, {"limits": paid}))
            learned = groups_apart(measure.tests, between(tries, FLOOR if config.gate else 0.0))
            kept = [group.task for group in learned]
            true = [questions.true_answer(task) == task.answer for task in tasks]
            run.note(oracle_figures(questions, written, kept))
            run.note({"diversity": np.mean(novelty(texts))} if texts else {})
            solved = [scores(group) for group in tries]
            run.note(health.check(proposed(written, solved, labels_right=true, hidden=True)))
            novelty.observe(texts)
            tries = [] if config.phase else learned
            buffer.add(kept if config.phase else [], origin=proposer.name, step=step)
        else:
            buffer.observe_groups(tries, lambda group: rate(group).mean)
            buffer.prune(exhausted)

        trajectories += score(tries, correct)
        for policy, own in cast.spoken(trajectories):
            advantages = estimate(own)
            metrics = policy.update(pack(own, advantages, weigh), objective)
            run.report(policy, own, advantages, metrics)
        run.note(buffer.metrics() if config.phase else {})
    return solver


def limits_reward(rates: Sequence[float], diversity: np.ndarray, gate: bool = True) -> list[float]:
    """What each problem pays its proposer, from pass rates and diversity, [tasks] each; NaN where a rate is."""
    shape = HardAboveFloor(floor=FLOOR)
    return [
        shape.top - rate + 0.2 * unlike if not gate or (rate > FLOOR and unlike > 0.3) else 0.0 * rate
        for rate, unlike in zip(rates, diversity.tolist(), strict=True)
    ]
