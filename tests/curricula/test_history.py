import numpy as np
import pytest

from redqueen.curricula.history import TaskHistory, after, history_from_state, history_to_state, storable
from redqueen.types import RedQueenError, Task

NEW = TaskHistory(Task("a"))


def test_results_are_counted_and_the_latest_kept():
    history = after(NEW, [1.0, 0.0, 0.4], step=3, version=7, above=0.5, window=4)
    assert (history.tries, history.solved, history.total) == (3, 1, pytest.approx(1.4))
    assert history.solve_rate == pytest.approx(1 / 3)
    history = after(history, [0.6, 1.0], step=5, version=None, above=0.5, window=4)
    assert history.results == (0.0, 0.4, 0.6, 1.0)
    assert (history.tries, history.solved, history.solve_rate) == (5, 3, 0.5)
    assert (history.last_seen, history.solver_version) == (5, 7)  # a round without a version leaves the last known


def test_a_result_at_the_bound_is_not_solved():
    assert after(NEW, [0.5], 0, 0, above=0.5, window=4).solved == 0


def test_a_task_without_results_has_no_solve_rate():
    assert NEW.solve_rate is None


def test_rounds_without_change_are_counted_until_a_result_differs():
    history = NEW
    counts = []
    for results in ([0.0, 0.0], [0.0], [0.0, 0.0], [1.0], [1.0], [0.0, 1.0]):
        history = after(history, results, 0, 0, above=0.5, window=8)
        counts.append(history.unmoved)
    assert counts == [1, 2, 3, 0, 1, 0]


def test_a_history_reads_back_equal():
    task = storable(Task("a", "kind", "prompt", "answer", {"cards": [1, [2, 3]], "grid": np.eye(2)}, 0.25))
    history = TaskHistory(
        task, "proposer", ("x", "y"), ("ran twice",), 3, 4, 2, 5, 1, 0.1 + 0.2, (0.1, 1.0), 1, 2, 6, 9, 0.3
    )
    assert history_from_state(history_to_state(history)) == history
    assert history_from_state(history_to_state(NEW)) == NEW


def test_storing_makes_tuples_of_lists_and_arrays():
    assert storable(Task("a", facts={"x": [1, [2]], "y": np.array([1.5])})).facts == {"x": (1, (2,)), "y": (1.5,)}


@pytest.mark.parametrize(
    ("task", "line"),
    [
        (Task("a", weight=-1.0), "weight of task 'a'"),
        (Task("a", weight=float("nan")), "weight of task 'a'"),
        (Task("a", facts={"x": {1, 2}}), "facts of task 'a' must be numbers"),
        (Task("a", facts={"x": b"ab"}), "facts of task 'a' must be numbers"),
        (Task("a", facts={"x": [bytearray(b"ab")]}), "facts of task 'a' must be numbers"),
        (Task("a", facts={"x": [{1: "one"}]}), "keys are not all strings"),
    ],
)
def test_tasks_that_would_not_read_back_are_refused(task, line):
    with pytest.raises(RedQueenError, match=line):
        storable(task)
