"""Controls of a proposer: a reward by chance looks at nothing, and dealt problems are none of its own."""

import re

import pytest

from redqueen.players.scripted import Constant
from redqueen.questions.asking import PROPOSE, SOLVE
from redqueen.recipes.proposers import absolute_zero, multi_agent_evolve, r_zero
from redqueen.recipes.proposers.agent0 import recipe as agent0
from redqueen.recipes.proposers.eva import recipe as eva
from redqueen.recipes.proposers.search_self_play import recipe as search_self_play
from redqueen.recipes.proposers.spell import recipe as spell
from redqueen.recipes.proposers.svs import recipe as svs
from redqueen.runs.run import Run, Schedule
from redqueen.settings.learner import Learner
from redqueen.settings.limits import check_settings
from redqueen.settings.roles import Role
from redqueen.types import RedQueenError

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)
TRAININGS = [(absolute_zero, {"domain": "sums"}), (multi_agent_evolve, {})]
with_each = pytest.mark.parametrize(("recipe", "settings"), TRAININGS, ids=["absolute_zero", "multi_agent_evolve"])
PROPOSED = "2+3"


def trained(recipe, settings, folder, monkeypatch):
    """A step in which every proposal is the same sum: what the proposals were paid, and each list of tasks solved."""
    paid, solved = [], []
    attempts, below = recipe.attempts, recipe.FromBelow

    def spied(game, tasks, player, *further):
        if game is SOLVE:
            solved.append([task.id for task in tasks])
        return attempts(game, tasks, Constant(PROPOSED) if game is PROPOSE else player, *further)

    def observed(groups, parts, *refused, **named):
        paid.extend(next(iter(parts.values())))
        return below(groups, parts, *refused, **named)

    monkeypatch.setattr(recipe, "attempts", spied)
    monkeypatch.setattr(recipe, "FromBelow", observed)
    config = recipe.Config(learner=TINY, steps=1, proposals=4, tries=2, attempts=8, problems=2, **settings)
    recipe.train(config, Run(folder, 0, Schedule(100, 100, record_episodes=0)))
    return paid, solved


@with_each
def test_equal_proposals_are_paid_alike_unless_chance_pays_them(recipe, settings, tmp_path, monkeypatch):
    paid, _ = trained(recipe, settings, tmp_path / "own", monkeypatch)
    assert len(paid) == 4
    assert len(set(map(str, paid))) == 1  # a tiny model solves none of them, and its judgements cannot be read
    monkeypatch.undo()
    paid, _ = trained(recipe, settings | {"question_reward": "random"}, tmp_path / "by chance", monkeypatch)
    assert len(set(paid)) == 4
    assert all(0.0 <= each < 1.0 for each in paid)


@with_each
@pytest.mark.parametrize(("dealt", "own"), [(0.0, 8), (0.5, 4), (1.0, 0)])
def test_dealt_problems_are_the_domains(recipe, settings, dealt, own, tmp_path, monkeypatch):
    _, (tried, drawn) = trained(recipe, settings | {"dealt": dealt}, tmp_path, monkeypatch)
    assert set(tried) == {PROPOSED}
    assert len(drawn) == 8
    assert sum(each in (PROPOSED, "1+1") for each in drawn) == own  # the seed's; those dealt are of four levels


FROZEN = [
    (absolute_zero, {"domain": "sums", "proposer": "frozen", "novelty": 0.5}, "--novelty has no effect with"),
    (absolute_zero, {"domain": "sums", "proposer": "frozen", "at_the_ends": -0.5}, "--at-the-ends has no effect"),
    (absolute_zero, {"domain": "sums", "proposer": "frozen", "question_reward": "random"}, "--question-reward has no"),
    (svs, {"synthesiser": Role("frozen"), "ends": -1.0}, "--ends has no effect with --synthesiser frozen"),
    (search_self_play, {"proposer": Role("frozen"), "invalid": -0.1}, "--invalid has no effect with --proposer frozen"),
    (multi_agent_evolve, {"proposer": "frozen", "question_reward": "random"}, "--question-reward has no effect"),
    (r_zero, {"challenger": "frozen", "proposals": 3}, "--proposals has no effect with --challenger frozen"),
    (r_zero, {"challenger": "frozen", "as_coded": True}, "--as-coded has no effect"),
    (agent0, {"curriculum": "frozen", "per_call": 3.0}, "--per-call has no effect with --curriculum frozen"),
    (agent0, {"curriculum": "frozen", "repetition": 0.0}, "--repetition has no effect"),
    (svs, {"responses": 0, "synthesiser": Role("separate")}, "--synthesiser has no effect with --responses 0"),
    (svs, {"responses": 0, "ends": -1.0}, "--ends has no effect"),
    (spell, {"stages": (2, 5)}, "--stages 2 5: the last stage of documents is 3"),
    (spell, {"stages": (0, 9)}, "the last stage"),
    (eva, {"rewriter": Role("ruel")}, "did you mean rule?"),
]


@pytest.mark.parametrize(("recipe", "settings", "line"), FROZEN)
def test_settings_that_would_do_nothing_are_refused(recipe, settings, line, tmp_path):
    with pytest.raises(RedQueenError, match=re.escape(line)):
        check_settings(config := recipe.Config(learner=TINY, **settings))
        recipe.train(config, Run(tmp_path, 0, Schedule(100, 100)))
