"""SvS: a model retells the problems that it half solves, with their answers (Liang et al. 2025, arXiv:2508.14029).

Who says what is right: the known answer of the problem that was retold.

Learning from verifiable rewards alone narrows a policy until more attempts find nothing more. SvS keeps new problems
coming, with answers that are known: from a correct response y to a labelled problem of middling difficulty the model
itself writes variants of the problem, shown y and not the problem, so that their answer a is the old one. In a step

    originals   G attempts each, R = 1 if the answer is a, else 0; accuracy = mean R
    candidates  the correct responses to originals with 1/8 <= accuracy <= 1/2
    variants    G_v for each candidate; each is tried G times, graded by the answer of its original
    synthesis   R = 1 if 1/8 <= accuracy of the variant <= 5/8, else 0, also where no problem can be read
    GRPO        A = (R - mean) / deviation within the group of one prompt, and the clipped ratio's loss over tokens

A variant that is solved now and then agrees with its answer; one that is solved too often may give it away. The
update is on the union of the groups of attempts, at originals and at variants, that are neither all right nor all
wrong, and of the groups of synthesis in which one was paid. A step without candidates is one of plain RLVR.

Differences: at most `responses` candidates are varied in a step, drawn at random (the paper: all). A variant that gives
its answer away is refused (a small number or a letter only where it is said to be the answer), as is one that is held
out for tests. A step without candidates is taken (the released code skips it). One update a step, on the whole union
(the released code cuts it to a multiple of the workers, in minibatches of 256). Plain RLVR is `--middling 0 0`: see
`experiments/svs.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.keys import by_group
from redqueen.credit.rewards import score
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.proposals import Proposals
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import PROPOSE, SOLVE, graded, read
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.proposers.svs.measures import AnswerEntropy
from redqueen.recipes.proposers.svs.steps import Rewards, Variation, find_varying
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Between, Count, Several
from redqueen.settings.roles import Cast, Role
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    proposer: Role = Role()
    questions: str = "variants"
    levels: tuple[str, ...] = ()
    """of the labelled problems, one named twice dealt up to twice as often; all if none is named"""
    steps: Count = 300
    labelled: Count = 1024  # problems with answers, of each level
    tasks: Count = 32  # a step (256 in the paper)
    attempts: Several = 8  # G, at each original and at each variant
    responses: Count = 16  # candidates varied in a step, at most
    variants: Several = 8  # G_v, of each candidate
    middling: Between = (0.125, 0.5)  # accuracy of originals that are varied
    paid: Between = (0.125, 0.625)  # accuracy of variants that are paid
    refuse_leaks: bool = True  # variants that give their answer away
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level
    update: Update = Update()
    paper = Update(estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="token")
    drops_even_groups = True


def train(config: Config, run: Run) -> Policy:
    questions = find_varying(config.questions)
    cast = Cast(config, run)
    solver = cast.learner
    proposer = cast["proposer"]
    rewards = Rewards(config.paid)
    health, step = Proposals(questions, questions.true_answer), cast.learning_step(by_group)
    measure = HeldOut(questions, solver, config.problems, seed=run.tests, truncated=config.truncated_score)
    tests = [task for level in measure.tests.values() for task in level]
    entropy = AnswerEntropy("solver", SOLVE, solver, tests, seed=run.tests)
    problems = measure.training(config.labelled, run.derived("labelled"), config.levels)
    variation = Variation(questions, measure, config.middling, config.responses, config.refuse_leaks)

    for _ in run.steps(config.steps, cast.learning, [health, *step.parts], [measure, entropy]):
        originals = run.rng.sample(problems, min(config.tasks, len(problems)))
        responses = attempts(SOLVE, originals, solver, config.attempts, run.rng)
        responses = graded(questions, responses, config.truncated_score)
        invitations = variation.invited(responses, run.rng)
        synthesis = attempts(PROPOSE, invitations, proposer, config.variants, run.rng)
        written = variation.posed(read(questions, synthesis))
        tries = attempts(SOLVE, written, solver, config.attempts, run.rng, synthesis)
        tries = graded(questions, tries, config.truncated_score)

        trajectories = score(responses + tries, rewards.solver)
        trajectories += score(synthesis, rewards.proposer(tries))
        for policy, own in cast.spoken(step.shaped(rewards.kept(trajectories))):
            advantages = step.estimate(own)
            batch = step.pack(own, advantages)
            metrics = step.update(policy, batch, run.rng)
            run.report(policy, own, advantages, metrics)
        run.note(health.check(written, tries))
        run.note(variation.figures(responses, synthesis, tries, rewards.of_variants(tries)))
    return solver
