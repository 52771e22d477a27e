import json
import math

import pytest

from redqueen.checks.leaks import leaks, stands_in
from redqueen.measures.health import Limits, Proposed, ProposerHealth
from redqueen.measures.proposals import BY_VERDICTS
from redqueen.types import RedQueenError


def healthy(step, count=8):
    """Distinct proposals, solved half of the time."""
    return [Proposed(f"task {step}-{number}", solve_rate=0.5, answer="none") for number in range(count)]


def run(health, steps):
    """The metrics of the last step, and the names of the alarms that fire then."""
    metrics = {}
    for proposals in steps:
        metrics = health.check(proposals)
    return metrics, [line.split(":")[0] for line in health.alarms()]


# --- figures ---------------------------------------------------------------------------------


def test_the_figures_of_a_step_by_hand():
    metrics = ProposerHealth().check(
        [
            Proposed("a", solve_rate=0.0, judged=0.9, actual=0.5, answer_right=True),
            Proposed("a ", solve_rate=1.0, judged=0.5, actual=0.5, answer_right=False),
            Proposed("b", solve_rate=0.25, judged=0.1),
            Proposed("c"),
            Proposed("d", refused="unsafe"),
            Proposed("", refused="unreadable"),
            Proposed("", refused="unreadable"),
            Proposed(" ", refused="unreadable"),
        ]
    )
    assert metrics["proposals/valid_share"] == 0.5
    assert metrics["proposals/refused/unsafe"] == 1 / 8
    assert metrics["proposals/refused/unreadable"] == 3 / 8
    assert metrics["proposals/distinct_share"] == 4 / 5
    assert metrics["proposals/entropy"] == pytest.approx(-0.4 * math.log(0.4) - 0.6 * math.log(0.2))
    assert metrics["proposals/solve_rate"] == pytest.approx(1.25 / 3)
    assert metrics["proposals/unsolvable_share"] == pytest.approx(1 / 3)
    assert metrics["proposals/trivial_share"] == pytest.approx(1 / 3)
    assert metrics["proposals/unscored_share"] == pytest.approx(1 / 4)
    histogram = [metrics[f"proposals/solve_rates/{low:.1f}-{low + 0.2:.1f}"] for low in (0.0, 0.2, 0.4, 0.6, 0.8)]
    assert histogram == pytest.approx([1 / 3, 1 / 3, 0.0, 0.0, 1 / 3])
    assert metrics["proposals/judge_score"] == pytest.approx(0.5)
    assert metrics["proposals/judge_inflation"] == pytest.approx(0.2)
    assert metrics["proposals/label_accuracy"] == 0.5
    assert metrics["proposals/leak_share"] == 0.0


def test_what_a_step_does_not_know_is_left_out():
    metrics = ProposerHealth().check([Proposed("a"), Proposed("", refused="unreadable")])
    assert not any(name in metrics for name in ("proposals/solve_rate", "proposals/judge_score", "alarm/labels"))
    assert ProposerHealth().check([]) == {}
    nothing = ProposerHealth().check([Proposed("", refused="unreadable")])
    assert {name for name in nothing if name.startswith("proposals/")} == {
        "proposals/valid_share",
        "proposals/refused/unreadable",
    }


def test_the_window_holds_the_last_steps():
    health = ProposerHealth(window=2)
    health.check([Proposed("a"), Proposed("b")])
    metrics = health.check([Proposed("a"), Proposed("c")])
    assert metrics["proposals/seen_share"] == 0.5
    assert metrics["proposals/window_entropy"] == pytest.approx(1.5 * math.log(2))  # a 2, b 1, c 1
    metrics = health.check([Proposed("b"), Proposed("b")])
    assert metrics["proposals/seen_share"] == 1.0  # b is in the window still
    metrics = health.check([Proposed("a"), Proposed("x")])
    assert metrics["proposals/seen_share"] == 0.5
    metrics = health.check([Proposed("c"), Proposed("y")])
    assert metrics["proposals/seen_share"] == 0.0


def test_a_feature_says_what_makes_two_proposals_one_kind():
    health = ProposerHealth(feature=lambda text: text.split()[0])
    metrics = health.check([Proposed("add 1"), Proposed("add 2"), Proposed("multiply 3")])
    assert metrics["proposals/distinct_share"] == pytest.approx(2 / 3)


def test_drift_is_measured_from_the_first_window():
    health = ProposerHealth(window=2)
    drifts = [
        health.check([Proposed("a", solve_rate=rate)])["proposals/solve_rate_drift"] for rate in (0.2, 0.4, 0.8, 0.1)
    ]
    assert drifts == pytest.approx([0.0, 0.1, 0.5, -0.2])


# --- alarms ----------------------------------------------------------------------------------


def many(**known):
    return [Proposed(f"task {number}", **{"solve_rate": 0.5, **known}) for number in range(8)]


