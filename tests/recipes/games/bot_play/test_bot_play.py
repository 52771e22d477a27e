"""Bot play: the card's vectors, what is taught of a talk, the expert that adds up likes and critiques, learning."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.credit.rewards import payoff, score
from redqueen.games.critique import EXPERT, Critique, Seeker, aspect_named, item_named
from redqueen.games.talk import number_of
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted
from redqueen.players.tabular import TabularPolicy
from redqueen.recipes.games.bot_play import recipe
from redqueen.recipes.games.bot_play.measures import Found
from redqueen.recipes.games.bot_play.recipe import Config
from redqueen.recipes.games.bot_play.steps import Bots, Counting, critiqued, game_of, weights_of
from redqueen.runs.run import Run, Schedule, read_final
from redqueen.types import Ask, Match, Message, RedQueenError

GAME = Critique(turns=3, remember=False)


def test_the_last_turn_is_not_in_the_loss():
    entropies = (1.2, 0.8, 0.5)
    assert np.dot(weights_of(3, 0.9), entropies) == pytest.approx(1.2 + 0.9 * 0.8)
    assert np.dot(weights_of(3, 0.9), entropies) == pytest.approx(1.92)
    assert weights_of(1, 0.9) == [0.0]


def test_a_critique_takes_a_liked_aspect_away_and_counts_against_another():
    counts = critiqued(critiqued([2.0, 0.0], 0), 1)
    assert counts == [0.0, -1.0]


def taught(expert, of="item", game=GAME, shown=False):
    learner = TabularPolicy()
    bots = Bots(game, learner, 0.9, of, False)
    task = game.tasks()[0]
    matches = [Match(game, task, {"expert": Scripted(expert, "learner"), "seeker": Seeker(game)})]
    trajectories = score(play(matches, Random(0)), payoff)
    lessons, weights = bots.lessons(trajectories, Random(0))
    return [(each.turns[0].ask, each.turns[0].reply) for each in lessons], weights


def test_each_turn_but_the_last_teaches_the_wanted_item_and_what_is_true_of_the_one_recommended():
    false = {item: next(each for each in range(8) if each not in GAME.true[item]) for item in (2, 3, 4)}
    wrong = [(item_named(item), aspect_named(false[item]), aspect_named(min(GAME.true[item]))) for item in (2, 3, 4)]
    lessons, weights = taught((*wrong[0], *wrong[1], *wrong[2]))
    assert weights == pytest.approx([1.0] * 3 + [0.9] * 3)
    items = [reply.text for ask, reply in lessons if ask.choices[0].startswith("i")]
    assert items == ["i1", "i1"]
    for number, (ask, reply) in enumerate(lessons):
        assert reply.recited
        if not ask.choices[0].startswith("i"):
            assert number_of(reply.text) in GAME.true[(2, 2, 2, 3, 3, 3)[number]]


def test_as_released_the_aspects_of_the_wanted_item_are_taught_of_any():
    item = next(each for each in range(24) if not GAME.true[each] >= GAME.true[0])
    line = (item_named(item), "a1", "a2")
    lessons, _ = taught(line * 3, of="wanted")
    said = [number_of(reply.text) for ask, reply in lessons if ask.choices[0].startswith("a")]
    assert len(said) == 4
    assert set(said) <= GAME.true[0]


def test_a_talk_that_breaks_off_teaches_its_whole_turns():
    lessons, weights = taught(("i3", "a1", "a2", "i4", "nothing"))
    assert len(lessons) == 3
    assert weights == [1.0] * 3


def test_what_is_not_legal_shifts_no_lesson():
    legal = ("i3", "a1", "a2", "i4", "a1", "a2", "i5", "a1", "a2")
    plain, weights = taught(legal)
    again, same = taught(("oops", *legal[:2], "a1", *legal[2:]), game=replace(GAME, retries=1))
    assert [reply.text for _, reply in again] == [reply.text for _, reply in plain]
    assert same == weights


def test_an_item_or_an_aspect_that_is_none_ends_the_lessons():
    assert taught(("i3", "a1", "a2", "oops"))[1] == [1.0] * 3
    assert taught(("i3", "oops"), game=replace(GAME, shown=0))[1] == [1.0]
    assert taught(("i3", "a1", "oops"))[1] == []
    bots = Bots(GAME, TabularPolicy(), 0.9, "item", False)
    bots.learner = Scripted(("i3", "a1", "oops"), "learner")
    assert Found(bots, matches=4)()["found"] == 0.0


def test_a_first_turn_teaches_the_item_and_its_aspects_whatever_is_recommended():
    learner = TabularPolicy()
    bots = Bots(GAME, learner, 0.9, "item", False)
    trajectories = score(play(bots.first(GAME.tasks()), Random(0)), payoff)
    lessons, weights = bots.lessons(trajectories, Random(0))
    assert set(weights) == {1.0}
    assert {each.seat for each in lessons} == {EXPERT}
    assert len(lessons) > 2 * len(GAME.tasks())


@pytest.mark.parametrize("remember", [True, False])
def test_the_counting_expert_recommends_what_has_most_of_what_is_liked_and_least_of_what_was_refused(remember):
    game = Critique(remember=remember)
    expert = Counting(game)
    said = "So far: i9 with a3, a5: not a3; i8 with a1, a2: no." if remember else "It refused a3."
    choices = tuple(item_named(each) for each in range(24) if not (remember and each in (7, 8)))
    ask = Ask(EXPERT, (Message("game", f"The user likes a1, a2. {said} Which item?"),), choices, seed=3)
    worth = [sum(a in own for a in (0, 1)) - (2 in own) for own in game.true]
    best = max(worth[number_of(each)] for each in choices)
    assert worth[number_of(expert.reply([ask])[0].text)] == best
    about = Ask(
        EXPERT, (Message("game", f"{said} You recommend i4, with a1. What is true of it?"),), ("a1", "a2", "a3")
    )
    true = [each for each in about.choices if number_of(each) in game.true[3]]
    assert expert.reply([about])[0].text in (true or about.choices)


def test_counting_finds_more_than_it_does_unheard():
    bots = Bots(Critique(), TabularPolicy(), 0.9, "item", False)
    measure = Found(bots, 120)
    known = measure.basis()["found"].references["likes and critiques added up"]
    heard, unheard = (
        play(bots.matches(GAME.tasks()[:100], Counting(Critique()), turns=5, heard=heard), Random(0))
        for heard in (True, False)
    )
    heard, unheard = (sum(each.outcome.facts["found"] for each in found) for found in (heard, unheard))
    assert heard > unheard
    assert known > 0.5
    measure.limit(90)
    assert measure.basis()["recommendations"].count == 1


QUICK = Config(game="critique:items=8,aspects=5,turns=4,remember=false", steps=40, updates=20, tasks=200, measured=60)


def final(config, folder):
    """What is measured at the end of a run, and nowhere before."""
    run = Run(folder, 0, Schedule(evaluate_every=1000, checkpoint_every=1000))
    recipe.train(config, run)
    return read_final(run.folder)


@pytest.mark.slow
def test_a_table_finds_more_with_its_own_talks_than_without(tmp_path):
    with_talks, before = (final(replace(QUICK, updates=updates), tmp_path / str(updates)) for updates in (20, 40))
    assert with_talks["recommendations"] < before["recommendations"]
    assert with_talks["true_aspects"] > 0.85
    assert before["true_aspects"] > 0.85


@pytest.mark.parametrize(
    ("game", "message"),
    [
        ("kuhn_poker", "items are recommended in critique"),
        ("critique:turns=1", "the last turn of a talk is not learned"),
    ],
)
def test_a_game_that_teaches_nothing_is_refused(game, message):
    with pytest.raises(RedQueenError, match=message):
        game_of(game)


def test_what_is_found_is_measured_where_critiques_are_heard_whether_they_were_in_training():
    found = [Found(Bots(replace(GAME, heard=heard), Counted(), 0.9, "item", False), 40)() for heard in (True, False)]
    assert found[0] == found[1]
    assert found[0]["found"] > found[0]["unheard/found"]


class Counted(TabularPolicy):
    """A policy that replies as the counting expert."""

    def reply(self, asks):
        return [replace(reply, player=self.name) for reply in Counting(GAME).reply(asks)]
