"""Iterative DPO: it follows a reward, and ends at one answer where preferences circle."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from redqueen.recipes.preferences.iterative_dpo import Config, train
from redqueen.runs.checkpoints import checkpoints, read_parts
from redqueen.runs.folder import stored_episodes
from redqueen.runs.run import Run, Schedule, read_final, read_metrics
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError

MATCHUPS = "redqueen.questions.small.matchups:Matchups"
TABLE = Config(Learner(learning_rate=40.0), questions=MATCHUPS, beta=0.5, problems=1, tasks=32, attempts=2)
TINY = Learner(model="tiny", max_completion_length=4, learning_rate=5e-3)


class Vowels:
    """The answer with more vowels is preferred."""

    def __call__(self, tasks, first, second, rng):
        counts = [[sum(letter in "aeiou" for letter in text) for text in texts] for texts in (first, second)]
        return 0.5 + 0.5 * np.sign(np.subtract(*counts))


def trained(config, folder):
    run = Run(folder, 0, Schedule(1000, checkpoint_every=1000, record_episodes=0))
    train(config, run)
    return read_metrics(folder), read_final(folder)


@pytest.mark.parametrize("reference", ["last", "initial"])
def test_it_collapses_to_an_answer_that_another_beats(reference, tmp_path):
    config = replace(TABLE, steps=200, updates=10, passes=10, pairs_per_update=64, reference=reference)
    _, final = trained(config, tmp_path)
    assert final["exploitability"] >= 0.19
    assert final["average_exploitability"] > 0.1, "nor does the average help"


def test_it_finds_the_best_of_a_transitive_table(tmp_path):
    config = replace(TABLE, questions=f"{MATCHUPS}:transitive", steps=60, updates=6, passes=6)
    _, final = trained(config, tmp_path)
    assert final["exploitability"] < 0.05


def test_each_iteration_starts_at_the_known_loss(tmp_path):
    lines, _ = trained(replace(TABLE, steps=8, updates=4, reference="last"), tmp_path)
    assert [lines[step]["preference_loss"] for step in (0, 4)] == pytest.approx([np.log(2)] * 2)


def test_starts_and_references_are_two_settings(tmp_path):
    lines, _ = trained(replace(TABLE, steps=8, updates=4, reference="initial", start="initial"), tmp_path)
    assert [lines[step]["preference_loss"] for step in (0, 4)] == pytest.approx([np.log(2)] * 2)
    lines, _ = trained(replace(TABLE, steps=8, updates=4, reference="initial"), tmp_path / "last")
    assert lines[4]["preference_loss"] != pytest.approx(np.log(2), abs=1e-3), "the start has left the reference behind"


def test_a_language_model_writes_what_is_preferred(tmp_path):
    quick, oracle = replace(TINY, learning_rate=1e-2), f"{Path(__file__)}:Vowels"
    config = Config(quick, questions="growing", oracle=oracle, steps=12, updates=3, tasks=16, attempts=4, problems=8)
    lines, final = trained(replace(config, chosen_weight=0.1), tmp_path)
    assert final["wins/last"] > 0.6
    assert lines[1]["chosen_loss"] > 0.0


def test_pairs_are_of_one_group_however_often_its_task_is_drawn(tmp_path):
    """Two prompts that are drawn twelve times each: paired by the id of the task they would make two pairs."""
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "a"}\n{"prompt": "b"}\n{"prompt": "c"}\n')
    settings = {"oracle": f"{Path(__file__)}:Vowels", "steps": 1, "tasks": 24, "attempts": 4, "problems": 1}
    lines, _ = trained(Config(TINY, questions=str(tmp_path / "prompts.jsonl"), **settings), tmp_path / "run")
    assert lines[0]["round/pairs"] > 6


def test_equal_answers_make_no_pair_where_labels_are_drawn(tmp_path):
    """Of two equal answers one may be luckier against the others: that is nothing to learn from."""
    config = replace(TABLE, questions=f"{MATCHUPS}:biased,labels=true,noise=1.0", steps=1, tasks=64, attempts=3)
    lines, _ = trained(config, tmp_path)
    assert 0 < lines[0]["round/equal"] < lines[0]["round/pairs"]
    assert lines[0]["round/pairs"] + lines[0]["round/equal"] <= 64


def test_the_report_shows_the_advantages_of_the_pairs(tmp_path):
    run = Run(tmp_path, 0, Schedule(1000, checkpoint_every=1000, record_episodes=100))
    train(replace(TABLE, steps=1, tasks=8, attempts=4), run)
    credit = [credit["solver"] for _, _, credit in stored_episodes(tmp_path)]
    groups = [credit[start : start + 4] for start in range(0, 32, 4)]
    for group in groups:
        rewards, advantages = ([each[name][0] for each in group] for name in ("rewards", "advantages"))
        if any(advantages):
            assert sorted(advantages) == [-1.0, 0.0, 0.0, 1.0]
            assert rewards[advantages.index(1.0)] == max(rewards) > min(rewards) == rewards[advantages.index(-1.0)]
    assert sum(abs(each["advantages"][0]) for each in credit) == 2 * read_metrics(tmp_path)[0]["round/pairs"] > 0


class Mute:
    """Says something of every fifth pair only."""

    def __call__(self, tasks, first, second, rng):
        return np.array([np.nan if number % 5 else 1.0 for number, _ in enumerate(tasks)])


class Silent:
    """Never has a verdict."""

    def __call__(self, tasks, first, second, rng):
        return np.full(len(tasks), np.nan)


def test_an_oracle_that_says_little_rings_and_one_that_says_nothing_stops_the_run(tmp_path):
    config = Config(TINY, questions="growing", steps=2, updates=1, tasks=16, attempts=4, problems=1)
    lines, _ = trained(replace(config, oracle=f"{Path(__file__)}:Mute"), tmp_path / "mute")
    assert 0.75 < lines[0]["oracle/unread"] < 0.85 and lines[0]["alarm/oracle"] == 1.0
    assert any("that the oracle compared have no verdict" in text for text in lines[0]["alarms"])
    with pytest.raises(
        RedQueenError, match=r"Silent has no verdict on any of \d+ pairs of answers: a judge must answer"
    ):
        trained(replace(config, oracle=f"{Path(__file__)}:Silent"), tmp_path / "silent")


def test_an_iteration_without_pairs_goes_on(tmp_path):
    config = Config(TINY, questions="growing", steps=4, updates=2, tasks=2, attempts=2, problems=1)
    lines, _ = trained(config, tmp_path)
    assert [line["gradient_norm"] for line in lines] == [0.0] * 4


def test_a_run_keeps_no_more_iterates_than_are_asked_for(tmp_path):
    trained(replace(TABLE, steps=8, updates=1, tasks=4, pool_size=3), tmp_path)
    assert len(read_parts(checkpoints(tmp_path)[-1])[1]["players"]) == 3
