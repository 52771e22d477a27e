"""Vision-Zero: the card's vectors, the switch of the stages, what is learned in each."""

from random import Random

import numpy as np
import pytest

from redqueen.credit.rewards import payoff, score
from redqueen.games.odd_one_out import OddOneOut
from redqueen.play.groups import attempts, grouped
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, Scripted, Uniform
from redqueen.recipes.games.vision_zero.measures import named_entropy
from redqueen.recipes.games.vision_zero.recipe import Config
from redqueen.recipes.games.vision_zero.steps import Alternation, OfStage, by_speakers, table_of
from redqueen.types import Match, RedQueenError, Task

GAME = OddOneOut(civilians=3)
DEAL = Task("deal", facts={"card": ("red", "circle"), "odd": ("red", "square"), "spy": 0})


def matches_of(player, count=1, game=GAME):
    return play([Match(game, DEAL, dict.fromkeys(game.roles, player)) for _ in range(count)], Random(0))


def test_a_role_s_clues_are_compared_with_its_moving_average():
    """Votes 2, 1, 0, 0: the card's rewards; read before written, the first advantage is the reward itself."""
    episode = matches_of(Uniform())[0]
    votes = {"spy": -1 / 6, "civilian1": -1 / 90, "civilian2": 4 / 45, "civilian3": 4 / 45}
    for seat in episode.outcome.scores:
        episode.outcome.scores[seat] = votes.get(str(seat), 0.0)
    spy, first, second, _ = OfStage(0.95)(by_speakers(score([episode], payoff)))
    assert (spy[0], first[0]) == pytest.approx((-0.166667, -0.011111), abs=1e-6)
    assert second[0] == pytest.approx(4 / 45 + 0.05 / 90)


def test_eight_votes_of_one_ask():
    """Five right, two wrong, one N/A: mean .3125, population deviation .899218."""
    task = Task("vote", facts={**DEAL.facts, "clues": ("colour red",) * 4, "voter": 2})
    said = ("player 1",) * 5 + ("player 2",) * 2 + ("N/A",)
    played = play([Match(GAME, task, dict.fromkeys(GAME.roles, Constant(vote))) for vote in said], Random(0))
    credit = np.concatenate(OfStage(0.95)(score(grouped(played, 8), payoff)))
    assert credit[[0, 5, 7]] == pytest.approx([0.764553, -1.459601, -0.903562], abs=2e-6)


def steps_until(stages, right):
    """How many steps of such a share of right votes pass before the other stage is learned."""
    before, count = stages.clues, 0
    while stages.clues == before:
        stages.count(right, 0.0)
        count += 1
    return count


def test_averages_from_zero_keep_a_stage_for_45_steps_and_the_next_for_28():
    stages = Alternation(Config(debias=False, right=0.9, wrong=0.4, least=1))
    assert (steps_until(stages, 1.0), steps_until(stages, 0.5)) == (45, 28)


def test_debiased_averages_switch_at_the_first_step_or_after_the_least():
    assert steps_until(Alternation(Config(right=0.9, least=1)), 1.0) == 1
    assert steps_until(Alternation(Config(right=0.9)), 1.0) == 5


def test_votes_that_are_not_cast_keep_votes_and_end_clues():
    stages = Alternation(Config(least=1, unsure=0.1))
    for _ in range(3):
        stages.count(0.8, 0.2)
    assert not stages.clues
    clues = Alternation(Config(first="clues", least=1))
    clues.count(0.9, 0.5)
    assert not clues.clues


def test_the_released_stages_alternate_and_one_alone_stays():
    every, never = Alternation(Config(switch="every-step")), Alternation(Config(switch="never", first="clues"))
    seen = []
    for _ in range(4):
        seen.append((every.clues, never.clues))
        every.count(0.0, 1.0)
        never.count(1.0, 0.0)
    assert seen == [(False, True), (True, True), (False, True), (True, True)]


def test_a_stage_goes_on_where_it_was():
    one, other = Alternation(Config()), Alternation(Config())
    for _ in range(7):
        one.count(0.7, 0.1)
    other.restore(one.state())
    assert (other.clues, other.averages(), other.state()) == (one.clues, one.averages(), one.state())


def test_votes_are_asked_again_at_the_tables_of_a_stage_of_votes():
    episodes = matches_of(Uniform(), 2)
    ballots = Alternation(Config()).ballots(episodes)
    assert [task.facts["voter"] for task in ballots] == [1, 2, 3] * 2
    groups = attempts(GAME, ballots, Uniform(), 3, Random(0))
    asked = {turn.ask for group in groups for each in group.attempts for turn in each.turns}
    assert asked == {turn.ask for each in episodes for turn in each.turns if turn.ask.seat.role == "voter"}
    assert Alternation(Config(first="clues")).ballots(episodes) == []


def test_a_stage_of_clues_learns_no_votes():
    found = by_speakers(score(matches_of(Uniform()), payoff))
    assert {each.seat.role for each in found} == {"civilian", "spy"}


def test_matches_without_a_vote_count_for_no_average():
    stages = Alternation(Config())
    broken = matches_of(Constant("xyzzy"))
    assert (stages.ballots(broken), stages.observe(broken)) == ([], {"knobs/clue_stage": 0.0})
    assert stages.state()["seen"] == 0


def test_a_table_that_never_voted_is_no_silent_one():
    one, other = matches_of(Uniform(), 2)
    one.outcome.facts["votes"] = dict.fromkeys(one.outcome.facts["votes"], "N/A")
    other.outcome.facts["votes"] = dict.fromkeys(other.outcome.facts["votes"], "player 1")
    broken = matches_of(Constant("xyzzy"), 2)
    assert Alternation(Config()).observe([one, other, *broken])["votes/silent_tables"] == 0.5


def test_the_entropy_of_what_civilians_name():
    said = matches_of(Scripted(("colour red",))), matches_of(Uniform(), 200)
    assert named_entropy(said[0]) == 0.0
    assert named_entropy(said[1]) == pytest.approx(np.log(2), abs=0.01)


def test_another_game_is_refused():
    with pytest.raises(RedQueenError, match="not 'kuhn_poker'"):
        table_of("kuhn_poker")
