"""Self-Reinforcement (2405.04086): the learner's replies are preferred to those of an earlier model."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.contracts.recipes import check_resume, metrics, trained
from redqueen.play.lockstep import play
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.questions.small.sums import Sums
from redqueen.recipes.self_training.spin import recipe as spin
from redqueen.recipes.self_training.spin.steps import Earlier, figures_of_pairs
from redqueen.runs.run import Run, read_metrics
from redqueen.settings.learner import Learner
from redqueen.settings.oracles import Heard, JudgeSettings
from redqueen.types import RedQueenError

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=6)
SMALL = spin.Config(
    TINY,
    chosen="learner",
    weaker=TINY.model,
    oracle="none",
    steps=4,
    updates=2,
    tasks=4,
    problems=2,
    pairs_per_update=4,
)


def figures(right_wrong, wrong_right, ties, kept):
    """Of so many pairs, of each kind so many kept."""
    counts = [right_wrong, wrong_right, ties]
    chosen, rejected = (np.repeat(each, counts).astype(float) for each in ([1, 0, 1], [0, 1, 1]))
    keeps = np.concatenate([np.arange(count) < most for count, most in zip(counts, kept, strict=True)])
    return figures_of_pairs(chosen, rejected, np.ones(sum(counts), dtype=bool), keeps)


def test_the_filter_of_the_card():
    """Right .6 and .2 of the time: .48, .08, .44; a filter that is right in .75 and a coin on ties keeps .6."""
    found = figures(48, 8, 44, kept=(36, 2, 22))
    assert found["pairs_kept"] == pytest.approx(0.6)
    assert found["decisive"] == pytest.approx(0.633, abs=1e-3)
    assert found["drawn_right"] == pytest.approx(0.857, abs=1e-3)
    assert found["pairs_right"] == pytest.approx(0.947, abs=1e-3)


def test_once_the_weaker_model_has_caught_up_the_filter_is_the_method():
    """Right .6 and .5 of the time: .30 and .20."""
    found = figures(120, 80, 200, kept=(90, 20, 100))
    assert (found["drawn_right"], found["pairs_right"]) == pytest.approx((0.6, 0.818), abs=1e-3)


def test_what_nobody_knows_and_equal_texts_are_left_out():
    chosen, rejected = np.array([1.0, np.nan, 1.0]), np.array([0.0, 0.0, 0.0])
    differ = np.array([True, True, False])
    found = figures_of_pairs(chosen, rejected, differ, differ)
    assert found == {"pairs_kept": 1.0, "decisive": 1.0, "pairs_right": 1.0, "drawn_right": 1.0}
    assert figures_of_pairs(chosen, rejected, ~differ & False, ~differ & False) == {}


@pytest.fixture
def says(monkeypatch):
    """Every policy answers with the number of updates that it has made, or as `told` says by its name."""
    told = {}

    def write(policy, asks):
        replies = []
        for ask in asks:
            voice, text = policy._voice(ask), told.get(policy.name.partition("@")[0], str(policy.version))
            tokens = [*voice.chat.tokenizer.encode(text), voice.chat.end]
            replies.append(voice.say(ask, policy.prompt(ask), tokens, [-1.0] * len(tokens), truncated=False))
        return replies

    monkeypatch.setattr(TransformerPolicy, "_write", write)
    return told


def earlier(oracle=None, follows=True):
    learner = TINY.build_model(0)
    sums = Sums(digits=1)
    tasks = [sums.task(3, 4), sums.task(1, 2)]
    return learner, Earlier(sums, tasks, learner, TINY.build_model(1, "weaker", learns=False), follows, oracle)


def played(sides, learner):
    return sides.kept(*(play(side, Random(0)) for side in sides.matches(learner.freeze())), Random(0))


def test_the_chosen_replies_are_the_learners_and_both_sides_are_its_to_learn(says):
    says["learner"], says["weaker"] = "7", "5"
    learner, sides = earlier()
    chosen, rejected = played(sides, learner)
    assert [each.turns[0].reply.text for each in chosen + rejected] == ["7", "7", "5", "5"]
    assert {each.turns[0].reply.player for each in chosen + rejected} == {"learner"}
    assert [each.turns[0].reply.recited for each in chosen + rejected] == [False, False, True, True]
    found = {"pairs_kept": 1.0, "decisive": 0.5, "pairs_right": 1.0, "drawn_right": 1.0}
    assert sides.metrics() == found
    assert sides.metrics() == {}


@pytest.mark.parametrize("verdict, kept", [(1.0, 2), (0.5, 0), (0.0, 0), (np.nan, 0)])
def test_a_pair_without_a_verdict_or_with_a_tie_is_not_kept(verdict, kept, says):
    says["learner"], says["weaker"] = "7", "5"
    learner, sides = earlier(Heard(lambda tasks, first, second, rng: np.full(len(tasks), verdict), "of a test"))
    assert [len(side) for side in played(sides, learner)] == [kept, kept]


def test_false_pairs_ring_and_true_ones_do_not(says):
    says["learner"], says["weaker"] = "5", "7"
    learner, sides = earlier()
    for _ in range(2):
        played(sides, learner)
    assert [line.partition(":")[0] for line in sides.alarms()] == ["false pairs"]
    says["learner"], says["weaker"] = "7", "5"
    learner, sides = earlier()
    for _ in range(2):
        played(sides, learner)
    assert sides.alarms() == []


@pytest.mark.parametrize("rejected", ["last", "start"])
def test_the_iterate_before_is_the_rejected_side_from_the_second_iteration_on(rejected, says, tmp_path):
    """Iterations begin after 0 and 2 updates; the weaker model has made none."""
    says["weaker"] = "9"
    seen, kept = [], spin.Kept.add
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            spin.Kept, "add", lambda self, one, other: (seen.append((texts(one), texts(other))), kept(self, one, other))
        )
        spin.train(replace(SMALL, rejected=rejected), Run(tmp_path, 0))
    lines = read_metrics(tmp_path)
    assert seen == [({"0"}, {"9"}), ({"2"}, {"0"} if rejected == "last" else {"9"})]
    assert lines[0]["preference_loss"] == pytest.approx(np.log(2.0))


def texts(episodes):
    return {each.turns[0].reply.text for each in episodes}


def test_it_is_resumed_bit_for_bit():
    check_resume(spin, replace(SMALL, oracle="questions"))


def test_the_learner_judges_its_own_pairs_unless_told_otherwise(tmp_path):
    judge = JudgeSettings(expected=True)
    run = trained(spin, replace(SMALL, oracle="judge:shared", judge=judge, steps=2), tmp_path)
    (line, *_) = metrics(run)
    assert line["judge/calls"] > 0 and 0.0 <= line["pairs_kept"] <= 1.0


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"weaker": ""}, "name that one, --weaker MODEL"),
        ({"weaker": "frozen"}, "not frozen"),
        ({"reference": "initial"}, "--rejected last is the iterate that --reference last keeps"),
        ({"judge": JudgeSettings(repeats=3)}, "--judge.repeats has no effect with --oracle none"),
        (
            {"chosen": "gold", "oracle": "judge:shared", "weaker": "", "judge": JudgeSettings(repeats=3)},
            "--chosen gold",
        ),
        ({"learner": Learner()}, "learner is a table and cannot write"),
    ],
)
def test_what_has_no_effect_is_refused(changes, message, tmp_path):
    with pytest.raises(RedQueenError, match=message):
        spin.train(replace(SMALL, **changes), Run(tmp_path, 0))
