"""SCoRe: two stages, what they reward, and first answers that are held where they were."""

import json
from itertools import pairwise

import pytest

from redqueen.recipes.self_training.score import recipe as score
from redqueen.runs.run import Run, Schedule, read_final, read_metrics
from redqueen.settings.learner import Learner

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)
EVERY_OTHER = """
from redqueen.questions.small.sums import Sums

class Coin(Sums):
    \"\"\"Every first answer of two is {first}, every second {second}.\"\"\"

    def right(self, tasks, answers):
        return [({first}, {second})[number % 2] for number in range(len(answers))]
"""


def trained(folder, **changes):
    settings = {"learner": TINY, "steps": 2, "first_stage": 1, "tasks": 2, "attempts": 2, "problems": 2}
    run = Run(folder, 0, Schedule(100, 100, record_episodes=4))
    score.train(score.Config(**settings | {"truncated_score": "graded"} | changes), run)
    return run


def coin(folder, first, second):
    path = folder / "coin.py"
    path.write_text(EVERY_OTHER.format(first=first, second=second))
    return f"{path}:Coin"


@pytest.mark.parametrize(
    ("first", "second", "rewards"),
    [
        (False, True, ([0.0, 1.0], [0.0, 11.0])),
        (True, False, ([0.0, 0.0], [1.0, -10.0])),
        (True, True, ([0, 1], [1, 1])),
    ],
)
def test_the_first_stage_pays_the_second_answer_and_the_second_stage_both_with_the_bonus(
    tmp_path, first, second, rewards
):
    run = trained(tmp_path / "run", questions=coin(tmp_path, first, second))
    for step, paid in enumerate(rewards):
        lines = (run.folder / "episodes" / f"step_{step:06d}.jsonl").read_text().splitlines()
        assert [json.loads(line)["credit"]["solver"]["rewards"] for line in lines] == [list(paid)] * 4


def test_both_answers_are_one_conversation_and_both_are_trained_on(tmp_path):
    (line, *_) = read_metrics(trained(tmp_path).folder)
    assert line["turns_per_episode"] == 2.0
    assert {"train/repeated", "train/wrong_to_right", "first_answer_kl", "opening_reference_kl"} <= line.keys()


def test_only_the_first_stage_holds_the_first_answer(tmp_path):
    one, other = read_metrics(trained(tmp_path).folder)
    assert "opening_reference_kl" in one
    assert "opening_reference_kl" not in other
    assert one["first_answer_kl"] == pytest.approx(0.0, abs=1e-5)  # the policy is the reference before the first update


def test_a_step_in_which_nothing_is_right_moves_nothing(tmp_path):
    run = trained(tmp_path / "run", questions=coin(tmp_path, False, False))
    assert [line["gradient_norm"] for line in read_metrics(run.folder)] == [0.0, 0.0]
    assert read_final(run.folder)["accuracy_2"] == 0.0


def test_held_out_figures_name_both_accuracies_of_every_level(tmp_path):
    final = read_final(trained(tmp_path).folder)
    assert {f"accuracy_{n}/{level}_digits" for n in (1, 2) for level in (1, 2, 3, 4)} <= final.keys()
    assert final["gain"] == pytest.approx(final["accuracy_2"] - final["accuracy_1"])
    assert all(a <= b for a, b in pairwise((0.0, final["repeated"], 1.0)))
