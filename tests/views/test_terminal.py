"""What a person sees: plain lines in a pipe, a bar in a terminal, curves in text."""

import io
import math
import os
import re
import time

import pytest
from rich.console import Console

from redqueen.progress import stage
from redqueen.recipes.games import spiral
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.views.terminal import Lasting, TerminalView, curve, figures, overview, telling

LINE = {
    "step": 3,
    "exploitability": 0.12345,
    "average_exploitability": 0.2,
    "entropy": 0.5,
    "malformed": 0.0,
    "reward/first": -0.0625,
    "reward/second": 0.0625,
    "time": {"step": 0.5, "measure": 0.0, "at": 0.0},
}


def pipe():
    return Console(file=io.StringIO(), width=80, force_terminal=False)


def terminal(width=80):
    return Console(file=io.StringIO(), width=width, force_terminal=True)


def watched(console, folder, seconds=5.0, steps=3):
    view = TerminalView(console, seconds)
    run = Run(folder, 0, Schedule(), [view])
    spiral.train(spiral.Config(steps=steps, matches_per_step=4), run)
    return console.file.getvalue()


def test_a_pipe_gets_plain_lines_without_control_characters(tmp_path):
    text = watched(pipe(), tmp_path, seconds=0.0)
    assert "\x1b" not in text
    assert "\r" not in text
    lines = text.splitlines()
    assert lines[0] == f"{tmp_path}, seed 0, steps 0 to 3"
    assert [line.split()[1] for line in lines[1:]] == ["1/3", "2/3", "3/3"]
    assert all("exploitability 0.458" in line for line in lines[1:])
    assert "steps/s" in lines[1]
    assert "s left" in lines[1]


def test_a_pipe_gets_the_first_line_and_the_last_at_once_and_the_rest_now_and_then(tmp_path):
    lines = watched(pipe(), tmp_path, seconds=1000.0, steps=20).splitlines()
    assert [line.split()[1] for line in lines[1:]] in (["1/20", "20/20"], ["20/20"])


def test_a_terminal_gets_a_bar_on_one_line_and_the_dashboard_below(tmp_path):
    text = watched(terminal(), tmp_path)
    assert "3/3" in text
    assert "exploitability" in text and "0.4583" in text
    assert text.rstrip("\n").endswith("\x1b[?25h")  # the cursor is shown again


def test_a_run_that_is_stopped_gives_the_terminal_back(tmp_path):
    console = terminal()
    view = TerminalView(console)
    view.begin(Run(tmp_path), 0, 10)
    view.step(LINE)
    assert not console.file.getvalue().endswith("\x1b[?25h")
    view.close()
    view.close()
    assert console.file.getvalue().rstrip("\n").endswith("\x1b[?25h")


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_run_goes_on_when_its_terminal_is_gone(tmp_path, is_terminal):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as gone:
        view = TerminalView(Console(file=Lasting(gone), force_terminal=is_terminal), seconds=0.0)
        spiral.train(spiral.Config(steps=3, matches_per_step=4), Run(tmp_path, 0, Schedule(), [view]))
    assert len(read_metrics(tmp_path)) == 3


def test_what_a_run_shows_is_printed_before_its_first_step(tmp_path):
    console = pipe()
    run = Run(tmp_path, 0, Schedule(), [TerminalView(console, 0.0)])
    run.show("payoffs", "[seed]  +2")
    spiral.train(spiral.Config(steps=1, matches_per_step=4), run)
    text = console.file.getvalue()
    assert "payoffs:\n[seed]  +2\n" in text
    assert text.index("[seed]  +2") < text.index("step 1/1")


def test_a_folder_with_brackets_is_shown_as_it_is(tmp_path):
    console = pipe()
    TerminalView(console).begin(Run(tmp_path / "[red]x[/red]"), 0, 1)
    assert "[red]x[/red], seed 0" in console.file.getvalue()


def test_figures_come_in_a_fixed_order_under_short_names():
    assert figures(LINE) == "exploitability 0.123  of the average 0.2  entropy 0.5  first -0.06  second +0.06"


def test_rewards_of_several_learners_are_shown_under_role_or_learner_and_role():
    line = {"solver/reward/solver": 0.5, "main/reward/player": -0.25, "accuracy": 0.125, "unreward/x": 1.0}
    assert figures(line) == "accuracy 0.125  solver +0.50  main/player -0.25"


def test_an_alarm_is_told_in_words_once_and_named_while_it_rings(tmp_path):
    view, run = TerminalView(pipe(), 0.0), Run(tmp_path)
    view.begin(run, 0, 3)
    rung = {"alarm/labels": 1.0, "alarms": ["labels: the share of right answers is 0.5", "unread: 4 of 4"]}
    for step, more in enumerate((rung, rung, {"alarm/labels": 0.0})):
        view.step({"step": step, "time": {"step": 1.0}, **more})
    lines = view._console.file.getvalue().splitlines()[1:]
    assert lines[:2] == ["step 1: ALARM labels: the share of right answers is 0.5", "step 1: ALARM unread: 4 of 4"]
    assert [line.partition("left")[2].strip() for line in lines[2:]] == ["ALARM labels  ALARM unread"] * 2 + [""]


