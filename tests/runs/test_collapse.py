import json

import pytest

from redqueen.runs.collapse import Collapse, Watch, direction
from redqueen.types import RedQueenError


def measured(collapse, *scores, name="accuracy", start=0):
    return [collapse.measured({"step": start + 5 * n, name: score}) for n, score in enumerate(scores)]


def rings(collapse, line=None):
    figures = collapse.check(line or {})
    names = [text.partition(":")[0] for text in collapse.alarms()]
    fired = {name.removeprefix("alarm/").replace("_", " ") for name, value in figures.items() if value}
    assert fired == set(names)
    return names


def test_the_first_measurement_is_the_best_until_a_better_one():
    collapse = Collapse()
    assert measured(collapse, 0.2, 0.1, 0.3, 0.3) == [True, False, True, False]
    assert collapse.best_step == 10
    low = Collapse()
    assert measured(low, 0.4, 0.5, 0.1, name="exploitability") == [True, False, True]


def test_a_score_that_the_run_does_not_measure_is_refused_at_the_second_measurement():
    collapse = Collapse(Watch(score="accuracy/hard"))
    assert not collapse.measured({"step": 0, "accuracy": 0.1})  # ratings, for one, come with the first step
    with pytest.raises(RedQueenError, match=r"does not measure 'accuracy/hard': --score is one of accuracy, pass@8$"):
        collapse.measured({"step": 5, "accuracy": 0.1, "pass@8": 0.2, "loss": 1.0})


def test_a_score_has_fallen_where_half_of_what_was_gained_is_gone_three_times_in_a_row():
    collapse = Collapse()  # from 0.1 to 0.9: beyond 0.5 half of it is lost
    measured(collapse, 0.1, 0.9, 0.49, 0.49)
    assert rings(collapse) == []
    measured(collapse, 0.49, start=20)
    assert rings(collapse) == ["score falls"]
    (text,) = collapse.alarms()
    assert "accuracy is 0.49, after 0.9 at step 5 and 0.1 at the start" in text
    measured(collapse, 0.6, start=25)
    assert rings(collapse) == []


def test_a_score_that_was_good_from_the_start_can_fall_too():
    collapse = Collapse()
    measured(collapse, 0.6, 0.29, 0.29, 0.29)
    assert rings(collapse) == ["score falls"]
    rising = Collapse()  # exploitability 0.1 to 0.05: of 0.1 half is lost beyond 0.1
    measured(rising, 0.1, 0.05, 0.09, 0.09, 0.09, name="exploitability")
    assert rings(rising) == []
    measured(rising, 0.11, 0.11, 0.11, name="exploitability", start=25)
    assert rings(rising) == ["score falls"]


def test_the_score_is_the_one_asked_for_or_the_first_usual_one():
    usual = Collapse()
    usual.measured({"step": 0, "accuracy": 0.5, "exploitability": 0.4})
    assert usual.measured({"step": 5, "accuracy": 0.1, "exploitability": 0.3})
    chosen = Collapse(Watch(score="accuracy"))
    chosen.measured({"step": 0, "accuracy": 0.5, "exploitability": 0.4})
    assert not chosen.measured({"step": 5, "accuracy": 0.1, "exploitability": 0.3})
    assert not Collapse().measured({"step": 0, "loss": 1.0})


def test_a_score_that_is_not_finite_says_nothing():
    collapse = Collapse()
    assert measured(collapse, float("nan"), 0.4, float("nan"), float("inf"), 0.5) == [False, True, False, False, True]


def test_entropy_rings_when_it_stays_away_from_where_it_began():
    for entropy, name in ((0.01, "entropy gone"), (1.6, "entropy rises")):
        collapse = Collapse(Watch(alarm_steps=2))
        assert rings(collapse, {"entropy": 1.0}) == []
        assert rings(collapse, {"entropy": entropy}) == []
        assert rings(collapse, {"entropy": entropy}) == [name]
        assert rings(collapse, {}) == [name]  # a line that does not say leaves it as it is
        assert rings(collapse, {"entropy": 0.9}) == []


def test_an_entropy_that_is_not_a_number_says_nothing():
    collapse = Collapse(Watch(alarm_steps=1))
    assert rings(collapse, {"entropy": float("nan")}) == []
    assert rings(collapse, {"entropy": 1.0}) == []
    assert rings(collapse, {"entropy": 0.01}) == rings(collapse, {"entropy": float("nan")}) == ["entropy gone"]
    assert collapse.alarms() == ["entropy gone: the entropy is 1% of the first step's, for 1 steps"]


