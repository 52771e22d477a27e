"""R-Zero: a challenger and a solver from one base, labels by majority, no data (Huang et al. 2025, arXiv:2508.05004).

Who says what is right: the majority of the solver's answers.

Two copies of one model alternate. While the challenger (`proposer`) learns, the solver answers each question m times;
the share p of the most common answer says how uncertain it is:

    proposer   R = max(0, 1 - 2 |p - 1/2| - |C| / B),   C the question's cluster among the B of the batch by BLEU;
               0 if there is no question

Then the challenger stands still and fills a pool of questions. Those are kept whose p lies in [0.3, 0.8] (the released
code's band; the paper: 3 to 7 of 10), with the majority's answer as their label, each text once, and the solver learns:

    solver     R = 0.9 * (the answer is the label) + 0.1 * (the answer is in form)

Both by GRPO: A = (R - mean) / deviation, of a question among all questions of its kind, of an answer among those to one
question. The question set's oracle is asked for figures alone: how often a question is solved, and `label_accuracy`, on
which everything hangs: below about 0.6 the solver gets worse, and an alarm says so. With `--proposer frozen` the solver
learns in every step.

Differences: one update a step, so that a round has 5 of the challenger and 20 of the solver (the released code: 160 and
60, by minibatches of 16 and of 128 questions of 512). An invitation is answered once (there: four times, which are
compared with each other). No KL penalty (there: 0.01 of the challenger). `--as-coded` gives the released code's
min(p, 1 - p) less the cluster's share, unclipped, and -1 less 1 / B where there is no question. As there all m answers
count in p when rewarding, those given when filtering.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.keys import by_kind_or_group
from redqueen.credit.rewards import score
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.proposals import Proposals
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import PROPOSE, SOLVE, invited, read
from redqueen.questions.catalogue import find_proposable
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.proposers.r_zero.steps import Rewards, pool
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Between, Count, Several
from redqueen.settings.roles import Cast, ForProposer, Role
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    proposer: Role = Role("separate")
    questions: str = "sums"
    steps: Count = 200
    proposer_steps: ForProposer[Count] = 5  # of each round
    solver_steps: Count = 20  # of each round (15 in the paper)
    proposals: ForProposer[Count] = 32  # B, a step, of each kind (512 x 4 in the released code)
    pool: Count = 256  # proposals, of each kind, from which a round's tasks are kept (8000 in the released code)
    votes: Several = 10  # m, at each proposal
    band: Between = (0.3, 0.8)  # of the majority's share, in which a task is kept
    tasks: Count = 16  # a step of the solver (512 in the paper)
    attempts: Several = 5  # G
    as_coded: ForProposer[bool] = False
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level
    update: Update = Update()
    paper = Update(estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="token")
    batch = (("proposals",), ("tasks", "attempts"))


def train(config: Config, run: Run) -> Policy:
    questions = find_proposable(config.questions)
    cast = Cast(config, run)
    solver = cast.learner
    proposer = cast["proposer"]
    phases = cast.phases({"proposer": config.proposer_steps, "solver": config.solver_steps})
    store, health = pool(), Proposals(questions, truncated=config.truncated_score)
    step = cast.learning_step(by_kind_or_group)
    rewards = Rewards(config.band, config.as_coded, config.truncated_score)
    measure = HeldOut(questions, solver, config.problems, seed=run.tests, truncated=config.truncated_score)

    for number in run.steps(config.steps, cast.learning, [store, health, *step.parts], [measure]):
        phase = phases.at(number)
        proposes = phase.name == "proposer"
        if proposes or phase.first:  # for the proposer to learn from, or all that the solver will in its phase
            count = config.proposals if proposes else config.pool
            invitations = invited(questions, store, count, 0, run.rng)
            proposals = attempts(PROPOSE, invitations, proposer, 1, run.rng)
            written = read(questions, proposals)
            answers = attempts(SOLVE, written, solver, config.votes, run.rng, proposals)
            kept = measure.apart(rewards.kept(answers))
            run.note(health.voted(written, answers, kept))
        if proposes:
            trajectories = score(proposals, rewards.proposer(written, answers))
        else:
            if phase.first:
                store.refill(kept, proposer.name, number)
                run.note(health.labels(answers, kept))
            drawn = store.draw(config.tasks, run.rng) if len(store) else []
            solutions = attempts(SOLVE, drawn, solver, config.attempts, run.rng)
            solutions = rewards.graded(solutions)
            trajectories = score(solutions, rewards.solver)
        learner = cast.trained("proposer") if proposes else solver
        trajectories = step.shaped(trajectories)
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics)
    return solver
