"""What the live view costs, counted."""

import time

from experiments.speed.live_view import Costed, live_view


def test_processor_time_is_counted_where_it_is_spent(tmp_path):
    class Slow:
        def begin(self, run, start, count): ...
        def end(self, run): ...
        def step(self, line):
            began = time.thread_time()
            while time.thread_time() - began < 0.02:
                pass

    costed = Costed(Slow())
    costed.begin(None, 0, 2)
    for _ in range(2):
        costed.step({})
    costed.end(None)
    assert 0.04 <= costed.calls < 0.08
    assert costed.drawing == 0.0 and costed.steps < 0.02


def test_the_share_is_that_of_calls_and_of_drawing():
    costed = Costed(None)
    costed.steps, costed.calls, costed.drawing, costed.passed = 2.0, 0.02, 0.1, 20.0
    assert abs(costed.share - 0.015) < 1e-12


def test_the_view_is_run_in_a_terminal_beside_a_run_without_it():
    headings, rows, _ = live_view(1, steps=5)
    ((name, *figures),) = rows
    assert name == "spiral, tabular, 5 steps" and len(figures) == len(headings) - 1
    assert all(float(figure) > 0.0 for figure in figures[:4]) and figures[4].endswith(")")
