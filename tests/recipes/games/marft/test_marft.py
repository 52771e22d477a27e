"""MARFT: the card's vectors, who learns and who does not, credit by actions and by tokens."""

import re
from dataclasses import replace
from random import Random

import numpy as np
import pytest
import torch

from redqueen.contracts.recipes import trained
from redqueen.credit.rewards import score, spoken_by
from redqueen.games.catalogue import find_game
from redqueen.games.relay import Relay
from redqueen.objectives.additive import own_tokens
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted
from redqueen.players.tabular import TabularPolicy
from redqueen.recipes.games.marft import recipe
from redqueen.recipes.games.marft.measures import Together
from redqueen.recipes.games.marft.recipe import Config
from redqueen.recipes.games.marft.steps import AcrossSeats, Agents, at_the_end
from redqueen.runs.run import read_final
from redqueen.settings.learner import Learner
from redqueen.types import Match, RedQueenError, Reply

TINY = Learner(model="tiny:hidden=16,heads=2")
GAME = Relay()
RIGHT = {"planner": Scripted(("2",)), "solver": Scripted(("3",))}  # x is 2, y is 1


class Known:
    """A critic whose values are given, by role; it remembers what it is told."""

    def __init__(self, **values):
        self.known, self.told = values, []

    def values(self, trajectories):
        return [np.array([self.known[each.seat.role]] * len(each.turns), dtype=float) for each in trajectories]

    def update(self, trajectories, targets):
        self.told = list(zip([each.seat.role for each in trajectories], targets, strict=True))
        return {"value_loss": 0.5}


def played(cast, game=GAME, parts=(2, 1)):
    (task,) = [each for each in game.tasks() if each.facts["parts"] == parts]
    return score(play([Match(game, task, cast)], Random(0)), at_the_end)


@pytest.mark.parametrize("swapped", [False, True])
def test_the_vector_of_two_agents(swapped):
    """V = (.4, .5), r = (0, 1), gamma .99, lambda .95; in the order of the game whatever that of the trajectories."""
    trajectories = played(RIGHT)
    if swapped:
        trajectories.reverse()
    assert {each.seat.role: each.rewards.tolist() for each in trajectories} == {"planner": [0.0], "solver": [1.0]}
    critic = Known(planner=0.4, solver=0.5)
    advantages, (_, targets) = AcrossSeats(critic, 0.99, 0.95).with_targets(trajectories)
    found = {each.seat.role: given for each, given in zip(trajectories, advantages, strict=True)}
    assert found["solver"] == pytest.approx([0.5])
    assert found["planner"] == pytest.approx([0.095 + 0.9405 * 0.5])
    assert {each.seat.role: float(t[0]) for each, t in zip(trajectories, targets, strict=True)} == pytest.approx(
        {"planner": 0.96525, "solver": 1.0}
    )


def test_apart_the_first_agent_learns_nothing_of_the_second():
    advantages, _ = AcrossSeats(Known(planner=0.4, solver=0.5), 0.99, 0.95, together=False).with_targets(played(RIGHT))
    assert advantages[0] == pytest.approx([-0.4])
    assert advantages[1] == pytest.approx([0.5])


def test_who_speaks_first_is_bootstrapped_from_who_speaks_second():
    """With the values swapped, the first turn leans on the value of the other agent."""
    advantages, _ = AcrossSeats(Known(planner=0.5, solver=0.4), 0.99, 0.95).with_targets(played(RIGHT))
    assert advantages[0] == pytest.approx([0.99 * 0.4 - 0.5 + 0.9405 * 0.6])
    assert advantages[1] == pytest.approx([0.6])


