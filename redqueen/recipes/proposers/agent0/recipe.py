"""Agent0: a curriculum agent is paid for tasks that make an executor with a tool unsure (2025, arXiv:2511.16043).

Who says what is right: the majority of the executor's answers, found with a tool.

Two agents begin as one model and take turns. The executor, frozen, answers each proposed task k = 10 times, with a
tool; p is the share of the majority, N the mean number of its calls of the tool, B the number of proposals:

    curriculum   R = max(0, 1 - 2 |p - 1/2| + 0.05 min(N, 4) - |cluster of alike proposals| / B), 0 if unreadable

Then the curriculum agent, frozen, fills a pool: tasks with .3 <= p <= .8 are kept, the majority is their label, and
the executor trains on them by ADPO: GRPO over 16 attempts, scaled and clipped by how far a label is trusted,

    A = s(p) GRPO,   s = .6 + .4 clamp((p - .3) / .5, 0, 1),   ratio held to [.8, 1.2 + .1 clamp((.8 - p) / .5, 0, 1)]

in a mean over attempts of their means over tokens. What the tool says carries no loss. p and N count all attempts.

Differences: the published code halves the first term, takes no maximum, and counts output blocks in the curriculum
agent's own words; here only calls that were really run count. No KL term (0.01 there), temperature 1 (0.7 there). A
batch of the executor's is used `updates` times: the upper bounds have no effect on words that were only just said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from redqueen.checks.votes import LabelTrust
from redqueen.credit.advantages.keys import by_kind_or_group
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.group_rewards import correct
from redqueen.credit.outcomes import vote
from redqueen.credit.rewards import score
from redqueen.curricula.held_out import apart_from
from redqueen.curricula.sampling import Distinct, Uniform
from redqueen.curricula.store import TaskStore
from redqueen.demonstrations.rehearsal import Equipped
from redqueen.games.tools import Limits, ToolReply
from redqueen.measures.accuracy import HeldOut, held_out
from redqueen.measures.health import ProposerHealth
from redqueen.measures.proposals import voted_on
from redqueen.objectives.batch import pack, row_mean
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.play.groups import attempts, authors, episodes_of
from redqueen.protocols import Objective, Player, Policy, Proposable
from redqueen.questions.asking import PROPOSE, read, tasks_among
from redqueen.questions.catalogue import find_questions, having
from redqueen.questions.labels import held_to_label
from redqueen.questions.toolbox import find_tools
from redqueen.recipes.proposers.agent0.objective import GroupClippedRatio
from redqueen.recipes.proposers.agent0.steps import (
    MOST_CALLS,
    frontier,
    kept,
    uninspired,
    vote_metrics,
)
from redqueen.runs.run import Run
from redqueen.schedules import Phases
from redqueen.settings.learner import Flat, Learner
from redqueen.settings.limits import Amount, Count, NotWith, Within
from redqueen.settings.roles import SEPARATE, bind, learning, refuse_unpaid
from redqueen.types import Metrics

BAND = (0.3, 0.8)


@dataclass(frozen=True)
class Config:
    learner: Flat = Learner(model="smollm2-135m", max_completion_length=96)
    curriculum: str = SEPARATE
    """shared, adapter, separate, frozen, a model folder, or http://HOST/v1#MODEL"""
    domain: str = "redqueen.questions.small.tool_sums:ToolSums"
    tool: Literal["calculator", "python", "none"] = "calculator"
    steps: Count = 90
    curriculum_steps: Count = 10  # of each round: then the executor takes its turn (5 in R-Zero)
    executor_steps: Count = 20  # of each round (up to 100 in all in the paper)
    proposals: Annotated[int, Within(1, 2048)] = 32  # B, a step, of each kind
    pool: Count = 256  # proposals, of each round, from which the executor's tasks are kept
    votes: Annotated[int, Within(2)] = 10  # k
    tasks: Count = 12  # a step of the executor (128 in the paper)
    attempts: Annotated[int, Within(2)] = 16  # G
    per_call: Annotated[Amount, NotWith("tool", "none")] = 0.05  # gamma
    repetition: Amount = 1.0  # lambda of the clusters
    updates: Count = 2  # on each batch of the executor's


def equipped(config: Config, executor: Player) -> Equipped:
    return Equipped(executor, ToolReply("solver", find_tools(config.tool), Limits(MOST_CALLS, MOST_CALLS + 2)))


def train(config: Config, run: Run) -> Policy:
    questions = having(find_questions(config.domain), Proposable)
    executor = config.learner.build_model(run.derived("learner"))
    curriculum = bind("proposer", config.curriculum, config.learner, executor, run.derived("proposer"))
    learners, pool, trust = learning([executor, curriculum]), TaskStore(sampling=Distinct(Uniform())), LabelTrust()
    refuse_unpaid(config, ["per_call", "repetition"], "curriculum", curriculum)
    measured, tests, health = equipped(config, executor), held_out(questions, 64, seed=run.tests), ProposerHealth()
    estimate = GroupRelative(by_kind_or_group)
    clipped: Objective = ClippedRatio()
    phases = Phases({"curriculum": config.curriculum_steps, "executor": config.executor_steps})

    for step in run.steps(
        config.steps, learners, [pool, health], [HeldOut(questions, measured, tests, seed=run.tests)]
    ):
        phase = phases.at(step)
        proposes = phase.name == "curriculum"
        if proposes or phase.first:  # for the curriculum agent, or all that the executor will learn from in its phase
            count = config.proposals if proposes else config.pool
            proposals = attempts(PROPOSE, uninspired(questions, count), curriculum, 1, run.rng)
            written = read(questions, proposals)
            tasks = tasks_among(written)
            parents = authors(proposals, written)
            answers = attempts(measured.game, tasks, executor, config.votes, run.rng, parents)
            votes = [vote(group) for group in answers]
            labelled = apart_from(tests, kept(tasks, votes, *BAND))
            run.note(vote_metrics(questions, answers, labelled))
            run.note(health.check(voted_on(questions, written, answers, votes, labelled)))
        if proposes:
            speaker, updates, objective = curriculum, 1, clipped
            trajectories = score(proposals, frontier(written, answers, config.per_call, config.repetition))
            advantages = estimate(trajectories)
            batch = pack(trajectories, advantages, row_mean)
        else:
            if phase.first:
                pool.prune(lambda history: True)
                pool.add(labelled, step=step)
            drawn = pool.draw(config.tasks, run.rng) if len(pool) else []
            shares = [float(task.facts["share"]) for task in drawn]
            solutions = held_to_label(attempts(measured.game, drawn, executor, config.attempts, run.rng))
            pool.observe(episodes_of(solutions))
            trajectories = score(solutions, correct)
            groups = [number // config.attempts for number in range(len(trajectories))]
            raw = estimate(trajectories)
            advantages = [each * trust.scale(shares[group]) for each, group in zip(raw, groups, strict=True)]
            batch = pack(trajectories, advantages, row_mean)
            speaker, updates = executor, config.updates
            objective = GroupClippedRatio(tuple(trust.upper_clip(shares[group]) for group in groups))
        metrics: Metrics = {}
        for learner in [each for each in learners if each is speaker] * updates:
            metrics = learner.update(batch, objective)
        run.report(speaker, trajectories, advantages, metrics)
    return executor
