import json
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np
import pytest

from redqueen.credit.rewards import payoff, score
from redqueen.games.single_reply import SingleReply
from redqueen.games.tools import (
    Calculator,
    Call,
    Limits,
    Running,
    Searching,
    ToolError,
    ToolReply,
    answer_with_tools,
    as_recorded,
    closings,
    find_call,
)
from redqueen.objectives.batch import pack
from redqueen.play.lockstep import play, replay
from redqueen.players.scripted import Scripted
from redqueen.players.transformer.loading import tiny_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.records import episode_from_json, episode_to_json
from redqueen.types import Ask, Match, Message, RedQueenError, Reply, Seat, Task, Text, ToolCall, ToolResult

SEAT = Seat("solver")
QUESTION = (Message("game", "What is 12+7?"),)
TOOLS = (Calculator(), Searching(lambda query: [f"about {query}", "about else"]))


def talk(*replies, tools=TOOLS, limits=Limits()):
    """What comes of these replies, and the asks that they answered."""
    going = answer_with_tools(SEAT, QUESTION, tools, limits)
    asks = list(next(going))
    for reply in replies:
        try:
            asks += going.send([reply if isinstance(reply, Reply) else Reply(reply)])
        except StopIteration as stop:
            return stop.value, asks
    raise AssertionError("the talk goes on")


def test_a_seat_calls_a_tool_sees_its_output_and_answers():
    done, asks = talk("I add. <calculate>12+7</calculate>", "19")
    assert (done.reply, done.answered, done.repeated) == ("19", True, 0)
    assert done.calls == (Call("calculate", "12+7", "19"),)
    assert done.words == ("I add. <calculate>12+7</calculate>", "19")
    assert asks[0] == Ask(SEAT, QUESTION, stops=("</calculate>", "</search>"))
    assert asks[1].messages == (
        *QUESTION,
        Message(
            "solver", [Text("I add. <calculate>12+7</calculate>"), ToolCall("call_1", "calculate", {"text": "12+7"})]
        ),
        Message("tool", [Text("<information>"), ToolResult("call_1", "19"), Text("</information>")]),
    )
    assert [message.text for message in asks[1].messages[1:]] == [
        "I add. <calculate>12+7</calculate>",
        "<information>19</information>",
    ]


def test_every_call_has_an_id_of_its_own_which_its_result_names():
    _, asks = talk("<calculate>1+1</calculate>", "<calculate>2+2</calculate>", "4", limits=Limits(calls=1))
    messages = asks[-1].messages
    assert [call.id for message in messages for call in message.calls] == ["call_1", "call_2"]
    assert [result for message in messages for result in message.results] == [
        ToolResult("call_1", "2"),
        ToolResult("call_2", "No calls are left. Answer now."),  # was not run, and is answered all the same
    ]


def test_an_output_that_a_seat_writes_itself_is_no_call():
    fake = "<calculate>12+7</calculate><information>19</information> 19"
    done, _ = talk(fake)
    assert (done.calls, done.reply) == ((), fake)
    done, _ = talk("<information>19</information>")
    assert done.calls == ()
    done, _ = talk("<information>19</information> <calculate>1+1</calculate>", "2")
    assert done.calls == (Call("calculate", "1+1", "2"),)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<search>a b </search>", ("search", "a b")),
        ("so <search>a</search>.\n", ("search", "a")),  # the closing token may hold more
        ("<search><search>a</search>", ("search", "a")),
        ("<search>a</search> <calculate>1</calculate>", ("calculate", "1")),
        ("<search></search>", ("search", "")),
        ("<search>a</search> then", None),
        ("<search>a", None),
        ("a</search>", None),
        ("</search><search>", None),
        ("<look>a</look>", None),
        ("", None),
    ],
)
def test_a_call_is_what_ends_a_text(text, found):
    call = find_call(text, TOOLS)
    assert (None if call is None else (call[0].name, call[1])) == found
    assert find_call(text, ()) is None


def test_a_call_at_fault_is_shown_and_the_seat_may_try_again():
    done, asks = talk("<calculate>12+</calculate>", "<calculate>12+7</calculate>", "19")
    assert asks[1].messages[-1].text == "<information>Error: '12+' is not arithmetic</information>"
    assert [call.failed for call in done.calls] == [True, False]
    assert done.reply == "19"


def test_a_tool_that_breaks_ends_the_run():
    def broken(text):
        raise OSError("the sandbox is gone")

    with pytest.raises(OSError, match="gone"):
        talk("<python>1</python>", tools=(Running(broken),))


