"""SPIN: a model learns to tell gold answers from those of its own last iterate (Chen et al. 2024, arXiv:2401.01335).

Who says what is right: the data, whose gold answer always counts as better than the model's own.

The data are prompts x with answers y that people wrote; there are no preferences and no judge. In iteration t

    generate   y' from pi_t, one to each prompt
    select     (y, y') of this iteration, and of the last one
    train      from pi_t, with pi_t as reference (equation 4.7):

    L = log(1 + exp(-beta m)),   m = h(y) - h(y'),   h(y) = log pi(y | x) - log pi_t(y | x)

At policy = data nothing is left to tell apart and the expected gradient is zero. Where the inner problem is solved to
its end, log(data / policy) is multiplied by 1 - 1/beta in each iteration: beta 1 lands on the data, below 1/2 it
diverges. The paper's beta of 0.1 rests on stopping early: `updates`, `passes` and `most_margin` do that, and the alarms
say when it was not enough (`alarm/coverage`: held-out gold answers lose likelihood while samples may look better).

`--questions known` is a distribution of twenty listed answers, on which KL(data || policy) is exact. `--loss hinge` is
the variant in the authors' code. `--chosen-weight` adds the likelihood of gold answers, which m alone lets fall.

`--chosen learner --weaker MODEL` is Self-Reinforcement (Tong et al. 2024, arXiv:2405.04086): questions without answers,
y from pi_t (tuned on a few with answers) is chosen, y' from the model before it was tuned, later from pi_{t-1}, is
rejected. Ties of right or wrong replies teach style, and once the weaker one has caught up a pair is as often the wrong
way round: hence the filter `--oracle`, who must find y better than y', by default pi_t itself in both orders.
`pairs_right` says how often the right one of two was chosen, `drawn_right` how often without the filter.

Differences: a few hundred prompts (50 000), AdamW (RMSProp), one beta (5 in the paper's last iteration). Generated and
trained on in one template. A reply that was cut off ends without the end of text, which is not put there. Of
Self-Reinforcement the wording of the filter, beta and the learning rate are not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from redqueen.credit.pairs import against
from redqueen.credit.rewards import payoff, score
from redqueen.demonstrations.gold import Kept
from redqueen.measures.wins import told_apart
from redqueen.objectives.batch import pack_pairs
from redqueen.objectives.preference import preference_loss
from redqueen.objectives.references import Reference
from redqueen.objectives.rounds import Round
from redqueen.play.lockstep import play
from redqueen.protocols import Policy
from redqueen.questions.catalogue import find_questions
from redqueen.recipes.self_training.spin.steps import sides
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner, OneTurn
from redqueen.settings.limits import Amount, Count, NotWith, OnlyWith
from redqueen.settings.oracles import JudgeSettings


@dataclass(frozen=True)
class Config:
    learner: OneTurn = Learner(model="smollm2-135m")
    questions: str = "sums"
    chosen: Literal["gold", "learner"] = "gold"
    """the chosen side: gold answers, which the learner's lose to, or the learner, whom an earlier model loses to"""
    gold: Annotated[Literal["problems", "demonstrations"], NotWith("chosen", "learner")] = "problems"
    """where gold answers come from: the question set's problems, or what its solver is shown to say"""
    weaker: Annotated[str, OnlyWith("chosen", "learner")] = ""  # model folder or name: the model before it was tuned
    rejected: Annotated[Literal["last", "start"], OnlyWith("chosen", "learner")] = "last"
    """the rejected side from the second iteration on: the iterate before, or the weaker model all the time"""
    oracle: Annotated[str, OnlyWith("chosen", "learner")] = "judge:shared"
    """who keeps the pairs whose chosen reply is better: judge:shared is the learner itself; questions, judge:frozen,
    judge:http://HOST/v1#MODEL, reward:MODEL, pairs:MODEL, FILE.py:NAME; none keeps all"""
    judge: JudgeSettings = JudgeSettings()
    steps: Count = 48
    updates: Count = 16  # of an iteration
    tasks: Count = 256  # with gold answers (50 000 in the paper)
    pairs_per_update: Count = 32  # 64 in the paper
    passes: Count = 2  # over the pairs of an iteration, at most
    remembered: Count = 2  # iterations whose pairs are learned from, with this one
    beta: Amount = 0.1  # lambda
    loss: Literal["logistic", "hinge"] = "logistic"
    chosen_weight: Amount = 0.0
    most_margin: Amount = 10.0  # nats a token; beyond it the iteration learns no more
    reference: Literal["last", "initial", "average"] = "last"
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    settings = config.learner.word_for_word() if config.chosen == "gold" else config.learner
    learner = settings.build(run.derived("learner"))
    reference, kept = Reference(learner, config.reference), Kept(config.remembered)
    tests, watch = told_apart(questions, learner, reference, config.problems, run.tests, config.chosen == "gold")
    replies = sides(config, questions, learner, tests, run)
    round_ = Round(config.passes, most_margin=config.most_margin)
    objective = preference_loss(config.loss, config.beta, config.chosen_weight)

    for step in run.steps(config.steps, [learner], [reference, kept, round_, replies], [watch]):
        if step % config.updates == 0:
            better, worse = replies.matches(reference.policy)
            kept.add(*replies.kept(play(better, run.rng), play(worse, run.rng), run.rng))
            reference.refresh()
            chosen, rejected = score(kept.gold, payoff), score(kept.own, payoff)
            pairs, own = against(chosen, rejected), replies.own(chosen, rejected)
            round_.renew(reference.rated(pack_pairs(pairs.chosen, pairs.rejected)), pairs.equal)
            run.report(learner, own, pairs.advantages(own), {})
        metrics = round_.update(learner, config.pairs_per_update, objective, run.rng)
        run.note(metrics | round_.metrics() | replies.metrics() | watch.observe(metrics))
    return learner
