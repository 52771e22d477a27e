"""eva: prompts evolve where the reward model still tells answers apart (Ye et al., 2024, arXiv:2411.00062).

Who says what is right: a reward model (`reward`), by default the question set's own.

A creator, which is a procedure and learns nothing, makes the prompts on which a solver learns. In every round

    info      of a prompt x: best minus worst of the rewards r(x, y) of n responses y, a proxy of regret
    evolve    prompts of the last round are drawn in proportion to info, each is rewritten: deeper or broader
    mix       what was written, with a uniform draw from the seed prompts
    solve     n responses to each prompt, rewarded; the inner algorithm takes its step:

    DPO       L = -log sigmoid(beta (h(best) - h(worst))),   h(y) = log policy(y | x) - log reference(y | x)
    RLOO      A(y) = r(y) - mean of r over the other responses to x,   and the clipped ratio's loss

The responses that measure info are those that are learned from. `--evolved 0` is training on uniform seed prompts;
another way to draw parents is other `weights`: see `experiments/eva.py`.

Differences: a round is one step here, of some dozens of prompts (the paper: two to five rounds over ten thousand), so
info is never older than one step. The reference of DPO is the policy at the start of the round, as in its iterations.
One child a parent (the paper: several). The rewriter is any player: the start model, frozen, unless another is bound,
and "rule" is the question set's own. RLOO keeps near the start by its few updates alone (the paper: by a KL penalty).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from redqueen.credit.rewards import score
from redqueen.curricula.draws import Weights
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.proposals import Proposals
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import SOLVE, read
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.proposers.eva.objective import inner_algorithm
from redqueen.recipes.proposers.eva.steps import REWRITE, Creator, Rewriter, evolving
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Count, NotWith, Positive, Several, Share
from redqueen.settings.roles import Cast


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    rewriter: Rewriter = Rewriter("frozen")
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
    updates_per_batch: Count = 2
    beta: Annotated[Positive, NotWith("inner", "rloo")] = 0.05  # of DPO
    truncated_score: Truncated = "graded"  # of a reply that was cut off: rated as it is, as nothing (wrong), unknown
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run, weights: Weights | None = None) -> Policy:
    questions, rewards = evolving(config.questions, config.reward, config.truncated_score)
    cast = Cast(config, run)
    solver = cast.learner
    rewriter = questions.rewriter() if config.rewriter.player == "rule" else cast["rewriter"]
    health = Proposals(questions)
    estimate, pack, objective = inner_algorithm(config.inner, config.beta)
    measure = HeldOut(questions, solver, config.problems, seed=run.tests, truncated=config.truncated_score)
    seeds = measure.training(config.seeds, run.derived("seeds"), config.levels)
    creator = Creator(questions, seeds, config.tasks, config.evolved, config.attempts, weights)

    for _ in run.steps(config.steps, [solver], [creator, health], [measure]):
        invitations = creator.invited(run.rng)
        proposals = attempts(REWRITE, invitations, rewriter, 1, run.rng)
        written = read(questions, proposals)
        drawn = creator.mixed(measure.apart(written), run.rng)
        answers = attempts(SOLVE, drawn, solver, config.attempts, run.rng)
        answers = rewards.given(answers)
        creator.observe(answers)

        trajectories = score(answers, rewards.solver)
        advantages = estimate(trajectories)
        batch = pack(trajectories, advantages, solver)
        for _ in range(config.updates_per_batch):
            metrics = solver.update(batch, objective)
        run.report(solver, trajectories, advantages, metrics)
        run.note(creator.figures(answers) | health.check(written))
    return solver
