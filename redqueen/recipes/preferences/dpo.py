"""DPO: a model learns from pairs of replies that somebody compared (Rafailov et al. 2023, arXiv:2305.18290).

Who says what is right: the file of pairs, in which somebody chose one of two replies.

The data are prompts with a chosen and a rejected reply, from a file. Nothing is sampled, nobody is asked: this is what
the methods that play against themselves start from, and what they are to be compared with. With the start as reference,

    h(y) = log pi(y | x) - log pi_start(y | x),     m = h(chosen) - h(rejected)

    logistic   -log sigmoid(beta m)      equation 7; `label_smoothing` e: (1 - e) of that and e of -log sigmoid(-beta m)
    squared    (m - 1 / (2 beta))^2      IPO (arXiv:2310.12036, equation 17), which leads m to a value and no further
    hinge      max(0, 1 - beta m)        SLiC (arXiv:2305.10425)

`--by-word` takes means over words in place of sums, so that a pair does not count by its length. Where m grows both
replies often become less likely: `chosen_ratio` and `rejected_ratio` tell, `--chosen-weight` adds the likelihood of the
chosen ones, and an alarm rings where held-out chosen replies lose it.

`--questions preferences` are the shipped instructions with their answers and, rejected, what SmolLM2-135M said. Your
own: `--questions dataset:path=pairs.jsonl`, with the columns prompt, chosen and rejected.

Differences: a constant learning rate with AdamW (RMSProp with a warm-up), no supervised stage before (`cold_start`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from redqueen.credit.rewards import payoff, score
from redqueen.curricula.held_out import TRAIN
from redqueen.measures.accuracy import held_out
from redqueen.measures.preferences import HeldOutPreferences, watched
from redqueen.objectives.additive import Sum
from redqueen.objectives.batch import beside, pack_pairs
from redqueen.objectives.preference import ChosenLikelihood, Dpo, Hinge, Ipo
from redqueen.objectives.references import INITIAL, Reference, check_start
from redqueen.objectives.rounds import Ceiling, Round
from redqueen.play.lockstep import play
from redqueen.players.language.reciter import reader
from redqueen.protocols import Objective, Policy
from redqueen.questions.catalogue import find_questions, having
from redqueen.questions.dataset import Preferring, pairs_apart, recitations
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat, Learner
from redqueen.settings.limits import Amount, Count, NotWith, OnlyWith, Positive, Within
from redqueen.settings.roles import refuse_format
from redqueen.types import Trajectory


@dataclass(frozen=True)
class Config:
    learner: Flat = Learner(model="smollm2-135m")
    questions: str = "preferences"
    steps: Count = 48
    pairs: Count = 256  # to learn from, at most
    pairs_per_update: Count = 16
    passes: Count = 3  # over the pairs, at most
    beta: Positive = 0.1
    loss: Literal["logistic", "squared", "hinge"] = "logistic"
    label_smoothing: Annotated[float, Within(0.0, 0.499), OnlyWith("loss", "logistic")] = 0.0
    by_word: Annotated[bool, NotWith("loss", "hinge")] = False
    chosen_weight: Amount = 0.0
    most_margin: Positive = 20.0  # nats; beyond it nothing more is learned
    problems: Count = 64  # held out


def train(config: Config, run: Run) -> Policy:
    questions = having(find_questions(config.questions), Preferring)
    refuse_format(config.learner)
    learner = config.learner.build_model(run.derived("learner"))
    tests = held_out(questions, config.problems, seed=run.tests)
    reference, objective = Reference(learner, INITIAL), losses(config)
    round_ = Round(config.passes, [Ceiling("preference_margin", config.most_margin)])
    watch = watched(questions, learner, tests, HeldOutPreferences(questions, learner, reference, config.problems))

    for _ in run.steps(config.steps, [learner], [reference, round_], [watch]):
        shown: list[Trajectory] = []
        if not round_.size:
            pairs = pairs_apart(tests, questions.preferences(TRAIN, config.pairs, run.rng))
            chosen, rejected = (score(play(side, run.rng), payoff) for side in recitations(pairs, reader(learner)))
            batch = pack_pairs(chosen, rejected)
            batch = beside(batch, reference.likelihoods(batch))
            check_start(learner, batch)
            round_.renew(batch)
            shown = [*chosen, *rejected]
        metrics = round_.update(learner, config.pairs_per_update, objective, run.rng)
        run.report(learner, shown, [np.zeros(1) for _ in shown], metrics)
        run.note(round_.metrics() | watch.observe(metrics))
    return learner


def losses(config: Config) -> Objective:
    """The loss that `config` names, plus the likelihood of the chosen replies where that has a weight."""
    made: dict[str, Objective] = {
        "logistic": Dpo(config.beta, config.label_smoothing, config.by_word),
        "squared": Ipo(config.beta, config.by_word),
        "hinge": Hinge(config.beta),
    }
    loss = made[config.loss]
    return Sum(loss, ChosenLikelihood(config.chosen_weight)) if config.chosen_weight else loss
