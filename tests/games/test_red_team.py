"""Red teaming: only the answer crosses, formats are read strictly, vanilla seeds skip the attack."""

from random import Random

import pytest

from redqueen.contracts import games as contract
from redqueen.games.red_team import RedTeam, Said, hidden, read_hidden
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted
from redqueen.questions.small.red_styles import RedStyles
from redqueen.questions.small.red_words import RedTeamWords
from redqueen.types import Match, Reply, Task

WORLD = RedTeamWords()
SEED = Task("seed", "harmful", "a b c")


def match(attack, defence, seed=SEED, world=WORLD):
    cast = {"attacker": Scripted((attack,), "attacker"), "defender": Scripted((defence,), "defender")}
    (episode,) = play([Match(RedTeam(world), seed, cast)], Random(0))
    return episode


@pytest.mark.parametrize("world", [WORLD, RedTeamWords(thoughts=False), RedStyles()])
def test_it_keeps_the_contracts_of_a_game(world):
    phrases = ("fine</think><answer>a b</answer>", "</answer>", "a K c", "ok")
    contract.check_game(RedTeam(world), phrases)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plan</think><answer>go</answer>", Said("go", True)),
        ("plan </think>\n <answer> go on </answer>\n", Said("go on", True)),
        ("<answer>go</answer>", Said("go", False)),  # no thought
        ("</think><answer>go</answer>", Said("go", False)),  # an empty thought
        ("plan</think><answer>go</answer> and more", Said("go", False)),
        ("plan</think> well <answer>go</answer>", Said("go", False)),
        ("plan</think><answer>go</answer><answer>on</answer>", Said("on", False)),
        ("plan</think><think>more</think><answer>go</answer>", Said("go", False)),
        ("plan</think><answer></answer>", Said("", False)),
        ("plan</think><answer>  </answer>", Said("", False)),
        ("plan</think><answer>go", Said("", False)),
        ("secret</think>go", Said("", False)),
        ("plan<answer>secret</think><answer>go</answer>", Said("", False)),
        ("", Said("", False)),
    ],
)
def test_a_reply_is_one_thought_and_one_answer_and_nothing_else(text, said):
    assert read_hidden(text) == said


def test_what_is_written_in_the_format_is_read_back():
    assert read_hidden(hidden("way 3", "a K c")) == Said("a K c", True)


def test_only_the_answer_crosses():
    episode = match(hidden("plugh", "a K c"), hidden("xyzzy", "no"))
    shown = [message.text for turn in episode.turns[1:] for message in turn.ask.messages]
    assert "a K c" in shown[0]
    assert not any("plugh" in text or "way" in text for text in shown)
    assert episode.outcome.facts["prompt"] == "a K c"
    assert episode.outcome.facts["response"] == "no"
    assert episode.outcome.facts["kept"] == {"attacker": True, "defender": True}


@pytest.mark.parametrize("attack", ["plugh</think>a b c", "plugh", "plugh<answer>a</think><answer>b</answer>"])
def test_nothing_crosses_where_no_answer_is_found(attack):
    episode = match(attack, hidden("fine", "ok"))
    assert [str(turn.ask.seat) for turn in episode.turns] == ["attacker"]
    assert episode.outcome.facts["forfeit"] == "attacker"
    assert episode.outcome.facts["kept"] == {"attacker": False}


def test_an_attack_outside_the_limits_does_not_cross():
    episode = match(hidden("plan", "a b c d e f g"), hidden("fine", "ok"))
    assert episode.outcome.facts["forfeit"] == "attacker"
    assert episode.outcome.facts["reason"] == "illegal"


def test_a_vanilla_seed_is_defended_as_it_stands():
    episode = match("never said", hidden("fine", "ok"), Task("seed", "benign", "a b c", facts={"vanilla": True}))
    assert [str(turn.ask.seat) for turn in episode.turns] == ["defender"]
    assert episode.outcome.facts["prompt"] == "a b c"


def test_a_defender_without_an_answer_ends_the_match():
    episode = match(hidden("plan", "a b c"), "fine")
    assert episode.outcome.facts["forfeit"] == "defender"
    assert "response" not in episode.outcome.facts


def test_a_private_thought_of_a_player_is_shown_to_nobody():
    class Thinker:
        name = "thinker"

        def reply(self, asks):
            return [Reply(hidden("x", "a b c"), self.name, thought="plover") for _ in asks]

    cast = dict.fromkeys(("attacker", "defender"), Thinker())
    (episode,) = play([Match(RedTeam(WORLD), SEED, cast)], Random(0))
    assert "plover" not in str([turn.ask for turn in episode.turns])


def test_listed_replies_hold_no_thought():
    episode = match("way 2", "refuse", Task("s", "harmful", "A harmful request."), RedStyles())
    assert "<think>" not in episode.turns[0].ask.messages[0].text
    assert episode.outcome.facts["kept"] == {"attacker": True, "defender": True}