def test_a_score_that_began_at_nothing_can_fall_below_it():
    collapse = Collapse()
    measured(collapse, 0.0, 0.0, -0.1, -0.1, -0.1, name="payoff/uniform")
    assert rings(collapse) == ["score falls"]


def test_one_opponent_is_exploited_where_most_others_win():
    collapse = Collapse(Watch(alarm_steps=1))
    assert rings(collapse, {"win_rate/easiest": 0.95, "win_rate/median": 0.6}) == []
    assert rings(collapse, {"win_rate/easiest": 0.95, "win_rate/median": 0.4}) == ["one opponent"]


def test_its_memory_comes_back_exactly():
    collapse = Collapse(Watch(alarm_steps=2))
    measured(collapse, 0.1, 0.9, 0.2, 0.2)
    collapse.check({"entropy": 1.0})
    collapse.check({"entropy": 0.0})
    again = Collapse(Watch(alarm_steps=2))
    again.restore(json.loads(json.dumps(collapse.state())))
    assert again.state() == collapse.state()
    for each in (collapse, again):
        measured(each, 0.2, start=20)
    assert rings(again, {"entropy": 0.0}) == rings(collapse, {"entropy": 0.0}) == ["score falls", "entropy gone"]


@pytest.mark.parametrize(
    "settings",
    [
        {"measurements": 0},
        {"alarm_steps": 0},
        {"lost_share": 0.0},
        {"highest_entropy": 1.0},
        {"score": "loss"},
        {"most_roll_backs": 1},
        {"most_roll_backs": 1, "on_collapse": "stop"},
    ],
)
def test_settings_that_cannot_work_are_refused(settings):
    with pytest.raises(RedQueenError):
        Watch(**settings)


def test_of_a_figure_it_is_known_which_way_is_good():
    assert direction("late_average_exploitability") == direction("minimax_regret_mean") == -1.0
    assert direction("accuracy/hard") == direction("payoff/uniform") == 1.0
    assert direction("attack_success") == -1.0
    for neither in ("accuracy_unknown", "value", "my_figure"):  # the first is a share without a verdict
        with pytest.raises(RedQueenError, match="choose a --score such as accuracy"):
            direction(neither)


def test_every_learner_s_entropy_is_watched_under_its_name():
    collapse = Collapse(Watch(alarm_steps=1))
    first = {"solver/entropy": 1.0, "solver/loss": 0.0, "proposals/entropy": 3.0}
    assert rings(collapse, first) == []
    assert rings(collapse, {"proposer/entropy": 4.0, "proposer/loss": 0.0, "proposals/entropy": 0.0}) == []
    assert rings(collapse, {"proposer/entropy": 0.01, "proposer/loss": 0.0}) == ["proposer/entropy gone"]
    assert rings(collapse, {"solver/entropy": 0.9, "solver/loss": 0.0}) == ["proposer/entropy gone"]


def test_a_usual_score_is_found_under_the_name_of_its_game():
    collapse = Collapse(Watch(keep_best=True))
    line = {"kuhn_poker/average_exploitability": 0.1, "kuhn_poker/exploitability": 0.4, "mini_hanabi/payoff/uniform": 1}
    assert collapse.measured({"step": 0, **line})
    assert collapse.measured({"step": 5, **line, "kuhn_poker/exploitability": 0.3})
    assert not collapse.measured({"step": 10, **line, "mini_hanabi/payoff/uniform": 2})
    for alone in ("mini_hanabi/payoff/uniform", "team_score"):
        assert measured(Collapse(), 1.0, 2.0, 1.5, name=alone) == [True, True, False]


@pytest.mark.parametrize("watch", [Watch(keep_best=True), Watch(on_collapse="roll_back")])
def test_without_a_score_nobody_knows_the_best_and_that_is_said_at_the_first_measurement(watch):
    why = r"a usual score, by which the best checkpoint is known: --score is one of spy_found$"
    with pytest.raises(RedQueenError, match=why):
        Collapse(watch).measured({"step": 0, "spy_found": 0.3, "entropy": 1.0})
    collapse = Collapse(watch)
    assert not collapse.measured({"step": 0})
    with pytest.raises(
        RedQueenError, match=r"a usual score, by which the best checkpoint is known: --score is one of reward/buyer$"
    ):
        collapse.measured({"step": 5, "reward/buyer": 0.1, "loss": 1.0})
    careless = Collapse()
    assert not careless.measured({"step": 0, "spy_found": 0.3})
    assert not careless.measured({"step": 5, "reward/buyer": 0.1})
    rated = Collapse(Watch(score="win_rate/round_before"))  # of the user's own it may only be the second that tells
    assert not rated.measured({"step": 0, "spy_found": 0.3})
