import numpy as np
import pytest

from redqueen.curricula.weaknesses import (
    LearningCurve,
    LearningCurves,
    budgets,
    is_weak,
    slope,
    weak_counts,
    weak_rates,
)
from redqueen.types import Episode, Outcome, RedQueenError, Seat, Task

SOLVER = Seat("solver")


def curve(*accuracy: float, category: str = "c") -> LearningCurve:
    return LearningCurve("t", category, tuple(range(len(accuracy))), accuracy)


def played(name: str, kind: str, score: float) -> Episode:
    return Episode("sums", Task(name, kind), 0, (), Outcome({SOLVER: score}), (SOLVER,))


def test_slopes_by_hand():
    assert slope(curve(0.1, 0.2, 0.3)) == pytest.approx(0.1)
    assert slope(curve(0.4, 0.1, 0.1)) == pytest.approx(-0.15)
    assert slope(LearningCurve("t", "c", (0, 2, 6), (0.0, 0.2, 0.6))) == pytest.approx(0.1)  # epochs may be missing
    with pytest.raises(RedQueenError, match="has 1 epochs"):
        slope(curve(0.1))


def test_weak_is_never_half_and_falling():
    assert is_weak(curve(0.4, 0.3, 0.2))
    assert not is_weak(curve(0.5, 0.3, 0.2))  # it once reached one half
    assert not is_weak(curve(0.1, 0.2, 0.3))
    assert not is_weak(curve(0.0, 0.0, 0.0))  # the paper's rule: not falling
    assert is_weak(curve(0.0, 0.0, 0.0), below=0.001)
    assert not is_weak(curve(0.4, 0.3), least_epochs=3)
    assert not is_weak(curve(0.4))


def simulated(seed: int, falling: bool) -> list[tuple[bool, LearningCurve]]:
    """200 tasks over 10 epochs with noise of deviation 0.1, clipped to [0, 1]; a quarter each, uniform in the ranges:

    unlearned: from 0.2-0.3 down by 0.15-0.2, or staying at 0.05-0.25; learned: 0.1-0.4 up by 0.3-0.65;
    slow, hence never half but rising: 0.05-0.15 up by 0.15-0.25; known and partly forgotten: 0.75-0.95 down by 0-0.2.
    """
    rng = np.random.default_rng(seed)
    along = np.linspace(0.0, 1.0, 10)
    made = []
    for number in range(200):
        truth = [
            rng.uniform(0.2, 0.3) - rng.uniform(0.15, 0.2) * along if falling else rng.uniform(0.05, 0.25) + 0 * along,
            rng.uniform(0.1, 0.4) + rng.uniform(0.3, 0.65) * along,
            rng.uniform(0.05, 0.15) + rng.uniform(0.15, 0.25) * along,
            rng.uniform(0.75, 0.95) - rng.uniform(0.0, 0.2) * along,
        ][number % 4]
        accuracy = np.clip(truth + 0.1 * rng.standard_normal(10), 0.0, 1.0)
        made.append((number % 4 == 0, curve(*accuracy.tolist())))
    return made


def precision_and_recall(falling: bool, **rule: float) -> np.ndarray:
    """[2], the mean of 20 simulations."""
    found = []
    for seed in range(20):
        marks = [(weak, is_weak(each, **rule)) for weak, each in simulated(seed, falling)]
        hits = sum(weak and marked for weak, marked in marks)
        found.append((hits / sum(marked for _, marked in marks), hits / sum(weak for weak, _ in marks)))
    return np.mean(found, axis=0)


def test_falling_tasks_are_found_through_noise():
    assert precision_and_recall(falling=True).min() >= 0.9


def test_of_flat_tasks_the_published_rule_finds_half():
    """Under noise the slope of a flat curve has either sign; `below` finds them, and takes slow learners for weak."""
    precision, recall = precision_and_recall(falling=False)
    assert 0.4 <= recall <= 0.6 and precision >= 0.9
    precision, recall = precision_and_recall(falling=False, below=0.02)
    assert recall >= 0.9 and precision >= 0.6


