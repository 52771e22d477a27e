"""Search Self-Play: a model searches for questions that it must search to answer (2025, arXiv:2510.18821).

Who says what is right: the answer that the question was made from, once a reader finds it in the evidence.

A proposer is given an answer a, searches, and writes a question to which a is the answer. Rules of form are checked;
then a reader, who sees what the proposer found amid 4 documents that others found, must come to a. A valid question
is answered G = 5 times by the solver, who has the same search but not what the proposer found. Both are the model:

    proposer   R = 1 - mean success of the tries, and 0 if the question is invalid
    solver     R = 1 if right, else 0;   GRPO among the tries of a question

Questions that fail are replaced by earlier valid ones, from a pool that is cleared every 10 steps. The proposer's
update comes first, then the solver's, with its old log-probabilities computed anew. Outputs of the search carry no
loss. There is no zero at a mean success of 0: only the reader keeps impossible questions away, so it fails closed.

Differences: the proposer is compared with the batch's other proposals (the code's group of one has no baseline), no
hop count or examples are shown, there is no KL term (0.01 in the paper), and nothing stands in for a question where the
pool is empty (the code trains on dummies). Rules of form are for short questions (`knowledge.RULES`; there at least ten
words and two searches). `invalid` below 0 is the paper's warning: valid questions died out at -0.1.
An ambiguous question passes; `--gate rivals` has it read again beside the documents most like those found.
`fixed` goes on with the questions of the first step, `--gate none` lets the rules alone decide: controls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from redqueen.credit.advantages.keys import by_kind_or_group
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.group_rewards import FromBelow, correct
from redqueen.credit.learnability import FailureShare
from redqueen.credit.outcomes import scores
from redqueen.credit.rewards import score
from redqueen.curricula.held_out import apart_from, groups_apart
from redqueen.curricula.store import TaskStore
from redqueen.demonstrations.rehearsal import Equipped
from redqueen.games.tools import Limits, ToolReply
from redqueen.measures.accuracy import HeldOut, held_out
from redqueen.measures.health import ProposerHealth
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.play.groups import attempts, episodes_of
from redqueen.players.language.writing import refreshed
from redqueen.protocols import Player, Policy
from redqueen.questions.asking import graded, tasks_among
from redqueen.questions.small.knowledge import Knowledge
from redqueen.recipes.proposers.search_self_play.steps import GateName, Grounds
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Count, NotWith, Several, Whole, Within
from redqueen.settings.roles import Cast, PaidTo, Role, Still

POOL_STEPS = 10


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=96)
    proposer: Role = Role()
    reader: Annotated[Role, Still(("world",)), NotWith("gate", "none")] = Role("world")
    """whose answer from the evidence counts: the toy world's own, frozen, shared, a model folder, an endpoint"""
    corpus: str = ""
    """documents of your own, {"id": ..., "text": ...} in each line; without them a world of 500 facts"""
    answers: str = ""
    """what to ask for in them, one in each line"""
    tests: str = ""
    """held-out ones about them, {"question": ..., "answer": ...} in each line"""
    steps: Count = 200
    proposals: Count = 32  # a step (256 in the paper)
    attempts: Several = 5  # G
    searches: Count = 4  # of one seat in an episode (10 turns in the paper)
    noise: Annotated[Whole, NotWith("gate", "none")] = 4  # documents of others among the evidence
    gate: GateName = "noise"
    invalid: Annotated[float, Within(-1.0, 0.0), PaidTo("proposer")] = 0.0  # what an invalid question pays
    fixed: bool = False
    problems: Count = 64  # held out, of each level


def questions_of(config: Config) -> Knowledge:
    return Knowledge(corpus=config.corpus, answers=config.answers, questions=config.tests)


def equipped(config: Config, solver: Player) -> Equipped:
    limits = Limits(config.searches, config.searches + 2)  # the last turn to answer, once it is told that none is left
    return Equipped(solver, ToolReply("solver", (questions_of(config).search,), limits))


def train(config: Config, run: Run) -> Policy:
    questions = questions_of(config)
    cast = Cast(config, run)
    solver, proposer = cast.learner, cast["proposer"]
    reader = None if config.reader == Role("world") else cast["reader"]
    grounds = Grounds(questions, reader, noise=config.noise, gate=config.gate)
    measured = equipped(config, solver)
    solve, propose = measured.game, replace(measured.game, role="proposer")
    pool, health = TaskStore(name="pool"), ProposerHealth()
    pays, estimate = FailureShare(pay_unsolved=True), GroupRelative(by_kind_or_group)
    objective = ClippedRatio(0.2, 0.285)
    tests = held_out(questions, config.problems, seed=run.tests)
    measures = [HeldOut(questions, measured, tests, seed=run.tests)] if tests else []

    for step in run.steps(config.steps, cast.learning, [pool, health], measures):
        if step % POOL_STEPS == 0 and not config.fixed:
            pool.prune(lambda history: True)
        count = 0 if config.fixed and step else config.proposals
        wanted = run.rng.choices(range(len(questions.wanted)), k=count)
        invitations = [questions.invite("question", (), number) for number in wanted]
        proposals = attempts(propose, invitations, proposer, 1, run.rng)
        asked = episodes_of(proposals)
        written = grounds.checked(asked, run.rng)
        figures = grounds.audited(asked, written)
        tasks = tasks_among(written)
        reused = pool.draw(config.proposals - len(tasks), run.rng) if len(pool) else []
        parents = [*asked, *(None for _ in reused)]
        tries = graded(questions, attempts(solve, [*written, *reused], solver, config.attempts, run.rng, parents))
        pool.add(apart_from(tests, tasks), origin=proposer.name, step=step)

        solved = [scores(group) for group in tries[: len(tasks)]]
        earned = FromBelow(tries[: len(tasks)], {"difficulty": [pays(each) for each in solved]}, config.invalid)
        learned = score(groups_apart(tests, tries), correct)
        for role, trajectories in (("proposer", score(proposals, earned)), ("solver", learned)):
            for learner, own in cast.spoken(trajectories):
                if own:
                    advantages = estimate(own)
                    metrics = learner.update(refreshed(learner, pack(own, advantages)), objective)
                    run.report(learner, own, advantages, metrics, role)
        run.note(pool.metrics() | figures | health.check(grounds.looked_at(written, solved)))
    return solver
