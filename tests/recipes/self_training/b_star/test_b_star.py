"""B-STaR: the balance score, what is kept of the replies, and which temperature is chosen."""

import math
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.contracts.recipes import metrics, trained
from redqueen.questions.catalogue import find_questions
from redqueen.recipes.self_training.b_star import recipe as b_star
from redqueen.recipes.self_training.b_star import steps
from redqueen.recipes.self_training.b_star.steps import Choice, Knobs, Rated, balance, best_choice, rated, selected
from redqueen.runs.folder import stored_episodes
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.types import SOLVER, Ask, Episode, Group, Message, Outcome, RedQueenError, Reply, Seat, Task, Turn

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=6)
SEAT = Seat(SOLVER)


def mixed(kept, right):
    return [True] * right + [False] * (kept - right)


@pytest.mark.parametrize(
    ("kept", "right", "expected"),
    [(8, 6, 0.5625), (4, 4, 0.5), (10, 8, 0.8), (0, 0, 0.0), (16, 8, 0.5), (8, 8, 1.0), (1, 1, 0.125), (3, 0, 0.0)],
)
def test_the_balance_score_of_the_card(kept, right, expected):
    assert balance(mixed(kept, right)) == expected


def test_a_task_of_which_nothing_is_kept_counts_nought_in_the_mean():
    """Section 11: mean .465625 over (8, 6), (4, 4), (10, 8) and nothing; .620833 if the empty one were left out."""
    tasks = [
        [Rated(f"{at}", right, 1.0 if right else 0.5) for at, right in enumerate(mixed(kept, good))]
        for kept, good in ((8, 6), (4, 4), (10, 8), (0, 0))
    ]
    assert best_choice(tasks, (0.0,), kept=100.0, wanted=8) == Choice(0.0, 10, pytest.approx(0.465625))


def test_the_balance_is_one_only_where_at_least_eight_are_kept_and_all_are_right():
    for kept in range(20):
        for right in range(kept + 1):
            assert 0.0 <= balance(mixed(kept, right)) <= 1.0
            assert (balance(mixed(kept, right)) == 1.0) == (kept == right >= 8)


def test_where_a_task_has_one_right_text_one_reply_is_best():
    """c <= 1, so that the score is 1 / (8 n)."""
    assert [balance(mixed(kept, 1)) for kept in (1, 2, 4)] == [1 / 8, 1 / 16, 1 / 32]


TASK = [
    Rated("on 1+2=3", True, 1.15),
    Rated("on 1+2=3", True, 1.02),
    Rated("back 2+1=3", True, 1.08),
    Rated("on 1+2=4", False, 0.19),
    Rated("?", False, math.nan),
]


def test_replies_are_kept_above_the_threshold_best_first_and_of_equal_texts_the_best():
    assert selected(TASK, -math.inf, 9) == [0, 2, 3]
    assert selected(TASK, 1.0, 9) == [0, 2]
    assert selected(TASK, 1.0, 1) == [0]
    assert selected(TASK, 1.08, 9) == [0]  # the score has to be above
    assert selected(TASK, 2.0, 9) == []


def test_as_few_replies_are_kept_of_a_task_as_reach_the_number_in_all():
    """Two tasks with 3 and 1 right replies: 1 of each makes 2 in all, 2 make 3, 3 make 4; more there are not."""
    tasks = [[Rated(str(at), True, 1.1) for at in range(3)], [Rated("a", True, 1.1)]]
    found = [best_choice(tasks, (1.0,), kept, 8).most for kept in (0.5, 1.0, 1.5, 2.0, 5.0)]
    assert found == [1, 1, 2, 3, 3]


def test_the_threshold_that_keeps_the_right_ones_is_found():
    """Above 0: 8 of 16 right, .5. Above 1: 8 of 8, 1. Above 1.15: 1 of 1, .125."""
    task = [Rated(f"r{at}", True, 1.1 + 0.01 * at) for at in range(8)] + [
        Rated(f"w{at}", False, 0.1) for at in range(8)
    ]
    assert best_choice([task], (0.0, 1.0, 1.165), 100.0, 8) == Choice(1.0, 8, 1.0)


def test_where_nothing_is_right_the_strictest_threshold_is_taken():
    wrong = [Rated(f"w{at}", False, 0.1) for at in range(4)]
    assert best_choice([wrong], (0.0, 1.0, 1.1), 100.0, 8) == Choice(1.1, 1, 0.0)
    assert best_choice([wrong], (0.0,), 100.0, 8).threshold == 0.0, "of one threshold there is no choice"


def attempt(text, right, logprobs=(-0.5, -0.5)):
    reply = Reply(text, "learner", tokens=np.array([1, 2]), logprobs=np.array(logprobs), prompt_tokens=np.array([0]))
    turn = Turn(Ask(SEAT, (Message("game", "?"),)), reply)
    return Episode("g", Task("t"), 0, (turn,), Outcome({SEAT: 0.0}, {"reply": text, "right": right}), (SEAT,))


def test_a_reply_scores_its_verdict_and_a_fifth_of_its_confidence():
    """exp(-.5) = .6065 is the geometric mean of its tokens' probabilities."""
    right, wrong, unknown = rated(Group(0, Task("t"), (attempt("a", True), attempt("b", False), attempt("c", None))))
    assert right.score == pytest.approx(1.12131, abs=1e-5)
    assert wrong.score == pytest.approx(0.12131, abs=1e-5)
    assert (right.right, wrong.right, unknown.right) == (True, False, False)
    assert math.isnan(unknown.score)


