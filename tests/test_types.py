"""What an episode, a message and a task say about themselves."""

import ast
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from redqueen.types import (
    Ask,
    Episode,
    Message,
    Outcome,
    RedQueenError,
    Reply,
    Seat,
    Task,
    Text,
    ToolCall,
    ToolResult,
    Turn,
)

WHITE, BLACK = Seat("white"), Seat("black")
RULES, MOVE, AGAIN = Message("game", "rules"), Message("game", "your move"), Message("game", "again")


def asked(seat, *messages):
    return Turn(Ask(seat, messages), Reply("x"))


def test_a_turn_shows_what_its_seat_was_not_shown_before_and_all_of_it_where_its_talk_began_anew():
    turns = (
        asked(WHITE, RULES),
        asked(BLACK, RULES),
        asked(WHITE, RULES, MOVE, AGAIN),
        asked(BLACK, RULES, AGAIN),
        asked(WHITE, MOVE),
        asked(WHITE, AGAIN),
    )
    episode = Episode("chess", Task("empty"), 0, turns, Outcome({WHITE: 0.0, BLACK: 0.0}), (WHITE, BLACK))
    assert episode.newly_shown() == [(RULES,), (RULES,), (MOVE, AGAIN), (AGAIN,), (MOVE,), (AGAIN,)]


def test_a_text_is_a_message_of_one_part():
    message = Message("game", "words")
    assert message.parts == (Text("words"),)
    assert message == Message("game", [Text("words")])
    assert message.text == "words"
    assert (message.calls, message.results) == ((), ())
    assert replace(message, speaker="tool") == Message("tool", "words")
    assert pickle.loads(pickle.dumps(message)) == message


def test_the_text_of_a_message_is_its_texts_and_results_and_no_call():
    call, result = ToolCall("1", "add", {"terms": [1, 2]}), ToolResult("1", "3")
    message = Message("tool", (Text("<"), call, result, Text(">")))
    assert message.text == "<3>"
    assert (message.calls, message.results) == ((call,), (result,))


def test_messages_are_equal_where_their_parts_are_and_can_be_keys():
    first, same = (Message("solver", [Text("add"), ToolCall("1", "add", {"terms": [1, 2]})]) for _ in range(2))
    other = Message("solver", [Text("add"), ToolCall("1", "add", {"terms": [1, 3]})])
    assert first == same and hash(first) == hash(same)
    assert first != other and first != Message("solver", "add")
    assert {first: "a", other: "b"}[same] == "a"


@pytest.mark.parametrize("parts", [None, 7, ["words"], [Text("a"), "b"], {"text": "a"}])
def test_parts_of_another_kind_are_refused_with_what_would_be_right(parts):
    with pytest.raises(RedQueenError, match="a message is a text, or a list of Text, ToolCall and ToolResult, not"):
        Message("game", parts)


def test_choices_and_messages_among_the_facts_of_a_task_are_refused_with_their_field():
    for name in ("choices", "messages"):
        with pytest.raises(RedQueenError, match=rf"task 't' has '{name}' .*Task\(..., {name}=...\)"):
            Task("t", facts={name: ()})
    for wrong in ({"choices": "ab"}, {"messages": (("user", "Hi"),)}):
        with pytest.raises(RedQueenError, match="a tuple of strings as choices and a tuple of Message objects"):
            Task("t", **wrong)


def test_the_role_of_the_solver_is_named_in_one_place():
    package = Path(__file__).parent.parent / "redqueen"
    named = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value == "solver" and "recipes" not in path.parts
    }
    assert named == {"types.py"}
