from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.credit.learnability import Bell, ReturnVariance
from redqueen.curricula.draws import (
    ByCredit,
    ByLearnability,
    ByRank,
    ByStaleness,
    Distinct,
    Independent,
    Mixture,
    NewestFirst,
    Recency,
    Uniform,
    best_minus_mean,
    best_minus_second,
    best_minus_worst,
    by_regret,
    chances,
    prioritized_level_replay,
)
from redqueen.curricula.history import TaskHistory, after
from redqueen.types import RedQueenError, Task


def held(*added: int) -> list[TaskHistory]:
    return [TaskHistory(Task(str(place)), added=step) for place, step in enumerate(added)]


def tried(*results: tuple[float, ...]) -> list[TaskHistory]:
    return [
        after(history, scores, 0, 0, 0.5, 16) if scores else history
        for history, scores in zip(held(*[0] * len(results)), results, strict=True)
    ]


def variance(scores: np.ndarray) -> float:
    return float(scores.var())


class Fixed:
    def __init__(self, *weights: float) -> None:
        self.weights = np.array(weights)

    def __call__(self, held, now):
        return self.weights


def test_chances_are_the_policy_times_the_tasks_own_weight():
    tasks = [
        replace(each, task=replace(each.task, weight=own)) for each, own in zip(held(0, 0, 0), (1, 2, 0), strict=True)
    ]
    assert chances(Fixed(3, 1, 9), tasks, 0).tolist() == [0.6, 0.4, 0.0]


def test_where_nothing_is_wanted_the_own_weights_decide():
    tasks = [replace(each, task=replace(each.task, weight=own)) for each, own in zip(held(0, 0), (1, 3), strict=True)]
    assert chances(Fixed(0, -1), tasks, 0).tolist() == [0.25, 0.75]
    with pytest.raises(RedQueenError, match="all the tasks held are 0"):
        chances(Uniform(), [TaskHistory(Task("a", weight=0.0))], 0)


def test_a_weight_that_is_not_a_number_names_its_task():
    with pytest.raises(RedQueenError, match="task '1' a weight"):
        chances(Fixed(1, float("nan")), held(0, 0), 0)


def test_independent_draws_follow_the_chances():
    drawn = Counter(Independent(Fixed(1, 0, 3))(held(0, 0, 0), 8000, 0, Random(0)))
    assert drawn[0] == pytest.approx(2000, abs=120) and drawn[1] == 0 and drawn[0] + drawn[2] == 8000


def test_distinct_draws_no_task_twice_and_none_without_weight():
    for seed in range(50):
        drawn = Distinct(Fixed(1, 0, 3, 2))(held(0, 0, 0, 0), 6, 0, Random(seed))
        assert sorted(drawn) == [0, 2, 3]


def test_distinct_draws_one_after_another_by_weight():
    firsts, pairs = Counter(), Counter()
    for seed in range(6000):
        first, second = Distinct(Fixed(1, 2, 3))(held(0, 0, 0), 2, 0, Random(seed))
        firsts[first] += 1
        pairs[first, second] += 1
    assert [firsts[i] / 6000 for i in range(3)] == pytest.approx([1 / 6, 2 / 6, 3 / 6], abs=0.02)
    assert pairs[2, 1] / firsts[2] == pytest.approx(2 / 3, abs=0.03)  # 2 is out, so 1 has 2 of 3


def test_newest_come_first_and_the_rest_is_drawn_from_the_older():
    tasks = held(0, 0, 1, 4, 4, 5)
    draw = NewestFirst(Uniform(), age=1)(tasks, 7, 5, Random(0))
    assert draw[:3] == [5, 4, 3]
    assert len(draw) == 7 and set(draw[3:]) <= {0, 1, 2}
    assert set(NewestFirst(Uniform(), age=1)(held(4, 0, 3, 0), 40, 4, Random(0))[2:]) == {1, 3}
    assert NewestFirst(Uniform(), age=0)(tasks, 2, 5, Random(0))[0] == 5
    assert NewestFirst(Uniform(), age=1)(tasks, 2, 5, Random(0)) == [5, 4]


def test_newest_first_fills_up_with_the_new_where_nothing_is_older():
    draw = NewestFirst(Uniform())(held(3, 3), 5, 3, Random(0))
    assert draw[:2] == [1, 0] and len(draw) == 5


def test_newest_first_fills_up_with_the_new_where_nothing_older_has_a_weight():
    old, new = held(0, 3)
    tasks = [replace(old, task=replace(old.task, weight=0.0)), new]
    assert NewestFirst(Uniform())(tasks, 3, 3, Random(0)) == [1, 1, 1]
    with pytest.raises(RedQueenError, match="weights of all the tasks held are 0"):
        NewestFirst(Uniform())(tasks[:1], 2, 3, Random(0))


def test_nothing_is_new_after_steps_without_additions():
    counts = Counter(NewestFirst(Uniform(), age=1)(held(0, 3), 4000, 5, Random(1)))
    assert counts[0] == pytest.approx(2000, abs=130)


def test_recency_halves_with_every_half_life():
    assert Recency(2.0)(held(0, 2, 4), 4).tolist() == [0.25, 0.5, 1.0]
    assert Recency(2.0)(held(0, 2, 4), 90_000).tolist() == [0.25, 0.5, 1.0]  # no underflow in a store that grew old
    with pytest.raises(RedQueenError, match="half_life"):
        Recency(0.0)


