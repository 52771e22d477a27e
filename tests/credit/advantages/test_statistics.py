import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redqueen.credit.advantages.keys import (
    by_game,
    by_game_and_role,
    by_game_role_and_turn,
    by_information_state,
    by_kind_and_role,
    by_match,
    by_role,
    by_task_and_role,
    by_task_role_and_turn,
    everything,
)
from redqueen.credit.advantages.statistics import (
    BestOnly,
    EachPart,
    GeneralizedAdvantage,
    GroupRelative,
    LeaveOneOut,
    LengthWeighted,
    MovingBaseline,
    RewardToGo,
    Unbaselined,
    Whitened,
    by_turns,
    centred_turns,
    generalized_advantages,
    total,
)
from redqueen.credit.rewards import FormatBonus, gains, payoff, score
from redqueen.types import Ask, Episode, Message, Outcome, RedQueenError, Reply, Seat, Task, Trajectory, Turn

FIRST, SECOND = Seat("first"), Seat("second")


def trajectory(rewards, tokens=None, task="a", seat=FIRST, game="kuhn_poker", kind="deal", seed=0):
    """N turns with these rewards; `tokens` says how long each reply is."""
    rewards = np.atleast_1d(np.array(rewards, dtype=np.float64))
    tokens = [1] * len(rewards) if tokens is None else np.atleast_1d(tokens)
    turns = tuple(
        Turn(Ask(seat, (Message("game", f"turn {k}"),)), Reply("", "learner", tokens=np.zeros(count, dtype=np.int64)))
        for k, count in enumerate(tokens)
    )
    episode = Episode(game, Task(task, kind), seed, turns, Outcome({seat: float(rewards.sum())}), (seat,))
    return Trajectory(episode, seat, turns, rewards)


def one_turn(groups, lengths=None):
    """Example 1's setting: one turn each, a task for each group, the reward at the end."""
    return [
        trajectory(reward, None if lengths is None else lengths[number], task=name)
        for name, rewards in groups.items()
        for number, reward in enumerate(rewards)
    ]


def flat(advantages):
    return np.concatenate(advantages)


# --- example 1: outcome advantages -----------------------------------------------------------

R_A, R_B, R_C = [1.0, 0.0, 0.0, 1.0], [0.2, 0.9, 0.4, 0.1], [1.0, 1.0, 1.0, 1.0]
ABC = {"A": R_A, "B": R_B, "C": R_C}
LENGTHS = [2, 4, 3, 1]


@pytest.mark.parametrize(
    ("estimate", "on_a", "on_b"),
    [
        (
            GroupRelative(by_task_and_role),
            [0.866024, -0.866024, -0.866024, 0.866024],
            [-0.561950, 1.404875, 0.0, -0.842925],
        ),
        (
            GroupRelative(by_task_and_role, ddof=0),
            [0.999998, -0.999998, -0.999998, 0.999998],
            [-0.648884, 1.622209, 0.0, -0.973325],
        ),
        (GroupRelative(by_task_and_role, divide_by_deviation=False), [0.5, -0.5, -0.5, 0.5], [-0.2, 0.5, 0.0, -0.3]),
        (LeaveOneOut(by_task_and_role), [0.666667, -0.666667, -0.666667, 0.666667], [-0.266667, 0.666667, 0.0, -0.4]),
        (
            GroupRelative(by_task_and_role, deviation_key=everything),
            [1.116341, -1.116341, -1.116341, 1.116341],
            [-0.446537, 1.116341, 0.0, -0.669805],
        ),
    ],
    ids=["GRPO", "GRPO ddof 0", "Dr. GRPO", "RLOO", "Lite PPO"],
)
def test_group_estimators_have_the_worked_numbers_and_nothing_for_an_even_group(estimate, on_a, on_b):
    advantages = flat(estimate(one_turn(ABC)))
    np.testing.assert_allclose(advantages, [*on_a, *on_b, 0, 0, 0, 0], atol=2e-6)
    assert not advantages[8:].any()


