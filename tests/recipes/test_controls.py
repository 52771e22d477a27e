"""Controls of a proposer: a reward by chance looks at nothing, and dealt problems are none of its own."""

import re

import pytest

from experiments.absolute_zero import Controlled
from experiments.absolute_zero import train as controlled_zero
from experiments.multi_agent_evolve import train as controlled_evolve
from redqueen.players.scripted import Constant
from redqueen.questions.asking import PROPOSE, SOLVE
from redqueen.recipes.adversaries.self_redteam import recipe as self_redteam
from redqueen.recipes.labels.comas import recipe as comas
from redqueen.recipes.preferences.spar import recipe as spar
from redqueen.recipes.proposers.absolute_zero import recipe as absolute_zero
from redqueen.recipes.proposers.agent0 import recipe as agent0
from redqueen.recipes.proposers.eva import recipe as eva
from redqueen.recipes.proposers.multi_agent_evolve import recipe as multi_agent_evolve
from redqueen.recipes.proposers.r_zero import recipe as r_zero
from redqueen.recipes.proposers.spell import recipe as spell
from redqueen.runs.run import Run, Schedule
from redqueen.settings.learner import Learner
from redqueen.settings.limits import check_settings
from redqueen.settings.roles import Role
from redqueen.types import RedQueenError

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)
VARIANTS = [(controlled_zero, absolute_zero, {"questions": "sums"}), (controlled_evolve, multi_agent_evolve, {})]
PROPOSED = "2+3"


def trained(train, recipe, settings, folder, monkeypatch, **changes):
    """A step in which every proposal is the same sum: what the proposals were paid, and each list of tasks solved."""
    paid, solved = [], []
    attempts, score = recipe.attempts, recipe.score

    def spied(game, tasks, player, *further):
        if game is SOLVE:
            solved.append([task.id for task in tasks])
        return attempts(game, tasks, Constant(PROPOSED) if game is PROPOSE else player, *further)

    def observed(played, *rewards):
        found = score(played, *rewards)
        paid.extend(float(each.rewards.sum()) for each in found if each.seat.role == "proposer")
        return found

    monkeypatch.setattr(recipe, "attempts", spied)
    monkeypatch.setattr(recipe, "score", observed)
    config = recipe.Config(learner=TINY, steps=1, proposals=4, tasks=8, attempts=2, problems=2, **settings)
    train(Controlled(config, 1, **changes), Run(folder, 0, Schedule(100, 100, record_episodes=0)))
    return paid, solved


@pytest.mark.parametrize(("variant", "recipe", "settings"), VARIANTS, ids=["absolute_zero", "multi_agent_evolve"])
def test_equal_proposals_are_paid_alike_unless_chance_pays_them(variant, recipe, settings, tmp_path, monkeypatch):
    paid, _ = trained(variant, recipe, settings, tmp_path / "own", monkeypatch)
    assert len(paid) == 4
    assert len(set(map(str, paid))) == 1  # a tiny model solves none of them, and its judgements cannot be read
    monkeypatch.undo()
    paid, _ = trained(variant, recipe, settings, tmp_path / "by chance", monkeypatch, pays="by chance")
    assert len(set(paid)) == 4
    assert all(0.0 <= each < 1.0 for each in paid)


@pytest.mark.parametrize(("variant", "recipe", "settings"), VARIANTS, ids=["absolute_zero", "multi_agent_evolve"])
def test_dealt_problems_are_the_question_sets(variant, recipe, settings, tmp_path, monkeypatch):
    _, (tried, drawn) = trained(variant, recipe, settings, tmp_path / "own", monkeypatch)
    assert set(tried) == {PROPOSED}
    assert len(drawn) == 8
    assert set(drawn) <= {PROPOSED, "1+1"}
    monkeypatch.undo()
    _, (tried, drawn) = trained(variant, recipe, settings, tmp_path / "dealt", monkeypatch, dealt=True)
    assert set(tried) == {PROPOSED}
    assert len(drawn) == 8
    assert not {PROPOSED, "1+1"} & set(drawn)


FROZEN = [
    (r_zero, {"proposer": Role("frozen"), "proposals": 3}, "--proposals has no effect with --proposer frozen"),
    (r_zero, {"proposer": Role("frozen"), "as_coded": True}, "--as-coded has no effect"),
    (agent0, {"proposer": Role("frozen"), "per_call": 3.0}, "--per-call has no effect with --proposer frozen"),
    (agent0, {"tool": "none", "most_calls": 3}, "--most-calls has no effect with --tool none"),
    (spell, {"stages": (2, 5)}, "--stages 2 5: the last stage of documents is 3"),
    (spell, {"stages": (0, 9)}, "the last stage"),
    (eva, {"rewriter": Role("ruel")}, "did you mean rule?"),
    (spar, {"depth": 1, "beam": 3}, "--beam has no effect with --depth 1"),
    (comas, {"rounds": 1, "recalled": 5}, "--recalled has no effect with --rounds 1"),
    (self_redteam, {"vanilla": 1.0, "attacker": Role("separate")}, "--attacker has no effect with --vanilla 1"),
    (self_redteam, {"vanilla": 1.0, "defender": Role("frozen"), "imitation": 0.0}, "nobody learns"),
]


@pytest.mark.parametrize(("recipe", "settings", "line"), FROZEN)
def test_settings_that_would_do_nothing_are_refused(recipe, settings, line, tmp_path):
    with pytest.raises(RedQueenError, match=re.escape(line)):
        check_settings(config := recipe.Config(learner=TINY, **settings))
        recipe.train(config, Run(tmp_path, 0, Schedule(100, 100)))
