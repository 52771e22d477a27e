"""The sentence that a report opens with, how the run ended and which alarms fired, for runs whose answer is known."""

import json
import math
import re
from dataclasses import replace

import pytest

from redqueen.runs.run import held
from redqueen.types import Basis, RedQueenError
from redqueen.views.headline import (
    Point,
    bases_of,
    change,
    course,
    ending,
    headline_of,
    sentence_of_difference,
    sentence_of_seeds,
    told,
)
from redqueen.views.headline import alarms as alarms_in

PROBLEMS = Basis(count=64, of="held-out problems", attempts=8)
EXACT = Basis(exact=True, references={"uniform play": 0.5, "an equilibrium": 0.0})
CONFIG = {"config": {"steps": 4}}


def lines(figure, *values):
    return [{"step": step, figure: value, "time": {"step": 1.0, "at": 0.0}} for step, value in enumerate(values)]


def said(figure, *values, basis=None, score="", **more):
    found = told([line | more for line in lines(figure, *values)], {figure: basis} if basis else {}, score)
    assert found.sentence.endswith(".") and "\n" not in found.sentence
    return found.sentence


def run(folder, metrics, final=None, **files):
    folder.mkdir(exist_ok=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in metrics))
    if final is not None:
        (folder / "final.json").write_text(json.dumps(final))
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


# --- the sentence --------------------------------------------------------------------------------------------------


def test_a_rise_beyond_chance_names_both_ends_the_problems_and_the_interval():
    assert said("accuracy", 0.125, 0.3, 0.5, basis=PROBLEMS) == (
        "Held-out accuracy rose from 12.5% at step 0 to 50.0% at step 2 on 64 problems, 8 attempts each; the change, "
        "+37.5 points (95% interval +21.8 to +50.8 points), is more than chance explains."
    )


