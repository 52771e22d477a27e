"""What became of every reply that was sampled, and on how many samples a figure rests."""

import copy
import json
import pickle
from random import Random

import numpy as np
import pytest

from redqueen.contracts import recipes as contract
from redqueen.credit.rewards import payoff, score
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.play.table import told_of_episodes
from redqueen.players.scripted import Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.runs.run import read_final, read_metrics
from redqueen.runs.samples import FATES, Samples, rested, total
from redqueen.settings.finding import find_recipe
from redqueen.types import Damaged, Mean, Reply, mean_of


def played(player, count=5):
    game = KuhnPoker()
    return play(mirror(game, game.tasks()[:count], player), Random(0))


def cells(counts):
    return sum(map(sum, counts.values()))


def test_each_reply_is_counted_once_by_what_became_of_it():
    samples, learner = Samples(), TabularPolicy()
    with told_of_episodes(samples.take):
        used = played(learner)
        played(Uniform(), 3)
        unused = played(learner, 2)
        samples.measuring = True
        measured = played(learner, 4)
    trajectories = score(used, payoff)
    first = [np.ones(len(each.turns)) * (place % 2) for place, each in enumerate(trajectories)]
    samples.use(trajectories, [np.zeros(len(each.turns)) for each in trajectories])
    samples.use(trajectories, first)  # in two updates: the better counts
    counts = samples.close(["learner"])
    assert counts["learned"][0] == sum(len(each.turns) for each in trajectories[1::2])
    assert counts["equal"][0] == sum(len(each.turns) for each in trajectories[::2])
    assert counts["skipped"][0] == sum(len(each.turns) for each in unused)
    assert counts["measured"][0] == sum(len(each.turns) for each in measured)
    assert counts["others"][0] > 0
    assert list(counts) == [fate for fate in FATES if fate in counts]
    assert samples.close(["learner"]) == {}


def test_forms_are_apart_and_what_was_given_to_a_player_is_in_no_cell():
    replies = iter([Reply("?", "a", truncated=True, malformed=True), Reply("?", "a", malformed=True)])

    class Says:
        name = "a"

        def reply(self, asks):
            return [next(replies) for _ in asks]

    class Recites:
        name = "b"

        def reply(self, asks):
            return [Reply("?", "b", recited=True) for _ in asks]

    samples = Samples()
    with told_of_episodes(samples.take):
        played(Says(), 2)
        played(Recites(), 1)
    assert samples.close(["a"]) == {"skipped": [0, 1, 1]}


def test_a_figure_knows_its_samples_and_is_a_float_in_all_else():
    figure = mean_of([1, 0, 0, 1])
    assert (figure, figure.count, json.dumps(figure)) == (0.5, 4, "0.5")
    for same in (copy.deepcopy(figure), pickle.loads(pickle.dumps(figure))):
        assert (same, same.count) == (0.5, 4)


def test_rewards_rest_on_attempts_with_a_verdict_and_shares_on_replies():
    trajectories = score(played(TabularPolicy()), payoff)
    seats = [each.seat.role for each in trajectories]
    found = rested(
        {"reward/first": 0.0, "malformed": 0.0, "episodes": 5.0, "loss": 1.0, "x": Mean(1.0, 7)}, trajectories
    )
    assert {name: value.count for name, value in found.items()} == {
        "reward/first": seats.count("first"),
        "malformed": sum(len(each.turns) for each in trajectories),
        "episodes": 5,
        "loss": len(trajectories),
        "x": 7,
    }


@pytest.mark.parametrize("name", ["spiral", "fictitious_self_play"])
def test_the_table_of_a_run_sums_to_all_that_was_sampled(name, tmp_path, monkeypatch):
    said = []
    reply = TabularPolicy.reply

    def counting(policy, asks):
        said.extend(asks)
        return reply(policy, asks)

    monkeypatch.setattr(TabularPolicy, "reply", counting)
    recipe = find_recipe(name)
    run = contract.trained(recipe, contract.small(recipe, steps=3), tmp_path)
    lines = [*read_metrics(run.folder), read_final(run.folder)]
    assert cells(total(lines)) == len(said) > 0
    for line in lines[:-1]:
        assert {"loss", "reward/first"} <= line["rests_on"].keys()


@pytest.mark.parametrize("counts", [{"learned": [1, 2]}, {"learned": [-1, 0, 0]}, {"learned": [1 << 60, 0, 0]}])
def test_counts_that_cannot_be_are_refused(counts, tmp_path):
    line = json.dumps({"step": 0, "samples": counts})
    (tmp_path / "metrics.jsonl").write_text(f"{line}\n{line}\n" + '{"step": 1}\n')
    with pytest.raises(Damaged, match="no line of metrics"):
        read_metrics(tmp_path)