def test_many_turns_of_two_seats_are_one_sequence():
    """The turns of hanabi alternate: each leans on the next, which is of the other seat."""
    game = find_game("mini_hanabi")
    episodes = play([Match(game, game.tasks()[0], dict.fromkeys(game.roles, TabularPolicy()))], Random(3))
    trajectories = score(episodes, at_the_end)
    values = {"first": 0.2, "second": 0.7}
    advantages, _ = AcrossSeats(Known(**values), 0.9, 0.8).with_targets(trajectories)
    turns = episodes[0].turns
    assert len(turns) > 4
    expected, following, value = [], 0.0, 0.0
    for place in reversed(range(len(turns))):
        own = values[turns[place].ask.seat.role]
        reward = max(episodes[0].outcome.scores.values()) if place == len(turns) - 1 else 0.0
        following = reward + 0.9 * value - own + 0.9 * 0.8 * following
        value = own
        expected.insert(0, following)
    found = {each.seat: iter(given) for each, given in zip(trajectories, advantages, strict=True)}
    assert [next(found[turn.ask.seat]) for turn in turns] == pytest.approx(expected)


def test_advantages_are_whitened_over_all_that_was_said_zeros_included():
    estimate = AcrossSeats(critic := Known(planner=0.0, solver=1.0), 1.0, 1.0)
    given = np.concatenate(estimate(played(RIGHT)))  # 1 and exactly 0 before
    assert given == pytest.approx([1.0, -1.0])
    assert estimate.update() == {"value_loss": 0.5}
    assert critic.told == [("planner", pytest.approx([1.0])), ("solver", pytest.approx([1.0]))]


@pytest.fixture(scope="module")
def two_models():
    """Two tiny models at a table whose numbers have one or two digits, and what they said."""
    game = find_game("relay:numbers=12")
    planner, solver = TINY.build(0), TINY.build(1, name="solver")
    tasks = game.tasks()[:40]
    cast = {"planner": planner, "solver": solver}
    return planner, score(play([Match(game, task, cast) for task in tasks], Random(0)), at_the_end)


def test_each_token_leans_on_the_next_and_the_last_on_the_next_agent(two_models):
    _, trajectories = two_models
    estimate = AcrossSeats(Known(planner=0.4, solver=0.5), 0.99, 0.95, tokens=True)
    advantages, (units, _) = estimate.with_targets(trajectories)
    longest = max(range(0, len(trajectories), 2), key=lambda number: len(advantages[number]))
    first, second = advantages[longest], advantages[longest + 1]
    assert len(first) > 1  # "1" of twelve numbers may be followed
    expected, value = second[0], 0.5
    for given in reversed(first):
        expected = 0.99 * value - 0.4 + 0.9405 * expected
        value = 0.4
        assert given == pytest.approx(expected)
    prompts = [turn.reply.prompt_tokens for turn in units[longest].turns]
    reply = trajectories[longest].turns[0].reply
    assert prompts[1].tolist() == [*reply.prompt_tokens.tolist(), int(reply.tokens[0])]


def test_a_batch_of_tokens_has_the_advantage_of_each_where_it_stands(two_models):
    planner, trajectories = two_models
    estimate = AcrossSeats(Known(planner=0.4, solver=0.5), 0.99, 0.95, tokens=True)
    advantages = estimate(trajectories)
    own = spoken_by(planner, trajectories)
    given = [a for each, a in zip(trajectories, advantages, strict=True) if each.seat.role == "planner"]
    batch = estimate.pack(own, given)
    assert batch.advantages[own_tokens(batch)].numpy() == pytest.approx(np.concatenate(given), abs=1e-6)
    weights = batch.loss_weights[own_tokens(batch)]
    assert torch.allclose(weights, weights[0])  # every token alike
    by_turn = AcrossSeats(Known(planner=0.4, solver=0.5), 0.99, 0.95)
    actions = by_turn.pack(own, [np.array([number], dtype=float) for number in range(len(own))])
    assert torch.allclose(actions.loss_weights.sum(dim=1), torch.tensor(1.0 / len(own)).to(actions.loss_weights))
    assert estimate.by_turn(own, given)[0] == pytest.approx([given[0].mean()])


def test_a_score_that_is_not_shared_is_refused():
    game = find_game("kuhn_poker")
    episodes = play([Match(game, game.tasks()[0], dict.fromkeys(game.roles, TabularPolicy()))], Random(0))
    with pytest.raises(RedQueenError, match="share one score, and kuhn_poker ended with first"):
        score(episodes, at_the_end)


class Seeds:
    def derived(self, *path):
        return 0


