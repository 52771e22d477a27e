"""Who learns from preferences needs prompts and somebody who prefers, and no answers."""

import json
from pathlib import Path

import numpy as np
import pytest

from redqueen.recipes.preferences import iterative_dpo, nash_md, spo, sppo
from redqueen.recipes.preferences.self_rewarding import recipe as self_rewarding
from redqueen.runs.run import Run, Schedule, read_final, read_metrics
from redqueen.settings.learner import Learner

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)
SMALL = {"learner": TINY, "steps": 2, "tasks": 2, "problems": 2}
MINE = {"oracle": f"{Path(__file__)}:Longest"}
FEW = {"updates": 1, "attempts": 2}


class Longest:
    """The longer answer is preferred."""

    def __call__(self, tasks, first, second, rng):
        return 0.5 + 0.5 * np.sign([len(one) - len(other) for one, other in zip(first, second, strict=True)])


TRAININGS = [
    (spo, {**MINE, "attempts": 2}),
    (sppo, MINE | FEW),
    (nash_md, {**MINE, "candidates": 2}),
    (iterative_dpo, MINE | FEW),
    (iterative_dpo, {"oracle": "judge:frozen"} | FEW),
    (self_rewarding, FEW | {"repeats": 1, "invented": 0.0}),
]


@pytest.mark.parametrize(("recipe", "settings"), TRAININGS, ids=lambda each: getattr(each, "__name__", None))
def test_prompts_alone_are_trained_on_and_measured_but_for_accuracy(recipe, settings, tmp_path):
    data = tmp_path / "prompts.jsonl"
    data.write_text("".join(json.dumps({"prompt": f"Say {n}."}) + "\n" for n in range(12)))
    run = Run(tmp_path / "run", 0, Schedule(1000, checkpoint_every=1000, record_episodes=0))
    given = f"dataset:path={data},held_out=0.2"
    recipe.train(recipe.Config(questions=given, **SMALL, **settings), run)
    assert [line["step"] for line in read_metrics(run.folder)] == [0, 1]
    final = read_final(run.folder)
    assert "coverage" in final and "reply_length" in final
    assert "accuracy" not in final