def test_means_and_deviations_of_the_groups_are_the_worked_ones():
    for rewards, mean, one, none in ((R_A, 0.5, 0.577350, 0.5), (R_B, 0.4, 0.355903, 0.308221)):
        batch = one_turn({"A": rewards})
        centred = flat(GroupRelative(everything, divide_by_deviation=False)(batch))
        np.testing.assert_allclose(np.array(rewards) - centred, mean, atol=1e-12)
        for ddof, deviation in ((1, one), (0, none)):
            scaled = flat(GroupRelative(everything, ddof=ddof, epsilon=1e-12)(batch))
            np.testing.assert_allclose(scaled * deviation, centred, atol=1e-6)


def test_batch_normalisation_is_a_group_of_everything():
    advantages = flat(GroupRelative(everything, epsilon=1e-5)(one_turn(ABC)))
    np.testing.assert_allclose(advantages[:4], [0.818634, -1.414004, -1.414004, 0.818634], atol=1e-6)


@pytest.mark.parametrize(
    ("estimate", "on_a", "on_b"),
    [
        (
            Whitened(Unbaselined(RewardToGo())),
            [1.389978, -0.986053, -0.986053, 1.389978],
            [-0.510847, 1.152375, -0.035640, -0.748450],
        ),
        (
            Whitened(GroupRelative(by_task_and_role, divide_by_deviation=False)),
            [1.221383, -1.061576, -1.061576, 1.221383],
            [-0.376688, 1.221383, 0.079904, -0.604984],
        ),
        (
            Whitened(GroupRelative(by_task_and_role, divide_by_deviation=False), ddof=0),
            [1.253113, -1.089154, -1.089154, 1.253113],
            [-0.386474, 1.253113, 0.081979, -0.620701],
        ),
    ],
    ids=["REINFORCE++", "REINFORCE++-baseline", "biased variance"],
)
def test_whitening_over_tokens_has_the_worked_numbers(estimate, on_a, on_b):
    advantages = flat(estimate(one_turn({"A": R_A, "B": R_B}, LENGTHS)))
    np.testing.assert_allclose(advantages, [*on_a, *on_b], atol=2e-6)


def test_a_tiny_deviation_is_amplified_unless_it_has_a_floor():
    batch = one_turn({"A": [0.5, 0.5, 0.5, 0.5001]})
    amplified = flat(GroupRelative(by_task_and_role)(batch))
    np.testing.assert_allclose(amplified, [-0.490196] * 3 + [1.470588], atol=1e-6)
    floored = flat(GroupRelative(by_task_and_role, deviation_floor=0.01)(batch))
    np.testing.assert_allclose(floored, np.array([-0.25, -0.25, -0.25, 0.75]) * 1e-4 / (0.01 + 1e-6))


@pytest.mark.parametrize(
    "estimate",
    [
        GroupRelative(by_task_and_role),
        GroupRelative(by_task_and_role, divide_by_deviation=False),
        LeaveOneOut(by_task_and_role),
        Whitened(Unbaselined()),
    ],
)
def test_a_sample_alone_under_its_key_has_no_advantage(estimate):
    np.testing.assert_array_equal(flat(estimate([trajectory(0.5)])), [0.0])


@pytest.mark.parametrize(
    "estimate",
    [
        Unbaselined(),
        GroupRelative(by_task_and_role),
        LeaveOneOut(by_task_and_role),
        MovingBaseline(),
        centred_turns(),
        Whitened(Unbaselined()),
    ],
)
def test_no_trajectories_make_no_advantages(estimate):
    assert estimate([]) == []


def test_an_even_group_gets_exactly_zero():
    batch = one_turn({"A": [0.1] * 3, "B": [0.7] * 7})
    for estimate in (
        GroupRelative(by_task_and_role),
        LeaveOneOut(by_task_and_role),
        Whitened(Unbaselined(), by_task_and_role),
    ):
        assert not flat(estimate(batch)).any()


def test_settings_without_effect_are_refused():
    with pytest.raises(RedQueenError, match="divide_by_deviation=True"):
        GroupRelative(by_role, divide_by_deviation=False, ddof=0)
    with pytest.raises(RedQueenError, match="epsilon must be positive"):
        GroupRelative(by_role, epsilon=0.0)
    with pytest.raises(RedQueenError, match="decay"):
        MovingBaseline(decay=1.0)


# --- properties (rl_algorithms.md a.4) -------------------------------------------------------

