"""Agent0: a curriculum agent is paid for tasks that make an executor with a tool unsure (2025, arXiv:2511.16043).

Who says what is right: the majority of the executor's answers, found with a tool.

R-Zero with a tool and another loss. Two agents begin as one model and take turns. The executor (`solver`), frozen,
answers each task of the curriculum agent (`proposer`) k = 10 times, with a tool; p is the share of the majority, N the
mean number of its calls of the tool, B the number of proposals:

    proposer   R = max(0, 1 - 2 |p - 1/2| + 0.05 min(N, 4) - |cluster of alike proposals| / B), 0 if unreadable

Then the curriculum agent, frozen, fills a pool: tasks with .3 <= p <= .8 are kept, the majority is their label, and
the executor, paid 1 for an answer that is the label, trains on them by ADPO: GRPO over 16 attempts, scaled and clipped
by how far a label is trusted,

    A = s(p) GRPO,   s = .6 + .4 clamp((p - .3) / .5, 0, 1),   ratio held to [.8, 1.2 + .1 clamp((.8 - p) / .5, 0, 1)]

in a mean over attempts of their means over tokens. What the tool says carries no loss. p and N count all attempts,
but p those with an answer when filtering.

Differences: the published code halves the first term, takes no maximum, and counts output blocks in the curriculum
agent's own text; here only calls that were really run count. No KL term (0.01 there), temperature 1 (0.7 there). A
batch of the executor's is used `updates_per_batch` times: the upper bounds have no effect on tokens that were only just
sampled. With `--proposer frozen` the executor learns in every step. Controls are other `rewards`: see
`experiments/agent0.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.rewards import score
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.proposals import Proposals
from redqueen.objectives.batch import pack
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import PROPOSE, invited, read
from redqueen.questions.catalogue import find_proposable
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.proposers.agent0.objective import ADPO
from redqueen.recipes.proposers.agent0.steps import Rewards, equipped, pool
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Amount, Between, Count, Several
from redqueen.settings.roles import Cast, ForProposer, Role


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=96)
    proposer: Role = Role("separate")
    questions: str = "tool_sums"
    tool: str = "calculator"  # of the solver: calculator, python or none
    steps: Count = 90
    proposer_steps: ForProposer[Count] = 10  # of each round (5 in the released code)
    solver_steps: Count = 20  # of each round (up to 100 in all in the paper)
    proposals: ForProposer[Count] = 32  # B, a step, of each kind (512 x 4 in the released code)
    pool: Count = 256  # proposals, of each kind, from which a round's tasks are kept (8000 in the released code)
    votes: Several = 10  # k, at each proposal
    band: Between = (0.3, 0.8)  # of the majority's share, in which a task is kept
    tasks: Count = 12  # a step of the solver (128 in the paper)
    attempts: Several = 16  # G
    per_call: ForProposer[Amount] = 0.05  # gamma
    most_calls: Count = 4  # C, of an answer
    updates_per_batch: Count = 2  # of the solver
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run, rewards: Rewards | None = None) -> Policy:
    questions = find_proposable(config.questions)
    cast = Cast(config, run)
    solver = cast.learner
    proposer = cast["proposer"]
    phases = cast.phases({"proposer": config.proposer_steps, "solver": config.solver_steps})
    store, health, adpo = pool(), Proposals(questions, truncated=config.truncated_score), ADPO()
    rewards = rewards or Rewards(config.band, config.per_call, config.most_calls, truncated=config.truncated_score)
    measured, estimate = equipped(config, solver), adpo.estimate
    measure = HeldOut(questions, measured, config.problems, seed=run.tests, truncated=config.truncated_score)

    for number in run.steps(config.steps, cast.learning, [store, health], [measure]):
        phase = phases.at(number)
        proposes = phase.name == "proposer"
        if proposes or phase.first:  # for the proposer to learn from, or all that the solver will in its phase
            count = config.proposals if proposes else config.pool
            invitations = invited(questions, store, count, 0, run.rng)
            proposals = attempts(PROPOSE, invitations, proposer, 1, run.rng)
            written = read(questions, proposals)
            answers = attempts(measured.game, written, solver, config.votes, run.rng, proposals)
            kept = measure.apart(rewards.kept(answers))
            run.note(health.voted(written, answers, kept))
        if proposes:
            trajectories = score(proposals, rewards.proposer(written, answers))
        else:
            if phase.first:
                store.refill(kept, proposer.name, number)
                run.note(health.labels(answers, kept))
            drawn = store.draw(config.tasks, run.rng) if len(store) else []
            solutions = attempts(measured.game, drawn, solver, config.attempts, run.rng)
            solutions = rewards.graded(solutions)
            trajectories = score(solutions, rewards.solver)
        learner = cast.trained("proposer") if proposes else solver
        advantages = estimate(trajectories)
        batch = pack(trajectories, advantages, adpo.weigh)
        for _ in range(1 if proposes else config.updates_per_batch):
            metrics = learner.update(batch, adpo.objective(trajectories))
        run.report(learner, trajectories, advantages, metrics)
    return solver