def test_problems_without_a_verdict_are_not_counted():
    all_known = said("accuracy", 0.2, 0.6, basis=PROBLEMS)
    half = said("accuracy", 0.2, 0.6, basis=PROBLEMS, accuracy_unknown=0.5)
    assert f"on {PROBLEMS.count} problems" in all_known and f"on {PROBLEMS.count // 2} problems" in half
    assert half.endswith(said("accuracy", 0.2, 0.6, basis=replace(PROBLEMS, count=PROBLEMS.count // 2))[-40:])
    assert "on 1 problem, 8 attempts" in said("accuracy", 0.0, 1.0, basis=replace(PROBLEMS, count=1))
    assert "on 7 problems" in said("pass@8", 0.2, 0.6, basis=PROBLEMS, score="pass@8", rests_on={"pass@8": 7})


def test_a_small_change_is_no_more_than_chance():
    assert "the change, +3.1 points (95% interval " in said("accuracy", 0.5, 0.53125, basis=PROBLEMS)
    assert said("accuracy", 0.5, 0.53125, basis=PROBLEMS).endswith("is no more than chance explains.")


@pytest.mark.parametrize(("figure", "first", "last"), [("accuracy", 0.9, 0.3), ("attack_success", 0.1, 0.8)])
def test_a_change_for_the_worse_is_called_worse(figure, first, last):
    assert said(figure, first, last, basis=PROBLEMS).endswith("is worse, by more than chance explains.")


def test_what_did_not_move_says_what_could_have_gone_unseen():
    assert said("accuracy", 0.0, 0.0, basis=PROBLEMS) == (
        "Held-out accuracy stayed at 0.0% from step 0 to step 1 on 64 problems, 8 attempts each; a change of -5.7 to "
        "+5.7 points could have gone unseen."
    )


def test_an_exact_figure_is_called_exact():
    assert said("exploitability", 0.4583, 0.2, 0.106, basis=EXACT) == (
        "Exploitability fell from 0.458 at step 0 to 0.106 at step 2, computed exactly from the policy's "
        "probabilities: no sampling error, one seed."
    )


def test_an_end_that_is_worse_than_the_best_says_so():
    assert ", after 0.1 at step 2, computed exactly" in said("exploitability", 0.5, 0.3, 0.1, 0.4, basis=EXACT)
    assert "after" not in said("exploitability", 0.5, 0.3, 0.1, 0.11, basis=EXACT)
    assert "after" not in said("accuracy", 0.1, 0.5, 0.49, basis=PROBLEMS)  # within the interval


def test_without_the_number_of_problems_nothing_is_believed():
    assert said("accuracy", 0.1, 0.9) == (
        "Held-out accuracy rose from 10.0% at step 0 to 90.0% at step 1; the run does not say how many problems or "
        "games that rests on, so chance cannot be ruled out."
    )


def test_an_interval_that_the_run_measured_is_taken():
    metrics = [
        {"step": 0, "payoff/uniform": 0.0, "payoff/uniform_low": -0.2, "payoff/uniform_high": 0.2},
        {"step": 5, "payoff/uniform": 0.5, "payoff/uniform_low": 0.1, "payoff/uniform_high": 0.9},
    ]
    found = told(metrics, {"payoff/uniform": Basis(count=128, of="games")})
    assert found.sentence == (
        "Score against uniform rose from 0 at step 0 to 0.5 at step 5 on 128 games; the change, +0.5 (95% interval "
        "+0.0528 to +0.947), is more than chance explains."
    )


def test_what_was_measured_once_has_an_interval_and_no_change():
    assert said("accuracy", 0.5, basis=Basis(count=100, of="held-out problems")) == (
        "Held-out accuracy was 50.0% at step 0 on 100 problems (95% interval 40.4% to 59.6%) and was not measured "
        "again."
    )


def test_a_reward_in_training_is_no_measurement_on_held_out_problems():
    text = said("reward/solver", *(step / 10 for step in range(20)))
    assert text.startswith(
        "Mean reward, solver, rose from 0.15 (mean of the first 4 steps) to 1.75 (of the last 4 steps), measured in "
        "training, on tasks and opponents that change"
    )
    assert "nothing held out was measured; the change, +1.6 (95% interval +1.38 to +1.82), is more than chance" in text
    assert said("reward/solver", 0.49999999999999994, 0.5).startswith(
        "Mean reward, solver, stayed at 0.5 (means of the first and last step), measured in training"
    )


def test_the_score_that_the_user_named_comes_first_and_nothing_measured_is_said():
    found = told([{"step": 0, "accuracy": 0.1, "entropy": 2.0}, {"step": 1, "accuracy": 0.2}], {}, "entropy")
    assert found.figure == "entropy"
    assert said("loss", 1.0, 0.5) == "Nothing that says how good the policy is was measured."


def test_where_attempts_are_only_compared_with_each_other_the_headline_says_that_nobody_knows():
    """Their mean reward is one half at any step: no figure that can move."""
    ranked = {"ranking/groups": 8.0, "accuracy_unknown": 1.0}
    found = told([line | ranked for line in lines("reward/solver", 0.5, 0.5, 0.5)], {})
    assert (found.figure, found.points) == ("", [])
    assert found.sentence.startswith("Whether the replies became better is unknown: no held-out answer has a verdict")
    known = told([line | ranked for line in lines("accuracy", 0.5, 0.6)], {})
    assert known.figure == "accuracy" and "rose from 50.0%" in known.sentence


def test_values_that_are_no_numbers_are_left_out():
    metrics = [
        *lines("accuracy", math.nan, 0.5, math.inf, 0.75),
        {"step": 9, "accuracy": "0.9"},
        {"step": 9, "accuracy": True},
    ]
    found = told(metrics, {})
    assert [(point.step, point.value) for point in found.points] == [(1, 0.5), (3, 0.75)]


def test_wilson_and_the_difference_of_shares_are_those_of_newcombe():
    (point,) = course([{"step": 0, "accuracy": 81 / 263}], "accuracy", Basis(count=263))  # Newcombe 1998, method 3
    assert (point.low, point.high) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    (few,), (many,) = (
        course([{"step": 0, "accuracy": k / n}], "accuracy", Basis(count=n)) for k, n in ((48, 80), (56, 70))
    )
    found = change(few, many)  # Newcombe 1998, example (a), method 10
    assert (found.mean, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


def test_seeds_are_compared_at_the_last_step_that_all_have_measured():
    courses = [
        course(lines("exploitability", *values), "exploitability", Basis())
        for values in ((0.5, 0.4, 0.3, 0.0), (0.5, 0.4, 0.2))
    ]
    assert "from 0.5 at step 0 to 0.25 at step 2, the mean of 2 seeds" in sentence_of_seeds("exploitability", courses)


def test_of_several_seeds_the_spread_of_their_changes_counts():
    courses = [[Point(0, 0.5, 0.5, 0.5), Point(9, last, last, last)] for last in (0.1, 0.2, 0.3)]
    assert sentence_of_seeds("exploitability", courses) == (
        "Exploitability fell from 0.5 at step 0 to 0.2 at step 9, the mean of 3 seeds; the change, -0.3 (95% interval "
        "-0.548 to -0.0516), is more than the spread of seeds explains."
    )
    assert sentence_of_seeds("exploitability", courses[:1]) == ""


def test_runs_are_compared_with_the_first_ones_seed_by_seed():
    """Differences of .2, .3 and .4: Student's t of two degrees of freedom, 4.3027, times .1 / sqrt(3)."""

    def runs(*values):
        return {seed: [Point(9, value, value, value)] for seed, value in enumerate(values)}

    first, other = runs(0.1, 0.2, 0.3), runs(0.3, 0.5, 0.7)
    assert sentence_of_difference("exploitability", other, first) == (
        "Against the first at step 9, over the same 3 seeds: the difference, +0.3 (95% interval +0.0516 to +0.548), is "
        "worse, by more than the spread of seeds explains."
    )
    assert "-0.548 to -0.0516), is more than the spread" in sentence_of_difference("exploitability", first, other)
    later = {seed: [*points, Point(12, 0.0, 0.0, 0.0)] for seed, points in other.items()}
    longer = sentence_of_difference("exploitability", later, first)
    assert longer == sentence_of_difference("exploitability", other, first)
    assert sentence_of_difference("exploitability", runs(0.1), first) == ""
    assert sentence_of_difference("exploitability", {seed + 2: points for seed, points in other.items()}, first) == ""
    assert sentence_of_difference("reward/solver", other, first) == ""


# --- how it ended --------------------------------------------------------------------------------------------------


def test_a_run_that_ended_says_after_how_many_steps(tmp_path):
    done = lines("accuracy", 0.1, 0.2, 0.3, 0.4)
    assert ending(tmp_path, CONFIG, done, {"step": 4}).words == "finished, 4 steps"
    stopped = ending(tmp_path, CONFIG, done[:2], {"step": 2, "stopped": "score falls: 0.1"})
    assert (stopped.status, stopped.words, stopped.error) == (
        "stopped",
        "stopped early after 2 of 4 steps",
        "score falls: 0.1",
    )


def test_a_run_without_an_end_is_dead_unless_somebody_trains_it(tmp_path):
    folder = run(tmp_path / "run", done := lines("accuracy", 0.1, 0.2))
    dead = ending(folder, CONFIG, done, {})
    assert (dead.status, dead.words) == ("died", "died after 2 of 4 steps")
    assert dead.error.startswith("It left no error: it was killed")
    with held(folder):
        assert ending(folder, CONFIG, done, {}).words == "still training, 2 of 4 steps done"
        (folder / "error.txt").write_text("step 1: the loss is nan\n" + "x" * 10_000)
        broken = ending(folder, CONFIG, done, {})
    assert broken.status == "died"
    (folder / "error.txt").write_text("step 2: interrupted from the keyboard\n")
    halted = ending(folder, CONFIG, done, {})
    assert (halted.words, halted.error) == ("interrupted after 2 of 4 steps", f"redqueen resume {folder} goes on")
    assert broken.error.startswith("step 1: the loss is nan\nx") and len(broken.error) <= 2_000


@pytest.mark.parametrize("config", [{}, {"config": 3}, {"config": {"steps": "many"}}, {"config": {"steps": -1}}])
def test_settings_that_do_not_say_how_many_steps_are_planned_do_no_harm(config, tmp_path):
    assert ending(tmp_path, config, lines("accuracy", 0.1), {"step": 1}).words == "finished, 1 step"


# --- alarms --------------------------------------------------------------------------------------------------------


def test_alarms_have_their_last_message_and_the_steps_in_which_they_fired():
    metrics = lines("accuracy", 0.1, 0.2, 0.3, 0.4)
    metrics[1] |= {"alarm/entropy_gone": 1.0, "alarms": ["entropy gone: 2%", "unread: all"]}
    metrics[3] |= {"alarm/score_falls": 1.0, "alarm/entropy_gone": 0.0, "alarms": ["unread: 3 of 4"]}
    found = [(each.name, each.message, each.first, each.last, each.steps, each.now) for each in alarms_in(metrics)]
    assert found == [
        ("unread", "3 of 4", 1, 3, 2, True),
        ("score falls", "", 3, 3, 1, True),
        ("entropy gone", "2%", 1, 1, 1, False),
    ]
    assert alarms_in([*metrics[:1], {"step": 4, "accuracy": 0.5}]) == []


# --- what a folder holds -------------------------------------------------------------------------------------------


def test_what_figures_rest_on_is_read_as_it_was_written_and_nonsense_is_left_out(tmp_path):
    assert bases_of(tmp_path) == {}
    kept = {
        "accuracy": {
            "count": 64,
            "of": "held-out problems",
            "attempts": 8,
            "references": {"guesses": 0.25, "bad": "x"},
        },
        "loss": {"exact": "yes", "count": -3, "of": 7, "attempts": 0, "references": [1]},
        "odd": 5,
    }
    (tmp_path / "measures.json").write_text(json.dumps(kept))
    assert bases_of(tmp_path) == {
        "accuracy": Basis(count=64, of="held-out problems", attempts=8, references={"guesses": 0.25}),
        "loss": Basis(),
    }
    (tmp_path / "measures.json").write_text("[]")
    with pytest.raises(RedQueenError, match="must hold an object"):
        bases_of(tmp_path)
    (tmp_path / "measures.json").write_text('{"accuracy": {')
    with pytest.raises(RedQueenError, match=re.escape("measures.json is cut short or was changed: remove it")):
        bases_of(tmp_path)


def test_a_headline_takes_the_last_measurement_and_the_bases_of_its_folder(tmp_path):
    bases = {"accuracy": {"count": 10, "of": "held-out problems"}}
    place = run(tmp_path / "run", lines("accuracy", 0.0), {"step": 1, "accuracy": 1.0}, measures_json=json.dumps(bases))
    found = headline_of(place, {"config": {"steps": 1}, "watch": {"score": ""}})
    assert found.sentence.startswith("Held-out accuracy rose from 0.0% at step 0 to 100.0% at step 1 on 10 problems;")
    assert found.ending.status == "finished"