def knobs(**changes):
    questions = find_questions("sums")
    development = questions.problems("1_digits", 1, Random(0))
    return Knobs(replace(b_star.Config(learner=TINY), **changes), questions, development)


def test_credit_is_one_for_what_is_kept():
    group = Group(0, Task("t"), (attempt("a", True), attempt("a", True), attempt("b", False), attempt("c", True)))
    chosen = knobs(thresholds=(1.0,)).select([group])
    assert [float(each[0]) for each in chosen] == [1.0, 0.0, 0.0, 1.0]


def test_the_figures_and_the_alarm_say_when_tasks_have_one_right_reply():
    found = knobs(thresholds=(0.0,))
    found.select([Group(0, Task("t"), (attempt("a", True), attempt("b", False)))])
    figures = found.metrics()
    assert figures["balance"] == 1 / 16
    assert (figures["selected"], figures["selected_right"], figures["one_way"]) == (2.0, 0.5, 1.0)
    assert found.alarms()[0].startswith("few ways: of 100% of the tasks")
    assert found.metrics() == {}
    again = knobs()
    again.restore(found.state())
    assert again.alarms() == found.alarms()
    healthy = knobs(thresholds=(0.0,))
    healthy.select([Group(0, Task("t"), (attempt("a", True), attempt("b", True)))])
    assert healthy.alarms() == []


def test_the_temperature_is_chosen_by_what_is_said_at_it(monkeypatch):
    """At 2.0 all replies differ and are right, at 1.0 all are equal."""
    told = {1.0: ["a"] * 8, 2.0: list("abcdefgh")}

    def tried(self, player, rng):
        return [[Rated(text, True, 1.1) for text in told[player.temperature]]]

    monkeypatch.setattr(Knobs, "_tried", tried)
    learner = TINY.build_model(0)
    assert knobs(temperatures=(1.0, 2.0)).sampler(learner, None).temperature == 2.0
    told[1.0], told[2.0] = told[2.0], told[1.0]
    assert knobs(temperatures=(1.0, 2.0)).sampler(learner, None).temperature == 1.0
    assert learner.temperature == 1.0


def test_another_temperature_is_sampled_at_and_learned_as_said():
    learner = TINY.build_model(0)
    ask = Ask(SEAT, (Message("game", "What is 1+1?"),), seed=1)
    cold, usual = steps.tempered(learner, 0.01), learner.reply([ask])[0]
    (one,), (other,) = cold.reply([ask]), cold.reply([replace(ask, seed=2)])
    assert one.tokens.tolist() == other.tokens.tolist()  # nearly the likeliest, whatever the seed
    assert np.array_equal(one.prompt_tokens, usual.prompt_tokens)
    assert learner.reply([ask])[0].tokens.tolist() == usual.tokens.tolist()


def test_what_is_learned_is_a_demonstration(tmp_path):

    config = b_star.Config(
        learner=TINY,
        questions="sums",
        temperatures=(0.5, 2.0),
        thresholds=(0.0,),
        steps=3,
        updates=2,
        tasks=2,
        attempts=4,
        development=2,
        problems=2,
        truncated_score="graded",
    )
    run = trained(b_star, config, tmp_path, record_episodes=8)
    lines = metrics(run)
    assert [name in lines[0] for name in ("balance", "knobs/temperature", "knobs/most")] == [True] * 3
    assert "balance" not in lines[1]
    assert "balance" in lines[2]
    assert all("sampler_mismatch_mean" not in line for line in lines)
    assert list(stored_episodes(run.folder))


def test_star_starts_each_iteration_from_the_initial_weights(tmp_path):
    """With no updates between, both starts are the same; after one, they are not."""

    def weights(start, steps):
        config = b_star.Config(
            learner=TINY,
            questions="sums",
            temperatures=(1.0,),
            thresholds=(0.0,),
            steps=steps,
            updates=1,
            tasks=2,
            attempts=4,
            development=2,
            problems=2,
            truncated_score="graded",
            start=start,
        )
        return b_star.train(config, Run(tmp_path / f"{start}{steps}", 0)).state()["weights"]

    def same(one, other):
        return all(bool((one[key] == other[key]).all()) for key in one)

    assert same(weights("last", 1), weights("initial", 1))
    assert not same(weights("last", 2), weights("initial", 2))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"temperatures": ()}, "--temperatures and --thresholds need a value each"),
        ({"temperatures": (0.0, 1.0)}, "--temperatures must be positive, not 0"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes, complaint):
    with pytest.raises(RedQueenError, match=complaint):
        knobs(**changes)


def test_without_answers_it_stops_with_one_line(tmp_path):
    (tmp_path / "open.jsonl").write_text('{"question": "What is 1+1?"}\n{"question": "What is 2+2?"}\n')
    questions = find_questions(str(tmp_path / "open.jsonl"))
    with pytest.raises(RedQueenError, match="does not know what is right: evol_rl learns from the votes"):
        Knobs(b_star.Config(), questions, questions.problems("train", 2, Random(0)))


def test_development_tasks_that_leave_nothing_to_learn_from_are_refused_by_their_own_flag(tmp_path):
    file = tmp_path / "few.jsonl"
    file.write_text("".join(f'{{"question": "What is {n}+1?", "answer": "{n + 1}"}}\n' for n in range(20)))
    config = b_star.Config(TINY, str(file), steps=1, updates=1, tasks=2, attempts=2, problems=2)
    with pytest.raises(RedQueenError, match=r"40 development tasks leave nothing of .* to learn"):
        trained(b_star, config, tmp_path / "run")
    assert metrics(trained(b_star, replace(config, development=4), tmp_path / "smaller"))