SICK = {
    "collapse": [Proposed("task", solve_rate=0.5)] * 8,
    "repetition": [Proposed(f"task {number % 3}", solve_rate=0.5) for number in range(8)],
    "invalid": many()[:1] + many(refused="unsafe")[:7],
    "unsolvable": many(solve_rate=0.0)[:7] + many(solve_rate=0.9)[:1],
    "trivial": many(solve_rate=1.0)[:7] + many(solve_rate=0.1)[:1],
    "unscored": many(solve_rate=math.nan),
    "inflation": many(judged=0.7, actual=0.5),
    "labels": many(answer_right=True)[:2] + many(answer_right=False)[:6],
    "leaks": [Proposed(f"is it 42 or {n}?", solve_rate=0.5, answer="42") for n in (1, 2)] + many(answer="none")[2:],
}


@pytest.mark.parametrize("name", SICK)
def test_each_sickness_fires_its_own_alarm_after_five_steps(name):
    health = ProposerHealth(BY_VERDICTS)
    metrics, fired = run(health, [SICK[name]] * 4)
    assert (metrics[f"alarm/{name}"], fired) == (0.0, [])
    metrics = health.check(SICK[name])
    assert metrics[f"alarm/{name}"] == 1.0
    others = {"repetition"} if name == "collapse" else set()
    assert {line.split(":")[0] for line in health.alarms()} == {name} | others


def test_a_healthy_proposer_fires_nothing():
    metrics, fired = run(ProposerHealth(), [healthy(step) for step in range(30)])
    assert fired == []
    assert not any(value for name, value in metrics.items() if name.startswith("alarm/"))


@pytest.mark.parametrize(("rate", "name"), [(0.9, "easier"), (0.1, "harder")])
def test_a_solve_rate_that_wanders_off_fires(rate, name):
    steps = [healthy(step) for step in range(10)]
    wandered = [[Proposed(f"{step} {number}", solve_rate=rate) for number in range(8)] for step in range(5)]
    assert run(ProposerHealth(), steps + wandered[:4])[1] == []
    assert run(ProposerHealth(), steps + wandered)[1] == [name]


def test_an_alarm_stops_when_its_figure_recovers_and_waits_while_it_is_unknown():
    health = ProposerHealth(Limits(steps=2))
    wrong, unknown, right = many(answer_right=False), many(), many(answer_right=True)
    assert run(health, [wrong, unknown])[1] == []
    assert run(health, [wrong])[1] == ["labels"]
    metrics, fired = run(health, [unknown])
    assert (metrics["alarm/labels"], fired) == (1.0, ["labels"])
    metrics, fired = run(health, [right])
    assert (metrics["alarm/labels"], fired) == (0.0, [])


def test_proposals_on_which_nobody_has_a_verdict_are_said_to_teach_nothing():
    assert run(ProposerHealth(), [many(solve_rate=math.nan)] * 6)[1] == []  # votes or a judge may pay for them
    health = ProposerHealth(BY_VERDICTS)
    run(health, [many(solve_rate=math.nan)] * 6)
    (told,) = health.alarms()
    assert told.startswith("unscored: the share that no attempt has a verdict on is 1.00, above 0.8 for 6 steps: ")
    assert "r_zero and agent0 vote" in told


def test_an_alarm_is_one_line_that_names_figure_limit_and_duration():
    health = ProposerHealth(Limits(steps=2, lowest_valid_share=0.4))
    run(health, [[*many(refused="unsafe"), *many()[:1]]] * 3)
    assert health.alarms() == ["invalid: the share of valid proposals is 0.11, below 0.4 for 3 steps"]


CUT_OFF = (
    "; {} of {} refused ones were cut off: allow the proposer longer replies, --max-completion-length "
    "(of a role alone --proposer.max-completion-length), or ask for shorter ones"
)


def test_proposals_that_were_cut_off_are_said_to_be_with_the_flag():
    """7 of 9 proposals a step are refused, 5 of these at the reply's length."""
    step = [*many(refused="malformed", cut_off=True)[:5], *many(refused="malformed")[:2], *many()[:2]]
    health, again = (ProposerHealth(Limits(steps=2)) for _ in range(2))
    run(health, [step] * 3)
    again.restore(json.loads(json.dumps(health.state())))
    told = "invalid: the share of valid proposals is 0.22, below 0.5 for {} steps" + CUT_OFF
    assert health.alarms() == [told.format(3, 15, 21)]
    for each in (health, again):
        each.check(step)
        assert each.alarms() == [told.format(4, 20, 28)]


def test_where_nothing_is_valid_it_is_said_how_many_were_cut_off():
    health = ProposerHealth()
    run(health, [many(refused="malformed", cut_off=True)] * 5)
    assert health.alarms()[0].endswith("(malformed 40)" + CUT_OFF.format(40, 40))


def test_a_few_that_were_cut_off_are_not_the_cause():
    health = ProposerHealth(Limits(steps=2))
    run(health, [many(refused="malformed")] * 9)
    run(health, [[*many(refused="malformed")[:7], Proposed("", refused="malformed", cut_off=True)]])
    assert "cut off" not in "".join(health.alarms())


def test_a_share_that_chance_would_pass_as_well_fires_once_it_is_surely_past_its_limit():
    """Half of the labels are right, and the limit is 0.6: over 144 of them it is sure."""
    health, half = ProposerHealth(), many(answer_right=True)[:4] + many(answer_right=False)[:4]
    fired = [health.check(half)["alarm/labels"] for _ in range(20)]
    assert fired == [0.0] * 16 + [1.0] * 4


