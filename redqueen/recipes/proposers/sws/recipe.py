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
`Questions.right` looks for the answer, so the question set must check by answers (sums, concepts). The control, new
problems that aim at nothing, is another `aim`: see `experiments/sws.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.keys import by_group
from redqueen.credit.rewards import score
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.labelling import MajorityLabels
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import PROPOSE, SOLVE, read
from redqueen.questions.catalogue import find_proposable
from redqueen.questions.verdicts import Truncated, check_known
from redqueen.recipes.proposers.sws.steps import Aim, Lessons
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Between, Count, PartOfTasks, Several
from redqueen.settings.roles import Cast, Helper, Labeller
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    proposer: Helper = Helper("frozen")
    labeller: Labeller = Labeller()
    questions: str = "concepts"
    steps: Count = 300  # of all three stages
    preliminary: Count = 100  # steps of the first stage
    synthesis: Count = 10  # steps of the second, without updates
    proposals: Count = 64  # a step of the second
    tasks: Count = 16  # a step of the first and the third
    attempts: Several = 8  # G; also of labels, and of the trainee at a new problem
    data: Count = 32  # problems of each level in the data set
    slope: float = 0.0  # an epoch, below which a curve is weak
    middling: Between = (0.25, 0.75)  # accuracy of the new problems that are kept
    synthetic: PartOfTasks = 0.5  # of the third stage's tasks
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level
    update: Update = Update()
    paper = Update(estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.28, aggregate="token")
    batch = (("tasks", "attempts"),)


def train(config: Config, run: Run, aim: Aim | None = None) -> Policy:
    questions = find_proposable(config.questions)
    cast = Cast(config, run)
    solver = cast.learner
    proposer, labeller = cast["proposer"], cast["labeller"]
    labels, step = MajorityLabels(questions, truncated=config.truncated_score), cast.learning_step(by_group)
    measure = HeldOut(questions, solver, config.problems, seed=run.tests, truncated=config.truncated_score)
    check_known(questions, measure.tests)
    problems = measure.training(config.data, run.derived("data"))
    lessons = Lessons(questions, problems, aim or Aim(config.slope), run.derived("epochs"))
    run.show("stages", lessons.plan(config))

    for number in run.steps(config.steps, cast.learning, [lessons, labels, *step.parts], [measure]):
        made = number - config.preliminary  # steps of synthesis before this one
        synthesising = 0 <= made < config.synthesis
        if synthesising:
            invitations = lessons.invited(config.proposals, made, config.synthesis, run.rng)
            proposals = attempts(PROPOSE, invitations, proposer, 1, run.rng)
            written = read(questions, proposals)
            votes = attempts(SOLVE, written, labeller, config.attempts, run.rng)
            labelled = labels.elected(votes)
            tries = attempts(SOLVE, labelled, solver, config.attempts, run.rng)
            tries = labels.graded(tries)
            kept = measure.apart(lessons.kept(tries, config.middling))
            lessons.add(kept, proposer.name, number)
            run.note(lessons.metrics() | labels.check(written, kept))
            run.note({"posed": len(votes), "labelled": len(labelled), "kept": len(kept)})

        tasks = lessons.draw(0 if synthesising else config.tasks, config.synthetic, run.rng)
        tries = attempts(SOLVE, tasks, solver, config.attempts, run.rng)
        tries = lessons.graded(tries, config.truncated_score)
        if made < 0:
            lessons.observe(tries)
        trajectories = step.shaped(score(tries, lessons.reward))
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(solver, batch, run.rng)
        run.report(solver, trajectories, advantages, metrics)
    return solver