def test_no_more_calls_are_run_than_allowed():
    call = "<calculate>1+1</calculate>"
    done, asks = talk(call, call, call, "2", limits=Limits(calls=2, turns=4))
    assert len(done.calls) == 2
    assert done.repeated == 1
    assert asks[-1].messages[-1].text == "No calls are left. Answer now."
    assert done.reply == "2"


def test_a_seat_that_calls_in_its_last_turn_has_no_answer():
    ran = []
    tools = (Running(lambda source: ran.append(source) or source),)
    done, asks = talk("<python>1</python>", "<python>2</python>", tools=tools, limits=Limits(calls=5, turns=2))
    assert len(asks) == 2
    assert (done.reply, done.answered) == ("", False)
    assert done.words == ("<python>1</python>", "<python>2</python>")
    assert ran == ["1"]  # the second would be shown to nobody
    assert done.calls == (Call("python", "1", "1"),)


def test_outputs_are_cut_where_their_characters_are_used_up():
    call = "<search>abcdef</search>"
    done, _ = talk(call, call, call, "x", limits=Limits(calls=3, turns=4, characters=20))
    assert [call.output for call in done.calls] == ["about abcdef\nabout e", "", ""]


def test_a_reply_that_was_cut_off_calls_nothing():
    done, _ = talk(Reply("<calculate>1+1</calculate>", truncated=True))
    assert done.calls == ()


def test_limits_that_allow_nothing_are_refused():
    for wrong in ({"turns": 0}, {"calls": -1}, {"characters": -1}):
        with pytest.raises(RedQueenError, match="at least 0 and a turn"):
            Limits(**wrong)


# Tools


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12+7", "19"),
        (" 2*(3-5) ", "-4"),
        ("7//2", "3"),
        ("-7%3", "2"),
        ("1/4", "0.25"),
        ("+3", "3"),
        ("99999999999999999999+1", "100000000000000000000"),
    ],
)
def test_a_calculator_works_out_arithmetic(text, value):
    assert Calculator()(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12+",
        "2**9",
        "abs(3)",
        "__import__('os')",
        "x",
        "'a'*9",
        "True+1",
        "1,2",
        "9" * 31,
        "1e999",
        "1+" * 101 + "1",
    ],
)
def test_a_calculator_refuses_all_else(text):
    with pytest.raises(ToolError):
        Calculator()(text)


def test_a_calculator_says_why():
    huge = "9" * 20 + "*" + "9" * 20
    for text, why in (("1/0", "division by zero"), ("9**9", "not a number"), (huge, "larger than 1e\\+30")):
        with pytest.raises(ToolError, match=why):
            Calculator()(text)


def test_a_calculator_does_not_run_away_with_brackets():
    with pytest.raises(ToolError):
        Calculator(longest=100_000)("(" * 5000 + "1" + ")" * 5000)


def test_searching_and_running_say_so_where_there_is_nothing():
    assert Searching(lambda query: [])("a") == "Nothing was found."
    with pytest.raises(ToolError):
        Searching(lambda query: ["x"])("")
    assert Running(lambda source: "")("pass") == "The program printed nothing."
    assert Running(lambda source: "3\n")("print(3)") == "3"


# In a match


@dataclass(frozen=True)
class Saying:
    """Says these words one after the other, in a policy's own tokens."""

    policy: TransformerPolicy
    texts: tuple[str, ...]
    seen: list = field(default_factory=list)

    @property
    def name(self):
        return self.policy.name

    def reply(self, asks):
        self.seen.extend(asks)
        return [self.policy.recite(ask, self.texts[len(ask.past)]) for ask in asks]


@pytest.fixture(scope="module")
def policy():
    loaded = tiny_model(0)
    return TransformerPolicy(loaded, max_completion_length=40)


def test_a_match_reports_what_was_called_and_said(policy):
    player = Saying(policy, ("<calculate>12+7</calculate>", "<calculate>a</calculate>", "19"))
    (episode,) = play([Match(ToolReply(tools=TOOLS), Task("t", prompt="What is 12+7?"), {"solver": player})], Random(0))
    assert episode.outcome.facts == {
        "reply": "19",
        "calls": (("calculate", "12+7"), ("calculate", "a")),
        "outputs": ("19", "Error: 'a' is not arithmetic"),
        "failures": (False, True),
        "failed": 1,
        "repeated": 0,
        "words": ("<calculate>12+7</calculate>", "<calculate>a</calculate>", "19"),
    }
    assert episode.outcome.scores == {SEAT: 0.0}
    shown = player.seen[0].messages[0].text
    assert shown == "<calculate>2+3</calculate> gives 5.\n<search>words</search> finds documents.\nWhat is 12+7?"


