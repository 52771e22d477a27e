"""eva: prompts evolve where the reward model still tells answers apart (Ye et al., 2024, arXiv:2411.00062).

Who says what is right: a reward model (`reward`), by default the question set's own.

A creator, which is a procedure and learns nothing, makes the prompts on which a solver learns. In every round

    info      of a prompt x: best minus worst of the rewards r(x, y) of n responses y, a proxy of regret
    evolve    prompts of the last round are drawn in proportion to info, each is rewritten: deeper or broader
    mix       what was written, with a uniform draw from the seed prompts
    solve     n responses to each prompt, rewarded; the inner algorithm takes its step:

    DPO       L = -log sigmoid(beta (h(best) - h(worst))),   h(y) = log policy(y | x) - log reference(y | x)
    RLOO      A(y) = r(y) - mean of r over the other responses to x,   and the clipped ratio's loss

The responses that measure info are those that are learned from. `--evolved 0` is training on uniform seed prompts.

Differences: a round is one step here, of some dozens of prompts (the paper: two to five rounds over ten thousand), so
info is never older than one step. The reference of DPO is the policy at the start of the round, as in its iterations.
One child a parent (the paper: several). The rewriter is any player: the start model, frozen, unless another is bound,
and "rule" is the question set's own. RLOO keeps near the start by its few updates alone (the paper: by a KL penalty).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from redqueen.credit.advantages.keys import by_group
from redqueen.credit.advantages.statistics import LeaveOneOut
from redqueen.credit.group_rewards import Stated
from redqueen.credit.outcomes import numbers
from redqueen.credit.pairs import best_and_worst
from redqueen.credit.rewards import score
from redqueen.curricula.held_out import labelled
from redqueen.curricula.sampling import Independent, Uniform, best_minus_worst, by_regret
from redqueen.curricula.store import TaskStore
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.health import ProposerHealth
from redqueen.measures.proposals import proposed
from redqueen.objectives.batch import beside, pack, pack_pairs
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.objectives.preference import Dpo
from redqueen.play.groups import attempts
from redqueen.protocols import Objective, Policy
from redqueen.questions.asking import SOLVE, read, tasks_among
from redqueen.questions.catalogue import find_questions_with
from redqueen.questions.small.growing import Evolving, find_reward_model
from redqueen.recipes.proposers.eva.steps import REWRITE, evolutions, mixed, reward_of, rewarded
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Count, NotWith, OnlyWith, Positive, Several, Share, unset
from redqueen.settings.roles import Cast, Role, Still


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    rewriter: Annotated[Role, Still(("rule",)), NotWith("evolved", 0.0)] = Role("frozen")
    """rule (the question set's), shared, frozen, a model folder, or http://HOST/v1#MODEL; it does not learn"""
    questions: str = "growing"
    reward: str = ""
    """the reward model: file.py:MyModel, called with tasks and answers; the question set's own if empty"""
    inner: Literal["dpo", "rloo"] = "dpo"
    levels: tuple[str, ...] = ()
    """of the seed prompts, one named twice dealt up to twice as often; all if none is named"""
    steps: Count = 200
    seeds: Count = 256  # of each level
    tasks: Count = 32  # a round
    attempts: Several = 6  # n
    evolved: Share = 0.75  # of the prompts of a round, at most
    by_info: Annotated[bool, NotWith("evolved", 0.0)] = True  # False draws parents uniformly
    updates_per_batch: Count = 2
    beta: Annotated[Positive | None, unset("FLOAT"), OnlyWith("inner", "dpo")] = None
    """of DPO; 0.05 unless given"""
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    questions = find_questions_with(config.questions, Evolving)
    model = find_reward_model(config.reward, questions)
    cast = Cast(config, run)
    learner = cast.learner
    rewriter = questions.rewriter() if config.rewriter == Role("rule") else cast["rewriter"]
    measure = HeldOut(questions, learner, config.problems, seed=run.tests)
    seeds = labelled(questions, config.levels, config.seeds, measure.tests, run.derived("seeds"))
    sampling = Independent(by_regret() if config.by_info else Uniform())
    given = {seed.id for seed in seeds}
    # the prompts of the last round
    store = TaskStore(config.tasks, sampling, result=reward_of, window=config.attempts, name="prompts")
    estimate, most = LeaveOneOut(by_group), int(config.evolved * config.tasks)
    objective: Objective = Dpo(config.beta or 0.05) if config.inner == "dpo" else ClippedRatio()
    health = ProposerHealth()

    for _ in run.steps(config.steps, [learner], [store, health], [measure]):
        parents = store.draw(most, run.rng) if len(store) else []
        children = read(questions, attempts(REWRITE, evolutions(questions, parents, run.rng), rewriter, 1, run.rng))
        prompts = mixed(measure.apart(tasks_among(children)), seeds, config.tasks, most, run.rng)
        responses = rewarded(model, attempts(SOLVE, prompts, learner, config.attempts, run.rng))
        store.prune(lambda history: True)
        store.add(prompts)
        store.observe(responses)

        trajectories = score(responses, Stated("reward"))
        advantages = estimate(trajectories)
        if config.inner == "dpo":
            chosen, rejected = best_and_worst(trajectories)
            batch = pack_pairs(chosen, rejected)
            batch = beside(batch, learner.likelihoods(batch))
        else:
            batch = pack(trajectories, advantages)
        for _ in range(config.updates_per_batch):
            metrics = learner.update(batch, objective)
        run.report(learner, trajectories, advantages, metrics)
        run.note(health.check(proposed(children)))
        run.note({"evolved": sum(prompt.id not in given for prompt in prompts) / len(prompts)})
        run.note({"info": float(np.mean([best_minus_worst(numbers(group, "reward")) for group in responses]))})
    return learner
