"""GRPO: attempts at one task are credited by how they compare with each other (Shao et al. 2024, arXiv:2402.03300).

Who says what is right: the check of the question set, the majority of the attempts, a judge, or the rules of a game.

The policy makes G attempts at each of a step's tasks. An attempt that did better than the others at its task is made
likelier, one that did worse less likely, and no critic is needed to say what was to be expected:

    R = 1 where right and 0 where wrong (the score in a game)
    A = (R - mean) / deviation                     over the G attempts at one task, for each role of a game
    L = - mean over tokens of min(r A, clip(r, 1 - eps, 1 + eps) A) + beta KL(policy || start)

r is the policy's probability of a token over that of the policy which sampled it: 1 at the first update on a batch, so
that `--clip-low` and `--clip-high` take `--updates-per-batch 2` or `--minibatches 2` to count. A task whose attempts
are all right or all wrong teaches nothing (`rows_without_signal`; `--even-groups refill` draws others, `replay`
remembers an attempt that fared otherwise, `hint` asks again with a hint).

What has been put in the place of A, L and the means since is a flag (docs/update.md), and a published combination of
flags a preset: `redqueen list presets`, `--preset dapo`.

`--answers majority` needs no answers (TTRL, Zuo et al. 2025, arXiv:2504.16084): the commonest answer of the G attempts
is taken for right. Where the question set knows better it says so in `label_accuracy`, for figures alone: a majority
that is wrong is learned too. `majority`, the accuracy of the vote on held-out problems, says at the start how much
there is to gain; compare with `--answers known`.

`--answers judge:WHO` has a judge rank the G attempts at a task in one call (as RULER, OpenPipe's ART, does): it sees
them side by side, in an order drawn anew, and R is the share of the comparisons with the other attempts that an attempt
wins. Attempts that tie, and rankings that cannot be read, decide nothing: never a half. The mean of R says nothing, a
half whatever the model has learned; where the question set knows what is right, `accuracy` and `judge_auc` do, and no
reward learns of that. A judge is easily pleased by what is not asked for, above all by length (`completion_length`).

With `--staleness 1` a step is played while the one before is learned from, with `--placement process` by a process of
its own (docs/update.md).

`--game` trains on a game in place of questions: the policy plays all roles against itself, G matches of each deal.

Differences: means are over all tokens of the batch alike (DAPO's; GRPO's own is over the tokens of each attempt first),
and there is no KL term unless `--kl` says so (0.04 in the paper). In TTRL 64 attempts vote and 32 of them are learned
from; here all that vote are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from redqueen.credit.rewards import score
from redqueen.play.ahead import Ahead
from redqueen.play.groups import grouped
from redqueen.play.seating import mirror
from redqueen.protocols import Policy
from redqueen.questions.verdicts import Truncated
from redqueen.runs.run import Run
from redqueen.runs.sources import source
from redqueen.settings.learner import Flat
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import Count, OnlyWith, Several
from redqueen.settings.oracles import JudgeSettings
from redqueen.settings.placement import PlayedAhead
from redqueen.settings.update import Update
from redqueen.types import Group, Task


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat(model="smollm2-135m")
    questions: Annotated[str, OnlyWith("game", "")] = "sums"  # or a file: train.jsonl, train.csv, train.parquet
    answers: Annotated[str, OnlyWith("game", "")] = "known"
    """known; majority, the commonest answer of the attempts; or judge:frozen, judge:FOLDER, judge:http://HOST/v1#MODEL,
    who ranks the attempts at a task in one call"""
    judge: Annotated[JudgeSettings, OnlyWith("game", "")] = JudgeSettings()
    game: str = ""  # in place of questions
    steps: Count = 100
    tasks: Count = 8  # a step (1024 in the paper, over a batch)
    attempts: Several = 8  # G (64 in the paper)
    truncated_score: Annotated[Truncated, OnlyWith("game", "")] = "wrong"
    """of an attempt that was cut off: wrong, graded as it is, unknown"""
    problems: Annotated[Count, OnlyWith("game", "")] = 64  # held out, of each level
    ahead: PlayedAhead = PlayedAhead()
    update: Update = Update()
    paper = Update(  # eps is clip_low and clip_high, beta is kl
        estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="token"
    )
    draws_anew = True  # tasks, where `step.rounds` says so
    gives_hints = True  # where `step.hinted` says so
    batch = (("tasks", "attempts"),)


def train(config: Config, run: Run) -> Policy:
    learner = config.learner.build(run.derived("learner"))
    tasks = source(config, learner, run)
    if config.update.even_groups == "hint":
        tasks.helped([], 1)  # refused now where nobody gives any
    step = LearningStep(config, [learner], listed=tasks.listed)
    ahead = Ahead(learner, config.ahead.staleness, config.ahead.apart(learner), config.ahead.actors)

    def attempted(draw: Callable[[], Sequence[Task]]) -> list[Group]:
        episodes = ahead.play(lambda: mirror(tasks.game, draw(), learner, config.attempts), run.rng)
        return tasks.judged(grouped(episodes, config.attempts))

    for _ in run.steps(config.steps, [learner], [*step.parts, *tasks.parts, ahead], tasks.measures):
        groups: list[Group] = []
        for missing in step.rounds(groups, config.tasks):
            groups += attempted(partial(tasks.draw, missing, run.rng))
        groups = step.hinted(groups, tasks.helped, lambda helped: attempted(lambda: helped))
        trajectories = step.shaped(score(groups, tasks.reward))
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics | ahead.metrics())
        run.note(tasks.figures(groups))
    return learner
