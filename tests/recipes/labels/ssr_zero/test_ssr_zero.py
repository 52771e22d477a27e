"""SSR-Zero: the vectors of its card, judges that teach nothing, and that no figure of the question set is paid."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.contracts.recipes import metrics, trained
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.rewards import score
from redqueen.play.groups import attempts
from redqueen.questions.asking import SOLVE
from redqueen.questions.fenced import about_score
from redqueen.questions.judging import scored
from redqueen.questions.small.sums import Sums
from redqueen.recipes.labels.ssr_zero import recipe as ssr_zero
from redqueen.recipes.labels.ssr_zero.steps import (
    SelfScore,
    SelfScored,
    found_metric,
    relative,
    sigmoid,
    standard,
    stories,
    story_reward,
)
from redqueen.settings.learner import Learner
from redqueen.settings.limits import check_settings
from redqueen.settings.roles import Role
from redqueen.texts import of_length
from redqueen.types import Ask, Episode, Group, Outcome, RedQueenError, Reply, Seat, Task, Turn

SOLVER = Seat("solver")
TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=6)
SMALL = ssr_zero.Config(learner=TINY, steps=2, tasks=3, attempts=4, problems=2, truncated_score="graded")


def group_of(opinions, truncated=(), malformed=(), metric=None):
    """A group of attempts that a judge has scored."""
    found = []
    for place, opinion in enumerate(opinions):
        reply = Reply(
            "4", tokens=np.arange(2), logprobs=np.zeros(2), truncated=place in truncated, malformed=place in malformed
        )
        facts = {"reply": "4", "opinion": opinion}
        facts |= {} if metric is None else {"metric": metric[place]}
        turn = Turn(Ask(SOLVER, ()), reply)
        found.append(Episode("reply", Task("t"), place, (turn,), Outcome({SOLVER: 0.0}, facts), (SOLVER,)))
    return Group(7, Task("t"), tuple(found))


def paid(group, **changes):
    return SelfScore(**changes).of_group(group)["self_score"][SOLVER]


class Judge:
    """A judge with these probabilities of the digits 0 to 9, whatever it is shown."""

    name = "judge"

    def __init__(self, row, says="9"):
        self.row, self.says, self.seen = np.array(row), says, []

    def probabilities(self, asks):
        self.seen += asks
        return [self.row for _ in asks]

    def reply(self, asks):
        self.seen += asks
        return [Reply(self.says, self.name) for _ in asks]


class Echo:
    """A solver that always says the same."""

    name = "learner"

    def __init__(self, text="4"):
        self.text = text

    def reply(self, asks):
        return [Reply(self.text, self.name, tokens=np.arange(2), logprobs=np.zeros(2)) for _ in asks]


def tries(count=4, text="4"):
    tasks = Sums(digits=1).problems("1_digits", 2, Random(0))
    return attempts(SOLVE, tasks, Echo(text), count, Random(0))


def scored_by(judge, scale="digits", **changes):
    settings = {"questions": Sums(digits=1), "repeats": 1, "metric": "", "truncated": "wrong"} | changes
    return SelfScored(judge=judge, scale=scale, **settings)


def test_the_scores_of_the_card():
    group = group_of([0.8, 0.6, 0.6, 0.4])
    assert paid(group).tolist() == [0.8, 0.6, 0.6, 0.4]
    found = np.concatenate(GroupRelative()(score([group], SelfScore())))
    np.testing.assert_allclose(found, [1.2247, 0.0, 0.0, -1.2247], atol=1e-3)
    plain = np.concatenate(GroupRelative(divide_by_deviation=False)(score([group], SelfScore())))
    np.testing.assert_allclose(plain, [0.2, 0.0, 0.0, -0.2], atol=1e-12)


def test_an_attempt_without_a_score_is_left_out_and_the_others_are_compared_among_themselves():
    group = group_of([0.8, None, 0.6, 0.4])
    (one, none, two, three) = GroupRelative(divide_by_deviation=False)(score([group], SelfScore()))
    assert np.isnan(none).all()
    np.testing.assert_allclose(np.concatenate([one, two, three]), [0.2, 0.0, -0.2], atol=1e-12)


def test_equal_scores_teach_nothing():
    assert not np.concatenate(GroupRelative()(score([group_of([0.7] * 4)], SelfScore()))).any()


def test_a_reply_out_of_format_earns_nothing_and_one_that_was_cut_off_as_told():
    group = group_of([0.8, 0.6, 0.5], malformed=(0,), truncated=(1,))
    assert paid(group).tolist() == [0.0, 0.0, 0.5]
    assert paid(group, truncated="graded").tolist() == [0.0, 0.6, 0.5]
    assert np.isnan(paid(group, truncated="unknown")[1])
    assert np.isnan(paid(group_of([None, 0.5], malformed=(0,)))[0])


def test_a_score_is_the_exact_expectation_over_the_digits():
    row = np.zeros(10)
    row[[7, 8, 3]] = 0.5, 0.3, 0.2
    judge = Judge(row)
    found = scored_by(judge)(tries(), Random(1))
    assert [each.outcome.facts["opinion"] for each in found[0].attempts] == pytest.approx([6.5 / 9.0] * 4)
    assert all(ask.choices == tuple("0123456789") for ask in judge.seen)
    assert all(
        group.task.answer not in ask.messages[-1].text.split("Answer:")[0] for group, ask in [(found[0], judge.seen[0])]
    )


def test_a_score_in_words_is_read_on_its_own_scale_and_nothing_else_is_guessed():
    def say(text):
        return scored_by(Judge(np.ones(10) / 10, text), "words")(tries(), Random(1))[0].attempts[0]

    assert say("It is right.\n80").outcome.facts["opinion"] == 0.8
    assert say("It depends.").outcome.facts["opinion"] is None


def test_a_judge_of_which_nothing_can_be_read_stops_the_run_in_one_line():
    heard = scored_by(Judge(np.ones(10) / 10, "perhaps"), "words")
    heard(tries(16), Random(0))
    with pytest.raises(RedQueenError, match="no score that can be read to any of 64 answers"):
        heard(tries(16), Random(0))


def told(opinions, right, repeats=12):
    """The alarms after steps in which these opinions are paid for answers that are right or not."""
    sums = Sums(digits=1)
    (task,) = sums.problems("1_digits", 1, Random(3))
    heard, found = scored_by(Judge(np.ones(10) / 10), questions=sums), {}
    for _ in range(repeats):
        group = group_of(opinions)
        own = tuple(
            replace(
                each,
                task=task,
                outcome=Outcome(
                    {SOLVER: 0.0}, {**each.outcome.facts, "reply": task.answer if good else f"{place + 50}"}
                ),
            )
            for place, (each, good) in enumerate(zip(group.attempts, right, strict=True))
        )
        groups = [replace(group, task=task, attempts=own)]
        heard.observe(groups, score(groups, SelfScore()))
        found = heard.metrics()
    return {name.removeprefix("alarm/") for name, value in found.items() if name.startswith("alarm/") and value}


def test_alarms_ring_where_the_judge_teaches_nothing_or_wrongly_and_are_silent_where_it_teaches():
    right = (True, True, False, False)
    assert told([0.9, 0.8, 0.2, 0.1], right) == set()
    assert told([0.1, 0.2, 0.8, 0.9], right) == {"parted"}
    assert "scores_alike" in told([1.0, 1.0, 1.0, 1.0], right)
    assert "unread_scores" in told([None, None, None, 0.9], right)


def test_with_a_metric_both_parts_count_alike():
    group = group_of([0.9, 0.7], metric=[1.0, 3.0])
    parts = SelfScore(metric=True).of_group(group)
    np.testing.assert_allclose(parts["self_score"][SOLVER], [0.5, -0.5])
    np.testing.assert_allclose(parts["metric"][SOLVER], [-0.5, 0.5])
    assert standard(np.array([2.0, 2.0])).tolist() == [0.0, 0.0]
    assert standard(np.array([0.7] * 6)).tolist() == [0.0] * 6, "a deviation that is rounding"


@pytest.mark.parametrize("spoilt", ["truncated", "malformed"])
def test_a_reply_that_was_cut_off_or_has_no_form_earns_nothing_by_its_metric(spoilt):
    group = group_of([0.9, 1.0, 0.1, 0.1], metric=[4.0, 1.0, 1.0, 2.0], **{spoilt: (0,)})
    parts = SelfScore(metric=True).of_group(group)
    assert parts["self_score"][SOLVER].argmin() == 0
    assert parts["metric"][SOLVER].tolist() == pytest.approx((standard(np.array([1.0, 1.0, 1.0, 2.0])) / 2).tolist())


def test_where_attempts_that_were_cut_off_are_unknown_or_graded_so_is_their_metric():
    group = group_of([0.9, 1.0, 0.1], metric=[4.0, 1.0, 1.0], truncated=(0,))
    unknown = SelfScore(metric=True, truncated="unknown").of_group(group)
    assert np.isnan([unknown["metric"][SOLVER][0], unknown["self_score"][SOLVER][0]]).all()
    graded = SelfScore(metric=True, truncated="graded").of_group(group)
    assert graded["metric"][SOLVER].argmax() == 0
    silent = SelfScore(metric=True).of_group(group_of([0.9, 0.1], metric=[None, None], malformed=(1,)))
    assert np.isnan(silent["metric"][SOLVER]).all()


def test_a_metric_is_a_function_of_the_users(tmp_path):
    (tmp_path / "own.py").write_text(
        "def words(task, reply):\n    return len(reply.split())\n\n\nbad = lambda t, r: 'x'\n"
    )
    assert found_metric(f"{tmp_path}/own.py:words")(Task("t"), "a b c") == 3.0
    with pytest.raises(RedQueenError, match="a metric is a finite number"):
        found_metric(f"{tmp_path}/own.py:bad")(Task("t"), "a")
    with pytest.raises(RedQueenError, match=r"own.py:words raises AttributeError .* for the reply None: a metric is a"):
        found_metric(f"{tmp_path}/own.py:words")(Task("t"), None)
    for wrong, said in (
        ("comet", "names no function: write path/to/file.py:function"),
        (f"{tmp_path}/own.py:no", "has no function"),
    ):
        with pytest.raises(RedQueenError, match=said):
            found_metric(wrong)


def test_demonstrated_scores_follow_the_check_as_often_as_told():
    shown = [one for one in scored("sums", skill=1.0).demonstrations(90, Random(0)) if one.role == "judge"]
    assert shown and {one.text for one in shown} <= set("012789")
    sums = Sums()
    for one in shown:
        assert one.task.choices == tuple("0123456789")
    right = about_score(sums.task(2, 3), "5", Random(0), 0, 9)
    assert "2+3" in right.prompt


class Lying(Sums):
    """Says the opposite of what is so."""

    def right(self, tasks, answers):
        return [not each for each in super().right(tasks, answers)]


def truth():
    return Sums(digits=1)


def lie():
    return Lying(digits=1)


def test_no_figure_of_the_question_set_reaches_a_reward(tmp_path):
    runs = []
    for number, questions in enumerate((f"{__name__}:truth", f"{__name__}:lie")):
        runs.append(metrics(trained(ssr_zero, replace(SMALL, questions=questions), tmp_path / str(number))))
    for one, other in zip(*runs, strict=True):
        assert one["reward/solver"] == other["reward/solver"] and one["loss"] == other["loss"]
        assert one["judge_right"] == pytest.approx(1.0 - other["judge_right"])


def test_a_file_without_answers_is_learned_from_and_what_needs_answers_is_unknown(tmp_path):
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(f'{{"question": "What is {n}+{n}?"}}\n' for n in range(40)))
    lines = metrics(trained(ssr_zero, replace(SMALL, questions=str(file)), tmp_path / "run"))
    assert lines[-1]["label_accuracy_unknown"] == 1.0 and "label_accuracy" not in lines[-1]
    assert lines[-1]["unread"] == 0.0 and "reward_auc" not in lines[-1] and "accuracy" not in lines[-1]


def test_repeats_of_an_exact_score_are_refused(tmp_path):
    with pytest.raises(RedQueenError, match="--repeats has no effect with --scores digits"):
        check_settings(replace(SMALL, repeats=3))


def test_a_frozen_judge_stays_what_it_was(tmp_path):
    run = trained(ssr_zero, replace(SMALL, judge=Role("frozen")), tmp_path)
    assert metrics(run)[-1]["judge_seen"] > 0


# --- EvolvR's second stage: a reply beside the reference of its question ---------------------------


def test_what_evolvr_pays_is_not_monotone():
    """The vectors of the card: between 0 and .158 a better story is paid less than an equal one."""
    for ahead, paid in ((-0.5, 0.0036), (-0.1, 0.1), (0.0, 0.1462), (0.05, 0.0488), (0.1582, 0.1463), (0.5, 0.3935)):
        assert relative(ahead) == pytest.approx(paid, abs=1e-4)
    assert [of_length(size, 800, 1200) for size in (400, 800, 1200)] == [0.5, 1.0, 1.0]
    assert of_length(2200, 800, 1200) == pytest.approx(0.8 + 0.2 * np.exp(-1.0))
    assert story_reward(3.0, 3.0, 1000) == pytest.approx(0.1 * 0.5 + 0.8 * 0.14621 + 0.1, abs=1e-4)
    assert story_reward(3.05, 3.0, 1000) < story_reward(3.0, 3.0, 1000), "the released form"
    assert np.all(np.diff(sigmoid(np.linspace(-2.0, 2.0, 81))) > 0.0), "here"
    assert np.isnan(stories(np.array([np.nan, 3.0]), np.array([3.0, np.nan]), [900, 900])).all()


class Prefers:
    """A judge that prefers the texts in the order of `ranks`, and scores by them, from 0 to 9."""

    name = "judge"

    def __init__(self, ranks, always=""):
        self.ranks, self.always, self.seen = ranks, always, []

    def probabilities(self, asks):
        self.seen += [ask.messages[-1].text for ask in asks]
        return [self._row(ask) for ask in asks]

    def reply(self, asks):
        return [Reply("", self.name) for _ in asks]

    def _row(self, ask):
        parts = [part.split("\n")[2] for part in ask.messages[-1].text.split("Answer")[1:] if part[0] in " :"][:2]
        if len(ask.choices) == 10:
            return np.eye(10)[self.ranks[parts[0]]]
        if self.always:
            return np.array([float(self.always == "A"), float(self.always == "B")])
        first, second = (self.ranks[part] for part in parts)
        return np.array([float(first > second), float(first < second)])


def beside(judge, reference, *texts, answer="7"):
    task = Task("t", prompt="3+4", answer=answer)
    tries = tuple(attempts(SOLVE, [task], Echo(text), 1, Random(0))[0].attempts[0] for text in texts)
    (found,) = scored_by(judge, reference=reference)([Group(0, task, tries)], Random(0))
    return [each.outcome.facts["opinion"] for each in found.attempts]


def test_a_reply_beside_its_reference_in_both_orders():
    judge = Prefers({"5": 0, "7": 5, "9": 9})
    assert beside(judge, "wins", "9", "5", "7") == [1.0, 0.0, 0.5]
    assert len(judge.seen) == 4, "of equal texts nobody is asked"
    assert beside(Prefers({}, always="A"), "wins", "9", "5") == [0.5, 0.5], "a judge of the first place"


def test_scores_of_reply_and_reference_are_set_beside_each_other_on_one_scale():
    judge = Prefers({"5": 0, "7": 4, "9": 9})
    gaps = np.array([9 - 4, 0 - 4, 0]) * 4.0 / 9.0
    assert beside(judge, "sigmoid", "9", "5", "7") == pytest.approx((1.0 / (1.0 + np.exp(-gaps))).tolist())
    assert len(judge.seen) == 4, "the reference is scored once"
    told = beside(Prefers({"5": 0, "7": 4, "9": 9}), "evolvr", "9", "5", "7")
    assert told == pytest.approx([story_reward(s, 1 + 16 / 9, 1) for s in (5.0, 1.0, 1 + 16 / 9)])


def test_a_question_without_a_reference_has_no_verdict_and_a_file_without_any_stops():
    for reference in ("wins", "sigmoid", "evolvr"):
        assert beside(Prefers({"9": 9}), reference, "9", "9", answer="") == [None, None]
        with pytest.raises(RedQueenError, match="none of 64 answers could be set beside the reference of its question"):
            beside(Prefers({"9": 9}), reference, *["9"] * 64, answer="")


def test_the_second_stage_of_evolvr_trains(tmp_path):
    small = replace(SMALL, questions="preferences", reference="wins", judge=Role("frozen"), tasks=2, attempts=2)
    (line, *_) = metrics(trained(ssr_zero, replace(small, steps=1), tmp_path))
    assert 0.0 <= line["reward/solver"] <= 1.0