def test_learnability_rates_scores_and_is_optimistic_about_the_untried():
    weights = ByLearnability(variance, untried=0.3)
    assert weights(tried((1, 0), (1, 1), (), (1, 0, 0, 0)), 0) == pytest.approx([0.25, 0.0, 0.3, 0.1875])


def test_a_negative_learnability_counts_as_none():
    assert ByLearnability(lambda scores: -0.5)(tried((1, 0)), 0).tolist() == [0.0]


def test_a_prior_shrinks_the_solve_rate():
    weights = ByLearnability(lambda scores: float(scores[0]), untried=0.9, prior=(1.0, 1.0))
    tasks = tried((0, 0), (1,), (), (1, 1, 0.2, 1))
    assert weights(tasks, 0) == pytest.approx([1 / 4, 2 / 3, 0.9, 4 / 6])
    [forgotten] = [after(after(tasks[0], [1, 1], 0, 0, 0.5, 2), [0, 0], 0, 0, 0.5, 2)]
    assert weights([forgotten], 0) == pytest.approx([1 / 4])  # only the latest attempts count
    with pytest.raises(RedQueenError, match="prior"):
        ByLearnability(variance, prior=(0.0, 1.0))


def test_regrets_by_hand():
    scores = np.array([0.2, 0.8, 0.5])
    assert best_minus_worst(scores) == pytest.approx(0.6)
    assert best_minus_mean(scores) == pytest.approx(0.3)
    assert best_minus_second(scores) == pytest.approx(0.3)
    assert best_minus_second(np.array([0.7])) == 0.0


def test_draws_by_regret_match_its_shares():
    """Twenty families with known spreads of reward: chi-squared of 10,000 draws (card 7, test 7)."""
    spreads = np.arange(1, 21) / 20
    tasks = tried(*[(0.0, float(spread) / 2, float(spread)) for spread in spreads])
    expected = 10_000 * spreads / spreads.sum()
    counts = Counter(Independent(by_regret())(tasks, 10_000, 0, Random(3)))
    statistic = sum((counts[place] - expected[place]) ** 2 / expected[place] for place in range(20))
    assert statistic < 36.19  # the 0.99 quantile with 19 degrees of freedom


def test_ranks_and_ties():
    # ranks 2, 1, 3, 1 -> wanted 5, 9, 1, 9: above 5 are two
    assert ByRank(Fixed(5, 9, 1, 9), temperature=1.0)(held(0, 0, 0, 0), 0) == pytest.approx([1 / 3, 1, 1 / 4, 1])
    assert ByRank(Fixed(5, 9), temperature=0.5)(held(0, 0), 0) == pytest.approx([1 / 4, 1])


def test_staleness_counts_from_the_last_result_or_from_the_beginning():
    tasks = [replace(each, last_seen=seen) for each, seen in zip(held(0, 2, 5), (7, None, None), strict=True)]
    assert ByStaleness()(tasks, 10).tolist() == [3.0, 8.0, 5.0]


def test_credit_is_used_as_told():
    tasks = [replace(each, credit=credit) for each, credit in zip(held(0, 0), (0.2, None), strict=True)]
    assert ByCredit(unknown=0.7)(tasks, 0).tolist() == [0.2, 0.7]


def test_a_mixture_adds_shares_and_passes_over_what_wants_nothing():
    mixed = Mixture(((0.9, Fixed(1, 3)), (0.1, Uniform())))(held(0, 0), 0)
    assert mixed == pytest.approx([0.9 / 4 + 0.05, 0.9 * 3 / 4 + 0.05])
    alone = chances(Mixture(((0.9, Fixed(0, 0)), (0.1, Uniform()))), held(0, 0), 0)
    assert alone.tolist() == [0.5, 0.5]
    with pytest.raises(RedQueenError, match="shares"):
        Mixture(((0.0, Uniform()),))


def test_prioritized_level_replay_by_hand():
    tasks = [
        replace(each, last_seen=seen) for each, seen in zip(tried((1, 0), (1, 1), (0.5, 0.1)), (9, 8, 7), strict=True)
    ]
    got = chances(prioritized_level_replay(temperature=1.0, staleness=0.2), tasks, 10)
    ranks = np.array([1, 1 / 3, 1 / 2])  # regrets 0.5, 0, 0.2
    stale = np.array([1, 2, 3])
    assert got == pytest.approx(0.8 * ranks / ranks.sum() + 0.2 * stale / stale.sum())


def test_the_shapes_of_a_solve_rate_take_one_result_or_a_rate():
    """One result tells no rate: the task counts as untried, or is shrunk towards the prior."""
    once, twice = tried((1,)), tried((1, 0))
    assert ByLearnability(Bell(), untried=0.7)(once, 0).tolist() == [0.7]
    assert ByLearnability(Bell(), untried=0.7)(twice, 0).tolist() == [1.0]
    assert ByLearnability(Bell(), prior=(1.0, 2.0))(once, 0).tolist() == [1.0]  # (1 + 1) / (1 + 1 + 2)
    assert ByLearnability(Bell(), prior=(1.0, 1.0))(twice, 0).tolist() == [1.0]
    assert ByLearnability(ReturnVariance(), untried=0.7)(once, 0).tolist() == [0.7]
    with pytest.raises(RedQueenError, match="between 0 and 1"):
        ByLearnability(Bell())(tried((2.0, 1.0)), 0)
