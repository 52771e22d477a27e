"""SPIN: what it comes to in expectation, and the recipe on data that are known."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from experiments.spin import expected_pairs, spin_in_expectation
from redqueen.measures.divergence import question
from redqueen.objectives.batch import beside
from redqueen.objectives.preference import Dpo, Hinge
from redqueen.objectives.references import Reference
from redqueen.players.tabular import TabularPolicy
from redqueen.questions.small.known import Known
from redqueen.recipes.self_training.spin.recipe import Config, train
from redqueen.records import ask_to_json
from redqueen.runs.checkpoints import checkpoints, read_parts
from redqueen.runs.run import Run, Schedule, read_final, read_metrics
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError

KNOWN = Config(Learner(learning_rate=4.0), questions="redqueen.questions.small.known:Known", beta=2.0, problems=100)
SMALL = Config(
    Learner(model="tiny:hidden=16,heads=2", max_completion_length=4),
    questions="sums",
    steps=4,
    updates=2,
    tasks=8,
    problems=2,
)


def trained(config, folder, every=1000):
    run = Run(folder, 0, Schedule(every, checkpoint_every=1000, record_episodes=100))
    policy = train(config, run)
    return policy, read_metrics(folder), read_final(folder)


@pytest.mark.parametrize("loss", [Dpo(0.1), Dpo(1.0), Hinge(0.5)])
def test_at_policy_equal_to_data_the_gradient_is_zero(loss):
    domain, learner = Known(), TabularPolicy()
    asks = [ask_to_json(question(domain.task()))]
    logits = np.log(domain.distribution).tolist()
    learner.restore({"name": "learner", "version": 0, "asks": asks, "logits": [logits]})
    batch = expected_pairs(domain, learner)
    metrics = learner.update(beside(batch, Reference(learner).likelihoods(batch)), loss)
    assert metrics["gradient_norm"] < 1e-6
    assert metrics["loss"] == pytest.approx(1.0 if isinstance(loss, Hinge) else np.log(2.0))


def test_in_expectation_beta_one_lands_on_the_data():
    found = [each["data_kl"] for each in spin_in_expectation(Known(), 1.0, 3, updates=40)]
    assert all(after <= before + 1e-9 for before, after in pairwise(found))
    assert found[3] < 0.01 * found[0]


def test_in_expectation_beta_two_halves_the_error():
    """log(data / policy) is multiplied by 1 - 1/2, so KL by about a quarter."""
    found = [each["data_kl"] for each in spin_in_expectation(Known(), 2.0, 2)]
    assert [found[1] / found[0], found[2] / found[1]] == pytest.approx([0.25, 0.25], abs=0.02)


def test_a_small_beta_solved_to_its_end_diverges_and_the_alarm_rings():
    start, end = spin_in_expectation(Known(), 0.1, 1)
    assert end["data_kl"] > 5 * start["data_kl"]
    assert (start["alarm/coverage"], end["alarm/coverage"]) == (0.0, 1.0)


@pytest.mark.slow
def test_the_recipe_nears_the_data(tmp_path):
    _, lines, final = trained(
        replace(KNOWN, tasks=1000, steps=80, updates=40, passes=8, pairs_per_update=200), tmp_path
    )
    assert final["data_kl"] < 0.25 * lines[0]["data_kl"]
    assert final["told_apart"] < lines[0]["told_apart"]
    assert final["coverage"] > lines[0]["coverage"]
    assert final["alarm/coverage"] == 0.0
    assert lines[0]["preference_loss"] == pytest.approx(np.log(2.0))
    assert lines[40]["preference_loss"] == pytest.approx(np.log(2.0), abs=0.02), "the reference is the last iterate"


def test_what_the_last_iteration_said_is_learned_from_again(tmp_path):
    config = replace(KNOWN, tasks=50, steps=6, updates=2)
    for remembered, rounds in ((1, (1, 1, 1)), (2, (1, 2, 2))):
        lines = trained(replace(config, remembered=remembered), tmp_path / str(remembered))[1]
        pairs = [lines[step]["round/pairs"] for step in (0, 2, 4)]
        assert [round(count / pairs[0]) for count in pairs] == list(rounds)


def test_an_iteration_ends_where_the_margin_is_too_large(tmp_path):
    config = replace(KNOWN, learner=Learner(learning_rate=1000.0), tasks=50, steps=6, updates=6, passes=9)
    lines = trained(replace(config, most_margin=1.0), tmp_path)[1]
    stopped = [line["round/stopped"] for line in lines]
    assert stopped[0] == 0.0 and stopped[-1] == 1.0
    assert lines[-1]["gradient_norm"] == 0.0


@pytest.mark.parametrize("changes", [{}, {"loss": "hinge"}, {"chosen_weight": 1.0, "reference": "initial"}])
def test_a_model_that_writes_learns_from_gold(changes, tmp_path):
    policy, lines, final = trained(replace(SMALL, **changes), tmp_path)
    assert [line["step"] for line in lines] == [0, 1, 2, 3]
    assert all(line["gradient_norm"] > 0.0 for line in lines)
    assert final["coverage"] > lines[0]["coverage"]
    assert policy.version == 4


def test_what_a_small_model_is_shown_may_be_demonstrations(tmp_path):
    lines = trained(replace(SMALL, gold="demonstrations", steps=1), tmp_path)[1]
    assert lines[0]["gradient_norm"] > 0.0


def test_an_answer_format_that_gold_is_not_written_in_is_refused(tmp_path):
    learner = replace(SMALL.learner, answer="boxed")
    with pytest.raises(RedQueenError, match="not in the format --answer boxed"):
        trained(replace(SMALL, learner=learner), tmp_path)
    lines = trained(replace(SMALL, learner=replace(learner, answer="plain"), steps=1), tmp_path / "plain")[1]
    assert lines[0]["gradient_norm"] > 0.0


def test_no_iterate_is_kept_that_nobody_reads(tmp_path):
    trained(replace(KNOWN, steps=8, updates=2, tasks=16, problems=10), tmp_path)
    assert [sorted(part) for part in read_parts(checkpoints(tmp_path)[-1]) if "players" in part] == []
