"""DPO: a model learns from pairs of replies that somebody compared (Rafailov et al. 2023, arXiv:2305.18290).

Who says what is right: the file of pairs, in which somebody chose one of two replies.

The data are prompts with a chosen and a rejected reply, from a file. Nothing is sampled, nobody is asked: this is what
the methods that play against themselves start from, and what they are to be compared with. With the start as reference,

    h(y) = log pi(y | x) - log pi_start(y | x),     m = h(chosen) - h(rejected)

    logistic   -log sigmoid(beta m)      equation 7; `label_smoothing` e: (1 - e) of that and e of -log sigmoid(-beta m)
    squared    (m - 1 / (2 beta))^2      IPO (arXiv:2310.12036, equation 17), which leads m to a value and no further
    hinge      max(0, 1 - beta m)        SLiC (arXiv:2305.10425)
    simpo      -log sigmoid(beta m - gamma), h = mean log pi                            SimPO (arXiv:2405.14734)
    orpo       -h(chosen) - beta log sigmoid(log odds ratio), h as in simpo             ORPO (arXiv:2403.07691)
    step-apo   -log sigmoid(beta m - alpha d), d the file's column margin               Step-APO (arXiv:2409.08642)

`--by-token` takes means over tokens in place of sums, so that a pair does not count by its length. Where m grows both
replies often become less likely: `chosen_ratio` and `rejected_ratio` tell, `--chosen-weight` adds the likelihood of the
chosen ones, and an alarm rings where held-out chosen replies lose it.

`--questions preferences` are the shipped instructions with their answers and, rejected, what SmolLM2-135M said. Your
own: `--questions pairs.jsonl`, with the columns prompt, chosen and rejected.

Differences: a constant learning rate with AdamW (RMSProp with a warm-up), no supervised stage before (`cold_start`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from redqueen.credit.pairs import against
from redqueen.credit.rewards import payoff, score
from redqueen.measures.wins import pairs_told_apart
from redqueen.objectives.batch import pack_pairs
from redqueen.objectives.preference import PairLoss, preference_loss
from redqueen.objectives.references import Reference
from redqueen.objectives.rounds import Round
from redqueen.play.lockstep import play
from redqueen.protocols import Policy
from redqueen.questions.catalogue import find_questions_with
from redqueen.questions.dataset import Preferring, recitations, training_pairs
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Amount, Count, NotWith, OnlyWith, Positive, Within


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    questions: str = "preferences"
    steps: Count = 48
    pairs: Count = 256  # to learn from, at most
    pairs_per_update: Count = 16
    passes: Count = 3  # over the pairs, at most
    beta: Annotated[float | None, Within(0.0, above=True)] = None  # 0.1; simpo 2.0, step-apo 0.3
    loss: PairLoss = "logistic"
    label_smoothing: Annotated[Amount, OnlyWith("loss", "logistic")] = 0.0
    by_token: Annotated[bool, OnlyWith("loss", ("logistic", "squared"))] = False
    gamma: Annotated[Amount, OnlyWith("loss", "simpo")] = 1.0
    alpha: Annotated[Amount, OnlyWith("loss", "step-apo")] = 1.0
    chosen_weight: Annotated[Amount, NotWith("loss", "orpo")] = 0.0  # which has it
    most_margin: Positive = 1.0  # nats a token; beyond it nothing more is learned
    problems: Count = 64  # held out


def train(config: Config, run: Run) -> Policy:
    questions = find_questions_with(config.questions, Preferring)
    learner = config.learner.word_for_word().build_model(run.derived("learner"))
    reference = Reference(learner, "initial")
    tests, watch = pairs_told_apart(questions, learner, reference, config.problems, run.tests)
    round_ = Round(config.passes, most_margin=config.most_margin, remade=True)
    objective = preference_loss(
        config.loss,
        config.beta,
        config.chosen_weight,
        config.label_smoothing,
        config.by_token,
        config.gamma,
        config.alpha,
    )

    for step in run.steps(config.steps, [learner], [reference, round_], [watch]):
        if not round_.size:  # at the start, and again where the run is resumed: the pairs are in no checkpoint
            rng = run.rng_of(0) if step else run.rng
            pairs = training_pairs(questions, config.pairs, tests, rng)
            for few in round_.slices(pairs):
                part = recitations(few, learner)
                chosen, rejected = (score(play(side, rng), payoff) for side in part)
                kept = against(chosen, rejected)
                if not step and not round_.size:
                    run.report(learner, chosen + rejected, kept.advantages(chosen + rejected), {})
                margins = kept.stated if config.loss == "step-apo" else None
                round_.add(reference.rated(pack_pairs(kept.chosen, kept.rejected, margins)), kept.equal)
        metrics = round_.update(learner, config.pairs_per_update, objective, run.rng)
        run.note(metrics | round_.metrics() | watch.observe(metrics))
    return learner