def test_outputs_carry_no_weight_and_the_row_goes_on(policy):
    texts = ("<calculate>12+7</calculate>", "<calculate>19+1</calculate>", "20")
    match = Match(ToolReply(tools=TOOLS), Task("t", prompt="What is 12+7?"), {"solver": Saying(policy, texts)})
    trajectories = score(play([match], Random(0)), payoff)
    batch = pack(trajectories, [np.array([1.0, 2.0, 3.0])])
    assert len(batch) == 1
    row, weights = batch.tokens[0].tolist(), batch.loss_weights[0].numpy()
    own = [token for token, weight in zip(row, weights, strict=True) if weight]
    said = [turn.reply.tokens.tolist() for turn in trajectories[0].turns]
    assert own == [token for tokens in said for token in tokens]
    assert weights[weights > 0] == pytest.approx(1 / len(own))
    decoded = policy.format.tokenizer.decode(row)
    assert "<information>19</information>" in decoded
    assert "information" not in policy.format.decode(own)
    starts = np.flatnonzero(np.diff((weights > 0).astype(int)) == 1) + 1
    assert [batch.advantages[0, start].item() for start in starts] == [1.0, 2.0, 3.0]


def test_closing_tags_are_where_a_reply_stops():
    assert closings(TOOLS) == ("</calculate>", "</search>")


