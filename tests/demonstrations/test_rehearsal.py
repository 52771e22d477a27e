from random import Random

import pytest

from redqueen.demonstrations.rehearsal import Equipped, Rehearsed, rehearsal, turns_of, with_tools
from redqueen.games.single_reply import SingleReply
from redqueen.games.tools import Calculator, Limits, ToolReply
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted
from redqueen.players.transformer.loading import tiny_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.questions.catalogue import find_questions
from redqueen.types import Demonstration, Match, Task

TOOLS = (Calculator(),)


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("19", ("19",)),
        ("a <calculate>1</calculate>b", ("a <calculate>1</calculate>", "b")),
        (
            "<calculate>1</calculate><calculate>2</calculate>",
            ("<calculate>1</calculate>", "<calculate>2</calculate>", ""),
        ),
        ("", ("",)),
    ],
)
def test_a_demonstration_is_cut_after_each_call(text, turns):
    assert turns_of(text, TOOLS) == turns


def test_a_rehearsed_player_s_words_are_the_learner_s_and_the_tool_answers_for_itself():
    policy = TransformerPolicy(tiny_model(0))
    player = Rehearsed(policy, turns_of("<calculate>12+7</calculate>20", TOOLS))
    (episode,) = play([Match(ToolReply(tools=TOOLS), Task("t", prompt="12+7=?"), {"solver": player})], Random(0))
    assert episode.outcome.facts["outputs"] == ("19",)
    assert episode.outcome.facts["reply"] == "20"
    assert [turn.reply.player for turn in episode.turns] == ["learner", "learner"]
    assert [policy.format.decode(turn.reply.tokens.tolist()) for turn in episode.turns] == list(player.turns)


def test_an_equipped_player_uses_its_tools_before_it_answers():
    player = Scripted(("<calculate>12+7</calculate>", "19"))
    equipped = Equipped(player, ToolReply(tools=TOOLS))
    (episode,) = play([Match(SingleReply("solver"), Task("t", prompt="12+7=?"), {"solver": equipped})], Random(0))
    assert episode.outcome.facts == {"reply": "19"}
    assert len(episode.turns) == 1
    assert len(episode.turns[0].reply.tokens) == 0
    stuck = Equipped(Scripted(("<calculate>1</calculate>",) * 9), ToolReply(tools=TOOLS, limits=Limits(2, 2)))
    (episode,) = play([Match(SingleReply("solver"), Task("t", prompt="12+7=?"), {"solver": stuck})], Random(0))
    assert episode.outcome.facts == {"reply": ""}
    assert episode.turns[0].reply.malformed


@pytest.mark.parametrize(
    ("domain", "role", "text", "said"),
    [
        ("tool_sums", "solver", "<calculate>12+7</calculate>19", ["information>19<"]),
        ("tool_sums", "proposer", "12+7", []),
        ("knowledge", "solver", "<search>rank</search>m3", ["information>The "]),
        ("sums", "solver", "<calculate>12+7</calculate>19", []),
    ],
)
def test_demonstrations_are_given_with_the_tools_of_their_domain(domain, role, text, said):
    """What a tool says is shown to the learner, as it will be in self-play, and is none of its words."""
    shown = Demonstration(role, Task("t", prompt="12+7=?"), text)
    (episode,) = play([rehearsal(find_questions(domain), shown, TransformerPolicy(tiny_model(0)))], Random(0))
    assert len(episode.turns) == 1 + len(said)
    for turn, words in zip(episode.turns[1:], said, strict=True):
        assert words in turn.ask.messages[-1].text
    assert "information" not in "".join(turn.reply.text for turn in episode.turns)
    usage = {"tool_sums": "<calculate>", "knowledge": "<search>"}.get(domain) if role == "solver" else None
    assert (usage or "12+7=?") in episode.turns[0].ask.messages[-1].text


def test_a_solver_is_measured_with_the_tools_of_its_domain():
    player = Scripted(("<calculate>12+7</calculate>", "19"))
    assert with_tools(find_questions("sums"), player) is player
    assert isinstance(with_tools(find_questions("tool_sums"), player), Equipped)