def test_accuracies_are_means_of_an_epoch():
    curves = LearningCurves()
    curves.observe([played("a", "sums", 1.0), played("a", "sums", 0.0), played("b", "products", 0.0)])
    curves.observe([played("a", "sums", 1.0)])
    curves.end_epoch()
    curves.observe([played("b", "products", 1.0)])
    curves.end_epoch()
    curves.observe([played("b", "products", 0.0)])  # of an epoch that goes on
    assert curves.curves() == [
        LearningCurve("a", "sums", (0,), (pytest.approx(2 / 3),)),
        LearningCurve("b", "products", (0, 1), (0.0, 1.0)),
    ]


def test_what_is_no_accuracy_is_refused_and_none_is_passed_over():
    with pytest.raises(RedQueenError, match="an accuracy is from 0 to 1"):
        LearningCurves().observe([played("a", "sums", -1.0)])
    with pytest.raises(RedQueenError, match="an accuracy is from 0 to 1"):
        LearningCurves().observe([played("a", "sums", float("nan"))])
    unscored = LearningCurves(result=lambda episode: None)
    unscored.observe([played("a", "sums", 1.0)])
    unscored.end_epoch()
    assert unscored.curves() == []


def test_curves_that_were_saved_go_on_like_those_that_were_not():
    whole, first, second = LearningCurves(), LearningCurves(), LearningCurves()
    for curves in (whole, first):
        curves.observe([played("a", "sums", 0.3)])
        curves.end_epoch()
        curves.observe([played("a", "sums", 0.1), played("b", "sums", 0.7)])
    second.restore(first.state())
    for curves in (whole, second):
        curves.observe([played("b", "sums", 0.2)])
        curves.end_epoch()
    assert second.curves() == whole.curves()
    assert second.state() == whole.state()


def test_failures_by_category():
    curves = [
        curve(0.3, 0.1),
        curve(0.3, 0.1),
        curve(0.8, 0.9),
        curve(0.2, 0.1, category="d"),
        curve(0.9, 1.0, category="e"),
    ]
    assert weak_counts(curves) == {"c": 2, "d": 1, "e": 0}
    assert weak_rates(curves) == {"c": pytest.approx(2 / 3), "d": 1.0, "e": 0.0}


def test_budgets_by_hand():
    assert budgets({"a": 1, "b": 2, "c": 3}, 9) == {"a": 2, "b": 3, "c": 4}  # 1.5, 3, 4.5: the first of equals
    assert budgets({"a": 0.1, "b": 0.0, "c": 0.3}, 10) == {"a": 3, "b": 0, "c": 7}  # 2.5, 0, 7.5
    assert budgets({"a": 1, "b": 1, "c": 1}, 100) == {"a": 34, "b": 33, "c": 33}
    assert budgets({"a": 1}, 0) == {"a": 0}


def test_budgets_sum_to_the_total():
    rng = np.random.default_rng(0)
    for _ in range(200):
        failures = {str(place): float(value) for place, value in enumerate(rng.random(rng.integers(1, 13)))}
        total = int(rng.integers(0, 1000))
        shared = budgets(failures, total)
        assert sum(shared.values()) == total
        everything = sum(failures.values())
        assert all(abs(shared[name] - total * failure / everything) < 1 for name, failure in failures.items())


@pytest.mark.parametrize(
    ("failures", "total", "line"),
    [({"a": 0.0}, 5, "no category fails"), ({"a": -1.0}, 5, "failures of 'a'"), ({"a": 1.0}, -1, "at least 0 tasks")],
)
def test_budgets_that_cannot_be_shared_are_refused(failures, total, line):
    with pytest.raises(RedQueenError, match=line):
        budgets(failures, total)
