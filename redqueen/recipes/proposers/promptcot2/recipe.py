"""PromptCoT 2.0: latent rationales turn concepts into problems to train on (2025, arXiv:2509.19894).

Who says what is right: the majority of the labeller's answers.

A problem x is written from concepts c through a rationale z, which the corpus does not hold. A prompt model
p(z, x | c) writes both; a rationale model q(z | c, x) infers z from the problem. Both are trained by expectation
maximisation of a lower bound:

    log p(x | c)  >=  E_q [ log p(x | z, c) + log p(z | c) - log q(z | c, x) ]
    E   for a problem of the corpus sample 8 rationales from q, keep the one with the greatest
        log p(x | z, c) + log p(z | c), and fine-tune q on it
    M   fine-tune p on (c -> z, x) with the rationale so kept

Then the solver trains on problems that p writes. The label is the majority of 8 answers. Problems with half or more
of 8 attempts right are dropped; for the others each verified response is paired with one that failed:

    L = -log sigmoid(beta m),   m = h(verified) - h(failed),   h = log policy - log policy before self-play   (DPO)

Differences: E and M alternate every `phase` minibatches, not after passes over the corpus; M samples new rationales
from the q that E trained. Pairs are sampled from the current solver. Held-out problems are not trained on (the
published set had near copies of its benchmark). All models start from one that was trained on annotated triples
(`cold_start`). With one candidate the E-step has no effect; self-play on other problems than those that p writes is
another `self_play`: see `experiments/promptcot2.py`. Where p or q is the solver (`shared`), the policy before self-play
is the one before EM.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.rewards import score
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.labelling import MajorityLabels
from redqueen.objectives.batch import beside, pack, pack_pairs, row_mean
from redqueen.objectives.preference import Dpo
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import PROPOSE, SOLVE
from redqueen.questions.verdicts import Truncated
from redqueen.recipes.proposers.promptcot2.questions import find_explained
from redqueen.recipes.proposers.promptcot2.steps import Rationales, SelfPlay
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Count, Positive, Several
from redqueen.settings.roles import Cast, Labeller, Role


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    proposer: Role = Role("separate")  # p, which is trained
    explainer: Role = Role("separate")  # q, which is trained
    labeller: Labeller = Labeller()
    questions: str = "templates"
    steps: Count = 300
    rounds: Count = 3  # of expectation maximisation, the first steps; all others are self-play
    phase: Count = 20  # updates of each E and of each M
    corpus: Count = 32  # problems of each level
    candidates: Count = 8  # rationales sampled for a problem
    tasks: Count = 32  # problems of a step
    attempts: Several = 8  # and votes
    beta: Positive = 0.1
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level
    answers: Count = 4  # to each of them, when they are measured


def train(config: Config, run: Run, self_play: SelfPlay | None = None) -> Policy:
    questions = find_explained(config.questions)
    cast = Cast(config, run)
    solver = cast.learner
    labeller, base = cast["labeller"], solver.freeze()
    proposer, explainer = cast.trained("proposer"), cast.trained("explainer")
    labels, preference = MajorityLabels(questions, 0.0, config.truncated_score), Dpo(config.beta)
    rationales = Rationales(questions, explainer, proposer)
    self_play = self_play or SelfPlay(questions)
    measure = HeldOut(questions, solver, config.problems, config.answers, run.tests, truncated=config.truncated_score)
    corpus = measure.training(config.corpus, run.derived("corpus"))
    measures = rationales.measures(measure.tests, base, corpus)

    for step in run.steps(config.steps, cast.learning, [labels], [measure, *measures]):
        turn = step // config.phase
        drawn = run.rng.choices(corpus, k=config.tasks)
        if turn < 2 * config.rounds:
            learner, writes = (proposer, True) if turn % 2 else (explainer, False)
            explanations = attempts(rationales.game, rationales.asked(drawn), explainer, config.candidates, run.rng)
            best = rationales.best(drawn, explanations)
            trajectories = rationales.recited(drawn, best, learner, writes)
            advantages = rationales.credit(trajectories)
            metrics = learner.update(pack(trajectories, advantages, row_mean), rationales.objective)
            run.note(rationales.agreement(drawn, best))
        else:
            learner = solver
            proposals = attempts(PROPOSE, self_play.invited(drawn), proposer, 1, run.rng)
            written = self_play.written(proposals, run.rng)
            votes = attempts(SOLVE, measure.apart(written), labeller, config.attempts, run.rng)
            labelled = labels.elected(votes)
            tries = attempts(SOLVE, labelled, solver, config.attempts, run.rng)
            tries = labels.graded(tries)
            chosen, rejected = self_play.pairs(score(tries, self_play.reward))
            trajectories = chosen + rejected
            advantages = self_play.credit(chosen, rejected)
            batch = pack_pairs(chosen, rejected)
            metrics = learner.update(beside(batch, base.likelihoods(batch)), preference)
            run.note(labels.check(written, labelled) | {"posed": len(votes), "pairs": len(chosen)})
        run.report(learner, trajectories, advantages, metrics)
    return solver
