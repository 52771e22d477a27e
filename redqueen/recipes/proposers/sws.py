"""SwS: a model is trained on new problems of the kinds it fails to learn (Liang et al. 2025, arXiv:2506.08989).

Who says what is right: the answers of the data set; on new problems the majority of the labeller's answers.

1. Preliminary training: GRPO on a data set, the accuracy of every problem written down epoch by epoch. A problem is
   weak if it never reached one half and was getting worse:    max accuracy < 0.5  and  slope < 0
2. Synthesis: new problems, shared out over the categories in proportion to their weak problems. A proposer is given
   concepts of problems that failed and writes one; a labeller answers it 8 times, and more than half must agree:
   that is the label. Kept are those that the trainee solves in 25 to 75 % of 8 attempts, by this label.
3. Training on the data set and the new problems together, as before:

    A = (R - mean) / deviation  over the G attempts at one problem;  ratio clipped to [1 - 0.2, 1 + 0.28], no KL

Differences: concepts are the question set's own kinds, of which two go into an invitation, the second as often as its
problems fail (the paper: extracted by a 70B model, embedded, paired by co-occurrence and similarity). There are no
judges: the question set's gates refuse what is no problem. The paper's proposer and labeller are larger, frozen models;
here the proposer is the learner as it began, the labeller the learner as it is, unless another one is bound. `slope`
says below which slope a curve is not learned: the paper's 0 passes over problems that lie at zero. The third stage's
filter on group accuracy, .125 to .875, is with 8 attempts what an advantage of zero does anyway. Labels go where
`Questions.right` looks for the answer, so the question set must check by answers (sums, concepts).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.group_rewards import correct
from redqueen.credit.rewards import score
from redqueen.curricula.epochs import Epochs
from redqueen.curricula.held_out import apart_from, labelled
from redqueen.curricula.store import TaskStore
from redqueen.curricula.weaknesses import LearningCurves, is_weak, weak_counts
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.health import ProposerHealth
from redqueen.measures.proposals import audited
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.play.groups import attempts, episodes_of
from redqueen.protocols import Policy, Proposable
from redqueen.questions.asking import PROPOSE, SOLVE, graded, read, tasks_among
from redqueen.questions.catalogue import find_questions_with
from redqueen.questions.labels import held_to_label, label_accuracy
from redqueen.questions.synthesis import aimed, aimed_at, elected, within
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Count, PartOf, Several
from redqueen.settings.roles import Cast, Role, Still


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    proposer: Annotated[Role, Still()] = Role("frozen")
    labeller: Annotated[Role, Still()] = Role()
    questions: str = "concepts"
    steps: Count = 300  # of all three stages
    preliminary: Count = 100  # steps of the first stage
    synthesis: Count = 10  # steps of the second, without updates
    proposals: Count = 64  # a step of the second
    tasks: Count = 16  # a step of the first and the third
    attempts: Several = 8  # G; also of labels, and of the trainee at a new problem
    data: Count = 32  # problems of each level in the data set
    slope: float = 0.0  # an epoch, below which a curve is weak
    synthetic: Annotated[float, PartOf("tasks")] = 0.5  # of the third stage's tasks
    aim: bool = True  # at what is weak; otherwise new problems are shared out evenly
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    questions = find_questions_with(config.questions, Proposable)
    cast = Cast(config, run)
    solver, proposer, labeller = cast.learner, cast["proposer"], cast["labeller"]
    measure = HeldOut(questions, solver, config.problems, seed=run.tests)
    data = Epochs(labelled(questions, (), config.data, measure.tests, run.derived("data")), run.derived("epochs"))
    curves, store, health = LearningCurves(), TaskStore(), ProposerHealth()
    weak = partial(is_weak, below=config.slope)
    estimate, objective = GroupRelative(), ClippedRatio(0.2, 0.28)

    for step in run.steps(config.steps, [solver], [data, curves, store, health], [measure]):
        made = step - config.preliminary  # steps of synthesis before this one
        if 0 <= made < config.synthesis:
            found = curves.curves()
            counts = weak_counts(found, weak)
            even = dict.fromkeys(questions.kinds, 1)
            aims = aimed(counts if config.aim else even, config.proposals * config.synthesis)[made :: config.synthesis]
            lacking = {curve.task_id for curve in found if weak(curve) or not config.aim}
            failed = [task for task in data.tasks if task.id in lacking]
            invitations = aimed_at(questions, aims, failed, run.rng)
            written = read(questions, attempts(PROPOSE, invitations, proposer, 1, run.rng))
            posed = tasks_among(written)
            labels = elected(posed, labeller, config.attempts, run.rng)
            kept = within(held_to_label(attempts(SOLVE, labels, solver, config.attempts, run.rng)), 0.25, 0.75)
            kept = apart_from({**measure.tests, "data": data.tasks}, kept)
            store.add(kept, origin=proposer.name, step=step)
            run.note({f"weak/{category}": float(count) for category, count in counts.items()})
            run.note(health.check(audited(questions, written, kept)))
            run.note({"posed": len(posed), "labelled": len(labels), "kept": len(kept)})
            run.note(label_accuracy(questions, posed, kept))
        count = 0 if 0 <= made < config.synthesis else config.tasks
        new = round(config.synthetic * count) if len(store) else 0
        tasks = (store.draw(new, run.rng) if new else []) + data.draw(count - new, run.rng)
        tries = attempts(SOLVE, tasks, solver, config.attempts, run.rng)
        tries = held_to_label(tries[:new]) + graded(questions, tries[new:])
        if made < 0:
            last = len(tries) - data.begun  # those after it are of the next epoch
            curves.observe(episodes_of(tries[:last] if data.ended > curves.epoch else tries))
            if data.ended > curves.epoch:
                curves.end_epoch()
                curves.observe(episodes_of(tries[last:]))
        trajectories = score(tries, correct)
        advantages = estimate(trajectories)
        metrics = solver.update(pack(trajectories, advantages), objective)
        run.report(solver, trajectories, advantages, metrics)
    return solver
