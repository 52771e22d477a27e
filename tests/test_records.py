import json
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.play.lockstep import play
from redqueen.players.tabular import TabularPolicy
from redqueen.records import (
    ask_from_json,
    ask_to_json,
    episode_from_json,
    episode_line,
    episode_to_json,
    message_from_json,
    message_to_json,
    plain,
    reply_from_json,
    reply_to_json,
    task_from_json,
    task_to_json,
    tuples,
)
from redqueen.types import Ask, Match, Message, RedQueenError, Reply, Seat, Task, Text, ToolCall, ToolResult

TEXT = st.text(max_size=20)
NUMBERS = st.floats(allow_nan=False) | st.integers(-(2**53), 2**53)
SEATS = st.builds(Seat, TEXT, st.integers(0, 9))
JSON_VALUES = st.recursive(
    NUMBERS | TEXT | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=4,
)
CALLS = st.builds(ToolCall, TEXT, TEXT, st.dictionaries(TEXT, JSON_VALUES, max_size=2))
PARTS = st.builds(Text, TEXT) | CALLS | st.builds(ToolResult, TEXT, TEXT)
MESSAGES = st.lists(st.builds(Message, TEXT, TEXT | st.lists(PARTS, max_size=3)), max_size=3).map(tuple)
CHOICES = st.lists(TEXT, max_size=3).map(tuple)
ASKS = st.builds(Ask, SEATS, MESSAGES, CHOICES)
TOKENS = st.lists(st.integers(0, 2**31), max_size=5)
REPLIES = st.builds(
    Reply,
    text=TEXT,
    player=TEXT,
    version=st.integers(0, 10**6),
    prompt_tokens=TOKENS.map(lambda tokens: np.array(tokens, dtype=np.int64)),
    tokens=TOKENS.map(lambda tokens: np.array(tokens, dtype=np.int64)),
    logprobs=st.lists(st.floats(max_value=0.0, allow_nan=False), max_size=5).map(
        lambda row: np.array(row, dtype=np.float64)
    ),
    legal_tokens=st.lists(TOKENS.map(tuple), max_size=3).map(tuple),
    thought=TEXT,
    working=TEXT,
    truncated=st.booleans(),
    malformed=st.booleans(),
    recited=st.booleans(),
)
FACTS = st.dictionaries(
    TEXT,
    st.recursive(
        NUMBERS | TEXT | st.booleans() | st.none(),
        lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)


def through_text(data):
    return json.loads(json.dumps(data))


@given(ASKS)
def test_an_ask_reads_back_equal(ask):
    assert ask_from_json(through_text(ask_to_json(ask))) == ask


@given(REPLIES)
def test_a_reply_reads_back_with_every_bit_of_its_numbers(reply):
    back = reply_from_json(through_text(reply_to_json(reply)))
    for name in ("prompt_tokens", "tokens", "logprobs"):
        before, after = getattr(reply, name), getattr(back, name)
        assert before.dtype == after.dtype
        assert before.tobytes() == after.tobytes()
    rest = ("text", "player", "version", "legal_tokens", "thought", "working", "truncated", "malformed", "recited")
    assert [getattr(back, name) for name in rest] == [getattr(reply, name) for name in rest]


def test_a_reply_of_before_the_mark_is_read_as_recited_where_its_version_said_so():
    written = reply_to_json(Reply("yes", "learner", 3, recited=True))
    assert written["recited"] is True
    del written["recited"]
    sampled, recited = (reply_from_json({**written, "version": version}) for version in (3, -1))
    assert (sampled.version, sampled.recited) == (3, False)
    assert (recited.version, recited.recited) == (0, True)


@given(st.builds(Task, TEXT, TEXT, TEXT, TEXT, FACTS, st.floats(0, 1e9), CHOICES, MESSAGES))
def test_a_task_reads_back_equal(task):
    assert task_from_json(through_text(task_to_json(task))) == task


def test_a_message_of_one_text_is_written_as_ever_and_others_with_their_parts():
    assert message_to_json(Message("game", "words")) == ["game", "words"]
    parts = [Text("add"), ToolCall("1", "add", {"terms": [1, 2]}), ToolResult("1", "3")]
    assert message_to_json(Message("solver", parts)) == [
        "solver",
        [{"text": "add"}, {"call": "1", "name": "add", "arguments": {"terms": [1, 2]}}, {"result": "1", "text": "3"}],
    ]
    assert message_from_json(["game", "words"]) == Message("game", "words")


@pytest.mark.parametrize("part", [{}, {"txt": "a"}, {"text": 1}, {"call": "1", "name": "add"}, {"result": "1"}, "a"])
def test_a_part_that_is_none_is_refused_with_those_that_are(part):
    with pytest.raises(RedQueenError, match=r'a part of a message is .*"text".*"call".*"result"'):
        message_from_json(["game", [part]])


def test_a_task_is_written_with_choices_and_messages_where_it_has_some():
    assert set(task_to_json(Task("t"))) == {"id", "kind", "prompt", "answer", "facts", "weight"}
    data = task_to_json(Task("t", choices=("a", "b"), messages=(Message("user", "Hi"),)))
    assert (data["choices"], data["messages"]) == (["a", "b"], [["user", "Hi"]])


def test_older_records_hold_choices_and_messages_among_the_facts():
    old = {"id": "t", "kind": "k", "prompt": "p", "answer": "a", "weight": 1.0}
    facts = {"choices": ["a", "b"], "messages": [["system", "Be brief."], ["user", "Hi"]], "gold": "a"}
    assert task_from_json({**old, "facts": facts}) == Task(
        *("t", "k", "p", "a"),
        {"gold": "a"},
        choices=("a", "b"),
        messages=(Message("system", "Be brief."), Message("user", "Hi")),
    )


def test_an_episode_reads_back_equal():
    learner = TabularPolicy()
    game = KuhnPoker()
    (episode,) = play([Match(game, game.tasks()[0], {"first": learner, "second": learner})], Random(3))
    back = episode_from_json(through_text(episode_to_json(episode)))
    assert (back.game, back.task, back.seed, back.seats) == (episode.game, episode.task, episode.seed, episode.seats)
    assert back.outcome == episode.outcome
    assert [turn.ask for turn in back.turns] == [turn.ask for turn in episode.turns]
    assert episode_to_json(back) == episode_to_json(episode)


def test_facts_that_json_does_not_hold_are_one_line():
    game, learner = KuhnPoker(), TabularPolicy()
    (episode,) = play([Match(game, game.tasks()[0], {"first": learner, "second": learner})], Random(3))
    assert json.loads(episode_line(episode, credit={})) == {**episode_to_json(episode), "credit": {}}
    spoilt = replace(episode, outcome=replace(episode.outcome, facts={"seen": {1, 2}}))
    with pytest.raises(RedQueenError, match="the facts of kuhn_poker cannot be stored as JSON: Object of type set"):
        episode_line(spoilt)


def test_numpy_values_become_plain_ones():
    value = {"row": np.array([1, 2]), "number": np.float64(0.5), 3: (np.bool_(True), "text")}
    assert plain(value) == {"row": [1, 2], "number": 0.5, "3": [True, "text"]}
    assert plain((b"ab", bytearray(b"c"))) == [b"ab", b"c"]  # not lists of numbers
    assert tuples(plain(value)) == {"row": (1, 2), "number": 0.5, "3": (True, "text")}
