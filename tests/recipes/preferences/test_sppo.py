"""SPPO: its step is that of multiplicative weights, and its average nears what no answer beats."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.credit.rewards import payoff, score
from redqueen.demonstrations.gold import recited
from redqueen.measures.divergence import question
from redqueen.objectives.batch import beside, pack_samples
from redqueen.objectives.preference import Sppo
from redqueen.objectives.references import Reference
from redqueen.play.lockstep import play
from redqueen.players.language.reciter import reader
from redqueen.players.tabular import TabularPolicy
from redqueen.questions.small.matchups import Matchups
from redqueen.recipes.preferences.sppo import Config, train
from redqueen.runs.checkpoints import checkpoints, read_parts
from redqueen.runs.folder import stored_episodes
from redqueen.runs.run import Run, Schedule, read_final, read_metrics
from redqueen.settings.learner import Learner

TABLE = Config(Learner(learning_rate=3.2), questions="redqueen.questions.small.matchups:Matchups", eta=0.5, problems=1)
TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)


def trained(config, folder, every=1000):
    run = Run(folder, 0, Schedule(every, checkpoint_every=1000, record_episodes=0))
    train(config, run)
    return read_metrics(folder), read_final(folder)


@pytest.mark.parametrize("eta", [0.1, 0.5, 1.0])
def test_the_solution_of_an_iteration_is_a_step_of_multiplicative_weights(eta):
    """From uniform over a, b, c, d, whose mean wins are by hand .6375, .55, .6125, .2. The paper's normaliser, eta / 2,
    is right up to half of eta^2 times their variance, which is 0.015 at eta 1. One rate serves every eta."""
    game, learner = Matchups("biased"), TabularPolicy(Config.table_learning_rate)
    reference = Reference(learner)
    tasks = [replace(game.task(), answer=answer) for answer in "abcd"]
    sides = score(play(recited(tasks, reader(learner)), Random(0)), payoff)
    rates = game.wins @ np.full(4, 0.25)
    assert rates == pytest.approx([0.6375, 0.55, 0.6125, 0.2])
    batch = pack_samples(sides, (rates - 0.5).tolist(), [0.25] * 4)
    batch = beside(batch, reference.likelihoods(batch))
    for _ in range(300):
        learner.update(batch, Sppo(eta))
    expected = np.exp(eta * rates)
    (policy,) = learner.probabilities([question(game.task())])
    assert policy == pytest.approx(expected / expected.sum(), abs=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("eta", [0.1, 0.5])
def test_a_table_does_not_diverge_at_a_small_eta(eta, tmp_path):
    """From uniform, which 0.1375 exploits, the log-ratios of an iteration lead at most eta times 0.4 away, and the loss
    of an update, in units of eta, at most to 0.4^2 / 2: a step that is too long for eta makes it grow without end."""
    config = replace(TABLE, learner=Learner(), eta=eta, steps=100, tasks=64, attempts=4)
    lines, final = trained(config, tmp_path, every=10)
    assert max(line["preference_loss"] for line in lines) < 0.08
    assert max(line["exploitability"] for line in lines if "exploitability" in line) < 0.2
    assert final["average_exploitability"] < 0.1375


@pytest.mark.slow
def test_the_average_nears_the_equilibrium_while_the_last_iterate_circles(tmp_path):
    config = replace(TABLE, steps=400, updates=5, tasks=48, passes=5, replies_per_update=240)
    _, final = trained(config, tmp_path, every=5)
    assert final["average_exploitability"] < 0.05
    assert final["exploitability"] > final["average_exploitability"]


@pytest.mark.parametrize(("replies", "count"), [("all", 40), ("ends", None)])
def test_it_regresses_on_all_replies_or_on_the_best_and_the_worst(replies, count, tmp_path):
    lines, _ = trained(replace(TABLE, steps=1, tasks=8, replies=replies), tmp_path)
    assert lines[0]["round/pairs"] == count if count else lines[0]["round/pairs"] <= 16
    assert 0.0 < lines[0]["value_error"] < 0.3, "win rates less one half, whose mean is zero"


@pytest.mark.parametrize("replies", ["all", "ends"])
def test_the_report_shows_by_how_much_each_reply_wins_more_often_than_not(replies, tmp_path):
    run = Run(tmp_path, 0, Schedule(1000, checkpoint_every=1000, record_episodes=100))
    train(replace(TABLE, steps=1, tasks=8, replies=replies), run)
    credit = [credit["solver"] for _, _, credit in stored_episodes(tmp_path)]
    assert [each["advantages"] for each in credit] == [[each["rewards"][0] - 0.5] for each in credit]
    assert any(each["advantages"] != [0.0] for each in credit)


def test_the_reference_and_the_start_are_two_settings(tmp_path):
    runs = {}
    for reference, start in (("last", "last"), ("initial", "last"), ("last", "initial"), ("initial", "initial")):
        config = replace(TABLE, steps=40, updates=4, tasks=16, reference=reference, start=start)
        runs[reference, start] = trained(config, tmp_path / f"{reference}{start}")[1]["distance"]
    assert len(set(runs.values())) == 4
    assert abs(runs["initial", "initial"] - 5 / 9) < abs(runs["last", "last"] - 5 / 9), "it can only go one step far"


@pytest.mark.parametrize("questions", ["redqueen.questions.small.matchups:Matchups", "growing"])
def test_a_language_model_learns_too(questions, tmp_path):
    settings = {"steps": 4, "updates": 2, "tasks": 4, "attempts": 3, "problems": 1}
    lines, final = trained(replace(TABLE, learner=TINY, questions=questions, **settings), tmp_path)
    assert [line["step"] for line in lines] == [0, 1, 2, 3]
    assert 0.0 <= final["wins/last"] <= 1.0
    assert ("exploitability" in final) == (questions != "growing")


def test_replies_count_by_their_weights():
    learner, game = TabularPolicy(), Matchups()
    tasks = [replace(game.task(), answer=answer) for answer in "ab"]
    sides = score(play(recited(tasks, reader(learner)), Random(0)), payoff)
    assert pack_samples(sides, [0.0, 0.0], [3.0, 1.0]).loss_weights[:, 1].tolist() == [0.75, 0.25]
    assert pack_samples(sides, [0.0, 0.0]).loss_weights[:, 1].tolist() == [0.5, 0.5]
    with pytest.raises(AssertionError, match="one weight above 0"):
        pack_samples(sides, [0.0, 0.0], [1.0, 0.0])


def test_a_run_keeps_no_more_iterates_than_are_asked_for(tmp_path):
    trained(replace(TABLE, steps=8, updates=1, tasks=4, pool_size=3), tmp_path)
    assert len(read_parts(checkpoints(tmp_path)[-1])[1]["players"]) == 3
