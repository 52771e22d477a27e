"""SPaR: the trees of its card, votes that tie, the pairs, what the refiner learns, and judges that ring."""

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.contracts.recipes import check_resume, metrics, trained
from redqueen.credit.group_rewards import Stated
from redqueen.credit.rewards import score
from redqueen.objectives.batch import pack_pairs
from redqueen.play.groups import attempts, episodes_of
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.questions.asking import SOLVE, graded
from redqueen.questions.fenced import texts_in
from redqueen.questions.small.sums import Sums
from redqueen.recipes.preferences.spar import recipe as spar
from redqueen.recipes.preferences.spar.steps import Refining, Search, lessons, pairs
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError, Reply

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=24)
SMALL = spar.Config(
    TINY, steps=2, updates=1, tasks=2, attempts=2, votes=1, branch=1, depth=1, pairs_per_update=4, problems=2
)
SUMS = Sums(digits=1)
TASK = SUMS.task(3, 4)
# what is edited into what, and how many of five criticisms accept each
EDITS = {"0": "123", "2": "456", "3": "789"}
ACCEPTS = {"0": 1, "1": 1, "2": 2, "3": 2, "4": 2, "5": 1, "6": 4, "7": 3, "8": 0, "9": 1}


@pytest.fixture
def says(monkeypatch):
    """A tiny model that answers 0, edits as `edits` says, and criticises as `accepts` says of each answer: how many of
    five criticisms accept it, or the five last lines."""
    told = {"edits": EDITS, "accepts": ACCEPTS, "shown": []}
    heard = Counter()

    def write(policy, asks):
        replies = []
        for ask in asks:
            shown, voice = ask.messages[-1].text, policy._voice(ask)
            if ask.seat.role == "critic":
                _, about = texts_in(shown)
                accepts = told["accepts"].get(about, 0)
                lines = accepts if isinstance(accepts, tuple) else ("right",) * accepts + ("wrong",) * (5 - accepts)
                text = f"of {about}\n{lines[heard['critic', about] % 5]}"
                heard["critic", about] += 1
            else:
                parent = shown.partition("An answer:\n")[2].partition("\n\nOf it")[0]
                children = told["edits"].get(parent, "0")
                text = children[heard[parent] % len(children)]
                heard[parent] += 1
                told["shown"] += [shown] if parent else []
            tokens = [*voice.chat.tokenizer.encode(text), voice.chat.end]
            replies.append(voice.say(ask, policy.prompt(ask), tokens, [-1.0] * len(tokens), truncated=False))
        return replies

    monkeypatch.setattr(TransformerPolicy, "_write", write)
    told["heard"] = heard
    return told


def searched(keep="own", tree=(3, 2, 3), count=1, refiner=None, votes=5):
    learner = TINY.build_model(0)
    search = Search(SUMS, {"": [TASK]}, keep, votes, tree, "wrong")
    groups = attempts(SOLVE, [TASK], learner, count, Random(0))
    return search, search(groups, refiner or learner, Random(0)), learner


def replies_of(found):
    return score(found.groups, Stated("opinion"))


def criticised(heard):
    """Edits that were criticised, and criticisms of them."""
    of_edits = [count for key, count in heard.items() if isinstance(key, tuple) and key != ("critic", "0")]
    return len(of_edits), sum(of_edits)


def test_a_level_is_searched_to_its_end_and_the_best_edit_is_found(says):
    """Level 1: .2 .4 .4, none passes and two are kept; level 2: .4 .2 .8, .6 .0 .2: nine edits, 45 criticisms."""
    _, found, learner = searched()
    (tree,) = found.trees
    assert [edit.value for edit in tree.edits] == pytest.approx([0.2, 0.4, 0.4, 0.4, 0.2, 0.8, 0.6, 0.0, 0.2])
    assert criticised(says["heard"]) == (9, 45) and len(tree.edits) == 9
    (chosen,), (rejected,) = pairs(found.trees, replies_of(found), learner)
    assert (chosen.turns[0].reply.text, rejected.turns[0].reply.text) == ("6", "0")
    assert tree.parents[id(tree.found)].episode.outcome.facts["reply"] == "2"


