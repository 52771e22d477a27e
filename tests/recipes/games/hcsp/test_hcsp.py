"""HCSP: the card's vectors, who learns in which stage, whom it meets, and what holds it."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.contracts.recipes import check_resume, small
from redqueen.credit.rewards import score
from redqueen.games.volley import CAPTAIN, SETTER, SKILLS
from redqueen.opponents.payoffs import antisymmetric, equilibrium
from redqueen.play.lockstep import play
from redqueen.players.scripted import Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.recipes.games.hcsp import recipe
from redqueen.recipes.games.hcsp.measures import Rivals
from redqueen.recipes.games.hcsp.recipe import Config
from redqueen.recipes.games.hcsp.steps import (
    Gate,
    Leash,
    Population,
    Stages,
    Team,
    coached,
    court_of,
    met,
    skill_of,
)
from redqueen.runs.run import Run, Schedule, read_final
from redqueen.types import Match, RedQueenError, Reply

SHORT = Config(steps=7, matches_per_step=8, drill_steps=1, strategy_steps=2)


def pair():
    return TabularPolicy(20.0), TabularPolicy(20.0, "skills")


def test_the_equilibrium_of_counted_win_rates():
    """[[.5, .7], [.4, .5]] is [[0, .4], [-.2, 0]], made antisymmetric [[0, .3], [-.3, 0]]: all on the first row."""
    rates = np.array([[0.5, 0.7], [0.4, 0.5]])
    assert antisymmetric(rates) == pytest.approx(np.array([[0.0, 0.3], [-0.3, 0.0]]))
    assert equilibrium(rates) == pytest.approx([1.0, 0.0], abs=1e-3)


def test_the_equilibrium_of_a_circle_is_even_and_of_an_uneven_one_is_not():
    circle = np.array([[0.5, 1.0, 0.0], [0.0, 0.5, 1.0], [1.0, 0.0, 0.5]])
    assert equilibrium(circle) == pytest.approx([1 / 3] * 3, abs=1e-2)
    uneven = np.array([[0.5, 1.0, 0.25], [0.0, 0.5, 1.0], [0.75, 0.0, 0.5]])
    assert equilibrium(uneven) == pytest.approx([0.4, 0.2, 0.4], abs=1e-2)


def rates_of(gate, values):
    return [gate.observe(value) for value in values]


def test_the_gate_opens_on_steady_wins_and_not_before_its_least_steps():
    values = [0.9 + 0.01 * (-1) ** number for number in range(50)]
    assert rates_of(Gate(10, 0.9, 0.02, 50, 500), values) == [False] * 49 + [True]


def test_the_gate_stays_closed_where_wins_are_few_or_vary_and_opens_at_its_most():
    varied = [0.93 + 0.03 * (-1) ** number for number in range(80)]
    assert not any(rates_of(Gate(10, 0.9, 0.02, 50, 500), varied))
    assert not any(rates_of(Gate(10, 0.9, 0.02, 50, 500), [0.89] * 80))
    assert rates_of(Gate(2, 0.9, 0.02, 2, 5), [0.0] * 5) == [False] * 4 + [True]
    with pytest.raises(RedQueenError, match="10, 5 and 20"):
        Gate(10, 0.9, 0.02, 5, 20)


def test_the_plan_of_stages_and_drills():
    stages = Stages(replace(SHORT, drill_steps=2), *pair())
    found = []
    for number in range(12):
        stages.begin(number)
        found.append((stages.stage, stages.drilled))
    assert found[:8] == [(1, skill) for skill in SKILLS for _ in range(2)]
    assert found[8:] == [(2, ""), (2, ""), (3, ""), (3, "")]


@pytest.mark.parametrize(("number", "levels", "roles"), [(1, [1], {SETTER}), (4, [0], {CAPTAIN}), (6, [0, 1], None)])
def test_who_learns_in_each_stage(number, levels, roles):
    stages = Stages(SHORT, *pair())
    for each in range(number + 1):
        stages.begin(each)
    episodes = play(stages.matches(24, Random(0)), Random(0))
    learned = stages.learned(score(episodes, stages.reward))
    assert [level for level, _ in learned] == levels
    said = {skill_of(each) for _, trajectories in learned for each in trajectories}
    assert said == (roles or {CAPTAIN, *SKILLS} & said)
    names = {turn.reply.player for _, found in learned for each in found for turn in each.turns}
    assert names == {("learner", "skills")[level] for level in levels}


def test_a_drill_is_paid_by_the_coach_and_a_point_by_the_rules():
    stages = Stages(SHORT, *pair())
    stages.begin(0)
    episodes = play(stages.matches(24, Random(0)), Random(0))
    ((_, trajectories),) = stages.learned(score(episodes, stages.reward))
    assert {each.episode.outcome.scores[each.seat] for each in trajectories} == {0.0}
    for each in trajectories:
        assert each.rewards.tolist() == list(each.episode.outcome.facts["paid"][str(each.seat)])
    assert any(each.rewards.sum() > 0.9 for each in trajectories)


def test_a_turn_that_broke_the_rules_is_paid_nothing():
    class Mute(Uniform):
        def reply(self, asks):
            return [Reply("nothing", "mute") for _ in asks]

    game = court_of("volley:remember=false")
    cast = dict.fromkeys(game.roles, Uniform()) | {"home_receiver": Mute()}
    (episode,) = play([Match(game, game.tasks()[0], cast)], Random(0))
    (turn,) = episode.turns
    assert coached(episode)[turn.ask.seat].tolist() == [0.0]


def test_the_sides_change_and_each_receives_as_often():
    game = court_of("volley:remember=false")
    own, rival = Team(Uniform(), Uniform()), Team(Uniform(), Uniform())
    matches = met(game, [game.tasks()[number % 2] for number in range(8)], own, [rival] * 8)
    sides = [("home" if each.cast["home_captain"] is own.captain else "away", each.task.id) for each in matches]
    assert {pair: sides.count(pair) for pair in sides} == dict.fromkeys(
        [(side, f"{first} receives") for side in ("home", "away") for first in ("home", "away")], 2
    )


def test_a_population_keeps_win_rates_and_lets_the_oldest_go():
    captain, skills = pair()
    kept = Population(captain, skills)
    kept.add(2)
    captain.version = 7
    kept.add(2, [0.875])
    assert kept.matrix() == pytest.approx(np.array([[0.5, 0.125], [0.875, 0.5]]))
    assert kept.shares("nash") == pytest.approx([0.0, 1.0], abs=1e-3)
    assert kept.shares("uniform").tolist() == [0.5, 0.5]
    assert kept.shares("latest").tolist() == [0.0, 1.0]
    captain.version = 9
    kept.add(2, [0.9, 0.25])
    assert [each.captain.name for each in kept.draw("latest", 1, Random(0))] == ["learner@9"]
    assert kept.matrix() == pytest.approx(np.array([[0.5, 0.75], [0.25, 0.5]]))
    assert kept.shares("nash") == pytest.approx([1.0, 0.0], abs=1e-3)  # the latest is not the one to meet


def test_a_team_that_joins_has_met_every_other_one(monkeypatch):
    """Also those that the equilibrium had it meet no more: of them nothing would be known, and that counted as even."""
    config = replace(SHORT, steps=9, drill_steps=0, strategy_steps=9, window=1, least=1, most=1, population=4)
    stages = Stages(config, *pair())
    monkeypatch.setattr("redqueen.recipes.games.hcsp.steps.point", lambda episode, side: 1.0)
    for number in range(3):
        stages.begin(number)
        matches = stages.matches(8, Random(number))
        episodes = play(matches, Random(number))
        before = stages.ticks
        stages.observe(matches, episodes, Random(number))
        assert stages.ticks > before + sum(each.outcome.facts["ticks"] for each in episodes)
    rate = 8.5 / 9.0
    assert stages.state()["population"]["rates"] == [[], [rate], [rate] * 2, [rate] * 3]


def test_a_leash_pulls_to_the_self_it_was_tied_to():
    learner, skills = pair()
    stages = Stages(SHORT, learner, skills)
    stages.begin(0)
    (_, trajectories), *_ = stages.learned(score(play(stages.matches(4, Random(0)), Random(0)), stages.reward))
    from redqueen.objectives.batch import pack, row_mean
    from redqueen.objectives.policy_gradient import Reinforce

    batch = pack(trajectories, [np.ones(len(each.turns)) for each in trajectories], row_mean)
    free, tied = Leash(skills), Leash(skills)
    tied.tie(True)
    before = skills.likelihoods(batch).logprobs
    skills.update(batch, Reinforce())
    after = skills.likelihoods(batch).logprobs
    assert tied.likelihoods(batch).logprobs.tolist() == before.tolist()
    assert free.likelihoods(batch).logprobs.tolist() == after.tolist()
    assert before.tolist() != after.tolist()


def test_skills_stay_as_they_are_while_strategy_is_learned(tmp_path):
    found = {}

    def watched(stages, seed):
        found["stages"] = stages
        return Rivals(stages, matches=4)

    recipe.train(SHORT, Run(tmp_path, 0), watched)
    stages = found["stages"]
    drilled, planned = stages.ended(1), stages.ended(2)
    assert planned.captain.version == 2 * 4
    assert drilled.skills.version == planned.skills.version == 4 * 4
    assert drilled.captain.name == "uniform"


def test_every_stage_goes_on_where_it_was_cut_off():
    """Killed in each stage, it ends as if it had not been."""
    check_resume(recipe, replace(SHORT, matches_per_step=4), steps=7, kills=(3, 5))


def test_another_game_is_refused():
    with pytest.raises(RedQueenError, match="those of volley, which --game may change: not 'kuhn_poker'"):
        court_of("kuhn_poker")


@pytest.mark.slow
def test_each_stage_is_stronger_than_the_one_before(tmp_path):
    """After 150 steps the team wins more than six points of ten from the team of the second stage (of one that knows no
    more, half)."""
    config = small(recipe, steps=180, matches_per_step=48, drill_steps=15, strategy_steps=30, updates_per_batch=4)
    recipe.train(config, Run(tmp_path, 0, Schedule(evaluate_every=1000)))
    assert read_final(tmp_path)["points/strategy"] > 0.6
