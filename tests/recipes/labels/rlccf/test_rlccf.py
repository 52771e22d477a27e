"""RLCCF: the label of several members, one member is TTRL, and members that say nothing or always the same."""

from dataclasses import replace

import numpy as np
import pytest

from redqueen.contracts.recipes import metrics, trained
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.group_rewards import correct
from redqueen.credit.outcomes import verdicts
from redqueen.credit.rewards import score
from redqueen.questions.labels import held_to_majority
from redqueen.questions.small.listed import Listed
from redqueen.questions.small.sums import Sums
from redqueen.recipes.labels.rlccf import recipe as rlccf
from redqueen.recipes.labels.rlccf.steps import Council, electing
from redqueen.runs.run import read_final
from redqueen.settings.learner import Learner
from redqueen.types import Ask, Episode, Group, Outcome, RedQueenError, Reply, Seat, Task, Turn

SOLVER = Seat("solver")
TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=6)
SMALL = rlccf.Config(
    learner=TINY,
    members=2,
    steps=2,
    tasks=3,
    attempts=4,
    problems=2,
    truncated_score="graded",
    questions="sums:digits=1",
)
THREE = ("AAAAC", "BBBCD", "BBCDE")


def group_of(answers, name="learner", task=Task("t"), number=0):
    found = []
    for place, text in enumerate(answers):
        reply = Reply(text, name, tokens=np.arange(2), logprobs=np.zeros(2), malformed=not text)
        turn = Turn(Ask(SOLVER, ()), reply)
        found.append(Episode("reply", task, place, (turn,), Outcome({SOLVER: 0.0}, {"reply": text}), (SOLVER,)))
    return Group(number, task, tuple(found))


def council_of(questions=None, weigh=True, least=1, vote="label"):
    return Council(questions or Sums(digits=1), electing(vote, weigh), vote, least, "wrong")


def held(answers, **settings):
    council = council_of(**settings)
    by_member = {f"m{n}": [group_of(each, f"m{n}", number=n)] for n, each in enumerate(answers)}
    return council(by_member)


def test_the_members_of_the_card_learn_from_the_collective_label():
    groups = held(THREE)
    assert [verdicts(group).tolist() for group in groups] == [[1, 1, 1, 1, 0], [0] * 5, [0] * 5]
    found = np.concatenate(GroupRelative()(score(groups, correct)))
    np.testing.assert_allclose(found[:5], [0.4472] * 4 + [-1.7889], atol=1e-3)
    assert not found[5:].any()  # who never says the label learns nothing
    plain = held(THREE, weigh=False)
    assert verdicts(plain[0]).tolist() == [0] * 5


def test_one_member_has_no_label_where_its_own_majority_has_none():
    group = group_of("5656")
    ((own,), (ttrl,)) = council_of()({"m": [group]}), held_to_majority([group])
    assert np.isnan(verdicts(own)).all() and np.isnan(verdicts(ttrl)).all()


def test_one_member_is_its_own_majority():
    for answers in (("4", "5", "4"), ("4", "5", "5"), ("", "", "7")):
        (own,) = held([answers])
        (ttrl,) = held_to_majority([group_of(answers)])
        np.testing.assert_array_equal(verdicts(own), verdicts(ttrl))


def test_a_label_of_too_few_members_is_none():
    (first, *_) = held(THREE, least=2)
    assert np.isnan(verdicts(first)).all()
    (first, *_) = held(["AAB", "CCA"], least=2)
    assert verdicts(first).tolist() == [1, 1, 0]


def test_where_nobody_answers_and_where_there_is_a_tie_there_is_no_verdict():
    assert all(np.isnan(verdicts(group)).all() for group in held([("", ""), ("", "")]))
    assert all(np.isnan(verdicts(group)).all() for group in held([("4", "4"), ("5", "5")]))


def test_with_the_vote_for_the_nearest_an_answer_earns_its_likeness_to_the_chosen_one():
    """The readings of Consensus Entropy's card: 12345 is chosen; two readers who differ choose nothing."""
    council = council_of(vote="nearest")
    by_member = {
        f"m{n}": [group_of([text], f"m{n}")] for n, text in enumerate(["12345", "12345", "12845", "99999", ""])
    }
    found = [float(each.rewards.sum()) for each in score(council(by_member), council.reward)]
    assert found == pytest.approx([1.0, 1.0, 0.8, 0.0, 0.0])
    assert council.metrics()["majority_share"] == pytest.approx(1 - 0.4)
    council = council_of(vote="nearest")
    two = council({"a": [group_of(["12345"], "a")], "b": [group_of(["12845"], "b")]})
    assert all(np.isnan(each.rewards).all() for each in score(two, council.reward))