def test_a_half_does_not_pass_and_a_search_that_ends_without_an_edit_makes_no_pair(says):
    """Had all stayed at .5 or below: 3 + 6 + 6 edits, 75 criticisms, no pair."""
    half = ("right", "right", "wrong", "wrong", "It depends.")
    says["edits"] = {"0": "123", "1": "234", "2": "345", "3": "456", "4": "567", "5": "678"}
    says["accepts"] = {str(n): half for n in range(1, 10)} | {"0": 0}
    _, found, learner = searched()
    (tree,) = found.trees
    assert len(tree.edits) == 15 and tree.found is None
    assert {edit.value for edit in tree.edits} == {0.5}
    assert not pairs(found.trees, replies_of(found), learner).chosen


def test_a_critic_and_an_editor_are_shown_the_working_of_a_boxed_answer_and_no_thoughts(says):
    says["accepts"], says["edits"] = {}, {"": ["<think>zebra</think>I add 1.\n\\boxed{0}"]}
    learner = replace(TINY, answer="boxed", max_completion_length=64).build_model(0)
    learner.speaks("critic", learner.usual)
    search = Search(SUMS, {"": [TASK]}, "right", 1, (1, 1, 1), "wrong")
    shown = (
        search.judged(episodes_of(graded(SUMS, attempts(SOLVE, [TASK], learner, 1, Random(0)))), learner, Random(0))[0]
        .criticism.turns[0]
        .ask.messages[-1]
        .text
    )
    assert "I add 1." in shown and "zebra" not in shown


def test_equal_votes_on_a_reply_are_no_verdict(says):
    says["accepts"] = {"0": ("right", "right", "wrong", "wrong", "It depends.")}
    search, found, _ = searched()
    assert found.judged[0].accepted is None and not found.trees
    assert found.groups[0].attempts[0].outcome.facts["opinion"] == 0.5
    assert search.metrics()["unread"] == pytest.approx(0.2)


def test_one_edit_of_one_reply_and_one_level_is_a_chain(says):
    says["accepts"] = {"0": 0, "1": 5}
    _, found, _ = searched(tree=(1, 1, 1))
    (shown,) = says["shown"]
    assert "An answer:\n0\n" in shown and "Of it was said:\nof 0\nwrong" in shown
    assert len(found.trees[0].edits) == 1 and found.trees[0].found is not None


def test_a_judge_that_says_nothing_makes_no_pair_and_rings(says):
    says["accepts"] = {"0": ("It depends.",) * 5}
    search, found, _ = searched()
    assert not found.trees and replies_of(found)[0].rewards.tolist() == pytest.approx([np.nan], nan_ok=True)
    assert search.metrics()["unread"] == 1.0
    assert [line.partition(":")[0] for line in search.alarms()] == ["unread"]


def test_searches_that_find_no_edit_ring(says):
    says["accepts"] = dict.fromkeys(map(str, range(10)), 0)
    search, _, _ = searched()
    assert search.metrics()["repaired"] == 0.0
    assert "nothing mended" in [line.partition(":")[0] for line in search.alarms()]


def test_the_check_in_place_of_the_vote_makes_pairs_of_right_and_wrong_alone(says):
    """Whatever the criticisms say; the edit 7 is right, and comes on the second level."""
    says["accepts"] = {str(n): 5 for n in range(10)} | {"7": 0}
    says["edits"] = {"0": "123", "2": "457"}
    search, found, _ = searched("right")
    assert found.trees[0].found.episode.outcome.facts["reply"] == "7" == TASK.answer
    assert search.metrics()["pairs_right"] == 1.0 and not search.alarms()


def test_a_pair_is_of_two_replies_to_the_plain_question(says):
    _, found, learner = searched()
    mended = pairs(found.trees, replies_of(found), learner)
    batch = pack_pairs(mended.chosen, mended.rejected)
    assert batch.recited.any(dim=1).tolist() == [True, False]
    chosen = learner.format.decode(mended.chosen[0].turns[0].reply.prompt_tokens.tolist())
    assert TASK.prompt in chosen and "Of it was said" not in chosen


