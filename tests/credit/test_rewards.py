import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redqueen.credit.rewards import (
    ForfeitScores,
    FormatBonus,
    Gated,
    LengthPenalty,
    OverlongByTurn,
    OverlongPenalty,
    RepetitionPrice,
    gains,
    kl_in_reward,
    payoff,
    per_largest_score,
    score,
    spoken_by,
    spoken_turns,
    win_draw_loss,
)
from redqueen.games.iterated_dilemma import IteratedDilemma
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.types import Ask, Episode, Message, Outcome, RedQueenError, Reply, Seat, Task, Trajectory, Turn

A, B, C = Seat("first"), Seat("second"), Seat("third")


def turn(seat, text="pass", choices=(), player="learner", tokens=1, **said):
    ask = Ask(seat, (Message("game", "your move"),), choices)
    return Turn(ask, Reply(text, player, tokens=np.arange(tokens), logprobs=np.full(tokens, -0.5), **said))


def episode(turns, scores, **facts):
    return Episode("kuhn_poker", Task("deal"), 7, tuple(turns), Outcome(scores, facts), tuple(scores))


class Named:
    def __init__(self, name):
        self.name = name

    def reply(self, asks):
        raise AssertionError("nobody is asked")


def test_payoff_puts_each_score_on_the_last_own_turn():
    played = episode([turn(A), turn(B), turn(A)], {A: -2.0, B: 2.0})
    rewards = payoff(played)
    np.testing.assert_array_equal(rewards[A], [0.0, -2.0])
    np.testing.assert_array_equal(rewards[B], [2.0])


def test_a_loser_who_does_not_move_last_still_sees_its_loss():
    (trajectory,) = spoken_by(Named("bob"), score([episode([turn(B, player="bob"), turn(A)], {A: 1, B: -1})], payoff))
    np.testing.assert_array_equal(trajectory.rewards, [-1.0])


def test_a_seat_that_never_spoke_makes_no_trajectory():
    trajectories = score([episode([turn(A)], {A: -1.0, B: 1.0}, forfeit="first")], payoff)
    assert [trajectory.seat for trajectory in trajectories] == [A]


def test_win_draw_loss_is_the_sign_of_the_score():
    rewards = win_draw_loss(episode([turn(A), turn(B), turn(C)], {A: 3.5, B: 0.0, C: -0.1}))
    assert [rewards[seat].tolist() for seat in (A, B, C)] == [[1.0], [0.0], [-1.0]]


def test_gains_go_to_the_latest_own_turn():
    # A speaks at 0 and 2, B at 1. B's move costs A one chip, which A's first turn answers for;
    # A's second turn wins three, of which B loses three for what it did at turn 1.
    played = episode(
        [turn(A), turn(B), turn(A)],
        {A: 2.0, B: -2.0},
        gains=((1, {"first": -1.0, "second": 1.0}), (2, {"first": 3.0, "second": -3.0})),
    )
    rewards = gains(played)
    np.testing.assert_array_equal(rewards[A], [-1.0, 3.0])
    np.testing.assert_array_equal(rewards[B], [-2.0])


def test_a_gain_before_a_seats_first_turn_goes_to_that_turn():
    played = episode([turn(A), turn(B), turn(B)], {A: 1.0, B: 5.0}, gains=((0, {"first": 1.0, "second": 5.0}),))
    np.testing.assert_array_equal(gains(played)[B], [5.0, 0.0])


@given(st.data())
def test_gains_lose_nothing_and_count_nothing_twice(data):
    seats = data.draw(st.lists(st.sampled_from([A, B, C]), min_size=1, max_size=8))
    fell = data.draw(
        st.lists(
            st.tuples(
                st.integers(0, len(seats) - 1),
                st.dictionaries(st.sampled_from(["first", "second", "third"]), st.integers(-9, 9)),
            ),
            max_size=8,
        )
    )
    scores = {seat: float(sum(by.get(str(seat), 0) for _, by in fell)) for seat in (A, B, C)}
    played = episode([turn(seat) for seat in seats], scores, gains=tuple(fell))
    for trajectory in score([played], gains):
        assert trajectory.rewards.sum() == scores[trajectory.seat]


def test_gains_that_are_missing_or_do_not_sum_to_the_score_are_refused():
    with pytest.raises(RedQueenError, match="reports no gains"):
        gains(episode([turn(A)], {A: 1.0}))
    with pytest.raises(RedQueenError, match="scores the seat first 1, but its gains sum to 2"):
        gains(episode([turn(A)], {A: 1.0}, gains=((0, {"first": 2.0}),)))
    with pytest.raises(RedQueenError, match="'fourth', who is not at the table"):
        gains(episode([turn(A)], {A: 1.0}, gains=((0, {"fourth": 1.0}),)))


