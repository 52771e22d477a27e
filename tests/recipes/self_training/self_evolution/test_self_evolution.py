"""SELF: the figures of its card, what is shown and learned, the filter, and the critics that ring."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.contracts.recipes import check_resume, metrics, trained
from redqueen.demonstrations.refinement import again
from redqueen.objectives.batch import pack_samples
from redqueen.play.groups import attempts
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.questions.asking import SOLVE, graded
from redqueen.questions.fenced import texts_in
from redqueen.questions.small.sums import Sums
from redqueen.recipes.self_training.self_evolution import recipe as self_evolution
from redqueen.recipes.self_training.self_evolution.steps import Refinement, needed_ratio
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=24)
SMALL = self_evolution.Config(
    TINY, steps=2, updates=1, tasks=2, attempts=2, replies_per_update=4, problems=2, truncated_score="graded"
)
SUMS = Sums(digits=1)
FIRST, MENDED, FINE, BAD = "5", "7", "fine\nright", "too small\nwrong"


@pytest.fixture
def says(monkeypatch):
    """A tiny model that answers, criticises by what it is shown, and mends."""
    told = {"first": FIRST, "mended": MENDED, "accepts": lambda shown: texts_in(shown)[1] == MENDED}

    def write(policy, asks):
        replies = []
        for ask in asks:
            shown, voice = ask.messages[-1].text, policy._voice(ask)
            if ask.seat.role == "critic":
                text = FINE if told["accepts"](shown) else BAD
            else:
                text = told["mended"] if "Of it was said" in shown else told["first"]
            tokens = [*voice.chat.tokenizer.encode(text), voice.chat.end]
            replies.append(voice.say(ask, policy.prompt(ask), tokens, [-1.0] * len(tokens), truncated=False))
        return replies

    monkeypatch.setattr(TransformerPolicy, "_write", write)
    return told


def refined(says, keep="own", count=1, task=SUMS.task(3, 4)):
    learner = TINY.build_model(0)
    groups = graded(SUMS, attempts(SOLVE, [task], learner, count, Random(0)))
    refine = Refinement(SUMS, {"": [task]}, keep, "wrong")
    return refine, refine(groups, learner, Random(0)), learner


def test_how_good_a_critic_has_to_be():
    assert [round(needed_ratio(p), 2) for p in (0.2, 0.3, 0.4, 0.5)] == [1.71, 1.56, 1.5, 1.5]
    assert needed_ratio(0.95) == needed_ratio(0.0) == float("inf")


def test_three_replies_are_learned_each_by_as_many_tokens_as_it_has(says):
    """L = -log pi(r'|p) - skill (log pi(f|p,r) + log pi(r'|p,r,f)), sums over tokens: 1.5 + .2 + .4 of 2, 1 and 2."""
    refine, chains, learner = refined(says)
    shown, weights = refine.learned(chains, 1.0, learner)
    plain, criticism, after = (learner.format.decode(each.turns[0].reply.prompt_tokens.tolist()) for each in shown)
    assert "Of it was said" not in plain and "too small" not in plain
    assert [each.strip() for each in texts_in(criticism)] == [SUMS.task(3, 4).prompt, "5"]
    assert "too small" in after and "An answer:\n5" in after
    batch = pack_samples(shown, [1.0] * 3, weights)
    lengths = [len(each.turns[0].reply.tokens) for each in shown]
    each = 1.0 / sum(lengths)
    assert batch.loss_weights[batch.loss_weights > 0].tolist() == pytest.approx([each] * sum(lengths))
    assert bool(batch.recited[batch.loss_weights > 0].all())
    half, weights = refine.learned(chains, 0.5, learner)
    assert weights == pytest.approx([lengths[0], lengths[1] / 2, lengths[2] / 2]) and len(half) == 3
    assert len(refine.learned(chains, 0.0, learner)[0]) == 1


@pytest.mark.parametrize(
    ("mended", "accepts", "kept"),
    [("7", True, "own all right"), ("7", False, "all right"), ("9", True, "own all"), ("", True, "")],
)
def test_what_is_kept(says, mended, accepts, kept):
    says["mended"], says["accepts"] = mended, lambda shown: accepts
    for keep in ("own", "all", "right"):
        refine, chains, learner = refined(says, keep)
        assert bool(refine.learned(chains, 0.0, learner)[0]) == (keep in kept.split()), keep


def test_figures_and_alarms_of_a_good_critic_and_of_one_that_accepts_everything(says):
    refine, *_ = refined(says)
    found = refine.metrics()
    assert (found["answers_right"], found["mended_right"], found["kept_right"]) == (0.0, 1.0, 1.0)
    assert not [name for name, value in found.items() if name.startswith("alarm/") and value and "all" not in name]
    says["accepts"] = lambda shown: True
    refine, chains, _ = refined(says)
    half = [chains[0], chains[0]._replace(right=0.0)]
    refine._observe(half * 4)
    found = refine.metrics()
    assert (found["acceptance_ratio"], found["needed_ratio"]) == (1.0, pytest.approx(1.5))
    assert found["alarm/weak_critic"] and found["alarm/all_accepted"]
    good = [chains[0], chains[0]._replace(right=0.0, accepted=False), chains[0]._replace(right=0.0)]
    refine._observe(good * 4)
    assert not refine.metrics()["alarm/weak_critic"]
    refine._observe([chains[0]] * 19 + [chains[0]._replace(right=0.0)])
    found = refine.metrics()  # of .95 no critic makes ten points more
    assert found["acceptance_ratio"] == 1.0 and "needed_ratio" not in found and not found["alarm/weak_critic"]
    refine._observe([chains[0]._replace(accepted=None)] * 4)
    assert refine.metrics()["alarm/unread"]
    refine._observe([chains[0]._replace(accepted=False)] * 4)
    assert refine.metrics()["alarm/nothing_kept"]
    refine._observe(good * 4)
    assert not refine.metrics()["alarm/nothing_kept"]


def test_first_answers_of_which_nobody_knows_are_left_out_of_their_share(says):
    refine, (chain, *_), _ = refined(says)
    unknown = replace(chain.answer, outcome=replace(chain.answer.outcome, facts={"right": None}))
    refine._observe([chain, chain._replace(answer=unknown)])
    assert refine.metrics()["answers_right"] == 0.0
    refine._observe([chain._replace(answer=unknown)])
    assert "answers_right" not in refine.metrics()


def test_a_critic_that_comes_to_accept_what_is_no_better_rings(says):
    says["accepts"] = lambda shown: True
    refine, (chain, *_), _ = refined(says)
    refine = Refinement(SUMS, {}, "own", "wrong")
    no, yes = chain._replace(right=0.0, accepted=False), chain._replace(right=0.0)
    refine._observe([no, no, no, yes])
    for _ in range(2):
        refine._observe([no, yes, yes, yes])
    assert "inflated: the share of mended answers that their own critic accepts has risen by 50%" in " ".join(
        refine.alarms()
    )
    later = Refinement(SUMS, {}, "own", "wrong")
    later.restore(refine.state())
    assert later.alarms() == refine.alarms() and later.state() == refine.state()
    later._observe([no, yes, yes, chain])  # a quarter of them are right now
    later._observe([no, no, chain, yes])
    assert "inflated" not in " ".join(later.alarms())


def test_a_filter_with_the_acceptance_of_the_card_has_its_precision(says):
    """.3 right before, accepted .8 and .25: .24 / (.24 + .175)."""
    refine, (chain, *_), _ = refined(says)
    counts = {(1.0, True): 24, (1.0, False): 6, (0.0, True): 17.5, (0.0, False): 52.5}
    chains = [chain._replace(right=r, accepted=a) for (r, a), n in counts.items() for _ in range(int(2 * n))]
    refine._observe(chains)
    found = refine.metrics()
    assert found["kept_right"] == pytest.approx(0.578, abs=1e-3) and found["mended_right"] == pytest.approx(0.3)
    assert found["acceptance_ratio"] == pytest.approx(3.2)


def test_a_thought_is_not_criticised(says):
    says["first"] = "<think>\nsixteen\n</think>\n\n5"
    _, (chain, *_), _ = refined(says)
    assert "sixteen" not in chain.criticism.task.prompt and "sixteen" not in chain.mended.task.prompt


def test_the_working_before_a_boxed_answer_is_criticised_and_mended_with_it(says):
    says["first"], says["mended"] = "<think>zebra</think>I add 3.\n\\boxed{6}", "I add 4.\n\\boxed{7}"
    learner = replace(TINY, answer="boxed", max_completion_length=64).build_model(0)
    groups = graded(SUMS, attempts(SOLVE, [SUMS.task(3, 4)], learner, 1, Random(0)))
    heard = []
    says["accepts"] = lambda shown: bool(heard.append(texts_in(shown)[1]))
    (chain,) = Refinement(SUMS, {"": [SUMS.task(3, 4)]}, "all", "wrong")(groups, learner, Random(0))
    first, second = heard
    assert "I add 3." in first and "6" in first and "zebra" not in first
    assert "I add 4." in second and "7" in second
    assert "I add 3." in chain.mended.task.prompt and chain.right == 1.0


def test_the_request_to_mend_keeps_a_conversation():
    assert again(SUMS.task(3, 4), "5", "low").prompt.startswith(SUMS.task(3, 4).prompt)


def test_it_learns_and_goes_on_after_a_kill(says, tmp_path):
    lines = metrics(trained(self_evolution, SMALL, tmp_path))
    assert all(line["gradient_norm"] > 0.0 for line in lines)
    assert [line["round/pairs"] for line in lines] == [12, 24]  # all rounds' data
    check_resume(self_evolution, SMALL)


class Lying(Sums):
    def right(self, tasks, answers):
        return [not each for each in super().right(tasks, answers)]


def truth():
    return Sums(digits=1)


def lie():
    return Lying(digits=1)


def test_no_figure_of_the_question_set_reaches_what_is_learned(says, tmp_path):
    runs = [
        metrics(trained(self_evolution, replace(SMALL, questions=f"{__name__}:{name}"), tmp_path / name))
        for name in ("truth", "lie")
    ]
    for one, other in zip(*runs, strict=True):
        assert one["loss"] == other["loss"] and one["kept"] == other["kept"]
        assert np.isclose(one["mended_right"], 1.0 - other["mended_right"])


def test_a_file_without_answers_is_learned_from_and_keep_right_needs_answers(says, tmp_path):
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(f'{{"question": "What is {n}+{n}?"}}\n' for n in range(40)))
    line = metrics(trained(self_evolution, replace(SMALL, questions=str(file)), tmp_path / "run"))[-1]
    assert line["gradient_norm"] > 0.0 and "kept_right" not in line
    with pytest.raises(RedQueenError, match="--keep own") as refused:
        trained(self_evolution, replace(SMALL, questions=str(file), keep="right"), tmp_path / "refused")
    assert "\n" not in str(refused.value)
