"""By example: which patterns there are, what each seat sees, and lexicons in files."""

import json
import re
from itertools import product
from random import Random

import pytest

from redqueen.contracts.games import check_game
from redqueen.games.by_example import ByExample
from redqueen.games.catalogue import find_game
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, FirstChoice, Scripted, Uniform
from redqueen.types import Match, RedQueenError, Seat

GAME = ByExample()
COLOURS = {"blue square": ["blue", "square"], "blue circle": ["blue", "circle"], "green square": ["green", "square"]}


def task_of(pattern, game=GAME, **facts):
    (found,) = [task for task in game.tasks() if task.facts["pattern"] == pattern]
    return type(found)(found.id, found.kind, facts={**found.facts, **facts})


def played(pattern, speaker, listener, game=GAME, **facts):
    (episode,) = play(
        [Match(game, task_of(pattern, game, **facts), {"speaker": speaker, "listener": listener})], Random(0)
    )
    return episode


def test_it_keeps_the_contract_of_games():
    assert "by_example" in check_game(find_game("by_example:examples=2,apart=5"))


def test_patterns_are_those_that_some_text_tells_apart():
    texts = ["".join(each) for size in (1, 2, 3, 4) for each in product("ab", repeat=size)]
    written = [a + b for a in ("a", "b", ".") for b in ("", "?", "*", "+")]
    all_of_two = [*written, *(first + second for first in written for second in written)]
    sets = {frozenset(text for text in texts if re.fullmatch(pattern, text)) for pattern in all_of_two} - {frozenset()}
    assert {frozenset(examples) for examples in GAME.lexicon().values()} == sets
    assert len(GAME.lexicon()) == len(sets) == 71


def test_a_text_that_a_pattern_does_not_match_is_an_example_too_where_it_is_asked_for():
    lexicon = ByExample(negative=True).lexicon()
    assert {len(examples) for examples in lexicon.values()} == {30}
    assert "not b" in lexicon["a"]
    assert "not a" not in lexicon["a"]


def test_held_out_patterns_are_no_tasks_but_may_be_named():
    game = ByExample(apart=4)
    held, tasks = ({task.facts["pattern"] for task in each} for each in (game.held_out(), game.tasks()))
    assert not held & tasks
    assert held | tasks == set(game.agreeing(()))
    assert len(held) == 71 // 4


def test_who_is_understood_scores_with_who_understands():
    episode = played("a+b", Scripted(("ab", "aab", "aaab")), Constant("a+b"))
    assert set(episode.outcome.scores.values()) == {1.0}
    assert episode.outcome.facts == {"history": ("ab", "aab", "aaab", "a+b"), "right": True}
    assert set(played("a+b", Uniform(), Constant(".*b")).outcome.scores.values()) == {0.0}


def test_the_listener_sees_the_examples_and_not_the_pattern():
    (*_, turn) = played("a+b", Scripted(("ab", "aab", "aaab")), FirstChoice()).turns
    assert turn.ask.messages[-1].text.endswith("ab, aab, aaab")
    assert "a+b" not in turn.ask.messages[-1].text
    assert turn.ask.choices == tuple(
        name for name, examples in GAME.lexicon().items() if {"ab", "aab", "aaab"} <= set(examples)
    )


def test_an_example_is_given_once_and_fewer_where_no_other_is_left():
    episode = played("ab?", FirstChoice(), FirstChoice())
    assert episode.outcome.facts["history"][:-1] == ("a", "ab")
    assert episode.turns[1].ask.choices == ("ab",)


def test_what_is_not_listed_ends_the_match():
    episode = played("a+b", Constant("ba"), FirstChoice())
    assert episode.outcome.facts == {"forfeit": "speaker", "reason": "illegal", "history": ()}
    episode = played("a+b", FirstChoice(), Constant("c+"))
    assert episode.outcome.facts["forfeit"] == "listener"
    assert set(episode.outcome.scores.values()) == {0.0}


def test_a_task_may_go_on_from_examples_and_ask_one_seat_alone():
    one = played("a+b", Constant("aaab"), FirstChoice(), given=("ab",), asked="speaker")
    assert [turn.ask.seat for turn in one.turns] == [Seat("speaker")]
    assert one.outcome.facts["history"] == ("ab", "aaab")
    one = played("a+b", FirstChoice(), Constant("a+b"), given=("ab",), asked="listener")
    assert [turn.ask.seat for turn in one.turns] == [Seat("listener")]
    assert one.outcome.facts["right"]


def test_a_lexicon_of_your_own(tmp_path):
    file = tmp_path / "colours.json"
    file.write_text(json.dumps(COLOURS))
    game = find_game(f"by_example:file={file},examples=1")
    assert "keeps the contract" in check_game(game)
    assert game.agreeing(["blue"]) == ("blue square", "blue circle")
    assert "pattern" not in played("blue circle", Constant("blue"), FirstChoice(), game).turns[0].ask.messages[0].text


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("{", "is no JSON"),
        ([1, 2], "holds no lexicon"),
        ({"one": ["a"]}, "at least two meanings"),
        ({"one": ["a"], "two": []}, "the examples of 'two'"),
        ({"one": ["a"], "two": [" b"]}, "no texts without spaces around"),
        ({"one": ["a", "b"], "two": ["b", "a"]}, "'one' and 'two' in .* have the same examples"),
    ],
)
def test_what_is_no_lexicon_is_said_in_one_line(tmp_path, data, said):
    file = tmp_path / "lexicon.json"
    file.write_text(data if isinstance(data, str) else json.dumps(data))
    with pytest.raises(RedQueenError, match=said) as found:
        find_game(f"by_example:file={file}")
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"letters": 0}, "patterns are of 1 to 4 letters"),
        ({"letters": 5}, "patterns are of 1 to 4 letters"),
        ({"letters": 4, "longest": 8}, "make 65536 texts"),
        ({"examples": 0}, "at least 1 example"),
        ({"apart": 1}, "every 2nd pattern or fewer"),
        ({"file": "no.json"}, "cannot be read"),
        ({"file": "no.json", "letters": 3}, "leave them out with a file"),
    ],
)
def test_rules_that_make_no_game_are_refused(rules, said):
    with pytest.raises(RedQueenError, match=said):
        ByExample(**rules)
