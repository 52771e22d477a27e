"""SvS: a model retells the problems that it half solves, with their answers (Liang et al. 2025, arXiv:2508.14029).

Who says what is right: the known answer of the problem that was retold.

Learning from verifiable rewards alone narrows a policy until more attempts find nothing more. SvS keeps new problems
coming, with answers that are known: from a correct response y to a labelled problem of middling difficulty the model
itself writes variants of the problem, shown y and not the problem, so that their answer a is the old one. In a step

    originals   G attempts each, R = 1 if the answer is a, else 0; accuracy = mean R
    candidates  the correct responses to originals with 1/8 <= accuracy <= 1/2
    variants    G_v for each candidate; each is tried G times, graded by the answer of its original
    synthesis   R = 1 if 1/8 <= accuracy of the variant <= 5/8, else 0, also where no problem can be read
    GRPO        A = (R - mean) / deviation within the group of one prompt, and the clipped ratio's loss over words

A variant that is solved now and then agrees with its answer; one that is solved too often may give it away. The
update is on the union of the groups of attempts, at originals and at variants, that are neither all right nor all
wrong, and of the groups of synthesis in which one was paid. A step without candidates is one of plain RLVR.

Differences: at most `responses` candidates are varied in a step, drawn at random (the paper: all), and 0 turns
synthesis off. A variant in which its answer stands is refused, as is one that is held out for tests. `ends` is what a
variant pays that no attempt or every attempt solves: 0 in paper and code; below 0 a synthesiser leaves these sooner.
One update a step, on the whole union (the code cuts it to a multiple of the workers, in minibatches of 256).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.filters import drop_even_groups
from redqueen.credit.group_rewards import correct
from redqueen.credit.rewards import score
from redqueen.curricula.held_out import labelled
from redqueen.measures.accuracy import HeldOut
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import PROPOSE, SOLVE, graded, read
from redqueen.questions.catalogue import find_questions_with
from redqueen.questions.small.variants import Varying
from redqueen.recipes.proposers.svs.measures import AnswerEntropy
from redqueen.recipes.proposers.svs.steps import Synthesised, amounts, candidates, posed, rewarded_groups
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Between, Count, NotWith, Several, Whole, Within
from redqueen.settings.roles import Cast, PaidTo, Role


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    synthesiser: Annotated[Role, NotWith("responses", 0)] = Role()
    questions: str = "variants"
    levels: tuple[str, ...] = ()
    """of the labelled problems, one named twice dealt up to twice as often; all if none is named"""
    steps: Count = 300
    labelled: Count = 1024  # problems with answers, of each level
    tasks: Count = 32  # a step (256 in the paper)
    attempts: Several = 8  # G, at each original and at each variant
    responses: Whole = 16  # candidates varied in a step, at most; 0 is plain RLVR
    variants: Annotated[Several, NotWith("responses", 0)] = 8  # G_v, of each candidate
    middling: Annotated[Between, NotWith("responses", 0)] = (0.125, 0.5)  # accuracy of originals that are varied
    paid: Annotated[Between, NotWith("responses", 0)] = (0.125, 0.625)  # accuracy of variants that are paid
    ends: Annotated[float, Within(-1.0, 0.0), NotWith("responses", 0), PaidTo("synthesiser")] = 0.0
    refuse_leaks: Annotated[bool, NotWith("responses", 0)] = True  # variants in whose text the answer stands
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    questions = find_questions_with(config.questions, Varying)
    cast = Cast(config, run)
    solver, synthesiser = cast.learner, cast["synthesiser"]
    measure = HeldOut(questions, solver, config.problems, seed=run.tests)
    problems = labelled(questions, config.levels, config.labelled, measure.tests, run.derived("labelled"))
    synthesised = Synthesised(questions, config.paid, config.ends)
    estimate, objective = GroupRelative(), ClippedRatio()
    entropy = AnswerEntropy("solver", SOLVE, solver, [task for group in measure.tests.values() for task in group])

    for _ in run.steps(config.steps, cast.learning, [synthesised], [measure, entropy]):
        originals = run.rng.sample(problems, min(config.tasks, len(problems)))
        responses = graded(questions, attempts(SOLVE, originals, solver, config.attempts, run.rng))
        invitations = candidates(questions, responses, config.middling, config.responses, run.rng)

        synthesis = attempts(PROPOSE, invitations, synthesiser, config.variants, run.rng)
        written = posed(read(questions, synthesis), measure.tests, config.refuse_leaks)
        tries = graded(questions, attempts(SOLVE, written, solver, config.attempts, run.rng, synthesis))

        trajectories = drop_even_groups(score(responses + tries, correct))
        trajectories += rewarded_groups(score(synthesis, synthesised.reward(tries)))
        for policy, own in cast.spoken(trajectories):
            advantages = estimate(own)
            metrics = policy.update(pack(own, advantages), objective)
            run.report(policy, own, advantages, metrics)
        run.note(synthesised.check(written, tries))
        run.note(amounts(responses, synthesis, tries))
    return solver