REWARDS = st.lists(st.integers(-300, 300).map(lambda number: number / 100), min_size=2, max_size=6)
BATCHES = st.dictionaries(st.sampled_from("ABCD"), REWARDS, min_size=1)
ESTIMATORS = [
    GroupRelative(by_task_and_role),
    GroupRelative(by_task_and_role, divide_by_deviation=False),
    GroupRelative(by_task_and_role, deviation_key=everything),
    LeaveOneOut(by_task_and_role),
]
WHITENED = [Whitened(Unbaselined()), Whitened(LeaveOneOut(by_task_and_role))]


@given(BATCHES, st.randoms(use_true_random=False))
def test_permuting_trajectories_permutes_advantages(groups, random):
    batch = one_turn(groups)
    order = list(range(len(batch)))
    random.shuffle(order)
    for estimate in ESTIMATORS + WHITENED:
        straight, shuffled = flat(estimate(batch)), flat(estimate([batch[i] for i in order]))
        np.testing.assert_allclose(shuffled, straight[order], atol=1e-7)


@given(BATCHES, st.floats(-5, 5), st.floats(0.5, 4))
def test_a_constant_added_to_a_group_changes_nothing_and_grpo_has_no_scale(groups, constant, scale):
    batch = one_turn(groups)
    shifted = one_turn({name: [r + constant for r in rewards] for name, rewards in groups.items()})
    for estimate in (*ESTIMATORS[1:], WHITENED[1]):
        np.testing.assert_allclose(flat(estimate(shifted)), flat(estimate(batch)), atol=1e-6)
    scaled = one_turn({name: [r * scale for r in rewards] for name, rewards in groups.items()})
    grpo = GroupRelative(by_task_and_role, epsilon=1e-12)
    np.testing.assert_allclose(flat(grpo(scaled)), flat(grpo(batch)), atol=1e-6)


@given(BATCHES)
def test_group_advantages_sum_to_zero_and_leave_one_out_is_scaled_dr_grpo(groups):
    batch = one_turn(groups)
    for estimate in ESTIMATORS:
        advantages = iter(flat(estimate(batch)))
        for rewards in groups.values():
            assert abs(sum(next(advantages) for _ in rewards)) < 1e-6
    undivided = flat(ESTIMATORS[1](batch))
    sizes = np.array([len(rewards) for rewards in groups.values() for _ in rewards])
    np.testing.assert_allclose(flat(ESTIMATORS[3](batch)), undivided * sizes / (sizes - 1), atol=1e-12)


@given(REWARDS)
def test_turn_level_leave_one_out_of_one_turn_is_leave_one_out(rewards):
    batch = one_turn({"A": rewards})
    turn_level = LeaveOneOut(by_task_role_and_turn, RewardToGo())
    np.testing.assert_array_equal(flat(turn_level(batch)), flat(LeaveOneOut(by_task_and_role)(batch)))


