"""Quests: the card's example, what is refused, equal forms, and games that can all be won and are all different."""

import json
from dataclasses import replace
from random import Random

import pytest

from redqueen.games.quests import (
    Quests,
    Standing,
    drawn,
    form,
    limited,
    moves,
    quest_in,
    quest_of,
    shortest,
    to_json,
)
from redqueen.play.groups import attempts
from redqueen.players.scripted import Scripted
from redqueen.types import RedQueenError

CHEST = {
    "places": ["hall", "kitchen", "cellar"],
    "doors": [["hall", "kitchen"], ["hall", "cellar"]],
    "things": {"key": "kitchen", "chest": "cellar"},
    "fixed": ["chest"],
    "rules": [{"use": "key", "with": "chest", "at": "cellar", "gives": "open chest"}],
    "start": "hall",
    "goal": "open chest",
    "limit": 5,
}
WAY = ("go to kitchen", "take key", "go to hall", "go to cellar", "use key with chest")


def test_the_shortest_way_is_found_within_the_limit():
    """The card (3.4): five moves, four with a door between kitchen and cellar; four are too few without it."""
    quest = quest_of(json.dumps(CHEST))
    assert shortest(quest) == WAY
    assert shortest(quest_of({**CHEST, "doors": [*CHEST["doors"], ["kitchen", "cellar"]]})) == (
        "go to kitchen",
        "take key",
        "go to cellar",
        "use key with chest",
    )
    assert shortest(limited(quest, 4)) is None


def test_moves_are_what_the_place_and_the_hands_allow():
    quest = quest_of(CHEST)
    assert set(moves(quest, Standing("hall"))) == {"go to kitchen", "go to cellar"}
    assert set(moves(quest, Standing("cellar"))) == {"go to hall"}  # the chest is fixed
    with_key = Standing("cellar", frozenset({"key"}))
    assert moves(quest, with_key)["use key with chest"].carried == {"key", "open chest"}
    elsewhere = quest_of({**CHEST, "rules": [{**CHEST["rules"][0], "at": "hall"}]})
    assert moves(elsewhere, with_key)["use key with chest"] == with_key


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"places": "hall"}, "places must be"),
        ({"places": ["hall"] * 3}, "two of 'hall'"),
        ({"start": "attic"}, "names 'attic', which is no place"),
        ({"goal": "key"}, "no product of a rule"),
        ({"limit": 0}, "limit of 0 moves"),
        ({"rules": []}, "0 rules"),
        ({"things": {"key": "kitchen", "che\nst": "cellar"}}, "letters and spaces"),
        ({"rules": [{"use": "key", "with": "door", "at": "cellar", "gives": "open chest"}]}, "names 'door'"),
        ({"fixed": ["lamp"]}, "no fixed thing"),
    ],
)
def test_what_is_wrong_with_a_quest_is_one_line(changed, said):
    with pytest.raises(RedQueenError, match=said) as error:
        quest_of({**CHEST, **changed})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '"key"', "[1]", "null"])
def test_what_is_no_object_is_no_quest(text):
    with pytest.raises(RedQueenError, match="quest"):
        quest_of(text)


def test_forms_are_the_same_for_other_names_and_another_order_and_no_others():
    quest = quest_of(CHEST)
    words = {
        name: f"x{chr(97 + at)}" for at, name in enumerate(["hall", "kitchen", "cellar", "key", "chest", "open chest"])
    }
    text = json.dumps(CHEST)
    for old in sorted(words, key=len, reverse=True):
        text = text.replace(f'"{old}"', f'"{words[old]}"')
    other = json.loads(text)
    assert form(
        quest_of({**other, "places": other["places"][::-1], "doors": [d[::-1] for d in other["doors"]]})
    ) == form(quest)
    for changed in ({"start": "kitchen"}, {"limit": 6}, {"fixed": []}, {"things": {"key": "hall", "chest": "cellar"}}):
        assert form(quest_of({**CHEST, **changed})) != form(quest)


def test_a_hundred_quests_are_all_different_and_won_by_the_moves_that_were_found():
    game = Quests(count=100, held=100, steps=2, fewest=4)
    dealt = [*game.tasks(), *game.held_out()]
    assert len({form(limited(quest_in(task), 0)) for task in dealt}) == 200
    for task in dealt[::10]:
        assert len(game.expert(task)) >= 4
        (group,) = attempts(game, [task], Scripted(game.expert(task)), 1, Random(0))
        assert list(group.attempts[0].outcome.scores.values()) == [1.0]


def test_drawn_quests_keep_the_rules_that_written_ones_must():
    for seed in range(50):
        quest = drawn(Random(seed), 1 + seed % 6)
        assert quest_of(json.dumps(to_json(quest))) == quest


@pytest.mark.slow
def test_settings_that_no_quest_fits_are_refused():
    with pytest.raises(RedQueenError, match="1 to 6 steps"):
        Quests(steps=7).tasks()
    with pytest.raises(RedQueenError, match="different quests"):
        Quests(count=40, steps=1, fewest=12).tasks()
    with pytest.raises(RedQueenError, match="quests are 1 to 10,000"):
        replace(Quests(), count=0)
