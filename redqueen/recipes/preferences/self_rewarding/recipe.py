"""Self-rewarding: the policy judges its own replies and learns from that (Yuan et al. 2024, arXiv:2401.10020).

Who says what is right: the model itself, which judges its own replies (`judge`).

One model answers, and is the judge of the answers; as it learns, the judge changes with it. In iteration t, with M_t

    invent    new prompts, written by M_t after examples; the others are the question set's
    answer    N replies to each prompt
    judge     M_t scores each reply a few times, and the mean counts; what cannot be read is no score
    train     from M_t, with M_t as reference, DPO on the best and the worst scored of each prompt; ties are no pair:

    L = -log sigmoid(beta (h(best) - h(worst))),   h(y) = log pi(y | x) - log M_t(y | x)

Nothing anchors the judge: whether it still agrees with the check of the question set is measured (`judge_*`), and no
reward learns of that. M_1 of the paper is trained on answers and on judgements that people wrote: `redqueen train
cold_start --questions judged:sums` makes such a start. `--judge frozen` keeps the first judge, which is the control.

`--tool calculator` gives the judge a tool, `--useful 8` leaves out pairs that it does not find useful when it sees both
replies, `--rewrites 2` asks again, up to twice, where no useful pair came of a prompt, with a sentence of the judge's
advice in view of who answers and of who judges: with a judge that is another model (`--judge http://HOST/v1#MODEL`)
this is Anyprefer (2025, arXiv:2504.19276). What was said with advice is learned as said without. What a tool says the
judge alone sees. The gate is the same judge, its bias again. `experiments/anyprefer.py` leaves each of the three out.

Differences: scores go from 1 to 10 in the form of this library's judges (the paper: from 0 to 5, by five criteria). The
prompts of an iteration are made in it. The judge's own tokens are not trained on, as in the paper. Anyprefer: one
advice stands in both prompts, and is written with the feedback in view (the unofficial code does not show it).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from redqueen.credit.rewards import score
from redqueen.objectives.batch import pack_pairs
from redqueen.objectives.preference import Dpo
from redqueen.objectives.references import Reference
from redqueen.objectives.rounds import Round
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import PROPOSE, SOLVE
from redqueen.questions.catalogue import find_questions
from redqueen.recipes.preferences.self_rewarding.steps import Judging, Prompts
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Count, NotWith, PartOf, Positive, Several, Within
from redqueen.settings.roles import Cast, Role, Still


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    judge: Annotated[Role, Still()] = Role()
    tool: str = "none"  # of the judge: calculator, python or none
    useful: Annotated[int, Within(0, 10)] = 0
    """least usefulness of a pair, from 1 to 10, of which the judge is asked once more; 0 asks nobody"""
    rewrites: Annotated[int, Within(0, 10), NotWith("useful", 0)] = 0
    """how often at most a prompt without a useful pair is asked again with advice; 2 make three rounds in all"""
    questions: str = "judged:sums"
    steps: Count = 48
    updates: Count = 16  # of an iteration
    tasks: Count = 64  # of an iteration (some thousands in the paper)
    invented: Annotated[float, PartOf("tasks")] = 0.5  # of the tasks, at most
    attempts: Several = 4  # N
    repeats: Count = 3  # of every judgement
    pairs_per_update: Count = 16
    passes: Count = 2  # over the pairs of an iteration, at most
    beta: Positive = 0.1
    most_margin: Positive = 1.0  # nats a token; beyond it the iteration learns no more
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    questions = find_questions(config.questions)
    cast = Cast(config, run)
    learner = cast.learner
    judging = Judging(questions, config.tool, config.useful)
    judge = judging.seated(cast["judge"])
    prompts = Prompts(questions, config.tasks, config.invented, config.problems, run.tests)
    watch = prompts.watched(learner)
    reference = Reference(learner)
    round_ = Round(config.passes, most_margin=config.most_margin)
    objective = Dpo(config.beta)

    for step in run.steps(config.steps, [learner], [reference, round_, prompts, judging], [watch]):
        if step % config.updates == 0:
            reference.refresh()
            proposals = attempts(PROPOSE, prompts.invited(run.rng), learner, 1, run.rng)
            tasks = prompts.taken(proposals, run.rng, step)
            replies = []
            for asked in judging.rounds(tasks, config.rewrites, judge, run.rng):
                answers = attempts(SOLVE, asked, learner, config.attempts, run.rng)
                judgements = attempts(judging.game, judging.asked(answers), judge, config.repeats, run.rng)
                told = score(judging.heard(answers, judgements), judging.reward)
                replies += judging.paired(told, learner, judge, config.repeats, run.rng)
            pairs = judging.pairs
            batch = pack_pairs(pairs.chosen, pairs.rejected)
            round_.renew(reference.rated(batch), pairs.equal)
            run.report(learner, replies, pairs.advantages(replies), {})
            run.note(prompts.metrics())
        metrics = round_.update(learner, config.pairs_per_update, objective, run.rng)
        run.note(metrics | round_.metrics() | judging.metrics() | watch.observe(metrics))
    return learner
