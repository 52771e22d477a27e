"""When an alarm fires, and what it says, by hand."""

import json
from math import inf, nan

import pytest

from redqueen.measures.alarms import Alarm, Alarms, at_least
from redqueen.types import RedQueenError

HIGH = Alarm("too_high", "loss", "the loss is {value:.2f}, above {limit:g} for {steps} steps", limit=1.0, steps=2)
LOW = Alarm("narrow", "coverage", "the coverage is {value:g}", limit=-2.0, below=True)


def fired(watch, figure, values):
    """Whether the alarm over `figure` fires after each of the values; None is a step that does not know it."""
    steps = [{} if value is None else {figure: value} for value in values]
    return [next(iter(watch.observe(step).values()), None) for step in steps]


def test_an_alarm_fires_once_its_figure_was_past_the_limit_for_its_steps_in_a_row():
    assert fired(Alarms([HIGH]), "loss", [1.5, 0.5, 1.5, 1.5, 9.0, 0.0]) == [0.0, 0.0, 0.0, 1.0, 1.0, 0.0]
    assert fired(Alarms([LOW]), "coverage", [-1.0, -2.5, -1.0, -3.0]) == [0.0, 1.0, 0.0, 1.0]


def test_the_limit_itself_is_allowed_and_what_is_not_a_number_is_not():
    assert [HIGH.past(value) for value in (-inf, 1.0, 1.0001, inf, nan)] == [False, False, True, True, True]
    assert [LOW.past(value) for value in (-inf, -2.0001, -2.0, inf, nan)] == [True, True, False, False, True]


def test_a_step_that_does_not_know_the_figure_neither_fires_nor_resets():
    assert fired(Alarms([HIGH]), "loss", [None, 1.5, None, 1.5, None, 0.5]) == [None, 0.0, 0.0, 1.0, 1.0, 0.0]


def test_only_firing_alarms_have_messages_and_each_names_value_limit_and_steps():
    watch = Alarms([HIGH, LOW])
    watch.observe({"loss": 3.0, "coverage": -1.0})
    assert watch.alarms() == []
    watch.observe({"loss": 4.0, "coverage": -2.5})
    assert watch.alarms() == ["too high: the loss is 4.00, above 1 for 2 steps", "narrow: the coverage is -2.5"]
    watch.observe({"loss": 5.0})
    assert watch.alarms() == ["too high: the loss is 5.00, above 1 for 3 steps", "narrow: the coverage is -2.5"]
    watch.observe({"loss": 1.0, "coverage": -2.0})
    assert watch.alarms() == []


def test_a_message_may_name_the_other_figures_of_its_step():
    watch = Alarms([Alarm("unread", "share", "{unread} of the last {seen}: {why}", limit=0.5)])
    watch.observe({"share": 0.75, "unread": 3, "seen": 4, "why": "{blank}"})
    assert watch.alarms() == ["unread: 3 of the last 4: {blank}"]


def test_two_alarms_may_watch_one_figure():
    watch = Alarms([Alarm("easier", "drift", "up", 0.3), Alarm("harder", "drift", "down", -0.3, below=True)])
    assert watch.observe({"drift": 0.4}) == {"alarm/easier": 1.0, "alarm/harder": 0.0}
    assert watch.observe({"drift": -0.4}) == {"alarm/easier": 0.0, "alarm/harder": 1.0}
    assert watch.alarms() == ["harder: down"]


def test_an_alarm_that_is_added_leaves_the_counts_of_the_others():
    watch = Alarms([HIGH])
    watch.observe({"loss": 2.0, "coverage": -3.0})
    watch.add([LOW])
    assert watch.observe({"loss": 2.0, "coverage": -1.0}) == {"alarm/too_high": 1.0, "alarm/narrow": 0.0}


def test_calm_voids_what_was_counted():
    watch = Alarms([HIGH])
    fired(watch, "loss", [2.0, 2.0])
    watch.calm()
    assert watch.alarms() == [] and watch.observe({}) == {}
    assert fired(watch, "loss", [2.0, 2.0]) == [0.0, 1.0]


def test_counts_and_messages_come_back_through_json():
    whole, again = Alarms([HIGH, LOW]), Alarms([HIGH, LOW])
    whole.observe({"loss": 2.0, "coverage": -4.0})
    again.restore(json.loads(json.dumps(whole.state())))
    assert again.alarms() == whole.alarms() == ["narrow: the coverage is -4"]
    assert again.observe({"loss": 2.0}) == whole.observe({"loss": 2.0}) == {"alarm/too_high": 1.0, "alarm/narrow": 1.0}
    assert again.alarms() == whole.alarms()


def test_an_alarm_that_cannot_fire_and_two_of_one_name_are_refused():
    with pytest.raises(RedQueenError, match="at least 1 step to fire, not 0"):
        Alarm("never", "loss", "", 0.0, steps=0)
    with pytest.raises(RedQueenError, match="names of their own, not too_high, too_high"):
        Alarms([HIGH, HIGH])


def test_an_alarm_that_names_its_trials_waits_until_the_share_of_all_its_steps_is_surely_past_the_limit():
    watch = Alarms([Alarm("wrong", "right", "{value:.0%}", limit=0.5, steps=2, below=True, trials="count")])
    few, many, good = {"right": 0.0, "count": 2}, {"right": 0.25, "count": 40}, {"right": 1.0, "count": 2}
    assert [watch.observe(few)["alarm/wrong"] for _ in range(3)] == [0.0, 0.0, 1.0]  # 0 of 2, of 4, of 6
    assert watch.observe(good) == {"alarm/wrong": 0.0}
    assert watch.observe(many) == {"alarm/wrong": 0.0}  # surely past it, but in one step only
    again = Alarms([Alarm("wrong", "right", "{value:.0%}", limit=0.5, steps=2, below=True, trials="count")])
    again.restore(json.loads(json.dumps(watch.state())))
    assert again.observe(many) == watch.observe(many) == {"alarm/wrong": 1.0}


def test_a_quiet_alarm_has_a_figure_from_the_step_in_which_it_first_fires():
    watch = Alarms([LOW], quiet=True)
    assert [watch.observe({"coverage": value}) for value in (-1.0, -3.0, -1.0)] == [
        {},
        {"alarm/narrow": 1.0},
        {"alarm/narrow": 0.0},
    ]


def test_what_is_surely_reached():
    assert at_least(0, 0) == 0.0
    assert at_least(4, 4) == pytest.approx(4 / (4 + 2.3263479**2))  # Wilson's bound where every trial is a hit
    assert at_least(32, 32) > 0.85 > at_least(30, 30)
