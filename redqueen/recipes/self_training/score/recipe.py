"""SCoRe: self-correction by two-stage reinforcement learning (Kumar et al. 2024, arXiv:2409.12917).

Who says what is right: the check of the question set, for both answers.

A model answers (y1), is asked to look again whether or not that was right, and answers once more (y2). Imitating
corrections, or rewarding both answers alike, ends in a model that says its first answer twice. So there are two stages:

    stage I    max  E[ r(y2) ]  -  b2 KL(first answer || initial policy)  -  b1 KL(both)
    stage II   max  E[ r(y1) + r(y2) + alpha (r(y2) - r(y1)) ]  -  b1 KL(both)

with r = 1 where right and 0 where wrong. Stage I makes the second answer differ from the first while the first stays as
it was; the bonus of stage II, 11 for mending, -10 for spoiling, 1 and 0 for neither, keeps it from copying again.

    A = R - mean of the other attempts at the task (RLOO),       L = - mean over own tokens of  A log pi  +  KL terms

Differences: each answer is credited with its own reward alone. With the sum of both, a first answer would earn
(1 + alpha) r(y2) - (alpha - 1) r(y1), and be paid for being wrong. A second answer is compared with those that followed
an equally right first one. The paper has no baseline by groups; its KL is to the same initial policy.

Controls: `--first-stage 0 --bonus 0` is plain reinforcement of both answers, `--first-stage 0` lacks stage I alone.
What is measured: accuracy of both answers, wrong to right, right to wrong, and how often y2 repeats y1.
"""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.rewards import score
from redqueen.games.second_try import SecondTry
from redqueen.objectives.batch import beside, pack
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import evenly
from redqueen.questions.catalogue import find_questions
from redqueen.questions.verdicts import Truncated, check_known
from redqueen.recipes.self_training.score.measures import SelfCorrection
from redqueen.recipes.self_training.score.objective import first_stage, opening_divergence, second_stage
from redqueen.recipes.self_training.score.steps import Correction, changes, twice_graded
from redqueen.recipes.self_training.score.steps import against_like_firsts as estimate
from redqueen.runs.run import Run
from redqueen.settings.learner import Flat
from redqueen.settings.limits import Amount, Count, Several, Whole


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    questions: str = "sums"
    steps: Count = 200  # of both stages (3000 in the paper, on MATH)
    first_stage: Whole = 100  # steps of stage I
    tasks: Count = 16  # a step (512 in the paper)
    attempts: Several = 8  # at each task, two answers each
    bonus: Amount = 10.0  # alpha
    kl: Amount = 2.0  # beta_1 (0.01 in the paper, with which first answers soon need no mending here)
    first_answer_kl: Amount = 0.1  # beta_2 (code: 0.25)
    truncated_score: Truncated = "wrong"  # of an attempt that was cut off: wrong, graded as it is, unknown
    problems: Count = 64  # held out, of each level


def train(config: Config, run: Run) -> Policy:
    questions, game = find_questions(config.questions), SecondTry()
    learner = config.learner.build_model(run.derived("learner"))
    initial = learner.freeze()
    stages = (
        (Correction(first=0.0), first_stage(config.kl, config.first_answer_kl)),
        (Correction(config.bonus), second_stage(config.kl)),
    )
    measure = SelfCorrection(questions, learner, config.problems, seed=run.tests, truncated=config.truncated_score)
    check_known(questions, measure.tests)

    for step in run.steps(config.steps, [learner], measures=[measure]):
        reward, objective = stages[step >= config.first_stage]
        tasks = evenly(questions, config.tasks, run.rng, measure.tests)
        pairs = twice_graded(
            questions, attempts(game, tasks, learner, config.attempts, run.rng), config.truncated_score
        )
        trajectories = score(pairs, reward)
        advantages = estimate(trajectories)
        batch = pack(trajectories, advantages)
        batch = beside(batch, initial.likelihoods(batch))
        metrics = learner.update(batch, objective)
        run.report(learner, trajectories, advantages, metrics)
        run.note({f"train/{name}": value for name, value in changes(pairs).items()})
        run.note({"first_answer_kl": opening_divergence(batch)})
    return learner
