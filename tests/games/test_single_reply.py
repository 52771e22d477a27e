"""One seat, one reply: what it is shown, what is kept of it."""

from random import Random

import pytest

from redqueen.credit.group_rewards import Stated
from redqueen.credit.rewards import score
from redqueen.games.single_reply import SingleReply
from redqueen.play.groups import grouped, noted
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.scripted import Constant
from redqueen.types import Message, RedQueenError, Seat, Task, Text, ToolCall, ToolResult

ASKED = Task("q", "sum", "What is 2+2?", "4")


def test_the_seat_is_shown_the_prompt_alone_and_its_reply_is_kept():
    (episode,) = play(alone(SingleReply("solver"), [ASKED], Constant(" 4 ")), Random(0))
    (turn,) = episode.turns
    assert [message.text for message in turn.ask.messages] == ["What is 2+2?"]
    assert (turn.ask.seat, episode.outcome.facts["reply"], episode.outcome.scores) == (
        Seat("solver"),
        "4",
        {Seat("solver"): 0.0},
    )


def test_games_of_other_roles_have_other_names_so_that_they_are_never_compared():
    assert SingleReply("proposer").name != SingleReply("solver").name


def test_alone_repeats_each_task_as_often_as_told_one_after_the_other():
    other = Task("r", "sum", "What is 1+1?", "2")
    matches = alone(SingleReply(), [ASKED, other], Constant("4"), times=3)
    assert [match.task.id for match in matches] == ["q", "q", "q", "r", "r", "r"]


def test_what_is_found_out_later_is_a_further_fact_and_the_score_stays():
    episodes = play(alone(SingleReply("judge"), [ASKED, ASKED], Constant("4")), Random(0))
    told = noted(episodes, [{"worth": 0.25}, {"worth": -1.0}])
    assert [float(each.rewards[0]) for each in score(grouped(told, 2), Stated("worth"))] == [0.25, -1.0]
    assert [episode.outcome.facts["reply"] for episode in told] == ["4", "4"]
    assert [episode.outcome.scores[Seat("judge")] for episode in told] == [0.0, 0.0]


def test_a_conversation_is_shown_with_its_roles_and_the_assistant_is_the_seat_itself():
    said = (("system", "Be brief."), ("user", "Hi"), ("assistant", "Hello."), ("user", "2+2?"))
    asked = Task("q", "sum", "as text", "4", messages=tuple(Message(role, text) for role, text in said))
    (episode,) = play(alone(SingleReply("solver"), [asked], Constant("4")), Random(0))
    (turn,) = episode.turns
    assert [(message.speaker, message.text) for message in turn.ask.messages] == [
        ("system", "Be brief."),
        ("game", "Hi"),
        ("solver", "Hello."),
        ("game", "2+2?"),
    ]


def test_the_calls_and_results_of_tools_in_a_conversation_reach_the_seat_as_parts():
    call, result = ToolCall("1", "add", {"terms": [2, 2]}), ToolResult("1", "4")
    said = (Message("user", "2+2?"), Message("assistant", [Text("add(2, 2)"), call]), Message("user", [result]))
    asked = Task("q", messages=said)
    (episode,) = play(alone(SingleReply("solver"), [asked], Constant("4")), Random(0))
    shown = episode.turns[0].ask.messages
    assert [message.speaker for message in shown] == ["game", "solver", "game"]
    assert shown[1].parts == (Text("add(2, 2)"), call)
    assert shown[2].parts == (result,)


def test_the_choices_of_a_task_are_the_choices_of_its_ask():
    (episode,) = play(alone(SingleReply(), [Task("q", choices=("yes", "no"))], Constant("no")), Random(0))
    assert episode.turns[0].ask.choices == ("yes", "no")


@pytest.mark.parametrize("roles", [("user", "assistant"), ("user", "tool", "user"), ("system",)])
def test_a_conversation_of_other_roles_or_that_does_not_end_with_the_user_is_refused(roles):
    asked = Task("q", "sum", "as text", "4", messages=tuple(Message(role, "a") for role in roles))
    with pytest.raises(RedQueenError, match="ends with the user"):
        play(alone(SingleReply("solver"), [asked], Constant("4")), Random(0))
