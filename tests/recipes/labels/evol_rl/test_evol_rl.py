"""EVOL-RL: the vectors of its bands, its controls, and that no figure of the question set reaches a reward."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.contracts.recipes import metrics, trained
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.rewards import score
from redqueen.questions.labels import held_to_majority
from redqueen.questions.small.sums import Sums
from redqueen.recipes.labels.evol_rl import recipe as evol_rl
from redqueen.recipes.labels.evol_rl.steps import Banded, Consensus, banded, novelties
from redqueen.settings.learner import Learner
from redqueen.settings.speech import Speech
from redqueen.settings.update import Update
from redqueen.types import Ask, Episode, Group, Outcome, RedQueenError, Reply, Seat, Task, Turn

SOLVER = Seat("solver")
ENDING = Speech(stop=tuple("0123456789aeiou "))  # an untrained model hardly ever ends a reply by itself
AGREES = np.array([True, True, True, False, False])
ALIKE = np.eye(5)
for (one, other), value in {
    (0, 1): 0.9, (0, 2): 0.4, (1, 2): 0.5, (0, 3): 0.2, (0, 4): 0.3,
    (1, 3): 0.1, (1, 4): 0.2, (2, 3): 0.6, (2, 4): 0.3, (3, 4): 0.8,
}.items():  # fmt: skip
    ALIKE[one, other] = ALIKE[other, one] = value


def group_of(*replies, truncated=(), number=0):
    """A group of attempts, each an answer or (thought, answer)."""
    attempts = []
    for place, each in enumerate(replies):
        thought, text = each if isinstance(each, tuple) else ("", each)
        reply = Reply(
            text, tokens=np.arange(3), logprobs=np.zeros(3), thought=thought, working=thought, malformed=not text,
            truncated=place in truncated,
        )  # fmt: skip
        outcome = Outcome({SOLVER: 0.0}, {"reply": text})
        attempts.append(Episode("reply", Task("t"), place, (Turn(Ask(SOLVER, ()), reply),), outcome, (SOLVER,)))
    return Group(number, Task("t"), tuple(attempts))


def paid(group, width=1.0, truncated="wrong"):
    (held,) = held_to_majority([group], truncated)
    return Banded(width, truncated).of_group(held)["banded"][SOLVER]


def test_the_bands_of_the_card():
    np.testing.assert_allclose(novelties(AGREES, ALIKE), [0.225, 0.2, 0.475, 0.2, 0.2], atol=1e-12)
    rewards = banded(AGREES, ALIKE)
    np.testing.assert_allclose(rewards, [6 / 11, 0.5, 1.0, -0.75, -0.75], atol=1e-12)
    advantages = (rewards - rewards.mean()) / rewards.std(ddof=1)
    np.testing.assert_allclose(advantages, [0.539892, 0.483653, 1.102280, -1.062912, -1.062912], atol=2e-6)
    plain = banded(AGREES, ALIKE, width=0.0)
    ttrl = (plain - plain.mean()) / plain.std(ddof=1)
    np.testing.assert_allclose(ttrl, [0.730297] * 3 + [-1.095445] * 2, atol=1e-6)


def test_who_is_alone_in_a_class_is_compared_with_all_and_gets_the_most_of_it():
    alone = np.array([True, False, False])
    alike = np.array([[1.0, 0.2, 0.4], [0.2, 1.0, 0.6], [0.4, 0.6, 1.0]])
    np.testing.assert_allclose(novelties(alone, alike), [1 - 0.15 - 0.2, 0.4, 0.4])
    np.testing.assert_allclose(banded(alone, alike), [1.0, -0.75, -0.75])
    np.testing.assert_allclose(banded(~alone, alike), [-0.5, 0.75, 0.75])


def test_no_reply_that_disagrees_is_paid_as_much_as_one_that_agrees_and_order_does_not_count():
    rng = np.random.default_rng(0)
    for _ in range(200):
        count = int(rng.integers(2, 12))
        agrees, alike = rng.random(count) < 0.6, rng.random((count, count))
        alike = (alike + alike.T) / 2
        rewards, width = banded(agrees, alike), float(rng.random())
        if agrees.any() and not agrees.all():
            assert rewards[agrees].min() >= 0.5 and rewards[~agrees].max() <= -0.5
            assert banded(agrees, alike, width)[agrees].min() >= 0.5
        order = rng.permutation(count)
        np.testing.assert_allclose(banded(agrees[order], alike[np.ix_(order, order)]), rewards[order])


def test_copies_of_one_reply_have_the_least_of_their_class():
    rewards = paid(group_of(("2 and 2", "4"), ("2 and 2", "4"), ("twice two is", "4"), ("five", "5")))
    assert rewards[0] == rewards[1] == 0.5 and rewards[2] == 1.0 and rewards[3] == -0.5


def test_what_stands_in_the_marks_of_a_thought_is_no_novelty():
    group = group_of(("2 and 2", "4"), ("2 and 2", "4"), ("twice two is", "4"), ("five", "5"))
    turns = [each.turns[0] for each in group.attempts]
    hidden = [
        replace(each, turns=(replace(turn, reply=replace(turn.reply, working="")),))
        for each, turn in zip(group.attempts, turns, strict=True)
    ]
    assert paid(replace(group, attempts=tuple(hidden))).tolist() == [0.75, 0.75, 0.75, -0.5]


def test_without_an_answer_a_reply_is_paid_minus_one_and_is_in_no_class():
    assert paid(group_of("4", "4", "", "7")).tolist() == [0.75, 0.75, -1.0, -0.5]
    assert paid(group_of("4", "", "")).tolist() == [-1.0, -1.0, -1.0]
    assert paid(group_of("", "")).tolist() == [-1.0, -1.0]


def test_a_reply_of_signs_alone_is_no_answer_as_in_the_vote():
    assert paid(group_of("4", "4", "...", "7")).tolist() == [0.75, 0.75, -1.0, -0.5]
    assert paid(group_of("4", "?!")).tolist() == [-1.0, -1.0]


def test_a_reply_that_was_cut_off_has_no_answer_or_one_or_is_unknown_as_told():
    group = group_of("4", "4", "4", truncated=(2,))
    assert paid(group).tolist() == [0.75, 0.75, -1.0]
    assert np.isnan(paid(group, truncated="unknown")[2]) and paid(group, truncated="graded")[2] == 0.75


def test_a_tie_teaches_nothing_whoever_spoke_first():
    assert np.isnan(paid(group_of("5", "6", "7", "8"))).all()
    assert np.isnan(paid(group_of("5", "6", "6", "5"))).all()
    assert paid(group_of("5", "6", "6", ""))[[0, 3]].tolist() == [-0.5, -1.0]
    consensus = Consensus(Sums(digits=1), "majority", 4, 4, "wrong")
    consensus([group_of("5", "6", "6", "5")])
    found = consensus.metrics()
    assert "label_accuracy" not in found and found["majority_share"] == 0.5 and found["agreed"] == 1.0


def test_at_novelty_zero_the_advantages_are_those_of_the_majority_alone():
    group = group_of(("a b c", "4"), ("a b d", "4"), ("x y", "4"), ("z", "5"), ("a b", "6"))
    (held,) = held_to_majority([group])
    ours = GroupRelative()(score([held], Banded(0.0)))
    plain = replace(held, attempts=tuple(held.attempts))
    right = [float(each.outcome.facts["right"]) for each in plain.attempts]
    expected = (np.array(right) - np.mean(right)) / np.std(right, ddof=1)
    np.testing.assert_allclose(np.concatenate(ours), expected, rtol=1e-4)


def test_the_first_attempts_are_kept_after_all_have_voted_and_were_compared():
    consensus = Consensus(Sums(digits=1), "majority", 5, 2, "wrong")
    groups = consensus([group_of("5", ("a", "4"), ("a", "4"), ("b", "4"), "5"), group_of("7", "7", "7", "7", "8")])
    kept = consensus.kept(score(groups, Banded()), Random(0))
    assert [each.episode.outcome.facts["right"] for each in kept] == [False, True, True, True]
    assert [float(each.rewards[0]) for each in kept] == [-0.75, 0.5, 0.75, 0.75], "alone among the kept it had 1"
    consensus.metrics()
    consensus([group_of("5", "4", "4", "4", "5")])
    found = consensus.metrics()
    assert found["majority_share"] == pytest.approx(0.6) and found["answered"] == 1.0 == found["agreed"]


@pytest.mark.parametrize(
    ("replies", "alarm"),
    [
        (("4", "5", "6", "7"), "nobody_agrees"),
        (("", "", "", "4"), "no_vote"),
        (("4", "4", "4", "4"), "all_agree"),
        (("4", "4", "5", "6"), ""),
    ],
)
def test_votes_that_teach_nothing_ring_and_healthy_ones_do_not(replies, alarm):
    consensus, found = Consensus(Unknowing(), "majority", 4, 4, "wrong"), {}
    for _ in range(10):
        consensus([group_of(*replies)])
        found = consensus.metrics()
    rings = {name for name, value in found.items() if name.startswith("alarm/") and value}
    assert f"alarm/{alarm}" in rings if alarm else not rings


def test_majorities_that_are_wrong_ring():
    consensus = Consensus(Lying(digits=1), "majority", 4, 4, "wrong")
    group = group_of("4", "4", "4", "5")
    told = replace(group, task=replace(group.task, answer="4"))
    for _ in range(10):
        consensus([told])
        found = consensus.metrics()
    assert found["label_accuracy"] == 0.0 and found["alarm/wrong_labels"]


def test_shuffled_rewards_are_the_same_ones_dealt_anew():
    groups = held_to_majority([group_of("4", "4", "5", "6", number=n) for n in range(4)])
    trajectories = score(groups, Banded())
    dealt = Consensus(Sums(), "shuffled", 4, 4, "wrong").kept(trajectories, Random(1))
    before, after = ([float(each.rewards[0]) for each in found] for found in (trajectories, dealt))
    assert sorted(before) == sorted(after) and before != after
    assert [each.episode for each in dealt] == [each.episode for each in trajectories]


class Unknowing(Sums):
    """Does not know what is right."""

    def right(self, tasks, answers):
        return [None] * len(tasks)


class Lying(Sums):
    """Says the opposite of what is so."""

    def right(self, tasks, answers):
        return [not each for each in super().right(tasks, answers)]


def test_no_figure_of_the_question_set_reaches_a_reward(tmp_path):
    tiny = Learner(model="tiny:hidden=16,heads=2", max_completion_length=1, solver=ENDING)
    config = evol_rl.Config(learner=tiny, steps=2, tasks=3, votes=16, attempts=6, problems=2, truncated_score="graded")
    runs = []
    for number, questions in enumerate((f"{__name__}:truth", f"{__name__}:lie")):
        runs.append(metrics(trained(evol_rl, replace(config, questions=questions), tmp_path / str(number))))
    for one, other in zip(*runs, strict=True):
        assert one["reward/solver"] == other["reward/solver"] and one["loss"] == other["loss"]
        assert one["label_accuracy"] == pytest.approx(1.0 - other["label_accuracy"])


def truth():
    return Sums(digits=1)


def lie():
    return Lying(digits=1)


def test_more_attempts_than_votes_are_refused(tmp_path):
    config = replace(evol_rl.Config(), votes=4, attempts=8, learner=Learner(model="tiny"))
    with pytest.raises(RedQueenError, match="--attempts 8 of --votes 4 attempts cannot be learned from"):
        trained(evol_rl, config, tmp_path)


def test_known_labels_that_nobody_knows_are_refused(tmp_path):
    (tmp_path / "open.jsonl").write_text("".join(f'{{"question": "What is {at}+1?"}}\n' for at in range(8)))
    config = evol_rl.Config(Learner(model="tiny"), str(tmp_path / "open.jsonl"), labels="known", steps=1, problems=2)
    with pytest.raises(RedQueenError, match="does not know what is right: --labels majority learns from the votes"):
        trained(evol_rl, config, tmp_path / "run")


@pytest.mark.parametrize(("released", "moves"), [(False, True), (True, False)])
def test_the_paper_has_an_entropy_bonus_and_clips_higher_and_the_script_does_neither_unless_asked(
    released, moves, tmp_path
):
    """No attempt of this model ends, so that all are paid -1 and no advantage teaches anything: what moves the weights
    in the first step is the entropy bonus of the paper, which the released script has only with --ent and
    --clip-high."""
    script = Update(entropy=0.0, clip_high=0.2) if released else Update()
    found = script.over(evol_rl.Config.paper)
    assert (found.entropy, found.clip_low, found.clip_high) == ((0.0, 0.2, 0.2) if released else (0.003, 0.2, 0.28))
    tiny = Learner(model="tiny:hidden=16,heads=2", max_completion_length=2)
    config = evol_rl.Config(
        tiny, steps=1, tasks=1, votes=2, attempts=2, problems=1, update=Update(entropy=script.entropy)
    )
    (line,) = metrics(trained(evol_rl, config, tmp_path))
    assert line["reward/solver"] == -1.0 and (line["gradient_norm"] > 0.0) == moves
