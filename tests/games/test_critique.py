"""Critique: the table of items, who sees what, what a seeker refuses, illegal replies."""

from random import Random

import pytest

from redqueen.contracts import games as contract
from redqueen.games.catalogue import find_game
from redqueen.games.critique import EXPERT, SEEKER, Critique, Seeker, aspect_named, item_named
from redqueen.games.talk import number_of
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, Scripted
from redqueen.types import Ask, Match, Message, RedQueenError

GAME = Critique()


def knows(task, seat):
    return task.facts["wanted"] if seat == SEEKER else task.facts["liked"]


def talk(expert, seeker, game=GAME, task=None):
    cast = {"expert": Scripted(expert), "seeker": seeker}
    (episode,) = play([Match(game, task or game.tasks()[0], cast)], Random(0))
    return episode


def asks(episode, seat):
    return [turn.ask.messages[0].text for turn in episode.turns if turn.ask.seat == seat]


@pytest.mark.parametrize("rules", ["", ":heard=false,shown=1", ":items=5,aspects=3,likes=1,shown=0,turns=2"])
def test_the_game_keeps_the_contract(rules):
    contract.check_game(find_game(f"critique{rules}"), knows=knows)


def test_an_item_has_some_aspects_and_a_task_knows_some_of_them():
    for game in (GAME, Critique(items=200, aspects=20)):
        assert all(0 < len(own) < game.aspects for own in game.true)
        assert sum(game.popularity) == sum(map(len, game.true))
        assert 0.3 < sum(game.popularity) / game.items / game.aspects < 0.6
        for task in game.tasks():
            assert set(task.facts["liked"]) <= game.true[task.facts["wanted"]]
    tasks, held = ({task.id for task in found} for found in (game.tasks(), game.held_out()))
    assert (len(tasks), len(held)) == (512, 128)
    assert not tasks & held
    assert not GAME.held_out()


def test_the_expert_does_not_see_what_is_wanted_and_hears_what_is_refused():
    episode = talk(("i3", "a1", "a2", "i4", "a1", "a2", "i1", "a1", "a2"), Scripted(("not a2", "no", "yes")))
    wanted = episode.task.facts["wanted"]
    assert wanted == 0
    assert episode.outcome.facts["found"]
    assert set(episode.outcome.scores.values()) == {1.0}
    first, *_, last = (text for text in asks(episode, EXPERT) if text.endswith("Which item?"))
    assert "This is the first turn." in first
    assert "So far: i3 with a1, a2: not a2; i4 with a1, a2: no. Which item?" in last
    assert not any("want" in text for text in asks(episode, EXPERT))
    assert asks(episode, SEEKER)[1].startswith("You want i1: a")
    assert "So far: i3 with a1, a2: not a2. The expert recommends i4 with a1, a2." in asks(episode, SEEKER)[1]
    assert "i3" not in episode.turns[4].ask.choices  # it was recommended before


def test_an_expert_who_is_told_nothing_sees_its_own_words_alone():
    game = Critique(heard=False)
    episode = talk(("i3", "a1", "a2", "i1", "a1", "a2"), Scripted(("not a2", "yes")), game)
    assert not any("not a2" in text for text in asks(episode, EXPERT))
    assert "So far: i3 with a1, a2. Which item?" in asks(episode, EXPERT)[3]


def test_without_remembering_sets_are_shown_and_an_item_may_come_again():
    game = Critique(remember=False)
    episode = talk(("i3", "a7", "a2", "i3", "a2", "a1", "i1", "a1", "a2"), Scripted(("not a7", "not a2", "yes")), game)
    assert asks(episode, EXPERT)[6].endswith("It refused a2, a7. Which item?")
    assert asks(episode, EXPERT)[4] == "You recommend i3. What is true of it?"
    assert "You refused a7." in asks(episode, SEEKER)[1]
    unheard = Critique(remember=False, heard=False)
    episode = talk(("i3", "a7", "a2", "i1", "a1", "a2"), Scripted(("not a7", "yes")), unheard)
    assert asks(episode, EXPERT)[3].endswith("It refused nothing. Which item?")


@pytest.mark.parametrize("remember", [True, False])
def test_a_seeker_refuses_the_most_popular_wrong_aspect_that_was_shown_and_never_the_same_again(remember):
    game = Critique(items=200, aspects=20, shown=3, turns=9, remember=remember)
    seeker = Seeker(game)
    for task in game.tasks()[:20]:
        wanted = task.facts["wanted"]
        wrong = sorted(
            (each for each in range(20) if each not in game.true[wanted]), key=lambda each: -game.popularity[each]
        )
        right = min(game.true[wanted])
        others = [each for each in range(200) if each != wanted]
        shown = [wrong[1], right, wrong[0]]
        lines = [(item_named(item), *map(aspect_named, shown)) for item in others[:3]]
        episode = talk((*lines[0], *lines[1], *lines[2], item_named(wanted), *lines[0][1:]), seeker, game, task)
        said = [line.partition(": ")[2] for line in episode.outcome.facts["history"]]
        both = sorted(wrong[:2], key=lambda each: (-game.popularity[each], shown.index(each)))
        assert said == [f"not {aspect_named(both[0])}", f"not {aspect_named(both[1])}", "no", "yes"]


def test_a_seeker_at_random_refuses_any_of_the_wrong_ones():
    game = Critique(shown=3)
    own = game.true[0]
    wrong = [each for each in range(8) if each not in own][:2]
    choices = ("yes", "no", *(f"not {aspect_named(each)}" for each in (*wrong, min(own))))
    text = f"You want i1: a1. This is the first turn. The expert recommends i2 with {aspect_named(wrong[0])}. What?"
    said = {
        Seeker(game, at_random=True).reply([Ask(SEEKER, (Message("game", text),), choices, seed=seed)])[0].text
        for seed in range(200, 2**63, 2**57)
    }
    assert said == {f"not {aspect_named(each)}" for each in wrong}


@pytest.mark.parametrize(
    ("expert", "seeker", "at_fault"),
    [
        (("the best",), Constant("yes"), EXPERT),
        (("i2", "a1", "a1"), Constant("yes"), EXPERT),
        (("i2", "a1", "a2", "i2"), Constant("no"), EXPERT),
        (("i2", "a1", "a2"), Constant("not a3"), SEEKER),
    ],
)
def test_whoever_breaks_the_rules_ends_the_talk(expert, seeker, at_fault):
    episode = talk(expert, seeker)
    assert episode.outcome.facts["forfeit"] == str(at_fault)
    assert set(episode.outcome.scores.values()) == {0.0}


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"items": 1}, "2 to 1000 items"),
        ({"turns": 0}, "at least 1 turn"),
        ({"shown": 8}, "fewer of them shown"),
        ({"likes": -1}, "likes of 0 or more"),
        ({"turns": 25}, "critique of 24 items is over in 24 turns, not 25"),
    ],
)
def test_rules_that_make_no_game_are_refused(rules, message):
    with pytest.raises(RedQueenError, match=message):
        Critique(**rules)


def test_a_number_is_read_from_a_name():
    assert [number_of(each) for each in ("i1", "a12")] == [0, 11]