@pytest.mark.parametrize("wrong", ["<calculate>12+7</calculate>", "<calculate>12+</calculate>"])
def test_an_episode_is_played_again_without_the_tools(wrong):
    @dataclass
    class Saying:
        """First a search, then a sum, then the answer."""

        name: str = "saying"

        def reply(self, asks):
            words = ("<search>sums</search>", wrong, "19", "19")
            return [Reply(words[len(ask.messages) // 2], "saying") for ask in asks]

    game = ToolReply("solver", TOOLS, Limits(2, 3))
    (episode,) = play([Match(game, Task("t", prompt="What is\n12+7?"), {"solver": Saying()})], Random(0))
    (again,) = play([Match(as_recorded(episode), episode.task, {"solver": Saying()}, episode.seed)], Random(1))
    assert [turn.ask for turn in again.turns] == [turn.ask for turn in episode.turns]
    assert again.outcome == episode.outcome
    assert len(episode.outcome.facts["calls"]) == 2
    old = {name: fact for name, fact in episode.outcome.facts.items() if name != "failures"}  # as it was recorded once
    old_episode = replace(episode, outcome=replace(episode.outcome, facts=old))
    (again,) = play([Match(as_recorded(old_episode), episode.task, {"solver": Saying()}, episode.seed)], Random(1))
    assert again.outcome == episode.outcome
    with pytest.raises(RedQueenError, match="records no calls"):
        as_recorded(play([Match(SingleReply(), Task("t"), {"solver": Saying()})], Random(0))[0])


def test_a_record_of_before_messages_had_parts_is_played_again():
    game = ToolReply("solver", TOOLS, Limits(2, 3))
    match = Match(game, Task("t", prompt="12+7?"), {"solver": Scripted(("<calculate>12+7</calculate>", "19"))})
    (episode,) = play([match], Random(0))
    data = episode_to_json(episode)
    for turn, record in zip(episode.turns, data["turns"], strict=True):
        record["ask"]["messages"] = [[message.speaker, message.text] for message in turn.ask.messages]
    old = episode_from_json(data)
    assert old.turns[1].ask.messages[-1] == Message("tool", "<information>19</information>")
    assert replay(as_recorded(old), old).outcome == episode.outcome
    data["turns"][1]["ask"]["messages"][-1][1] = "<information>20</information>"
    with pytest.raises(RedQueenError, match="turn 1 of the record is not what"):
        replay(as_recorded(old), episode_from_json(data))


@pytest.mark.parametrize(
    ("limits", "facts"),
    [
        (Limits(2, 3), {"outputs": ("Error: x", "Error: division by zero"), "failures": (False, True), "failed": 1}),
        (Limits(2, 3, 20), {"outputs": ("Error: x", "Error: divis"), "failures": (False, True), "failed": 1}),
        (Limits(2, 3, 11), {"outputs": ("Error: x", "Err"), "failures": (False, True), "failed": 1}),
        (Limits(2, 3, 8), {"outputs": ("Error: x", ""), "failures": (False, True), "failed": 1}),
    ],
)
def test_an_episode_is_played_again_with_the_faults_that_there_were(limits, facts):
    @dataclass
    class Saying:
        name: str = "saying"

        def reply(self, asks):
            words = ("<python>print('Error: x')</python>", "<calculate>1/0</calculate>", "19")
            return [Reply(words[len(ask.messages) // 2], "saying") for ask in asks]

    tools = (Running(lambda source: "Error: x\n", usage="<python>print(1)</python>\nruns a program."), Calculator())
    game, task = ToolReply("solver", tools, limits), Task("t", prompt="What?")
    (episode,) = play([Match(game, task, {"solver": Saying()})], Random(0))
    (again,) = play([Match(as_recorded(episode), task, {"solver": Saying()}, episode.seed)], Random(1))
    assert {name: episode.outcome.facts[name] for name in facts} == facts
    assert [turn.ask for turn in again.turns] == [turn.ask for turn in episode.turns]
    assert again.outcome == episode.outcome


@pytest.mark.parametrize("tools", [(), (Calculator(),)])
def test_an_episode_with_one_tool_or_none_is_played_again(tools):
    @dataclass
    class Saying:
        name: str = "saying"

        def reply(self, asks):
            return [Reply("19", "saying") for _ in asks]

    (episode,) = play([Match(ToolReply(tools=tools), Task("t", prompt="a\nb"), {"solver": Saying()})], Random(0))
    (again,) = play([Match(as_recorded(episode), episode.task, {"solver": Saying()}, episode.seed)], Random(1))
    assert [turn.ask for turn in again.turns] == [turn.ask for turn in episode.turns]


def call(name, **arguments):
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def by_functions(*said, **limits):
    tools = (Calculator(), Searching(lambda words: [f"about {words}"]))
    game = ToolReply("solver", tools, Limits(functions=True, **limits))
    (episode,) = play([Match(game, Task("t", prompt="12+7?"), {"solver": Scripted(said)}, 0)], Random(0))
    return episode


def test_functions_are_described_and_called_several_in_a_reply():
    both = "Both. " + call("calculate", text="12+7") + call("search", text=" sums ")
    episode = by_functions(both, "19")
    first, second = episode.turns
    assert [message.speaker for message in first.ask.messages] == ["system", "game"]
    assert first.ask.messages[1].text == "12+7?" and first.ask.stops == ()
    assert '"name": "calculate", "description": "with the text 2+3 gives 5."' in first.ask.messages[0].text
    assert second.ask.messages[2].text == both
    assert [(each.id, each.name) for each in second.ask.messages[2].calls] == [
        ("call_0", "calculate"),
        ("call_1", "search"),
    ]
    assert [each.text for each in second.ask.messages[3:]] == [
        "<tool_response>\n19\n</tool_response>",
        "<tool_response>\nabout sums\n</tool_response>",
    ]
    assert episode.outcome.facts["calls"] == (("calculate", "12+7"), ("search", "sums"))
    assert (episode.outcome.facts["reply"], episode.outcome.facts["failures"]) == ("19", (False, False))


@pytest.mark.parametrize(
    ("said", "output"),
    [
        (call("fetch", text="x"), "Error: there is no function 'fetch': calculate, search"),
        (call("calculate", text="x"), "Error: 'x' is not arithmetic"),
        (call("calculate", left="1", right="2"), 'Error: \'{"left": "1", "right": "2"}\' is not arithmetic'),
        ('[TOOL_CALLS]calculate[ARGS]{"text": "2*3"}', "6"),
        ('<|python_tag|>{"name": "calculate", "parameters": {"text": "2*4"}}', "8"),
    ],
)
def test_calls_of_several_families_are_run_and_faulty_ones_are_told_so(said, output):
    facts = by_functions(said, "19").outcome.facts
    assert facts["outputs"] == (output,)
    assert facts["failures"] == (output.startswith("Error"),)


def test_limits_hold_for_calls_by_json_too():
    many = call("calculate", text="1+1") * 3
    episode = by_functions(many, many, "2", calls=2, turns=3)
    assert len(episode.outcome.facts["calls"]) == 2
    assert [message.text.split("\n")[1] for message in episode.turns[1].ask.messages[3:]] == [
        *("2", "2"),
        "No calls are left. Answer now.",
    ]
    assert episode.outcome.facts["reply"] == "2"
    assert by_functions(many, many, calls=9, turns=2).outcome.facts["reply"] == ""
    assert by_functions("<tool_call>{", turns=2).outcome.facts["reply"] == "<tool_call>{"


def test_json_calls_play_again_in_their_own_world():
    episode = by_functions(call("calculate", text="12+7"), "19")
    game = ToolReply("solver", (Calculator(), Searching(lambda words: [])), Limits(functions=True))
    assert replay(game, episode).outcome == episode.outcome
    with pytest.raises(RedQueenError, match="calls that are JSON play again in their own world alone"):
        as_recorded(episode)
