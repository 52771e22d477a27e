"""Self-J: the loss and the labels of its card by hand, what the judge is shown, and what withholding is worth."""

from dataclasses import replace
from math import log
from random import Random

import numpy as np
import pytest
import torch

from redqueen.contracts.recipes import metrics, trained
from redqueen.credit.rewards import payoff, score
from redqueen.objectives.batch import pack_samples, take
from redqueen.play.groups import attempts
from redqueen.questions.asking import SOLVE, graded
from redqueen.questions.small.sums import Sums
from redqueen.recipes.labels.self_j import recipe as self_j
from redqueen.recipes.labels.self_j.measures import Withholding, best_of, withheld
from redqueen.recipes.labels.self_j.objective import Distilled, in_twos
from redqueen.recipes.labels.self_j.steps import Lessons, label
from redqueen.settings.learner import Learner
from redqueen.types import Likelihoods, RedQueenError, Reply

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=6)
SMALL = self_j.Config(learner=TINY, steps=2, tasks=2, attempts=4, problems=2, truncated_score="graded")
SUMS = Sums(digits=1)


class Judge:
    """A judge with known probabilities of the digits, and a solver that says these texts in turn."""

    name = "judge"

    def __init__(self, *texts, high=8):
        self.texts, self.high, self.shown = list(texts), high, []

    def reply(self, asks):
        return [Reply(self.texts.pop(0), self.name, tokens=np.arange(1), logprobs=np.zeros(1)) for _ in asks]

    def probabilities(self, asks):
        self.shown += [ask.messages[-1].text for ask in asks]
        return [np.eye(10)[self.high] for _ in asks]


def lessons_on(*texts, judge=None, majority=False, kind="check", mix=0.5):
    judge = judge or Judge()
    (group,) = graded(SUMS, attempts(SOLVE, [SUMS.task(3, 4)], Judge(*texts), len(texts), Random(0)))
    lessons = Lessons(judge, mix, kind, majority)
    return lessons, lessons([group], TINY.build_model(0), Random(0)), judge


def test_the_loss_of_the_card_whatever_the_order_of_rows():
    """p_T = (.5, .3, .2) and p_S = (.4, .4, .2) on 7, 8, 3, label 7: 0.693147 + .3 * .916291 + 2 * .025267."""
    _, episodes, _ = lessons_on("7", "5")
    taught = score(episodes, payoff)
    batch = in_twos(pack_samples(taught, [1.0, -1.0] * 2))
    own = batch.loss_weights != 0
    legal = torch.full((*own.shape, 3), -torch.inf, dtype=torch.float64)
    aided = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64).log()
    plain = torch.tensor([0.4, 0.4, 0.2], dtype=torch.float64).log()
    for row in range(4):
        legal[row][own[row]] = plain if row % 2 else aided
    likelihoods = Likelihoods(legal[..., 0].clone(), torch.zeros_like(legal[..., 0]), legal.requires_grad_())
    assert own.sum(dim=1).tolist() == [1, 1, 1, 1]
    loss, told = Distilled()(likelihoods, batch)
    assert float(loss.detach()) == pytest.approx(1.018569, abs=1e-6)
    assert told["distilled_kl"] == pytest.approx(0.025267, abs=1e-6)
    assert (told["aided_loss"], told["plain_loss"]) == (pytest.approx(log(2)), pytest.approx(0.916291))
    parts = []
    for rows in (torch.tensor([1, 0]), torch.tensor([2, 3])):
        part = Likelihoods(likelihoods.logprobs[rows], likelihoods.entropies[rows], legal[rows])
        parts.append(float(Distilled()(part, take(batch, rows))[0].detach()))
    assert sum(parts) == pytest.approx(1.018569, abs=1e-6)
    loss.backward()
    assert not legal.grad[0][own[0]].any(), "the aided judge is not drawn to the plain one"
    assert legal.grad[1][own[1]].any()


def test_a_label_is_half_the_score_and_half_the_likeness():
    assert [label(6.5, 1.0, 0.5), label(6.5, 0.0, 0.5), label(0.0, 0.0, 0.5), label(9.0, 1.0, 0.5)] == [8, 3, 0, 9]
    assert (label(2.0, 1.0, 1.0), label(2.0, 1.0, 0.0)) == (2, 9)
    assert said_labels(lessons_on("7", "5")) == ["9", "9", "4", "4"]  # .5 * 8 + 4.5 * (1, 0), rounded up from a half
    assert said_labels(lessons_on("17", "5", kind="text", mix=0.0)) == ["6", "6", "0", "0"]  # 2/3 of the characters


