"""References rate each reply after its own prompt, and what is recited is no sample."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.credit.rewards import kl_in_reward, payoff, score
from redqueen.games.red_team import BENIGN, HARMFUL, RedTeam
from redqueen.measures.recitations import demonstrated, reference_logprobs
from redqueen.play.lockstep import play
from redqueen.players.tabular import TabularPolicy
from redqueen.questions.small.red_styles import RedStyles
from redqueen.questions.small.red_words import RedTeamWords
from redqueen.settings.learner import Learner
from redqueen.types import Match, RedQueenError

WORLD = RedTeamWords()


def dealt(world):
    """Three harmful and three benign seeds, of which every second is vanilla: to be answered as it stands."""
    rng = Random(0)
    seeds = [world.seed(kind, rng) for kind in (HARMFUL, BENIGN) for _ in range(3)]
    return [replace(seed, facts={**seed.facts, "vanilla": n % 2 == 0}) for n, seed in enumerate(seeds)]


def test_references_rate_each_reply_and_the_kl_comes_off_the_reward():
    learner = TabularPolicy()
    game, seeds = RedTeam(RedStyles()), dealt(RedStyles())
    cast = dict.fromkeys(game.roles, learner)
    trajectories = score(play([Match(game, seed, cast) for seed in seeds], Random(0)), payoff)
    rated = reference_logprobs(learner.freeze(), trajectories)
    for trajectory, references in zip(trajectories, rated, strict=True):
        assert references[0] == pytest.approx([np.log(1 / len(trajectory.turns[0].ask.choices))])
    shifted = kl_in_reward(trajectories, [[np.array([-3.0])] for _ in trajectories], 0.1)
    assert shifted[0].rewards[0] == pytest.approx(-0.1 * (trajectories[0].turns[0].reply.logprobs[0] + 3.0))


def test_a_language_models_reference_equals_itself_at_the_start():
    learner = Learner(model="tiny:hidden=16,heads=2", max_completion_length=5).build_model(0)
    game, seeds = RedTeam(WORLD), dealt(WORLD)
    matches = [Match(game, seed, dict.fromkeys(game.roles, learner)) for seed in seeds]
    trajectories = score(play(matches, Random(0)), payoff)
    for trajectory, references in zip(trajectories, reference_logprobs(learner.freeze(), trajectories), strict=True):
        assert references[0] == pytest.approx(trajectory.turns[0].reply.logprobs, abs=1e-4)


def test_what_is_recited_is_marked_and_a_table_cannot():
    learner = Learner(model="tiny:hidden=16,heads=2").build_model(0)
    shown = WORLD.schooling(3, Random(0))
    assert [each.turns[0].reply.recited for each in demonstrated(shown, learner)] == [True, True, True]
    with pytest.raises(RedQueenError, match="only a language model"):
        demonstrated(shown, TabularPolicy())