@pytest.mark.parametrize("make", [pipe, terminal])
def test_an_alarm_that_begins_to_ring_is_told_with_the_replies_of_its_step(tmp_path, make):
    console = make()
    view, run = TerminalView(console, 0.0), Run(tmp_path)
    view.begin(run, 0, 20)
    shown = [
        {"asked": "3 + 4 = ?", "replied": "[b]8\x1b", "tokens": 2, "expected": "7", "reward": 0.0},
        {"asked": "Say.", "replied": "", "tokens": 1, "expected": "", "reward": None},
    ]
    view.step({"step": 0, "time": {"step": 1.0}, "alarms": ["all wrong: all 32"], "replies": shown})
    view.close()
    lines = [
        "step 1: ALARM all wrong: all 32\n",
        "    asked     3 + 4 = ?\n    replied   [b]8⟨U+001B⟩ (2 tokens, reward 0)\n    expected  7\n",
        "    asked     Say.\n    replied   (nothing) (1 tokens, no verdict)\n",
    ]
    text = console.file.getvalue()
    assert [text.count(each) for each in lines] == [1, 1, 1]


def test_an_alarm_is_told_again_where_it_rings_after_ten_quiet_steps(tmp_path):
    view = TerminalView(pipe(), 1e9)
    view.begin(Run(tmp_path), 0, 50)
    for step in range(40):
        rings = step in (2, 4, 30)
        view.step({"step": step, "time": {"step": 1.0}, **({"alarms": ["no update: nothing"]} if rings else {})})
    said = [line.partition(":")[0] for line in view._console.file.getvalue().splitlines() if "ALARM no update:" in line]
    assert said == ["step 3", "step 31"]


@pytest.mark.parametrize("begun", [False, True])
def test_what_is_long_in_coming_is_told_with_an_estimate(tmp_path, begun):
    view = TerminalView(pipe(), 0.0, silence=0.05)
    view.wait()
    if begun:
        view.begin(Run(tmp_path), 4, 9)
    with stage("tokens", 100) as growing:
        growing.done = 50
        ended = time.monotonic() + 20.0
        while "left" not in view._console.file.getvalue() and time.monotonic() < ended:
            time.sleep(0.01)
        view.close()
    told = view._console.file.getvalue().splitlines()[begun]
    where = "step 5/9" if begun else "getting ready"
    assert re.fullmatch(where + r", 0 s: 50 of at most 100 tokens, about \d s left", told)
    size = len(view._console.file.getvalue())
    time.sleep(0.2)
    assert len(view._console.file.getvalue()) == size  # nobody talks after the end


def test_a_command_tells_how_far_it_has_come_and_is_silent_afterwards():
    console = pipe()
    with telling("measuring", console, silence=0.05), stage("tokens", 100):
        ended = time.monotonic() + 20.0
        while not console.file.getvalue() and time.monotonic() < ended:
            time.sleep(0.01)
    text = console.file.getvalue()
    assert text.splitlines()[0] == "measuring, 0 s: 0 of at most 100 tokens"
    time.sleep(0.2)
    assert console.file.getvalue() == text


def test_malformed_replies_are_shown_where_there_are_any():
    assert figures({"malformed": 0.25, "unknown": 3.0}) == "malformed 0.25"


def test_a_curve_falls_as_its_values_do():
    assert curve([4.0, 3.0, 2.0, 1.0], height=4).splitlines() == [
        " 4.000 │█   ",
        "       │██  ",
        " 2.000 │███ ",
        " 1.000 │████",
        "       └────",
    ]


def test_a_curve_is_drawn_in_eighths_of_a_line():
    assert curve([1.0, 0.75, 0.5, 0.125], height=1).splitlines()[0] == " 1.000 │█▆▄▁"


def test_a_curve_of_one_value_and_of_none_and_of_zeros():
    assert curve([0.5], height=2).splitlines() == [" 0.500 │█", " 0.250 │█", "       └─"]
    assert curve([]) == ""
    assert "█" not in curve([0.0, 0.0])


def test_a_curve_leaves_out_what_is_not_finite():
    assert curve([2.0, math.nan, 1.0, math.inf], height=2) == curve([2.0, 1.0], height=2)


def test_a_long_curve_is_averaged_into_its_columns():
    columns = curve([2.0, 0.0] * 500, width=10, height=2).splitlines()
    assert columns[0] == " 2.000 │" + " " * 10
    assert columns[1] == " 1.000 │" + "█" * 10
    assert max(map(len, curve([1.0] * 1000).splitlines())) <= 80


@pytest.mark.parametrize("last", [{"step": 9, "regret": 0.25, "new": 1.0}])
def test_an_overview_sets_the_first_measurement_beside_the_last(last):
    console = pipe()
    overview({"step": 0, "regret": 0.5, "time": {"step": 1.0}, "gone": 1.0}, last, console, "a [title]")
    text = console.file.getvalue()
    assert "a [title]" in text
    (row,) = [line for line in text.splitlines() if "regret" in line]
    assert "0.5000" in row
    assert "0.2500" in row
    assert "gone" not in text
    assert "time" not in text


def test_an_overview_of_nothing_says_so_and_draws_no_table():
    console = pipe()
    overview({"step": 0, "time": {"step": 1.0}}, {"step": 9}, console, "a [title]")
    text = " ".join(console.file.getvalue().split())
    assert text.startswith("a [title]: nothing is measured of it before and after; redqueen report shows its curves")
    assert "at the start" not in text
