"""ReTool: what a wrong answer earns after calls, whose tokens are learned from, and how often the tool is called."""

from random import Random

import numpy as np
import pytest

from experiments.retool import Shuffled
from redqueen.contracts.recipes import TINY, metrics, trained
from redqueen.credit.advantages.statistics import generalized_advantages
from redqueen.credit.rewards import payoff, score
from redqueen.demonstrations.rehearsal import Rehearsed, turns_of
from redqueen.games.tools import Calculator, ToolReply
from redqueen.measures.calls import calling
from redqueen.objectives.additive import own_tokens
from redqueen.objectives.batch import pack
from redqueen.play.lockstep import play
from redqueen.recipes.agents.retool import recipe
from redqueen.recipes.agents.retool.recipe import Config
from redqueen.recipes.agents.retool.steps import Answered
from redqueen.runs.run import read_final
from redqueen.settings.limits import check_settings
from redqueen.types import Episode, Group, Match, Outcome, RedQueenError, Reply, Seat, Task, Turn

SOLVER = Seat("solver")


def attempt(right, calls, failed=0):
    facts = {"right": right, "calls": (("calculate", "1+1"),) * calls, "failures": (True,) * failed}
    facts["failures"] += (False,) * (calls - failed)
    return Episode("tools", Task("t"), calls, (Turn(None, Reply("1")),), Outcome({SOLVER: 0.0}, facts), (SOLVER,))


def group(*attempts):
    return Group(0, Task("t"), attempts)


def test_a_wrong_answer_earns_what_the_released_code_pays():
    """The card (8): with 2, 4, 6, 10 and 14 messages, -1, -.9, -.8, -.6, -.6; a call adds two messages."""
    wrong = group(*(attempt(False, calls) for calls in (0, 1, 2, 4, 6)), attempt(True, 6), attempt(None, 1))
    earned = Answered(-0.6, 0.1).of_group(wrong)["answer"][SOLVER]
    np.testing.assert_allclose(earned, [-1.0, -0.9, -0.8, -0.6, -0.6, 1.0, np.nan])
    np.testing.assert_array_equal(Answered(-1.0, 0.1).of_group(wrong)["answer"][SOLVER][:5], -1.0)


def test_the_advantage_of_a_turn_follows_from_the_next_of_the_policy_s_own():
    """The card (11): values .2 and .6 before two turns, the second of which earns 1; what the tool says is no turn."""
    own = np.array([1.0, 0.0, 1.0])
    found = generalized_advantages(np.array([0.0, 0.0, 1.0]), np.array([0.2, 9.0, 0.6]), own, 1.0, 1.0)
    assert found == pytest.approx([0.8, 0.0, 0.4])


def test_what_the_tool_says_is_in_no_loss():
    learner = TINY.build_model(0)
    calculator, text = (Calculator(),), "<calculate>12+7</calculate>19"
    said = Rehearsed(learner, turns_of(text, calculator))
    (episode,) = play([Match(ToolReply("solver", calculator), Task("t", prompt="12+7=?"), {"solver": said})], Random(0))
    assert episode.outcome.facts["outputs"] == ("19",)
    trajectories = score([episode], payoff)
    batch = pack(trajectories, [np.ones(len(each.turns)) for each in trajectories])
    learned = "".join(
        learner.format.decode(row[own].tolist()) for row, own in zip(batch.tokens, own_tokens(batch), strict=True)
    )
    assert "information" not in learned and learned.count("19") == 1
    assert learned.startswith("<calculate>12+7</calculate>")


def test_the_figures_tell_calls_of_right_answers_from_those_of_wrong_ones():
    found = calling([group(attempt(True, 1), attempt(True, 0)), group(attempt(False, 3, failed=1), attempt(None, 0))])
    assert found == {"calls": 1.0, "calls_of_right": 0.5, "calls_of_wrong": 3.0, "calls_failed": 0.25}


@pytest.mark.parametrize("tool", ["calculator", "none"])
def test_a_run_has_a_critic_and_measures_with_its_tool(tool, tmp_path):
    config = Config(TINY, tool=tool, steps=2, tasks=2, attempts=2, problems=1, truncated_score="graded")
    run = trained(recipe, config, tmp_path)
    assert {"value_loss", "calls"} <= metrics(run)[-1].keys()
    assert "accuracy" in read_final(run.folder)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tool": "none", "calls": 2}, "--calls has no effect with --tool none"),
        ({"per_call": 0.2}, "--per-call has no effect with --tried -1"),
        ({"tried": 0.5}, "--tried must be at least -1 and at most 0"),
    ],
)
def test_what_has_no_effect_is_refused(changes, said):
    with pytest.raises(RedQueenError, match=said):
        check_settings(Config(**changes))


def test_the_control_s_tool_answers_with_the_result_before():
    tool = Shuffled()
    assert [tool("1+1"), tool("2+3"), tool("4+4")] == ["7", "2", "5"]