@given(REWARDS, st.integers(2, 4))
def test_turn_level_leave_one_out_of_a_last_reward_is_that_of_the_trajectory(rewards, turns):
    batch = [trajectory([0.0] * (turns - 1) + [reward]) for reward in rewards]
    turn_level = LeaveOneOut(by_task_role_and_turn, RewardToGo())(batch)
    for ours, theirs in zip(turn_level, LeaveOneOut(by_task_and_role)(batch), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@given(
    st.lists(st.tuples(st.floats(-2, 2), st.booleans()), min_size=1, max_size=8),
    st.floats(0.0, 1.0),
)
def test_gae_without_values_is_reward_to_go_across_gaps(steps, discount):
    mask = np.array([inside for _, inside in steps])
    rewards = np.array([reward if inside else 0.0 for reward, inside in steps])
    garbage = np.where(mask, 0.0, 1e9)  # a value outside the mask means nothing
    advantages = generalized_advantages(rewards, garbage, mask, discount, 1.0)
    to_go = RewardToGo(discount)(trajectory(rewards[mask])) if mask.any() else np.zeros(0)
    np.testing.assert_allclose(advantages[mask], to_go, atol=1e-12)
    assert not advantages[~mask].any()


# --- example 7: turn-level leave-one-out -----------------------------------------------------

THREE = [trajectory([0.0, 0.5, 1.0]), trajectory([0.2, 0.0]), trajectory([0.0, 1.0, 0.0])]


@pytest.mark.parametrize(
    ("discount", "expected"),
    [
        (1.0, ([0.9, 1.0, 1.0], [-1.05, -1.25], [0.15, 0.25, -1.0])),
        (0.5, ([0.15, 0.5, 1.0], [-0.30, -1.0], [0.15, 0.5, -1.0])),
    ],
)
def test_turn_level_leave_one_out_has_the_worked_numbers(discount, expected):
    advantages = LeaveOneOut(by_task_role_and_turn, RewardToGo(discount))(THREE)
    for ours, theirs in zip(advantages, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_reward_to_go_sums_what_is_to_come():
    returns = [RewardToGo()(each).tolist() for each in THREE]
    assert returns == [[1.5, 1.5, 1.0], [0.2, 0.0], [1.0, 1.0, 0.0]]
    assert [total(each).tolist() for each in THREE] == [[1.5], [0.2], [1.0]]


# --- example 6: GAE and returns across an observation ----------------------------------------

GAP = {"rewards": np.array([0.0, 0, 0, 0, 1]), "mask": np.array([1, 1, 0, 1, 1])}
VALUES = np.array([0.1, 0.2, 9.0, 0.4, 0.5])


@pytest.mark.parametrize(
    ("discount", "decay", "expected"),
    [(1.0, 1.0, [0.9, 0.8, 0.0, 0.6, 0.5]), (0.9, 0.8, [0.407744, 0.455200, 0.0, 0.41, 0.5])],
)
def test_gae_carries_over_what_lies_between(discount, decay, expected):
    for between in (9.0, -1e12):
        values = np.where(GAP["mask"], VALUES, between)
        advantages = generalized_advantages(values=values, discount=discount, decay=decay, **GAP)
        np.testing.assert_allclose(advantages, expected, atol=1e-9)


def test_returns_are_not_reset_at_an_observation():
    for discount, expected in ((1.0, [1, 1, 0, 1, 1]), (0.9, [0.729, 0.81, 0, 0.9, 1.0])):
        returns = generalized_advantages(values=np.zeros(5), discount=discount, decay=1.0, **GAP)
        np.testing.assert_allclose(returns, expected, atol=1e-12)


def test_a_reward_outside_the_mask_is_refused():
    with pytest.raises(AssertionError, match="would be lost"):
        generalized_advantages(np.array([0.0, 1.0]), np.zeros(2), np.array([1, 0]), 1.0, 1.0)


class Remembered:
    """A critic with fixed opinions."""

    def __init__(self, *values):
        self.given = [np.array(value) for value in values]

    def values(self, trajectories):
        return self.given

    def update(self, trajectories, targets):
        raise AssertionError("nothing is learned here")

    def state(self):
        return {}

    def restore(self, state):
        pass


def test_generalized_advantage_over_turns_has_the_worked_numbers():
    batch = [trajectory([0.0, 0, 0, 1])]
    estimate = GeneralizedAdvantage(Remembered([0.1, 0.2, 0.4, 0.5]), discount=0.9, decay=0.8)
    np.testing.assert_allclose(estimate(batch)[0], [0.407744, 0.4552, 0.41, 0.5], atol=1e-9)
    advantages, targets = estimate.with_targets(batch)
    np.testing.assert_array_equal(advantages[0], estimate(batch)[0])
    np.testing.assert_allclose(targets[0], [0.507744, 0.6552, 0.81, 1.0], atol=1e-9)
    np.testing.assert_array_equal(Whitened(lambda _: advantages)(batch)[0], Whitened(estimate)(batch)[0])
    whitened = Whitened(estimate)(batch)[0]
    np.testing.assert_allclose(whitened, [-0.812134, 0.273762, -0.760512, 1.298884], atol=1e-6)


def test_gae_with_the_mean_as_critic_is_the_turn_level_estimator_of_mars():
    batch = [trajectory([1.0, 0.5]), trajectory([0.0, -1.0])]
    mean = flat([RewardToGo()(each) for each in batch]).mean()
    critic = Remembered([mean] * 2, [mean] * 2)
    np.testing.assert_allclose(flat(GeneralizedAdvantage(critic)(batch)), flat(centred_turns()(batch)), atol=1e-12)


# --- RAE -------------------------------------------------------------------------------------


def test_moving_baseline_reads_before_it_writes():
    estimate = MovingBaseline(decay=0.5)
    advantages = estimate([trajectory([0.0, 1.0]), trajectory(1.0), trajectory(-1.0)])
    # b: 0 -> 0.5 -> 0.75 -> -0.125
    np.testing.assert_array_equal(advantages[0], [1.0, 1.0])
    np.testing.assert_array_equal(advantages[1], [0.5])
    np.testing.assert_array_equal(advantages[2], [-1.75])
    assert estimate.baseline(("kuhn_poker", "first")) == -0.125


def test_moving_baseline_keeps_one_average_for_each_game_and_role():
    estimate = MovingBaseline(decay=0.9)
    estimate([trajectory(1.0), trajectory(-1.0, seat=SECOND), trajectory(4.0, game="mini_hanabi")])
    assert estimate.baseline(("kuhn_poker", "first")) == pytest.approx(0.1)
    assert estimate.baseline(("kuhn_poker", "second")) == pytest.approx(-0.1)
    assert estimate.baseline(("mini_hanabi", "first")) == pytest.approx(0.4)
    assert estimate.baseline(("mini_hanabi", "second")) == 0.0


def test_moving_baseline_reads_all_turns_of_a_trajectory_before_it_writes_any():
    estimate = MovingBaseline(by_game_and_role, decay=0.5, returns=RewardToGo())
    np.testing.assert_array_equal(estimate([trajectory([1.0, 2.0])])[0], [3.0, 2.0])
    assert estimate.baseline(("kuhn_poker", "first")) == 0.5 * (0.5 * 3.0) + 0.5 * 2.0


def test_half_of_a_moving_baseline_is_forgotten_after_its_half_life():
    for decay, half_life in ((0.9, 6.6), (0.95, 13.5), (0.999, 693)):
        assert np.log(0.5) / np.log(decay) == pytest.approx(half_life, rel=0.005)
    estimate = MovingBaseline(everything, decay=0.95)
    estimate([trajectory(1.0)] * 13)
    below = estimate.baseline(())
    estimate([trajectory(1.0)])
    assert below < 0.5 < estimate.baseline(())


def test_a_debiased_baseline_of_a_constant_is_that_constant_at_once():
    estimate = MovingBaseline(decay=0.95, debias=True)
    advantages = flat(estimate([trajectory(0.7)] * 5))
    np.testing.assert_allclose(advantages, [0.7, 0, 0, 0, 0], atol=1e-12)


def test_no_advantage_is_left_where_the_baseline_equals_the_reward():
    estimate = MovingBaseline(everything)
    estimate.restore({"averages": [[[], 0.25, 3]]})
    assert estimate([trajectory(0.25)])[0].tolist() == [0.0]


@given(st.lists(st.tuples(st.floats(-10, 10), st.sampled_from([FIRST, SECOND])), max_size=12))
def test_moving_baseline_resumes_bit_for_bit_through_json(results):
    batch = [trajectory(reward, seat=seat) for reward, seat in results]
    straight, resumed = MovingBaseline(by_game_role_and_turn), MovingBaseline(by_game_role_and_turn)
    straight(batch)
    resumed([trajectory(123.0)])  # what it knew is forgotten
    resumed.restore(json.loads(json.dumps(straight.state())))
    assert flat([*straight(batch), []]).tolist() == flat([*resumed(batch), []]).tolist()
    assert resumed.state() == straight.state()


def test_nested_keys_survive_json():
    estimate = MovingBaseline(by_information_state)
    estimate([trajectory(1.0)])
    again = MovingBaseline(by_information_state)
    again.restore(json.loads(json.dumps(estimate.state())))
    assert again([trajectory(1.0)])[0].tolist() == [0.95]


def test_a_constant_added_for_one_role_leaves_no_trace_once_the_baseline_has_learned_it():
    batch = [trajectory(reward) for reward in (1.0, -1.0) * 200]
    bonus = [trajectory(reward + 1.0) for reward in (1.0, -1.0) * 200]
    plain, shifted = flat(MovingBaseline()(batch)), flat(MovingBaseline()(bonus))
    np.testing.assert_allclose(shifted[-50:], plain[-50:], atol=1e-6)


# --- MARS, worked by hand --------------------------------------------------------------------


def hand_worked():
    """Two matches of three turns: first, second, first.

    Match 1: second's move costs first 1 and wins 1; first's last move wins 3 from second.
    Match 2: first's last move loses 2 to second. Every reply is well formed but first's last in match 2.
    """

    def turn(seat, text="bet"):
        return Turn(Ask(seat, (), ("bet",)), Reply(text, "learner"))

    def match(fell, scores, last="bet"):
        turns = (turn(FIRST), turn(SECOND), turn(FIRST, last))
        return Episode("duel", Task("t"), 0, turns, Outcome(scores, {"gains": fell}), (FIRST, SECOND))

    return [
        match(((1, {"first": -1, "second": 1}), (2, {"first": 3, "second": -3})), {FIRST: 2, SECOND: -2}),
        match(((2, {"first": -2, "second": 2}),), {FIRST: -2, SECOND: 2}, last="?"),
    ]


def test_turn_level_credit_of_a_hand_worked_match():
    trajectories = score(hand_worked(), gains, FormatBonus(0.05))
    rewards = [each.rewards.tolist() for each in trajectories]
    assert rewards == [[-0.95, 3.05], [-1.95], [0.05, -2.0], [2.05]]
    # first, to go: 2.1, 3.05 and -1.95, -2.0, mean 0.3; second, to go: -1.95 and 2.05, mean 0.05
    expected = [[1.8, 2.75], [-2.0], [-2.25, -2.3], [2.0]]
    for ours, theirs in zip(centred_turns()(trajectories), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_without_agent_specific_normalisation_the_roles_share_one_mean():
    trajectories = score(hand_worked(), gains, FormatBonus(0.05))
    # to go: 2.1, 3.05, -1.95, -1.95, -2.0, 2.05, mean 1.3 / 6
    expected = np.array([2.1, 3.05, -1.95, -1.95, -2.0, 2.05]) - 1.3 / 6
    np.testing.assert_allclose(flat(centred_turns(everything)(trajectories)), expected, atol=1e-12)


def test_turn_level_and_match_level_credit_agree_where_only_the_end_is_rewarded():
    trajectories = [each for each in score(hand_worked(), payoff) if each.seat == FIRST]
    whole = GroupRelative(by_game_and_role, divide_by_deviation=False)(trajectories)
    np.testing.assert_allclose(flat(centred_turns()(trajectories)), flat(whole), atol=1e-12)


def test_reward_to_go_halves_the_variance_of_credit_for_independent_turns():
    # four turns each worth +-1 on its own: a copy of the match return has variance 4, reward-to-go (4 + 1) / 2
    rng = np.random.default_rng(0)
    batch = [trajectory(rewards) for rewards in rng.choice([-1.0, 1.0], size=(4000, 4))]
    copies, to_go = flat(Unbaselined()(batch)), flat(Unbaselined(RewardToGo())(batch))
    assert copies.var() == pytest.approx(4.0, rel=0.1)
    assert to_go.var() == pytest.approx(2.5, rel=0.1)


# --- keys and counts -------------------------------------------------------------------------


def test_keys_name_what_is_compared():
    one = trajectory([0.0, 1.0], task="j-k", seat=SECOND, kind="deal", seed=5)
    assert everything(one, 1) == ()
    assert by_role(one, 1) == ("second",)
    assert by_game(one, 1) == ("kuhn_poker",)
    assert by_game_and_role(one, 1) == ("kuhn_poker", "second")
    assert by_game_role_and_turn(one, 1) == ("kuhn_poker", "second", 1)
    assert by_kind_and_role(one, 1) == ("kuhn_poker", "deal", "second")
    assert by_task_and_role(one, 1) == ("kuhn_poker", "j-k", "second")
    assert by_task_role_and_turn(one, 1) == ("kuhn_poker", "j-k", "second", 1)
    assert by_match(one, 1) == ("kuhn_poker", "j-k", 5)
    assert by_information_state(one, 1) == ("kuhn_poker", "second", 0, ("game", "turn 1"))


def test_chairs_of_one_role_are_compared_with_each_other():
    batch = [trajectory(1.0, seat=Seat("guesser")), trajectory(0.0, seat=Seat("guesser", 1))]
    np.testing.assert_array_equal(flat(LeaveOneOut(by_task_and_role)(batch)), [1.0, -1.0])


def test_scripted_words_count_once_in_whitening():
    batch = [trajectory([1.0, 0.0], tokens=[0, 0]), trajectory([-1.0], tokens=[0])]
    by_words, by_each = Whitened(Unbaselined(RewardToGo())), Whitened(Unbaselined(RewardToGo()), count=by_turns)
    np.testing.assert_allclose(flat(by_words(batch)), [1.0, 0.0, -1.0], atol=1e-7)
    np.testing.assert_array_equal(flat(by_words(batch)), flat(by_each(batch)))


def test_whitening_by_role_is_done_for_each_role_alone():
    batch = [trajectory(r) for r in (1.0, 3.0)] + [trajectory(r, seat=SECOND) for r in (-10.0, -30.0)]
    root = np.sqrt(0.5)
    np.testing.assert_allclose(flat(Whitened(Unbaselined(), by_role)(batch)), [-root, root, root, -root], atol=1e-6)


# --- examples 1 and 3: OPO, pass@k, GDPO -----------------------------------------------------

A_AND_B = {"A": [1.0, 0.0, 0.0, 1.0], "B": [0.2, 0.9, 0.4, 0.1]}
LONG = [2, 4, 3, 1]


def numbers_of(estimator, given):
    return np.concatenate(estimator(given)).tolist()


def test_a_baseline_weighted_by_length_has_the_worked_numbers():
    found = numbers_of(LengthWeighted(by_task_and_role), one_turn(A_AND_B, LONG))
    assert found == pytest.approx([0.7, -0.3, -0.3, 0.7, -0.33, 0.37, -0.13, -0.43])
    assert np.dot(found[:4], LONG) == pytest.approx(0.0)


def test_only_the_best_of_a_group_is_credited_with_its_lead():
    given = one_turn(A_AND_B, LONG)
    assert numbers_of(BestOnly(by_task_and_role), given) == pytest.approx([0, 0, 0, 0, 0, 0.5, 0, 0])
    divided = numbers_of(BestOnly(by_task_and_role, divide_by_deviation=True), given)
    assert divided == pytest.approx([0, 0, 0, 0, 0, 1.404875, 0, 0], abs=1e-6)
    assert numbers_of(BestOnly(by_task_and_role), one_turn({"A": [1.0]})) == [0.0]


def test_parts_of_a_reward_are_compared_by_themselves():
    parts = zip([1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 0.0, 1.0], LONG, strict=True)
    given = [
        replace(trajectory(right + form, length), parts={"acc": np.array([right]), "fmt": np.array([form])})
        for right, form, length in parts
    ]
    each = EachPart(GroupRelative(by_task_and_role))
    assert numbers_of(each, given) == pytest.approx([1.366023, -0.366025, -2.366021, 1.366023], abs=1e-6)
    assert numbers_of(Whitened(each), given) == pytest.approx([1.188347, 0.052705, -1.258621, 1.188347], abs=1e-6)
    with pytest.raises(RedQueenError, match="this reward has one part: take --estimator group"):
        each(one_turn(A_AND_B))


def test_parts_are_compared_among_those_who_have_them():
    """By hand: two solvers of parts task and form, two proposers of parts difficulty and form, one role a group; a
    judge with one part counts it as its task. Half over the deviation of 0 and 1 is 0.707107."""
    half = 0.5 / (np.sqrt(0.5) + 1e-6)

    def paid(of, **parts):
        whole = trajectory(sum(parts.values()), task=of)
        return replace(whole, parts={name: np.array([value]) for name, value in parts.items()})

    solvers = [paid("solver", task=1.0, form=1.0), paid("solver", task=0.0, form=1.0)]
    proposers = [paid("proposer", difficulty=0.0, form=1.0), paid("proposer", difficulty=1.0, form=0.0)]
    judges = one_turn({"judge": [1.0, 0.0]})
    found = numbers_of(EachPart(GroupRelative(by_task_and_role)), [*solvers, *proposers, *judges])
    assert found == pytest.approx([half, -half, 0.0, 0.0, half, -half], abs=1e-6)


def test_shifted_alone_the_mean_over_words_is_zero():
    """By hand: 1 in two words and 0 in six have a mean of 1/4."""
    given = one_turn({"A": [1.0, 0.0]}, [2, 6])
    assert numbers_of(Whitened(Unbaselined(), divide_by_deviation=False), given) == [0.75, -0.25]
