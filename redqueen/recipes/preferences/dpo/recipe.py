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
    kto        w (1 - sigmoid(beta (h - z))) of a good reply, w (1 - sigmoid(beta (z - h))) of a bad one, without
               pairs; z = max(0, mean of h of each prompt with the reply to another)    KTO (arXiv:2402.01306)

`--by-token` takes means over tokens in place of sums, so that a pair does not count by its length. Where m grows both
replies often become less likely: `chosen_ratio` and `rejected_ratio` tell, `--chosen-weight` adds the likelihood of the
chosen ones, and an alarm rings where held-out chosen replies lose it.

`--questions preferences` are the shipped instructions with their answers and, rejected, what SmolLM2-135M said. Your
own: `--questions pairs.jsonl`, with the columns prompt, chosen and rejected. KTO reads the columns prompt, completion
and label (true or false), or both sides of pairs; `--pairs` and `--pairs-per-update` count replies then.

Differences: a constant learning rate with AdamW (RMSProp with a warm-up), no supervised stage before (`cold_start`).
KTO's z is of the replies of the whole update (the released code: of a device), with the reply to the next other prompt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from redqueen.credit.rewards import payoff, score
from redqueen.objectives.references import Reference
from redqueen.objectives.rounds import Round
from redqueen.play.lockstep import play
from redqueen.protocols import Policy
from redqueen.recipes.preferences.dpo.objective import Loss, objective_of
from redqueen.recipes.preferences.dpo.steps import data_for
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner, OneTurn
from redqueen.settings.limits import Amount, Count, NotWith, OnlyWith, Positive, Within


@dataclass(frozen=True)
class Config:
    learner: OneTurn = Learner(model="smollm2-135m")
    questions: str = "preferences"
    steps: Count = 48
    pairs: Count = 256  # to learn from, at most
    pairs_per_update: Count = 16
    passes: Count = 3  # over the pairs, at most
    beta: Annotated[float | None, Within(0.0, above=True)] = None  # 0.1; simpo 2.0, step-apo 0.3
    loss: Loss = "logistic"
    label_smoothing: Annotated[Amount, OnlyWith("loss", "logistic")] = 0.0
    by_token: Annotated[bool, OnlyWith("loss", ("logistic", "squared"))] = False
    gamma: Annotated[Amount, OnlyWith("loss", "simpo")] = 1.0
    alpha: Annotated[Amount, OnlyWith("loss", "step-apo")] = 1.0
    desirable_weight: Annotated[Positive, OnlyWith("loss", "kto")] = 1.0  # w of good replies
    undesirable_weight: Annotated[Positive, OnlyWith("loss", "kto")] = 1.0
    chosen_weight: Annotated[Amount, NotWith("loss", "orpo"), NotWith("loss", "kto")] = 0.0  # orpo has it
    most_margin: Positive = 1.0  # nats a token; beyond it nothing more is learned
    problems: Count = 64  # held out


def train(config: Config, run: Run) -> Policy:
    data = data_for(config.loss, config.questions, config.pairs)
    learner = config.learner.word_for_word().build_model(run.derived("learner"))
    reference = Reference(learner, "initial")
    tests, watch = data.measures(learner, reference, config.problems, run.tests)
    round_ = Round(config.passes, most_margin=config.most_margin, remade=True)
    objective = objective_of(
        config.loss,
        reference,
        config.beta,
        (config.desirable_weight, config.undesirable_weight),
        config.chosen_weight,
        config.label_smoothing,
        config.by_token,
        config.gamma,
        config.alpha,
    )

    for step in run.steps(config.steps, [learner], [reference, round_], [watch]):
        if not round_.size:  # at the start, and again where the run is resumed: the data are in no checkpoint
            rng = run.rng_of(0) if step else run.rng
            for rows in round_.slices(data.drawn(tests, rng)):
                sides = [score(play(side, rng), payoff) for side in data.recited(rows, learner)]
                part = data.pack(rows, sides)
                if not step and not round_.size:
                    run.report(learner, part.replies, part.advantages, {})
                round_.add(reference.rated(part.batch), part.equal)
        metrics = round_.update(learner, config.pairs_per_update, objective, run.rng)
        run.note(metrics | round_.metrics() | watch.observe(metrics))
    return learner