@pytest.mark.parametrize(
    ("outcome", "steps", "two_levels", "three_levels"),
    [(-1.0, 0.8, -1.0, -1.0), (0.0, 0.8, 0.0, 0.0), (0.5, 0.6, 1.1, 1.3), (1.0, 0.3, 1.3, 1.3)],
)
def test_a_lower_reward_counts_where_all_higher_ones_reach_their_gates(outcome, steps, two_levels, three_levels):
    """G-RA's card (arXiv:2508.10548), gates of .5: the third level, .2, waits for the second, which waits for the
    outcome."""
    played = episode([turn(A), turn(A)], {A: outcome})

    def form(episode):
        return {A: np.full(2, 0.1)}

    def way(episode):
        return {A: np.array([steps, 0.0])}

    second = Gated(way, payoff, 0.5)
    (own,) = score([played], payoff, second)
    assert own.rewards.sum() == pytest.approx(two_levels)
    (own,) = score([played], payoff, second, Gated(form, second, 0.5))
    assert own.rewards.sum() == pytest.approx(three_levels)


def test_a_gate_is_shut_without_a_verdict_and_opens_at_its_own_number():
    reached = {"gate": payoff, "least": 1.0}
    silent = episode([turn(A)], {A: 1.0}, right=None)
    assert Gated(FormatBonus(0.1), **reached)(silent)[A].tolist() == [0.0]
    assert Gated(FormatBonus(0.1), **reached)(episode([turn(A)], {A: 1.0}))[A].tolist() == [0.1]


def test_format_bonus_goes_to_each_well_formed_turn():
    legal = ("pass", "bet")
    played = episode(
        [
            turn(A, "pass", legal),
            turn(A, "fold", legal),
            turn(A, " bet ", legal),
            turn(A, "", legal, malformed=True),
            turn(A, "bet", legal, truncated=True),
            turn(A, "anything"),
            turn(B, "offer", ()),
        ],
        {A: 0.0, B: 0.0},
        forfeit="second",
    )
    rewards = FormatBonus()(played)
    np.testing.assert_array_equal(rewards[A], [0.05, 0.0, 0.05, 0.0, 0.0, 0.05])
    np.testing.assert_array_equal(rewards[B], [0.0])  # the turn that forfeited


