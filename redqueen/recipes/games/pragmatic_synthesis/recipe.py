"""Pragmatic program synthesis: examples chosen with a listener in mind (Vaduguru et al. 2023, arXiv:2311.05740).

Who says what is right: the rules of the game.

A program is meant, and a few examples of it are shown; most often many programs agree with them. A speaker and a
listener learn to be understood all the same, without data of people: in each round the sets of examples of some
programs are built one example at a time. The listener samples patterns H that agree with what was shown, the speaker
examples U; with M[h, u] = 1 where h agrees with u, and a row of ones for the target p,

    L0[h, u] = M[h, u] / sum_h M[h, u]        S1[h, u] = L0[h, u] / sum_u L0[h, u]        u* = argmax_u S1[p, u]

(rational speech acts, Frank and Goodman 2012): u* is the example that fewest others of H agree with. Both then go back
to their start and imitate the sets of all rounds: the speaker each example after those before it, the listener p after
each prefix. Their start is a round of its own, the literal one, with examples drawn evenly from those that are true.

Differences: small patterns or a lexicon of your own (`games.by_example`), whose replies are listed, so that every
sampled example is true and every pattern agrees. Patterns count once that agree with the same of the examples at hand
(the released code tells them apart by their text, and counts a target that is sampled twice). The listener also learns
what to think before the first example; the speaker learns the last of a set too, which the released code leaves out.
Temperature 1 (released code: the most likely 90 %). `--no-restart` goes on from round to round. The paper's speaker
and listener are two models: `--speaker separate` (or adapter).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.curricula.dealt import Enumerated
from redqueen.objectives.batch import pack_samples
from redqueen.play.groups import attempts
from redqueen.play.lockstep import play
from redqueen.players.scripted import Uniform
from redqueen.protocols import Policy
from redqueen.recipes.games.pragmatic_synthesis.measures import Understood
from redqueen.recipes.games.pragmatic_synthesis.steps import Choose, Examples, Students, game_of, rational
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner, NoSolver
from redqueen.settings.limits import Count
from redqueen.settings.roles import Cast, Peer, Role


@dataclass(frozen=True)
class Config:
    learner: NoSolver = Learner()
    """the listener"""
    speaker: Peer = Role()
    game: str = "by_example"
    steps: Count = 200
    updates: Count = 40  # of a round, the first of which is literal
    literal: Count = 256  # sets of examples of the literal round
    tasks: Count = 64  # sets of each other round (1024 in the paper)
    attempts: Count = 64  # examples and patterns sampled for each choice (250 to 500 in the paper)
    replies_per_update: Count = 128  # 32 in the paper
    passes: Count = 20  # over the sets of a round, at most
    restart: bool = True
    table_learning_rate = 200.0  # of a table, unless --learning-rate sets it


def train(config: Config, run: Run, choose: Choose = rational) -> Policy:
    game = game_of(config.game)
    cast = Cast(config, run, config.table_learning_rate)
    listener, speaker, literal = cast.policy, cast["speaker"], Uniform()
    curriculum = Enumerated(game.tasks())
    examples, students = Examples(game, choose), Students(cast, config.passes, config.restart)
    measures = [Understood(game, speaker, listener, seed=run.tests)]

    for step in run.steps(config.steps, students.policies, students.parts, measures):
        number, place = divmod(step, config.updates)
        if place == 0:
            tasks = curriculum.draw(config.tasks if number else config.literal, run.rng)
            sets = examples.begun(tasks)
            for _ in range(game.examples):
                asked = examples.asked("speaker", sets)
                said = attempts(game, asked, speaker if number else literal, config.attempts if number else 1, run.rng)
                asked = examples.asked("listener", sets if number else [])
                guessed = attempts(game, asked, listener, config.attempts, run.rng)
                sets = examples.extended(sets, said, guessed, run.rng)
            lessons = score(play(examples.lessons(sets, students.roles), run.rng), payoff)
            students.begin(number)
            for policy in students.policies:
                own = spoken_by(policy, lessons)
                students.take(policy, pack_samples(own, [1.0] * len(own)), number)
                run.report(policy, own, [np.ones(1) for _ in own], {})
            run.note(examples.metrics())
        run.note(students.update(config.replies_per_update, run.rng))
    return listener