def test_where_nothing_is_valid_any_more_it_is_told_with_the_reasons_and_a_figure():
    health, again = ProposerHealth(), ProposerHealth()
    step = [*many(refused="unsafe"), Proposed("", refused="malformed")]
    assert ["alarm/nothing_valid" in health.check(step) for _ in range(3)] == [False] * 3  # 27 of 27 might be chance
    assert health.check(step)["alarm/nothing_valid"] == 1.0
    told = ["nothing valid: none of the last 36 proposals can be taken (unsafe 32, malformed 4)"]
    again.restore(json.loads(json.dumps(health.state())))
    assert health.alarms() == again.alarms() == told
    assert health.check(many())["alarm/nothing_valid"] == again.check(many())["alarm/nothing_valid"] == 0.0
    assert health.alarms() == []


def test_who_writes_no_question_at_all_is_told_how_that_is_taught():
    health = ProposerHealth()
    for _ in range(4):
        health.check([Proposed("", refused="no question") for _ in range(9)])
    (told,) = health.alarms()
    assert "36 proposals can be taken (no question 36): a cold start shows how they are written" in told
    assert "redqueen train cold_start --proposals 0.5 --questions FILE" in told


def test_health_is_restored_through_json():
    steps = [SICK["collapse"], healthy(1), SICK["invalid"], healthy(2), SICK["collapse"], SICK["labels"]]
    whole, first, second = (ProposerHealth(Limits(steps=1), window=3) for _ in range(3))
    run(whole, steps[:3])
    run(first, steps[:3])
    second.restore(json.loads(json.dumps(first.state())))
    for step in steps[3:]:
        assert second.check(step) == whole.check(step)
        assert second.alarms() == whole.alarms()


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(RedQueenError, match="step"):
        ProposerHealth(Limits(steps=0))
    with pytest.raises(RedQueenError, match="window"):
        ProposerHealth(window=0)


# --- leaks -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Is 7 prime?", "7"),
        ("What is 7.0 rounded?", "7"),
        ("It costs 1,200 in all. How much?", "1200"),
        ("Who wrote Anna Karenina, Leo Tolstoy?", "leo  tolstoy"),
        ("x = -1; what is x?", "-1"),
        ("compute 3-1", "1"),
        ("It is .50 of it", "0.5"),
    ],
)
def test_an_answer_in_the_question_is_a_leak(text, answer):
    assert leaks(text, answer) == ("answer_in_question",)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("What is 12 + 31?", "1"),
        ("What is 1.5 + 2?", "5"),
        ("What is x1 + 12?", "1"),
        ("x = -1; what is -x?", "1"),
        ("compute 3-1", "-1"),
        ("It costs 1,200 in all.", "200"),
        ("the 12th of May, 5kg", "12"),
        ("Who wrote Anna Karenina?", "Anna"[:2]),
        ("Leo saw Tolstoy", "Leo Tolstoy"),
        ("What is 3 + 4?", ""),
        ("What is 3 + 4?", "  "),
        ("", "7"),
    ],
)
def test_part_of_a_number_or_a_word_is_no_leak(text, answer):
    assert leaks(text, answer) == ()


def test_the_other_ways_to_give_an_answer_away():
    assert leaks("What is two squared?", "What is two squared? It is 4.") == ("question_in_answer",)
    assert leaks(r"Show that it is \boxed{7}", "8") == ("boxed_in_question",)
    assert leaks("What is f(2)?", "9", hint="f squares and adds 5, giving 9") == ("answer_in_hint",)
    assert leaks("Guess", "9", hint="near 19") == ()
    assert leaks(r"It is \fbox {7}", "7") == ("answer_in_question", "boxed_in_question")
    assert leaks("the unboxed parcel {7}", "8") == ()


@pytest.mark.parametrize(
    ("text", "answer", "there"),
    [
        ("It is 46.", "46", True),
        ("It is 461.", "46", False),
        ("3.5 and 0.3", "3", False),
        ("1,250", "250", False),
        ("1,250 men", "1250", True),
        ("8.0", "8", True),
        ("the REEF", "reef", True),
        ("Add.", "", False),
    ],
)
def test_an_answer_stands_in_a_text_as_whole_words_and_numbers(text, answer, there):
    assert stands_in(text, answer) is there


def test_leaks_are_counted_by_kind_among_valid_proposals():
    metrics = ProposerHealth().check(
        [
            Proposed("is it 7?", answer="7", hint="7"),
            Proposed(r"\boxed{3}", answer="4"),
            Proposed("what?", answer="7"),
            Proposed("what else?"),
            Proposed("is it 7?", answer="7", refused="leak"),
        ]
    )
    assert metrics["proposals/leak_share"] == 0.5
    assert metrics["proposals/leaks/answer_in_question"] == 0.25
    assert metrics["proposals/leaks/answer_in_hint"] == 0.25
    assert metrics["proposals/leaks/boxed_in_question"] == 0.25