def test_length_penalty_is_that_of_the_code_of_mars():
    # c = 1 - (L - 11) / 2037: 1 at 11 tokens, 0 at 2048, -1 at 4085; only c < 0 counts, by half
    played = episode([turn(A, tokens=n) for n in (11, 2048, 4085, 2048 + 2037 // 3)], {A: 0.0})
    np.testing.assert_allclose(LengthPenalty()(played)[A], [0.0, 0.0, -0.5, -0.5 / 3], atol=1e-12)


def test_overlong_penalty_has_the_values_of_dapo():
    played = episode([turn(A, tokens=n) for n in (100, 16384, 18432, 20480)], {A: 0.0})
    np.testing.assert_array_equal(OverlongPenalty()(played)[A], [0.0, 0.0, -0.5, -1.0])


def test_a_long_turn_is_priced_by_its_own_limit():
    """Of 10 tokens the last two cost, of 20 the last four; a turn without a limit costs nothing."""
    limits = {A: 10, B: 20}
    played = episode(
        [*(turn(A, tokens=n) for n in (8, 9, 10)), *(turn(B, tokens=n) for n in (16, 18))], {A: 0.0, B: 0.0}
    )
    found = OverlongByTurn(lambda each: limits[each.ask.seat])(played)
    assert [found[A].tolist(), found[B].tolist()] == [[0.0, -0.5, -1.0], [0.0, -0.5]]
    assert OverlongByTurn(lambda each: None)(played)[A].tolist() == [0.0] * 3


def test_forfeit_scores_replace_the_payoff_only_after_a_forfeit():
    spiral = ForfeitScores(payoff, offender=-1.5, others=0.5)
    offended = spiral(episode([turn(A), turn(B)], {A: 2.0, B: -2.0}, forfeit="second"))
    assert [offended[A].tolist(), offended[B].tolist()] == [[0.5], [-1.5]]
    ended = spiral(episode([turn(A), turn(B)], {A: 2.0, B: -2.0}))
    assert [ended[A].tolist(), ended[B].tolist()] == [[2.0], [-2.0]]


def test_score_sums_its_rewards_for_each_seat_that_spoke():
    played = episode([turn(A), turn(B), turn(A)], {A: 1.0, B: -1.0})
    first, second = score([played], payoff, FormatBonus(0.05))
    assert (first.seat, second.seat) == (A, B)
    np.testing.assert_allclose(first.rewards, [0.05, 1.05])
    np.testing.assert_allclose(second.rewards, [-0.95])
    assert first.turns == (played.turns[0], played.turns[2])
    assert first.episode is played


def test_score_refuses_rewards_that_do_not_fit():
    played = episode([turn(A), turn(A)], {A: 1.0})
    with pytest.raises(RedQueenError, match="at least one reward"):
        score([played])
    with pytest.raises(RedQueenError, match="says nothing of the seat first"):
        score([played], lambda episode: {})
    with pytest.raises(RedQueenError, match="2 finite numbers"):
        score([played], lambda episode: {A: np.zeros(3)})
    with pytest.raises(RedQueenError, match="2 finite numbers"):
        score([played], lambda episode: {A: np.array([0.0, math.nan])})


def test_a_seat_that_spoke_but_has_no_score_is_named():
    with pytest.raises(RedQueenError, match="let the seat second speak"):
        spoken_turns(episode([turn(B)], {A: 0.0}))


def test_spoken_by_leaves_out_a_frozen_self_and_refuses_mixed_authors():
    played = episode([turn(A, player="learner"), turn(B, player="learner@12")], {A: 1.0, B: -1.0})
    assert [kept.seat for kept in spoken_by(Named("learner"), score([played], payoff))] == [A]
    mixed = episode([turn(A, player="learner"), turn(A, player="learner@12")], {A: 1.0})
    with pytest.raises(AssertionError, match="held by one player"):
        spoken_by(Named("learner"), score([mixed], payoff))


# rl_algorithms.md, example 6: k1 of example 2 in the reward, beta 0.1, score 1 at the end
POLICY = ([-0.7, -0.6], [-2.4, -0.75, -0.7, -0.8], [-0.35, -1.8, -2.9])
REFERENCE = ([-1.2, -0.6], [-1.7, -1.0, -1.1, -2.4], [-0.4, -0.7, -3.2])
EXPECTED = ([-0.05, 1.0], [0.07, -0.025, -0.04, 0.84], [-0.005, 0.11, 0.97])


def worded(logprobs, reward):
    """One trajectory with a turn for each list of token log-probabilities; the last turn is rewarded."""
    turns = tuple(
        Turn(Ask(A, ()), Reply("", "learner", tokens=np.zeros(len(own)), logprobs=np.array(own))) for own in logprobs
    )
    rewards = np.zeros(len(turns))
    rewards[-1] = reward
    return Trajectory(episode(turns, {A: reward}), A, turns, rewards)


def test_kl_in_reward_of_one_token_turns_has_the_worked_numbers():
    for policy, reference, expected in zip(POLICY, REFERENCE, EXPECTED, strict=True):
        (shifted,) = kl_in_reward([worded([[p] for p in policy], 1.0)], [[np.array([r]) for r in reference]], 0.1)
        np.testing.assert_allclose(shifted.rewards, expected, atol=1e-12)


def test_kl_in_reward_sums_over_the_tokens_of_a_turn():
    trajectories = [worded([policy], 1.0) for policy in POLICY]
    shifted = kl_in_reward(trajectories, [[np.array(reference)] for reference in REFERENCE], 0.1)
    sums = [trajectory.rewards.item() for trajectory in shifted]
    np.testing.assert_allclose(sums, [sum(row) for row in EXPECTED], atol=1e-12)
    assert [trajectory.rewards.item() for trajectory in trajectories] == [1.0, 1.0, 1.0]


def test_rewards_that_are_added_up_keep_their_names():
    played = episode([turn(A), turn(B), turn(A)], {A: 2.0, B: -2.0})
    first, _ = score([played], payoff, win_draw_loss, payoff)
    assert {name: values.tolist() for name, values in first.parts.items()} == {
        "payoff 1": [0.0, 2.0],
        "win_draw_loss": [0.0, 1.0],
        "payoff 3": [0.0, 2.0],
    }
    assert first.rewards.tolist() == [0.0, 5.0]
    assert list(score([played], payoff)[0].parts) == []  # one reward is the whole


def test_a_price_on_length_begins_above_the_shortest_reply():
    assert LengthPenalty(longest=12).longest == 12
    with pytest.raises(RedQueenError, match="above 11 tokens, not 11"):
        LengthPenalty(longest=11)


def test_games_of_different_stakes_are_put_on_one_scale():
    reward = per_largest_score([IteratedDilemma(rounds=1), KuhnPoker()], [5.0, 2.0])
    assert reward.by == {IteratedDilemma(rounds=1).name: 5.0, "kuhn_poker": 2.0}
    for games, largest in (([KuhnPoker()], [1.0, 2.0]), ([], [])):
        with pytest.raises(RedQueenError, match=f"not {len(games)} games and {len(largest)} scores"):
            per_largest_score(games, largest)


@pytest.mark.parametrize("largest", [0.0, -2.0, math.inf, math.nan])
def test_a_largest_score_that_turns_or_loses_a_game_is_refused(largest):
    """A negative one would pay for losing."""
    with pytest.raises(RedQueenError, match=f"numbers above 0, not 5, {largest:g}$"):
        per_largest_score([IteratedDilemma(rounds=1), KuhnPoker()], [5.0, largest])


def test_repeats_cost_their_share_of_a_turn():
    """Nine tokens, of which the second run of 1 2 3 4 was said before: 4 of 9; ten different ones cost nothing."""
    seat = Seat("solver")
    turns = tuple(
        Turn(Ask(seat, ()), Reply("x", tokens=np.array(tokens), logprobs=np.zeros(len(tokens))))
        for tokens in ([1, 2, 3, 4, 9, 1, 2, 3, 4], list(range(10)), [1])
    )
    episode = Episode("g", Task("t"), 0, turns, Outcome({seat: 0.0}), (seat,))
    assert RepetitionPrice(0.5)(episode)[seat].tolist() == pytest.approx([-0.5 * 4 / 9, 0.0, 0.0])
