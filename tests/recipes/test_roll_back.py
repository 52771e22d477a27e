"""A run that goes back to its best checkpoint goes on from there, also where that is the first."""

import pytest

from redqueen.recipes.preferences.dpo import recipe as dpo
from redqueen.recipes.preferences.self_rewarding import recipe as self_rewarding
from redqueen.recipes.proposers.absolute_zero import recipe as absolute_zero
from redqueen.recipes.proposers.multi_agent_evolve import recipe as multi_agent_evolve
from redqueen.runs.collapse import Watch
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.learner import Learner

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)
PROPOSING = {"proposals": 2, "tasks": 4, "attempts": 2, "problems": 2}
TRAININGS = [
    (absolute_zero, {"questions": "sums", **PROPOSING}),
    (multi_agent_evolve, {"repeats": 1, **PROPOSING}),
    (self_rewarding, {"tasks": 4, "attempts": 2, "repeats": 1, "problems": 2, "updates": 1}),
    (dpo, {"pairs": 8, "pairs_per_update": 2, "problems": 2, "passes": 100}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "settings"), TRAININGS, ids=lambda each: getattr(each, "__name__", None))
def test_after_a_return_to_the_start_there_is_something_to_learn_from(recipe, settings, tmp_path):
    run = Run(tmp_path, 0, Schedule(100, 100, record_episodes=0), watch=Watch(on_collapse="roll_back"))
    run.collapse.alarms = lambda: ["it fell"] if run.step == 2 and not run.collapse.roll_backs else []
    recipe.train(recipe.Config(learner=TINY, steps=6, **settings), run)
    lines = read_metrics(tmp_path)
    assert [line["step"] for line in lines if line.get("rolled_back_to") == 0.0] == [2]
    after = [line for line in lines if line["step"] > 2]
    assert len(after) == 3
    if recipe is dpo:
        assert all(line["round/pairs"] and line["gradient_norm"] > 0.0 for line in after)
    else:
        held = [line["tasks/held"] for line in after] if "tasks/held" in after[0] else [1.0]
        assert min(held) >= 1.0