def test_a_chosen_text_may_be_all_signs():
    found = council_of(vote="nearest")({"a": [group_of(["...", "..."])], "b": [group_of(["...", "?!"])]})
    assert [each.outcome.facts["quality"] for group in found for each in group.attempts] == [1.0, 1.0, 1.0, 0.0]


def test_the_vote_for_the_nearest_trains(tmp_path):
    line = metrics(trained(rlccf, replace(SMALL, vote="nearest", problems=8), tmp_path))[0]
    assert line["gradient_norm"] > 0.0 and 0.0 < line["reward/solver"] < 1.0


def rings(by_step, questions=None, steps=10):
    council, found = council_of(questions), {}
    for _ in range(steps):
        council(by_step)
        found = council.metrics()
    return {name.removeprefix("alarm/") for name, value in found.items() if name.startswith("alarm/") and value}


class Unknowing(Sums):
    """Does not know what is right."""

    def right(self, tasks, answers):
        return [None] * len(tasks)


def test_a_member_that_always_says_the_same_or_nothing_rings_and_healthy_ones_do_not():
    tasks = [Task(f"t{n}") for n in range(5)]
    good = [group_of([str(n), str(n), str(n + 50)], task=task) for n, task in enumerate(tasks)]
    same = [group_of(["7", "7", "7"], task=task) for task in tasks]
    none = [group_of(["", "", ""], task=task) for task in tasks]
    assert rings({"one": good, "two": good}, Unknowing()) == set()
    assert "stuck" in rings({"one": good, "two": same}, Unknowing())
    assert "silent" in rings({"one": good, "two": none}, Unknowing())


def test_labels_that_are_wrong_ring_and_right_ones_do_not():
    sums = Sums(digits=1)
    tasks = [sums.task(2, 3), sums.task(1, 3), sums.task(4, 4), sums.task(2, 1)]
    right = [group_of([task.answer, task.answer, "99"], task=task) for task in tasks]
    wrong = [group_of([f"9{n}", f"9{n}", task.answer], task=task) for n, task in enumerate(tasks)]
    assert rings({"one": right, "two": right}, sums) == set()
    assert rings({"one": wrong, "two": wrong}, sums) == {"wrong_labels"}


class Lying(Listed):
    """Says the opposite of what is so; answers are listed, so that an untrained model sometimes agrees with itself."""

    def right(self, tasks, answers):
        return [not each for each in super().right(tasks, answers)]


def truth():
    return Listed()


def lie():
    return Lying()


def test_no_figure_of_the_question_set_reaches_a_reward(tmp_path):
    runs = [
        metrics(trained(rlccf, replace(SMALL, questions=f"{__name__}:{name}"), tmp_path / name))
        for name in ("truth", "lie")
    ]
    for one, other in zip(*runs, strict=True):
        assert one["reward/solver"] == other["reward/solver"] and one["member2/loss"] == other["member2/loss"]
        assert one["label_accuracy"] == pytest.approx(1.0 - other["label_accuracy"])


def test_the_vote_for_the_nearest_says_how_well_wrong_answers_are_told_from_right_ones(tmp_path):
    """Where held-out answers are both: the choices are drawn, so that some are right."""
    config = replace(SMALL, vote="nearest", questions=f"{__name__}:truth", problems=8)
    assert 0.0 < read_final(trained(rlccf, config, tmp_path).folder)["errors_auc"] < 1.0


def test_a_file_without_answers_is_learned_from_and_what_needs_answers_is_unknown(tmp_path):
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(f'{{"question": "What is {n}+{n}?"}}\n' for n in range(40)))
    config = replace(SMALL, questions=str(file))
    line = metrics(trained(rlccf, config, tmp_path / "run"))[-1]
    assert line["label_accuracy_unknown"] == 1.0 and "label_accuracy" not in line and "collective" not in line
    silent = replace(config, truncated_score="wrong")  # every answer is cut off, so that nobody votes
    final = read_final(trained(rlccf, silent, tmp_path / "silent").folder)
    assert final["collective_unknown"] == final["majority/learner_unknown"] == 1.0
    assert not {"collective", "majority", "majority/learner", "accuracy"} & set(final)


def test_members_of_another_model_join_and_all_learn(tmp_path):
    line = metrics(trained(rlccf, replace(SMALL, members=1, others=("tiny:hidden=24,heads=2",)), tmp_path))[-1]
    assert {"loss", "member2/loss"} <= set(line)


def test_more_members_in_favour_than_there_are_is_refused(tmp_path):
    with pytest.raises(RedQueenError, match="--least-members 3 cannot be in favour: there are 2"):
        trained(rlccf, replace(SMALL, least_members=3), tmp_path)