def test_a_game_of_one_is_refused():
    with pytest.raises(RedQueenError, match="corridor has one role"):
        Agents(Config(), find_game("corridor"), TabularPolicy(), Seeds())


@pytest.mark.parametrize(
    ("learns", "expected"),
    [
        ("all", [["learner", "solver"]] * 4),
        ("first", [["learner"]] * 4),
        ("last", [["solver"]] * 4),
        ("in_turn", [["solver"], ["solver"], ["learner"], ["learner"]]),
    ],
)
def test_who_learns_at_which_step(learns, expected):
    agents = Agents(Config(learns=learns, period=2), GAME, TabularPolicy(), Seeds())
    assert [[each.name for each in agents.learning(step)] for step in range(4)] == expected


def weights(policy):
    return {name: value.clone() for name, value in policy.state()["weights"].items()}


@pytest.mark.parametrize("credit", ["action", "token"])
def test_an_agent_that_does_not_learn_stays_as_it_is_to_the_byte(credit):
    config = Config(replace(TINY, lora_rank=2), "relay:numbers=2", learns="last", credit=credit)
    agents = Agents(config, find_game(config.game), learner := config.learner.build(0), Seeds())
    solver = agents.cast["solver"]
    assert solver is not learner
    before, own = weights(learner), weights(solver)
    estimate = AcrossSeats(Known(planner=0.0, solver=0.0), 1.0, 1.0, credit == "token")
    objective = recipe.objective_of(credit, 0.2, 0.01)
    game = find_game(config.game)
    for step in range(10):
        trajectories = score(play([Match(game, task, agents.cast) for task in game.tasks()], Random(step)), at_the_end)
        for policy, said, given in agents.spoken(step, trajectories, estimate(trajectories)):
            policy.update(estimate.pack(said, given), objective)
    assert all(torch.equal(value, before[name]) for name, value in weights(learner).items())
    assert not all(torch.equal(value, own[name]) for name, value in weights(solver).items())


@pytest.mark.slow
def test_together_they_learn_what_neither_does_alone(tmp_path):
    """Tables on two numbers, where chance is one half."""
    found = {}
    for learns in ("all", "first", "last"):
        config = Config(game="relay:numbers=2", steps=20, matches_per_step=32, learns=learns)
        found[learns] = read_final(trained(recipe, config, tmp_path / learns).folder)
    assert found["all"]["team_score"] > 0.9
    assert found["first"]["team_score"] < 0.7
    assert found["last"]["team_score"] < 0.7
    assert found["all"]["team_score_unheard"] < 0.7


def test_a_solver_that_hears_another_planner_is_back_at_the_start():
    code = {str(n): Scripted((str(n),)) for n in range(4)}

    class Tells:
        name = "tells"

        def reply(self, asks):
            return [code[ask.messages[0].text.partition("x is ")[2][0]].reply([ask])[0] for ask in asks]

    class Adds:
        name = "adds"

        def reply(self, asks):
            texts = [ask.messages[0].text for ask in asks]
            sums = [int(text.partition("says ")[2][0]) + int(text.partition("y is ")[2][0]) for text in texts]
            return [Scripted((str(found % 4),)).reply([ask])[0] for ask, found in zip(asks, sums, strict=True)]

    measure = Together(GAME, {"planner": Tells(), "solver": Adds()})
    found = measure()
    assert found["team_score"] == 1.0
    assert found["team_score_unheard"] < 0.5
    assert measure.basis()["team_score"].references == {"no word that tells anything": 0.25}
    measure.limit(8)
    assert measure.basis()["team_score"].count == 4


def test_another_planner_is_heard_in_what_it_said_in_the_end():
    class Adds:
        name = "adds"

        def reply(self, asks):
            sums = [sum(map(int, re.findall(r"(?:says|y is) (\d)", ask.messages[0].text))) for ask in asks]
            return [Reply(str(found % 4), "adds") for found in sums]

    found = Together(replace(GAME, retries=1), {"planner": Scripted(("oops", "2")), "solver": Adds()})()
    assert found["team_score_unheard"] == found["team_score"] > 0.0  # the same word in every match
