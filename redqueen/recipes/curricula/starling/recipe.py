"""STARLING: practice on small games that a model writes, then the game itself (Basavatia et al., arXiv:2406.05872).

Who says what is right: the rules of the game.

An author fills seed ideas into specifications of text games: places, doors, things, rules. An engine plays them, and
what it cannot win is no practice: a specification is kept if a search with the engine's own moves finds a way within
its limit, the way takes `fewest` moves or more, and no kept quest is the same up to its names. From the first step to
`practice_end` of the run the share of practice in a step falls on a line from 1 to 0; the rest is the game alone.

    written -> read (refused in words) -> can it be won? -> trivial? -> the same as another, or as a held-out one?

A table learns each quest by itself; only a `--model` can carry over what it practised. `--author drawn` fills a
template at random, of which about one in five can be won; any chat model may write instead, `--author frozen`, a folder
or an endpoint. Controls: `--practice 0`, `--no-proof` keeps what cannot be won.

Differences: the specification is JSON with an engine of ours (Inform 7 there), the policy is a language model or a
table that learns by GRPO (a recurrent network with advantage actor-critic there), and practice ends in one run.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Annotated

from redqueen.credit.rewards import score
from redqueen.play.groups import attempts
from redqueen.protocols import Policy
from redqueen.questions.asking import PROPOSE
from redqueen.recipes.curricula.starling.steps import Practice, Template
from redqueen.runs.run import Run
from redqueen.runs.sources import source
from redqueen.settings.learner import Flat
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.limits import AnyCount, Count, Several, Share
from redqueen.settings.roles import Cast, Plays, Role, Still
from redqueen.settings.update import Update


@dataclass(frozen=True)
class Config:
    learner: Flat = Flat()
    author: Annotated[Role, Still(("drawn",)), Plays("proposer")] = Role("drawn")
    """drawn (a template filled at random), shared, frozen, a model folder, http://HOST/v1#MODEL; it does not learn"""
    game: str = "quests:steps=2,fewest=4"
    practice: AnyCount = 100  # quests that are kept; 0 is none
    proposals: Count = 32  # a step, until there are so many
    rules: Count = 1  # of a drawn quest
    fewest: Count = 2  # moves of the shortest way
    proof: bool = True  # whether a quest has to be won by search
    practice_end: Share = 0.6  # of the run
    steps: Count = 250
    tasks: Count = 16  # a step
    attempts: Several = 8  # G
    update: Update = Update()
    paper = Update(estimator="group", scale="group", loss="ppo", clip_low=0.2, clip_high=0.2, aggregate="token")
    batch = (("tasks", "attempts"),)


def train(config: Config, run: Run) -> Policy:
    cast = Cast(config, run, table_learning_rate=1.0)
    learner = cast.policy
    tasks = source(config, learner, run)
    author = Template(config.rules) if config.author.player == "drawn" else cast["author"]
    practice = Practice(config, tasks.tests(1, Random(0)))
    step = LearningStep(config, [learner], listed=tasks.listed)

    for number in run.steps(config.steps, [learner], [practice, *step.parts], tasks.measures):
        proposals = attempts(PROPOSE, practice.invited(config.proposals, run.rng), author, 1, run.rng)
        practice.add(proposals)
        drawn = practice.draw(config.tasks, number, config.steps, run.rng)
        drawn += tasks.draw(config.tasks - len(drawn), run.rng)
        groups = attempts(tasks.game, drawn, learner, config.attempts, run.rng)
        trajectories = step.shaped(score(groups, tasks.reward))
        advantages = step.estimate(trajectories)
        batch = step.pack(trajectories, advantages)
        metrics = step.update(learner, batch, run.rng)
        run.report(learner, trajectories, advantages, metrics)
        run.note(practice.metrics(groups))
    return learner
