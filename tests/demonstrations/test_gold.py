from dataclasses import replace
from random import Random

import pytest
import torch

from redqueen.curricula.held_out import apart_from, held_out
from redqueen.demonstrations.gold import Kept, recited, with_gold
from redqueen.play.lockstep import play
from redqueen.players.language.reciter import reader
from redqueen.players.tabular import TabularPolicy
from redqueen.questions.asking import said
from redqueen.questions.small.known import Known
from redqueen.questions.small.matchups import Matchups
from redqueen.questions.small.sums import Sums
from redqueen.types import RedQueenError


def test_problems_bring_their_answers():
    tests = held_out(Sums(digits=1), 20)
    tasks = with_gold(Sums(digits=1), "problems", 60, tests, seed=0)
    assert all(sum(map(int, task.id.split("+"))) == int(task.answer[::-1]) for task in tasks)
    assert not {task.id for task in tasks} & {task.id for task in tests["1_digits"]}


def test_demonstrations_bring_what_the_solver_is_shown_to_say():
    domain = Sums(slips=(1.0, 1.0, 1.0, 1.0), lengths=(0.0, 1.0, 0.0, 0.0))
    tasks = with_gold(domain, "demonstrations", 30, {}, seed=0)
    assert len(tasks) == 30
    assert all(task.prompt.startswith("What is ") and task.answer for task in tasks), "no proposals among them"
    assert any(task.answer[::-1] != str(task.facts["total"]) for task in tasks), "its slips are there too"


class Unanswered(Matchups):
    def problems(self, level, count, rng):
        return [self.task()]

    def task(self, number=0):
        return replace(super().task(number), answer="")


def test_tasks_without_answers_are_refused():
    with pytest.raises(RedQueenError, match="have no answers to learn from"):
        with_gold(Unanswered(), "problems", 4, {}, seed=0)
    with pytest.raises(RedQueenError, match="no demonstrations"):
        with_gold(Known(), "demonstrations", 4, {}, seed=0)


def test_what_is_held_out_is_left_out():
    tasks = Known().problems("outcome", 4, Random(0))
    assert apart_from({"outcome": tasks[:3]}, tasks) == tasks[3:]


def test_recited_words_are_the_learners():
    learner, tasks = TabularPolicy(), Known().problems("outcome", 5, Random(0))
    episodes = play(recited(tasks, reader(learner)), Random(0))
    assert said(episodes) == [task.answer for task in tasks]
    assert {episode.turns[0].reply.player for episode in episodes} == {"learner"}


def test_the_gold_reply_is_recited_where_the_answer_is_only_what_it_comes_to():
    task = replace(Known().task("d"), facts={**Known().task().facts, "gold": "a"})
    assert said(play(recited([task, Known().task("d")], reader(TabularPolicy())), Random(0))) == ["a", "d"]


def test_the_latest_rounds_are_kept_token_by_token():
    learner = TabularPolicy()
    rounds = [play(recited(Known().problems("outcome", 2, Random(n)), reader(learner)), Random(n)) for n in range(3)]
    kept = Kept(2)
    for each in rounds:
        kept.add(each, each[::-1])
    assert said(kept.gold) == said([*rounds[1], *rounds[2]])
    assert said(kept.own) == said([*rounds[1][::-1], *rounds[2][::-1]])
    again = Kept(2)
    again.restore(kept.state())
    assert said(again.own) == said(kept.own)
    for one, other in zip(again.gold, kept.gold, strict=True):
        first, second = one.turns[0].reply, other.turns[0].reply
        assert first.tokens.tolist() == second.tokens.tolist()
        assert first.prompt_tokens.tolist() == second.prompt_tokens.tolist()
        assert first.legal_tokens == second.legal_tokens
    torch.save(kept.state(), "/dev/null")


def test_who_cannot_recite_is_told_so():
    class Mute:
        name = "mute"

        def reply(self, asks):
            return []

    with pytest.raises(RedQueenError, match="mute cannot recite a given text"):
        reader(Mute())
