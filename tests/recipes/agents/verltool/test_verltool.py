"""VerlTool: what tools say is in no loss and no ratio, attempts in flight, attempts that called nothing."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
import torch

from examples.pictures import Pictures
from redqueen.contracts.recipes import TINY, metrics, small, trained
from redqueen.contracts.worlds import check_world
from redqueen.credit.rewards import payoff, score
from redqueen.demonstrations.rehearsal import Rehearsed, turns_of
from redqueen.games.acting import Working
from redqueen.games.tools import ToolError
from redqueen.objectives.additive import own_tokens
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import ClippedRatio
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted
from redqueen.recipes.agents.verltool import recipe
from redqueen.recipes.agents.verltool.recipe import Config
from redqueen.recipes.agents.verltool.steps import kept, with_tools
from redqueen.runs.run import read_final
from redqueen.types import Likelihoods, Match, RedQueenError
from redqueen.worlds.sql import Sql

SQL = Sql("filter", count=4, tests=2, trained=2, held=1)


def tried(learner, *texts):
    """Matches in which these were said, with the query of the first task in place of QUERY."""
    game = Working(SQL)
    task = game.tasks()[0]
    query = game.expert(task)[0]
    episodes = []
    for text in texts:
        visit = game.world.open(task, 0)
        said = Rehearsed(learner, turns_of(text.replace("QUERY", query), visit.tools))
        visit.close()
        episodes += play([Match(game, task, {"agent": said})], Random(0))
    return score(episodes, payoff)


def test_what_a_tool_says_has_no_weight_and_is_in_no_ratio():
    """The card (22): the placeholder log-probability 0 of an observation's token would count as the ratio 1."""
    (one,) = tried(TINY.build_model(0), "<sql>QUERY</sql>QUERY")
    said = one.episode.outcome.facts["outputs"]
    assert said[0]
    batch = pack([one], [np.ones(len(one.turns))])
    own = own_tokens(batch)
    batch = replace(batch, sampled_logprobs=batch.sampled_logprobs - own.double(), recited=own & False)  # as if sampled
    assert len(batch) == 1 and not (batch.loss_weights[~own] != 0).any()
    assert int(own.sum()) == sum(len(turn.reply.tokens) for turn in one.turns) < int(batch.lengths[0])
    found = []
    for elsewhere in (0.0, -9.0):  # whatever the policy thinks of what the tool said
        logprobs = torch.where(own, batch.sampled_logprobs + 0.5, torch.full_like(batch.sampled_logprobs, elsewhere))
        loss, figures = ClippedRatio(0.2, 0.2)(Likelihoods(logprobs, torch.zeros_like(logprobs)), batch)
        found.append((float(loss), {name: float(value) for name, value in figures.items()}))
    assert found[0] == found[1]
    assert found[0][0] == pytest.approx(-1.2)  # every own token's ratio is e^.5, clipped


def test_a_prompt_after_a_call_begins_with_what_was_sampled():
    (one,) = tried(TINY.build_model(0), "<sql>QUERY</sql>QUERY")
    first, second = (turn.reply for turn in one.turns)
    before = [*first.prompt_tokens, *first.tokens]
    assert second.prompt_tokens[: len(before)].tolist() == before


def test_attempts_that_called_no_tool_may_teach_nothing():
    trajectories = tried(TINY.build_model(0), "<sql>QUERY</sql>QUERY", "QUERY")
    advantages = [np.array([0.5, 0.5]), np.array([-0.5])]
    assert [each.tolist() for each in kept(trajectories, advantages, "kept")] == [[0.5, 0.5], [-0.5]]
    assert [each.tolist() for each in kept(trajectories, advantages, "muted")] == [[0.5, 0.5], [0.0]]


@pytest.mark.parametrize("changes", [{}, {"staleness": 0, "without_call": "muted"}, {"at_once": 4}])
def test_a_run_has_attempts_in_flight_over_an_update(changes, tmp_path):
    game = "working:sql(filter,count=4,tests=2,trained=2,held=1),2,3"
    config = small(recipe, learner=TINY, game=game, steps=2, **changes)
    run = trained(recipe, config, tmp_path)
    lines = metrics(run)
    if changes.get("staleness", 1):
        assert [line["queue/depth"] for line in lines] == [4.0, 4.0]
        assert [line["queue/age"] for line in lines] == [0.0, 1.0]
    else:
        assert "queue/depth" not in lines[-1]
    assert "calls" in lines[-1]
    assert "success" in read_final(run.folder)


def test_a_game_without_tools_is_refused():
    with pytest.raises(RedQueenError, match="in acting:site no tools are called: take a world with tools"):
        with_tools(Config(game="acting:site"), TINY.build_model(0), 0)


def test_the_world_of_the_example_has_a_tool_with_a_state(tmp_path):
    assert check_world(Pictures()) == "pictures keeps the contract of worlds: 200 tasks, 40 held out"
    world = Pictures()
    task = world.tasks()[0]
    for said, due in (world.expert(task), 1.0), (("no",), 0.0):
        (episode,) = play([Match(Working(world), task, {"agent": Scripted(said)})], Random(0))
        assert episode.outcome.scores[episode.seats[0]] == due
    first, second = world.open(task, 0).tools[0], world.open(task, 0).tools[0]
    assert [first("1 1") for _ in range(3)] == [second("1 1")] * 3
    with pytest.raises(ToolError, match="you have looked 3 times"):
        first("1 1")
    with pytest.raises(ToolError, match="two numbers from 1 to 8"):
        second("0 1")
