"""PromptCoT 2.0: rationales that nobody wrote turn concepts into problems to learn from (2025, arXiv:2509.19894).

Who says what is right: the majority of the labeller's answers.

A problem x is made from concepts c by way of a rationale z. A prompt model p(z, x | c) writes both, a rationale model
q(z | c, x) looks back from the problem, and the two raise each other over rounds of expectation maximisation:

    log p(x | c)  >=  E_q [ log p(x | z, c) + log p(z | c) - log q(z | c, x) ]
    E   for a problem of the corpus sample 8 rationales from q, keep the one with the greatest
        log p(x | z, c) + log p(z | c), and fine-tune q on it
    M   fine-tune p on (c -> z, x) with the rationale so kept

Then the solver learns from problems that p writes. The majority of 8 answers is the label; problems of whose 8 attempts
half or more are right are dropped; of the others each verified response is paired with one that failed:

    L = -log sigmoid(beta m),   m = h(verified) - h(failed),   h = log policy - log policy before self-play   (DPO)

Differences: E and M take turns of `phase` minibatches, not of passes over the corpus; M samples its rationales anew
from the q that E trained. Pairs are of the solver as it is. Held-out problems are not learned from (the published set
had near copies of its benchmark). The models begin as one that was shown annotated triples (cold_start). One candidate
is the method without its E-step; `--from-seeds` learns from the question set's seeds and not from what p writes. Where
p or q is the solver (`shared`), the policy before self-play is the one before EM.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from redqueen.credit.group_rewards import correct
from redqueen.credit.rewards import score
from redqueen.curricula.held_out import labelled
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.health import ProposerHealth
from redqueen.measures.proposals import audited
from redqueen.measures.rationales import (
    Bound,
    Generated,
    agreement,
    best_rationales,
    explanations_of,
    problems_from,
    proposals_of,
    recited,
)
from redqueen.objectives.batch import beside, pack, pack_pairs, row_mean
from redqueen.objectives.imitation import Imitation
from redqueen.objectives.preference import Dpo
from redqueen.play.groups import attempts
from redqueen.protocols import Measure, Objective, Policy
from redqueen.questions.asking import SOLVE, tasks_among
from redqueen.questions.catalogue import find_questions_with
from redqueen.questions.labels import held_to_label, label_accuracy
from redqueen.questions.small.templates import Explained
from redqueen.questions.synthesis import elected, verified_pairs
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Count, Positive, Several
from redqueen.settings.roles import Cast, Role, Still


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    prompter: Role = Role("separate")  # p, which is trained
    explainer: Role = Role("separate")  # q, which is trained
    labeller: Annotated[Role, Still()] = Role()
    questions: str = "templates"
    steps: Count = 300
    rounds: Count = 3  # of expectation maximisation, the first steps; all others are self-play
    phase: Count = 20  # updates of each E and of each M
    corpus: Count = 32  # problems of each level
    candidates: Count = 8  # rationales sampled for a problem
    tasks: Count = 32  # problems of a step
    attempts: Several = 8  # and votes
    beta: Positive = 0.1
    from_seeds: bool = False  # self-play on the question set's seeds
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    questions = find_questions_with(config.questions, Explained)
    cast = Cast(config, run)
    solver, labeller, base = cast.learner, cast["labeller"], cast.learner.freeze()
    prompter, explainer = cast.trained("prompter"), cast.trained("explainer")
    measure, health = HeldOut(questions, solver, config.problems, 4, run.tests), ProposerHealth()
    corpus = labelled(questions, (), config.corpus, measure.tests, run.derived("corpus"))
    bound = Bound(questions, explainer, prompter, [task for group in measure.tests.values() for task in group[:8]])
    measures: list[Measure] = [
        measure,
        bound,
        Generated(questions, prompter, base, corpus),
    ]

    for step in run.steps(config.steps, cast.learning, [health], measures):
        turn, rng = step // config.phase, run.rng
        objective: Objective
        if turn < 2 * config.rounds:
            drawn = rng.choices(corpus, k=config.tasks)
            texts = best_rationales(questions, drawn, explainer, prompter, config.candidates, rng)
            learner, shown = (prompter, proposals_of) if turn % 2 else (explainer, explanations_of)
            trajectories, objective = recited(shown(questions, drawn, texts), learner), Imitation()
            credit = [np.ones(1) for _ in trajectories]
            batch = pack(trajectories, credit, row_mean)
            run.note(agreement(drawn, texts, "em/agreement"))
        else:
            drawn = rng.choices(questions.seeds() if config.from_seeds else corpus, k=config.tasks)
            written = drawn if config.from_seeds else problems_from(questions, drawn, prompter, rng)
            posed = measure.apart(tasks_among(written))
            labels = elected(posed, labeller, config.attempts, rng, above=0.0)
            tries = held_to_label(attempts(SOLVE, labels, solver, config.attempts, rng))
            chosen, rejected = verified_pairs(score(tries, correct), below=0.5)
            learner, trajectories, objective = solver, chosen + rejected, Dpo(config.beta)
            credit = [np.ones(1) for _ in chosen] + [-np.ones(1) for _ in rejected]
            batch = pack_pairs(chosen, rejected)
            batch = beside(batch, base.likelihoods(batch))
            if not config.from_seeds:
                run.note(health.check(audited(questions, written, labels)))
            run.note({"posed": len(posed), "pairs": len(chosen)} | label_accuracy(questions, posed, labels))
        metrics = learner.update(batch, objective)
        run.report(learner, trajectories, credit, metrics)
    return solver