def said_labels(made):
    return [turn.reply.text for each in made[1] for turn in each.turns]


def test_the_reference_is_in_view_of_the_aided_judge_alone():
    _, episodes, judge = lessons_on("5")
    aided, plain = (each.task.prompt for each in episodes)
    assert "Right answer:" in aided and "Right answer:" not in plain and "5" in plain
    assert "7" in judge.shown[0].split("Right answer:")[1].split("Answer:")[0]
    assert aided.split("Question:")[0].split("\n")[0] == plain.split("Question:")[0].split("\n")[0]


def test_without_a_reference_it_stops_and_the_majority_can_be_one():
    task = replace(SUMS.task(3, 4), answer="")
    (group,) = attempts(SOLVE, [task], Judge("6", "6", "7"), 3, Random(0))
    (group,) = graded(SUMS, [group])
    with pytest.raises(RedQueenError, match="--majority"):
        Lessons(Judge(), 0.5, "text", False)([group], TINY.build_model(0), Random(0))
    judge = Judge()
    assert len(Lessons(judge, 0.5, "text", True)([group], TINY.build_model(0), Random(0))) == 6
    assert all("6" in shown.split("Right answer:")[1].split("Answer:")[0] for shown in judge.shown)


def ringing(*texts, judge=None):
    lessons, *_ = lessons_on(*texts, judge=judge, mix=1.0)
    for _ in range(5):
        (group,) = graded(SUMS, attempts(SOLVE, [SUMS.task(3, 4)], Judge(*texts), len(texts), Random(0)))
        lessons([group], TINY.build_model(0), Random(0))
    return {name for name, value in lessons.metrics().items() if name.startswith("alarm/") and value}


class Knowing(Judge):
    """Gives 9 to an answer that is the reference, else 1."""

    def probabilities(self, asks):
        texts = [ask.messages[-1].text for ask in asks]
        fences = [next(line for line in text.splitlines() if line.startswith("=====")) for text in texts]
        parts = [text.split(fence) for text, fence in zip(texts, fences, strict=True)]
        return [np.eye(10)[9 if part[4].strip() == part[6].strip() else 1] for part in parts]


def test_alarms_ring_for_labels_that_tell_nothing_apart_and_not_for_true_ones():
    assert ringing("7", "5", "7", "6", judge=Knowing()) == set()
    assert ringing("7", "5", "7", "6") == {"alarm/one_label", "alarm/blind_labels"}
    assert ringing("", "", "7", "") >= {"alarm/unread"}


def test_withholding_by_hand():
    scores, right = np.array([9.0, 7.0, 5.0, 5.0, 1.0, 3.0]), np.array([1.0, 0.0, 1.0, 0.0, 0.0, np.nan])
    found = withheld(scores, right)
    assert found["held_out/judge_auc"] == pytest.approx((3 + 1.5) / 6)
    assert found["held_out/kept_all"] == pytest.approx(2 / 5)
    assert found["held_out/kept_half"] == pytest.approx((1 + 0 + 0.5) / 3)  # one of two equals has room
    assert best_of(np.array([3.0, 8.0, 8.0]), np.array([0.0, 1.0, 0.0])) == 0.5
    assert withheld(scores, np.full(6, np.nan)) == {}


@pytest.mark.slow
def test_it_learns_and_runs_on_a_file_without_answers(tmp_path):
    lines = metrics(trained(self_j, SMALL, tmp_path / "sums"))
    assert all(line["gradient_norm"] > 0.0 for line in lines)
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(f'{{"question": "What is {n}+{n}?"}}\n' for n in range(40)))
    with pytest.raises(RedQueenError, match="--majority") as refused:
        trained(self_j, replace(SMALL, questions=str(file)), tmp_path / "refused")
    assert "\n" not in str(refused.value)
    config = replace(SMALL, questions=str(file), majority=True, likeness="text")
    line = metrics(trained(self_j, config, tmp_path / "run"))[-1]
    assert line["gradient_norm"] > 0.0 and "held_out/judge_auc" not in line


def test_a_limit_leaves_fewer_answers_to_each_problem():
    author = Judge(*["3"] * 4)  # whoever asks for a fifth finds none
    measure = Withholding(SUMS, author, Judge(), 2, 0, "wrong")
    measure.sample(8)
    measure.limit(4)
    assert "held_out/best_of@2" in measure()
    assert author.texts == []


def test_a_majority_of_nothing_is_told_as_such():
    with pytest.raises(RedQueenError, match="in no attempt at 1 tasks an answer was found"):
        lessons_on("", "  ", majority=True)
