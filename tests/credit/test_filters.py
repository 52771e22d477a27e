import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from redqueen.credit.advantages.keys import by_task_and_role
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.filters import (
    drop_even_groups,
    drop_truncated,
    mute_truncated,
    own_score,
    paid_or_score,
    rows_with_advantage,
)
from redqueen.games.single_reply import SingleReply
from redqueen.objectives.additive import Sum
from redqueen.objectives.batch import take
from redqueen.objectives.policy_gradient import ClippedRatio, Reinforce
from redqueen.objectives.regularizers import EntropyBonus
from redqueen.types import Ask, Batch, Episode, Likelihoods, Outcome, Reply, Seat, Task, Trajectory, Turn

SEAT = Seat("solver")


def trajectory(score, task="a", truncated=(False,), bonus=0.0, game="sums"):
    turns = tuple(Turn(Ask(SEAT, ()), Reply("", "learner", truncated=cut)) for cut in truncated)
    episode = Episode(game, Task(task), 0, turns, Outcome({SEAT: score}), (SEAT,))
    rewards = np.zeros(len(turns))
    rewards[-1] = score + bonus
    return Trajectory(episode, SEAT, turns, rewards)


def test_truncated_trajectories_are_dropped_whole():
    cut, whole = trajectory(0.0, truncated=(False, True)), trajectory(1.0, truncated=(False, False))
    assert drop_truncated([cut, whole]) == [whole]


def test_muted_turns_are_still_counted_in_their_group():
    batch = [trajectory(0.0, truncated=(False, True)), trajectory(1.0)]
    advantages = GroupRelative(by_task_and_role, divide_by_deviation=False)(batch)
    muted = mute_truncated(batch, advantages)
    assert [each.tolist() for each in muted] == [[-0.5, 0.0], [0.5]]


def test_a_muted_turn_without_a_verdict_stays_without_one():
    batch = [trajectory(0.0, truncated=(True,)), trajectory(1.0)]
    muted = mute_truncated(batch, [np.array([np.nan]), np.array([0.5])])
    assert np.isnan(muted[0]).all()
    assert muted[1].tolist() == [0.5]


def test_even_groups_are_dropped_and_lone_trajectories_kept():
    even = [trajectory(1.0, "even"), trajectory(1.0, "even")]
    mixed = [trajectory(1.0, "mixed"), trajectory(0.0, "mixed")]
    lone = [trajectory(0.0, "lone")]
    assert drop_even_groups([*even, *mixed, *lone], by_task_and_role) == [*mixed, *lone]


def test_a_group_is_even_by_the_score_of_the_game_and_not_by_its_shaping():
    shaped = [trajectory(1.0, bonus=0.1), trajectory(1.0, bonus=0.0)]
    assert drop_even_groups(shaped, by_task_and_role) == []
    assert drop_even_groups(shaped, by_task_and_role, lambda each: float(each.rewards.sum())) == shaped
    assert own_score(shaped[0]) == 1.0


def test_what_has_no_result_of_its_own_is_told_apart_by_its_reward():
    """A proposal is paid by the tries at its task: the episode itself scores nothing."""
    proposals = [trajectory(0.0, bonus=each, game=SingleReply("proposer").name) for each in (0.5, 0.0)]
    assert drop_even_groups(proposals, by_task_and_role) == []
    assert drop_even_groups(proposals, by_task_and_role, paid_or_score) == proposals
    assert paid_or_score(trajectory(1.0, bonus=0.1)) == 1.0


def test_a_lost_match_is_lost_whatever_else_is_paid():
    """A score of 0 is a result: the all-lost group is as even as the all-won one."""
    for score in (0.0, 1.0):
        group = [trajectory(score, bonus=each) for each in (0.05, 0.05, 0.0)]
        assert list(map(paid_or_score, group)) == [score] * 3
        assert drop_even_groups(group, by_task_and_role, paid_or_score) == []


def test_a_verdict_counts_before_the_score_of_a_game_that_gives_none():
    right, wrong, unknown = (trajectory(0.0) for _ in range(3))
    for each, verdict in ((right, True), (wrong, False), (unknown, None)):
        object.__setattr__(each.episode.outcome, "facts", {"right": verdict})
    assert drop_even_groups([right, wrong, unknown], by_task_and_role) == [right, wrong, unknown]
    assert drop_even_groups([unknown, unknown], by_task_and_role) == []


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0.0, 1.0])), max_size=12))
def test_whatever_is_kept_would_have_had_an_advantage(results):
    kept = drop_even_groups([trajectory(score, task) for task, score in results], by_task_and_role)
    groups = {}
    for each in kept:
        groups.setdefault(each.episode.task.id, []).append(each)
    for group in groups.values():
        advantages = np.concatenate(GroupRelative(by_task_and_role)(group))
        assert len(group) == 1 or advantages.all()


def four_rows():
    generator = torch.Generator().manual_seed(0)
    sampled = -torch.rand(4, 3, generator=generator, dtype=torch.float64)
    batch = Batch(
        tokens=torch.zeros(4, 3, dtype=torch.int64),
        loss_weights=torch.tensor([[1, 1, 0], [1, 1, 1], [1, 0, 0], [0, 1, 1]], dtype=torch.float64) / 8,
        sampled_logprobs=sampled,
        # the second row pushes nothing, the third only where it has no weight
        advantages=torch.tensor([[1, 1, 0], [0, 0, 0], [0, 5, 5], [0, -2, 0]], dtype=torch.float64),
        versions=torch.zeros(4, 3, dtype=torch.int64),
        recited=torch.zeros_like(torch.zeros(4, 3, dtype=torch.int64), dtype=torch.bool),
        lengths=torch.full((4,), 3),
        trajectory=torch.arange(len(((),) * 4)),
        constraints=((),) * 4,
    )
    now = (sampled + 0.3 * torch.randn(4, 3, generator=generator, dtype=torch.float64)).requires_grad_()
    return batch, now


def likelihoods(logprobs):
    return Likelihoods(logprobs, -logprobs * logprobs.exp())


@pytest.mark.parametrize("objective", [Reinforce(), ClippedRatio()])
def test_rows_without_advantage_can_be_left_out_exactly(objective):
    batch, now = four_rows()
    rows = rows_with_advantage(batch)
    assert rows.tolist() == [0, 3]
    whole, _ = objective(likelihoods(now), batch)
    part, _ = objective(likelihoods(now[rows]), take(batch, rows))
    (of_whole,), (of_part,) = torch.autograd.grad(whole, now), torch.autograd.grad(part, now)
    torch.testing.assert_close(part, whole)
    torch.testing.assert_close(of_part, of_whole)


def test_with_an_entropy_bonus_leaving_rows_out_is_not_exact():
    batch, now = four_rows()
    objective = Sum(Reinforce(), EntropyBonus(0.1))
    rows = rows_with_advantage(batch)
    whole, _ = objective(likelihoods(now), batch)
    part, _ = objective(likelihoods(now[rows]), take(batch, rows))
    assert abs(float((whole - part).detach())) > 1e-3
