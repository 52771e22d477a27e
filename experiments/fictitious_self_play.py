"""Fictitious self-play with matches in flight over several updates: what staleness costs, with and without the
truncated importance weight of old tokens."""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.advantages.keys import by_game_and_role
from redqueen.credit.advantages.statistics import MovingBaseline
from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.curricula.dealt import Sampled
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.measures.of_games import usual_measures
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Cispo, Reinforce
from redqueen.opponents.pools import Snapshots
from redqueen.play.flow import Flow
from redqueen.play.seating import rotate
from redqueen.players.tabular import TabularPolicy
from redqueen.protocols import Objective, Policy
from redqueen.runs.run import Run
from redqueen.trials.experiment import Experiment, Training, versus

GAME = KuhnPoker()
MATCHES = 128  # an update
OBJECTIVES: dict[bool, Objective] = {True: Cispo(above_one=1.0), False: Reinforce()}


@dataclass(frozen=True)
class Stale:
    """`fictitious_self_play` as it is by default, but for these."""

    steps: int = 300
    staleness: int = 0
    weights: bool = False  # old tokens count by their truncated importance weight


def train(config: Stale, run: Run) -> Policy:
    """Trains by the loop of `fictitious_self_play` with another objective."""
    learner = TabularPolicy()
    opponents, curriculum = Snapshots(learner, capacity=25), Sampled(GAME.tasks())
    estimate = MovingBaseline(by_game_and_role, decay=0.95)
    flow = Flow([GAME], learner, MATCHES, config.staleness, lambda: opponents.players)
    measures = usual_measures(GAME, learner, run.tests)
    for step in run.steps(config.steps, [learner], [opponents, estimate, flow], measures):
        if step % 5 == 0:
            opponents.add(learner.freeze())
        matches = rotate(GAME, curriculum.draw(flow.room, run.rng), learner, opponents, run.rng)
        trajectories = spoken_by(learner, score(flow.play(matches, run.rng), payoff))
        advantages = estimate(trajectories)
        metrics = learner.update(pack(trajectories, advantages), OBJECTIVES[config.weights])
        run.report(learner, trajectories, advantages, metrics | flow.metrics())
    return learner


LAST, AVERAGE = "exploitability", "average_exploitability"
OLD = tuple(f"staleness {stale}, {how}" for stale in (1, 2, 4, 8) for how in ("weighted", "unweighted"))
STALENESS = Experiment(
    title="Staleness in Kuhn poker, tabular",
    asked="How stale may matches be before the policy is more exploitable, and do importance weights mend it?",
    trial=Training(train, evaluate_every=10),
    config=Stale(),
    variants={
        "staleness 0": {},
        **{
            name: {"staleness": int(name.split()[1].rstrip(",")), "weights": name.endswith(" weighted")} for name in OLD
        },
    },
    figures=(LAST, AVERAGE, "late queue/lag"),
    compared=tuple(each for name in OLD for each in versus(name, ("staleness 0",), (LAST, AVERAGE))),
    controls=("staleness 0",),
    notes=(f"Tables of logits, {MATCHES} games an update, measured every 10. queue/lag: updates behind.",),
)