def test_an_edit_of_a_model_without_tokens_is_learned_by_its_text(says):
    """An endpoint, say: it criticises and edits in prose."""

    class Other:
        name = "other"

        def reply(self, asks):
            return [Reply(self._said(ask.seat.role, ask.messages[-1].text), self.name) for ask in asks]

        def _said(self, role, shown):
            return ("good\nright" if texts_in(shown)[1] == "7" else "bad\nwrong") if role == "critic" else "7"

    other = Other()
    _, found, learner = searched(tree=(1, 1, 1), refiner=other)
    (chosen,), _ = pairs(found.trees, replies_of(found), learner)
    assert (chosen.turns[0].reply.text, chosen.turns[0].reply.player) == ("7", learner.name)
    assert chosen.turns[0].reply.recited
    refining = Refining(other, 1)
    refining.renew(found)
    assert refining.update(4, Random(0)) == {}


def test_a_refiner_imitates_what_led_to_the_edit_and_what_most_said_where_they_differ(says):
    says["accepts"] = {**ACCEPTS, "0": 0, "8": 0}
    _, found, learner = searched()
    shown = lessons(found)
    said = [(each.turns[0].ask.seat.role, each.turns[0].reply.text) for each in shown]
    assert said[:2] == [("critic", "of 2\nwrong"), ("solver", "6")]
    divided = [text for role, text in said[2:]]
    assert sorted(divided) == sorted([f"of {n}\nwrong" for n in "13459"] + ["of 6\nright", "of 7\nright"])
    assert "Of it was said:\nof 2\nwrong" in shown[1].turns[0].ask.messages[-1].text
    refining = Refining(learner, 1)
    refining.renew(found)
    assert refining.update(4, Random(0))["refiner/imitation_loss"] > 0.0


def test_false_pairs_and_a_judge_that_comes_to_accept_everything_ring(says):
    search, found, _ = searched()  # the edit found is wrong
    assert search.metrics()["pairs_right"] == 0.0
    assert [line.partition(":")[0] for line in search.alarms()] == ["false pairs"]
    search = Search(SUMS, {"": [TASK]}, "own", 5, (3, 2, 3), "wrong")
    (tree,) = found.trees
    closed = type(tree)(tree.root, [])
    search._observe(found._replace(trees=[closed, closed, closed, tree]))
    for _ in range(2):
        search._observe(found._replace(trees=[closed, tree, tree, tree]))
    assert "inflated: the share of replies that are mended has risen by 50%" in " ".join(search.alarms())
    again = Search(SUMS, {"": [TASK]}, "own", 5, (3, 2, 3), "wrong")
    again.restore(search.state())
    assert again.alarms() == search.alarms() and again.state() == search.state()


def test_a_set_that_does_not_know_cannot_keep_what_is_right(tmp_path):
    file = tmp_path / "asked.jsonl"
    file.write_text('{"question": "How are you?"}\n{"question": "And you?"}\n{"question": "Why?"}\n')
    config = spar.Config(TINY, questions=str(file), keep="right", problems=1)
    with pytest.raises(RedQueenError, match="does not know what is right: --keep own goes by"):
        trained(spar, config, tmp_path / "run")


class Lying(Sums):
    def right(self, tasks, answers):
        return [not each for each in super().right(tasks, answers)]


def truth():
    return Sums(digits=1)


def lie():
    return Lying(digits=1)


def test_no_figure_of_the_question_set_reaches_what_is_learned_and_a_killed_run_goes_on(says, tmp_path):
    says["accepts"], says["edits"] = {"0": 0, "1": 5}, {"0": "1"}
    runs = [
        metrics(trained(spar, replace(SMALL, questions=f"{__name__}:{name}"), tmp_path / name))
        for name in ("truth", "lie")
    ]
    for one, other in zip(*runs, strict=True):
        assert one["loss"] == other["loss"] > 0.0 and one["round/pairs"] == other["round/pairs"] == 2.0
        assert one["refiner/imitation_loss"] == other["refiner/imitation_loss"] > 0.0
        assert one["rejected_wrong"] == 1.0 - other["rejected_wrong"]
    check_resume(spar, SMALL)
