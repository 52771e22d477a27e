"""Matches as arrays are the matches of lockstep."""

from dataclasses import fields, replace
from random import Random

import numpy as np
import pytest
import torch

from redqueen.chance import derive
from redqueen.credit.rewards import payoff, score
from redqueen.curricula.dealt import Sampled
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.leduc_poker import LeducPoker
from redqueen.games.liars_dice import LiarsDice
from redqueen.measures.exact.arrays import ArrayGame
from redqueen.objectives.batch import ConstantMean, pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.players.tabular import TabularPolicy
from redqueen.recipes.games import spiral
from redqueen.records import episode_to_json
from redqueen.runs.run import Run, Schedule
from redqueen.types import Ask, Message, RedQueenError, Seat, Task


def table(game, spread=1.0):
    """A table with logits of chance for all states of an array game."""
    learner = TabularPolicy()
    learner.read(game.asks)
    learner.restore(
        {**learner.state(), "logits": [(spread * _numbers(row)).tolist() for row in learner.state()["logits"]]}
    )
    return learner


def _numbers(row, generator=np.random.default_rng(0)):
    return generator.normal(size=len(row))


def rows(batch):
    """The rows of a batch in one order, without which trajectory they are of."""
    tensors = [getattr(batch, each.name) for each in fields(batch) if each.name not in ("trajectory", "constraints")]
    wide = [each.reshape(len(batch), -1).double() for each in tensors if isinstance(each, torch.Tensor)]
    return sorted(map(tuple, torch.cat(wide, dim=1).tolist()))


@pytest.mark.parametrize(("game", "count"), [(KuhnPoker(), 3000), (LeducPoker(), 300), (LiarsDice(sides=2), 300)])
@pytest.mark.parametrize("spread", [1.0, 800.0])  # with choices of no chance at all
def test_the_matches_are_those_of_lockstep_bit_for_bit(game, count, spread):
    arrays = ArrayGame(game)
    learner = table(arrays, spread)
    tasks = Random(1).choices(list(game.tasks()), k=count)
    matches, episodes = arrays.play(learner, tasks, Random(5)), play(mirror(game, tasks, learner), Random(5))
    scores = [[each.outcome.scores[seat] for seat in arrays.seats] for each in episodes]
    assert matches.scores.tolist() == scores
    some = range(0, count, count // 50)
    assert [*map(episode_to_json, matches.episodes(some))] == [episode_to_json(episodes[number]) for number in some]
    trajectories = score(episodes, payoff)
    packed = pack(trajectories, [np.full(len(each.turns), each.rewards.sum()) for each in trajectories])
    found = matches.pack(matches.scores)
    assert rows(found) == rows(packed)
    assert sorted(map(repr, found.constraints)) == sorted(map(repr, packed.constraints))
    assert len(set(found.trajectory.tolist())) == len(set(packed.trajectory.tolist()))


def test_spiral_teaches_the_same_table_either_way(tmp_path):
    steps, count, decay = 50, 32, 0.95
    config = spiral.Config(steps=steps, matches_per_step=count)
    taught = spiral.train(config, Run(tmp_path, 3, Schedule(evaluate_every=99, record_episodes=0)))
    game = KuhnPoker()
    arrays, deals, learner, baselines = ArrayGame(game), Sampled(game.tasks()), TabularPolicy(), np.zeros(2)
    for step in range(steps):
        rng = Random(derive(3, "step", step))
        matches = arrays.play(learner, deals.draw(count, rng), rng)
        advantages = np.zeros_like(matches.scores)
        for number, result in enumerate(matches.scores):
            advantages[number] = result - baselines
            baselines = decay * baselines + (1.0 - decay) * result
        learner.update(matches.pack(advantages, ConstantMean(1)), Reinforce())
    for one, other in zip(taught.probabilities(arrays.asks), learner.probabilities(arrays.asks), strict=True):
        assert one == pytest.approx(other, abs=1e-12)
        assert not np.allclose(one, 1 / len(one))


def test_what_cannot_be_played_as_arrays_is_refused():
    arrays = ArrayGame(KuhnPoker())
    learner = TabularPolicy()
    with pytest.raises(RedQueenError, match="kuhn_poker has no task 'elsewhere': pass some of its tasks"):
        arrays.play(learner, [Task("elsewhere")], Random(0))
    matches = arrays.play(learner, KuhnPoker().tasks()[:3], Random(0))
    with pytest.raises(RedQueenError, match=r"for each of 3 matches and 2 seats, not of the shape \(3,\)"):
        matches.pack(np.zeros(3))

    class Free(KuhnPoker):
        def play(self, task, rng):
            yield [Ask(Seat("first"), (Message("rules", "say something"),))]

    with pytest.raises(RedQueenError, match="asks for free text"):
        ArrayGame(Free())

    class Twice(KuhnPoker):
        def tasks(self):
            return [replace(each, id="deal") for each in super().tasks()]

    with pytest.raises(RedQueenError, match="two tasks of kuhn_poker have one id"):
        ArrayGame(Twice())
