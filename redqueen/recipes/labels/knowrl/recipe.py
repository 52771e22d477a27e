"""KnowRL: a model writes tasks within and beyond its reach, and learns to tell them apart (2025, arXiv:2510.11407).

Who says what is right: the model itself, several times over; nobody tries the tasks.

The policy is invited to write tasks that it can do, and tasks that it cannot. Each is shown to it k times without that
intention: is it feasible for you? With v the commonest verdict on a task and c its share of those that can be read,

    assessment   r = 1 if it says v, else 0            with `--pay intended` only where v is what was intended
    proposal     R = c if v is what was intended, else 0; 0 for one that cannot be read or is known already

A tie has no v, and nobody learns from it. Tasks on which v is as intended and c at least `consistent` are shown to
later proposers. To call everything feasible is an optimum of the first line: then only the proposals lose by it, and
alarms ring where the share of tasks that are called feasible leaves .3 to .7.

A consensus sharpens what is said more often than not. `consistency`, the mean of c, always rises; whether what is said
is true is measured on held-out problems and never paid: `boundary_f1` and `boundary_accuracy` (of both classes alike)
of the commonest verdict against the solve rate, feasible from one half on. Read both side by side.

Differences: the paper's reward and optimiser were not found: this is the form that fits what it says of them. Seeds are
the problems of the question set. The other controls (verdicts dealt anew, verdicts paid by what is true) are variants
of `experiments/knowrl.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.keys import by_kind_or_group
from redqueen.credit.rewards import score
from redqueen.measures.accuracy import HeldOut
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import PROPOSE
from redqueen.questions.catalogue import find_proposable
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.labels.knowrl.measures import Boundary
from redqueen.recipes.labels.knowrl.steps import ASSESS, Assessments, Pay, Said, invitations, store_of
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Count, Several, Share
from redqueen.settings.roles import Cast, Role, without_format
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m", max_completion_length=64)
    proposer: Role = Role()
    questions: str = "sums"  # or a file, with answers or without
    verdicts: Said = "listed"
    """one of the two words that are listed, or a reply that ends with one of them, for models that reason"""
    pay: Pay = "consensus"
    steps: Count = 150
    proposals: Count = 8  # a step, of each kind and intention
    attempts: Several = 8  # k, assessments of each task
    consistent: Share = 0.75  # least share of the commonest verdict on tasks that are shown to later proposers
    references: Count = 2  # tasks that a proposer is shown
    capacity: Count = 4096
    truncated_score: Truncated = "wrong"  # of a measured solution that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level
    update: Update = Update()
    paper = Update(estimator="group", scale="none", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="token")


def train(config: Config, run: Run) -> Policy:
    questions = find_proposable(config.questions)
    cast = Cast(config, run)
    learner, proposer = without_format(cast.learner, [ASSESS.role]), cast["proposer"]
    measure = HeldOut(questions, learner, config.problems, seed=run.tests, truncated=config.truncated_score)
    boundary = Boundary(questions, learner, measure.tests, run.tests, config.truncated_score, config.verdicts)
    store, step = store_of(questions, config.capacity), cast.learning_step(by_kind_or_group)
    heard = Assessments(questions, measure.tests, config.verdicts, config.consistent, config.pay)

    for number in run.steps(config.steps, cast.learning, [store, heard, *step.parts], [measure, boundary]):
        invited = invitations(questions, store, config.proposals, config.references, run.rng)
        proposals = attempts(PROPOSE, invited, proposer, 1, run.rng)
        written = heard.new(proposals, store)
        assessments = attempts(ASSESS, heard.shown(written), learner, config.attempts, run.rng, proposals)
        groups = heard(assessments)
        store.add(heard.kept(written, groups), proposer.name, step=number)
        trajectories = score(proposals, heard.proposer(groups)) + score(groups, heard.assessor)
        for policy, own in cast.spoken(step.shaped(trajectories)):
            advantages = step.estimate(own)
            batch = step.pack(own, advantages)
            metrics = step.update(policy, batch, run.rng)
            run.report(policy, own, advantages, metrics)
        run.note(store.metrics() | heard.metrics())
    return learner
