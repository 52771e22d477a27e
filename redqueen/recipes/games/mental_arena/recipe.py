"""MentalArena: one model asks and is asked about a hidden state, and learns from talks that find it (arXiv:2410.06845).

Li et al. 2024. Nothing clinical is claimed or tested here: symptoms and conditions are tokens (`games.hidden_state`).

Who says what is right: the rules of the game, or the patient's own ratings.

The model plays a patient, who is shown its condition, and a therapist, who asks. After some questions the therapist's
belief is compared with the truth, and while a component of it is off it is told where to look and asks on, a few times
at most. Talks that end well are data: the model is fine-tuned on them, and plays the next round with itself.

    round 0         an honest patient answers a therapist that asks at random; the patient's answers are learned
    round 1, 2, ... play;  keep the talks that end with the true condition;  L = - mean of log pi over their turns

The released code finds out where the belief is off but drops the hint, a line without assignment, so that the gate only
makes the talk longer: `gate=released` of the game. Measured with the gate and without (`no_gate/`).

Differences: the paper keeps what the model itself rates highest of up to seven treatments, and its data ask for a
diagnosis from the true profile, never from the talk. Here talks are kept whose condition is right (`--keep right`).
With `tries=6` of the game `--keep rated` keeps those in which the patient rates a condition 9 or more, and `overrated`
is by how much its ratings exceed those of an honest one. A wrong belief of a talk that is kept is not learned. The
paper's two diagnoses, between which a patient who knows the truth chooses, are left out: they tell the truth.
`--patient rule` answers honestly and does not learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.curricula.dealt import Enumerated
from redqueen.objectives.batch import pack_samples
from redqueen.objectives.imitation import Imitation
from redqueen.objectives.rounds import Round
from redqueen.play.lockstep import play
from redqueen.players.language.reciter import reader
from redqueen.protocols import Policy
from redqueen.recipes.games.mental_arena.measures import Diagnoses
from redqueen.recipes.games.mental_arena.steps import Keep, Talks, game_of, turns_with
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner, NoSolver
from redqueen.settings.limits import Count
from redqueen.settings.roles import Cast


@dataclass(frozen=True)
class Config:
    learner: NoSolver = Learner()
    game: str = "hidden_state:remember=false"
    steps: Count = 240
    updates: Count = 60  # of a round, the first of which teaches the patient
    tasks: Count = 1024  # talks of a round
    replies_per_update: Count = 256
    passes: Count = 20  # over the turns of a round, at most
    keep: Keep = "right"
    patient: Literal["learner", "rule"] = "learner"
    measured: Count = 240  # talks with the gate, and as many without
    table_learning_rate = 1000.0  # of a table, unless --learning-rate sets it


def train(config: Config, run: Run) -> Policy:
    game, by_rule = game_of(config.game, config.keep), config.patient == "rule"
    learner = Cast(config, run, config.table_learning_rate).policy
    talks, curriculum = Talks(game, learner, by_rule, config.keep), Enumerated(game.tasks())
    lessons = Round(config.passes)
    measures = [Diagnoses(talks, config.measured, run.tests)]

    for step in run.steps(config.steps, [learner], [lessons], measures):
        number, place = divmod(step, config.updates)
        if place == 0:
            shown = None if number or by_rule else reader(learner)
            tasks = curriculum.draw(config.tasks, run.rng)
            episodes = play(talks.matches(tasks, shown), run.rng)
            own = spoken_by(learner, score(episodes, payoff))
            credit = talks.credit(own, shown is not None)
            if turns := turns_with(own, credit):
                lessons.renew(pack_samples(turns, [1.0] * len(turns)))
            run.report(learner, own, credit, {})
            run.note(talks.metrics(episodes))
        run.note(lessons.update(learner, config.replies_per_update, Imitation(), run.rng))
    return learner
