"""From words to a game: known equilibria of the ten games, every seeded fault found, and what is told of it."""

import json
from copy import deepcopy
from random import Random

import numpy as np
import pytest

from redqueen.contracts import games as contract
from redqueen.games.described import DESCRIPTIONS
from redqueen.games.interpreting import (
    FIRST,
    INTERPRETER,
    Interpreting,
    difference,
    forgotten,
    information_sets,
    read,
    wrong_counts,
    wrong_tree,
)
from redqueen.games.tree import Tree, walked
from redqueen.measures.exact.exploitability import GameTree
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted
from redqueen.types import Match, RedQueenError

THIRD = 1 / 3
KNOWN = {  # an equilibrium, by what a seat is told (all that it is told by the beginning), and what it is worth
    "pennies": ({"": (0.5, 0.5)}, (0, 0)),
    "prisoners": ({"": (0, 1)}, (1, 1)),
    "rock_paper_scissors": ({"": (THIRD, THIRD, THIRD)}, (0, 0)),
    "together": ({"first": (0, 1), "second": (1, 0)}, (5, 3)),
    "in_turn": ({"leader": (0, 1), "The leader chose low": (0, 1), "The leader chose high": (1, 0)}, (5, 3)),
    "entry": ({"Enter": (1, 0), "The entrant": (0, 1)}, (2, 2)),
    "offer": ({"proposer": (0, 1), "The proposer": (1, 0)}, (8, 2)),
    "coin": ({"": (1, 0)}, (0.5,)),
    "kuhn": (
        {
            "You hold J.": (1, 0),
            "You hold Q.": (1, 0),
            "You hold K.": (1, 0),
            "You hold J; you": (1, 0),
            "You hold Q; you": (2 / 3, THIRD),
            "You hold K; you": (0, 1),
            "You hold J; the first checked": (2 / 3, THIRD),
            "You hold Q; the first checked": (1, 0),
            "You hold K; the first checked": (0, 1),
            "You hold J; the first bet": (1, 0),
            "You hold Q; the first bet": (2 / 3, THIRD),
            "You hold K; the first bet": (0, 1),
        },
        (-1 / 18, 1 / 18),
    ),
    "beer": ({"You are": (1, 0), "The sender has beer": (0, 1), "The sender has quiche": (1, 0)}, (2.9, 0.9)),
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_each_game_has_its_known_equilibrium(name):
    meant = DESCRIPTIONS[name]
    tree = GameTree(Tree(name, meant.roles, meant.root))
    chances, worth = KNOWN[name]
    strategy = {}
    for ask in tree.states:
        (said,) = [row for start, row in chances.items() if f"{ask.seat}. {start}" in ask.messages[0].text]
        strategy[ask] = np.array(said, dtype=np.float64)
    assert tree.nash_conv(strategy) == pytest.approx(0.0, abs=1e-9)
    assert tree.values(strategy) == pytest.approx(worth, abs=1e-6)


def test_kuhn_has_twelve_information_sets_and_thirty_ends():
    root = DESCRIPTIONS["kuhn"].root
    assert information_sets(root) == {"first": 6, "second": 6}
    assert sum("scores" in node for node in walked(root)) == 30


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_no_false_alarm(name):
    meant = DESCRIPTIONS[name]
    assert wrong_tree(json.dumps(meant.root), meant.roles, information_sets(meant.root)) == ""
    assert difference(turned(meant.root), meant.root) == ""


def turned(node):
    """The same tree with choices and outcomes in the other order, and states reworded."""
    if "scores" in node:
        return node
    if "role" in node:
        choices = {choice: turned(child) for choice, child in reversed(node["choices"].items())}
        return {"role": node["role"], "state": f"{node['state']} Now.", "choices": choices}
    return {"chance": "x", "outcomes": [{"p": e["p"], "then": turned(e["then"])} for e in reversed(node["outcomes"])]}


def kuhn(change):
    root = deepcopy(dict(DESCRIPTIONS["kuhn"].root))
    change(root)
    return root


def seen_cards(root):
    """Each decision is an information set of its own: all see all."""
    for number, node in enumerate(each for each in walked(root) if "role" in each):
        node["state"] = f"{node['role']} {number}"


def other_sign(root):
    scores = next(node["scores"] for node in walked(root) if "scores" in node)
    scores["first"], scores["second"] = scores["second"], scores["first"]


def nine_tenths(root):
    root["outcomes"][0]["p"] -= 0.1


def other_move(root):
    root["outcomes"][0]["then"]["choices"]["raise"] = root["outcomes"][0]["then"]["choices"].pop("bet")


def swapped_seats(root):
    node = root["outcomes"][0]["then"]["choices"]["bet"]
    node["role"] = "first"


SEEDED = {
    "a missing information set": (seen_cards, "has 6 information sets, and the tree has 12"),
    "a wrong sign": (other_sign, ""),
    "chances that sum to .9": (nine_tenths, "the probabilities of chance sum to 0.9, not to 1"),
    "unequal moves": (other_move, "decisions of one information set have the same choices"),
    "swapped seats": (swapped_seats, "an information set is of one role"),
}


@pytest.mark.parametrize("name", SEEDED)
def test_a_seeded_fault_is_found_and_four_of_five_are_told(name):
    change, told = SEEDED[name]
    root, meant = kuhn(change), DESCRIPTIONS["kuhn"]
    said = wrong_tree(json.dumps(root), meant.roles, information_sets(meant.root))
    assert (told in said) if told else said == ""
    assert "\n" not in said
    assert told or difference(root, meant.root) == "scores, chances, moves or information sets stand elsewhere"


def interpreted(replies, name="kuhn", **changes):
    game = Interpreting(**changes)
    task = next(task for task in game.tasks() if task.id == name)
    (episode,) = play([Match(game, task, {"interpreter": Scripted(replies)})], Random(0))
    return episode


def test_a_tree_is_mended_by_what_the_checks_say():
    right, wrong = (json.dumps(each) for each in (DESCRIPTIONS["kuhn"].root, kuhn(nine_tenths)))
    counts = '{"first": 6, "second": 6}'
    episode = interpreted((counts, f"Here it is:\n```json\n{wrong}\n```", right))
    assert episode.outcome.scores == {INTERPRETER: 1.0}
    assert "sum to 0.9, not to 1" in episode.turns[2].ask.messages[-1].text
    assert interpreted((counts, wrong, wrong), retries=1).outcome.facts == {
        "forfeit": "interpreter",
        "reason": "illegal",
    }


def test_what_was_said_first_finds_a_missing_information_set_and_one_stage_does_not():
    right, blind = (json.dumps(each) for each in (DESCRIPTIONS["kuhn"].root, kuhn(seen_cards)))
    episode = interpreted(('{"first": 6, "second": 6}', blind, right))
    assert episode.outcome.scores[INTERPRETER] == 1.0
    alone = interpreted((blind,), stages=1)
    assert alone.outcome.scores[INTERPRETER] == 0.0
    assert alone.outcome.facts["difference"] == "12 information sets of the first, not 6"
    assert FIRST not in alone.turns[0].ask.messages[0].text


def test_a_tree_that_passes_may_be_another_game():
    seen = json.dumps(DESCRIPTIONS["in_turn"].root).replace("leader", "first").replace("follower", "second")
    episode = interpreted((seen,), "together", stages=1)
    assert episode.outcome.facts["difference"] == "2 information sets of the second, not 1"


def test_a_seat_remembers_what_it_did():
    later = {"role": "a", "state": "Again.", "choices": {"x": {"scores": {"a": 0}}}}
    root = {"role": "a", "state": "Go.", "choices": {"l": later, "r": later}}
    assert "The a is told 'Again.' after" in forgotten(root)
    assert "The a is told" in wrong_tree(json.dumps(root), ("a",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("I cannot.", "There is no JSON object in the reply."),
        ("{'first': 6}", "This is no JSON"),
        ('{"first": 6', "This is no JSON"),
        ('{"a":' * 100_000, "This is no JSON"),
        ("[1]", "There is no JSON object"),
    ],
)
def test_what_is_no_json_is_told_in_one_line(text, said):
    with pytest.raises(RedQueenError, match=said) as caught:
        read(text)
    assert "\n" not in str(caught.value)
    assert wrong_counts(text, ("first",)) == wrong_tree(text, ("first",)) == str(caught.value)


@pytest.mark.parametrize("text", ['{"first": true, "second": 1}', '{"first": 1}', '{"first": -1, "second": 1}'])
def test_counts_are_whole_numbers_of_all_roles(text):
    assert wrong_counts(text, ("first", "second")) == "Say a whole number for each of first, second."


def test_an_outcome_that_never_comes_is_refused():
    go = {"role": "a", "state": "Go.", "choices": {"on": {"scores": {"a": 0}}}}
    root = {"chance": "c", "outcomes": [{"p": 1, "then": go}, {"p": 0, "then": go}]}
    assert wrong_tree(json.dumps(root), ("a",)) == "Chance 'c' has an outcome of probability 0: leave it out."


def test_the_game_keeps_the_contract():
    meant = DESCRIPTIONS["pennies"]
    contract.check_game(Interpreting(), phrases=('{"hider": 1, "seeker": 1}', json.dumps(meant.root)))


def test_stages_are_one_or_two():
    with pytest.raises(RedQueenError, match="1 or 2 stages, not 3"):
        Interpreting(stages=3)
