"""Mini kitchen: which skills are possible, in every state; ways, soup, refusals; who cooks by rules."""

from itertools import product
from random import Random

import pytest

from redqueen.contracts import games as contract
from redqueen.games.catalogue import find_game
from redqueen.games.cooks import KINDS, Cook, greedy, planned, possible_for, view_of
from redqueen.games.mini_kitchen import BEGIN, FLOOR, PLACES, SEATS, SKILLS, Kitchen, MiniKitchen
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, Scripted, Uniform
from redqueen.types import Ask, Match, Message, RedQueenError

HOLDS = ("nothing", "an onion", "a dish", "soup")
POTS = [(0, 0), (1, 0), (2, 0), (3, 2), (3, 0)]  # onions, and the steps that are left
POSSIBLE = {
    "onion": {("nothing", pot) for pot in POTS},
    "dish": {("nothing", pot) for pot in POTS},
    "pot": {("an onion", pot) for pot in POTS[:3]},
    "soup": {("a dish", (3, 0))},
    "serve": {("soup", pot) for pot in POTS},
    "discard": set(product(HOLDS[1:], POTS)),
    "wait": set(product(HOLDS, POTS)),
}


def cooked(first, second=Constant("wait"), **rules):
    game = MiniKitchen(**rules)
    (episode,) = play([Match(game, game.tasks()[0], {"first": first, "second": second})], Random(0))
    return episode


def shown(episode, seat=SEATS[0]):
    return [turn.ask.messages[-1].text for turn in episode.turns if turn.ask.seat == seat]


@pytest.mark.parametrize("rules", [":horizon=12", ":horizon=20,cooking=1"])
def test_the_game_keeps_the_contract(rules):
    contract.check_game(find_game(f"mini_kitchen{rules}"))


@pytest.mark.parametrize("skill", SKILLS)
def test_in_every_state_a_skill_is_refused_with_its_reason_where_its_precondition_is_not_met_and_nowhere_else(skill):
    for cook, mine, theirs, pot, cells in product((0, 1), HOLDS, HOLDS, POTS, product(FLOOR, FLOOR)):
        holds = [mine, theirs] if cook == 0 else [theirs, mine]
        kitchen = Kitchen(3, list(cells), holds, *pot)
        assert bool(kitchen.unmet(cook, skill)) == ((mine, pot) not in POSSIBLE[skill])
    assert Kitchen(3, holds=["a dish", "nothing"]).unmet(0, "onion") == "you hold a dish, and need empty hands"
    assert Kitchen(3, holds=["a dish", "nothing"], onions=3, left=1).unmet(0, "soup") == "no soup is ready"


def test_the_floor_is_where_the_walls_leave_room():
    assert len(FLOOR) == 6
    assert set(PLACES.values()) | set(BEGIN) <= set(FLOOR)
    assert not set(BEGIN) & set(PLACES.values())


def test_one_cook_makes_a_soup():
    skills = ("onion", "pot") * 3 + ("dish", "wait", "soup", "serve")
    episode = cooked(Scripted((*skills, *("wait",) * 100)), horizon=60)
    assert episode.outcome.facts["served"] == 1
    assert set(episode.outcome.scores.values()) == {1.0}
    assert episode.outcome.facts["history"][0][: len(skills)] == skills
    assert "The pot: 1 of 3 onions. You hold nothing." in shown(episode)[2]
    assert "You did: onion, pot. Your partner did: wait, wait" in shown(episode)[2]
    assert "soup, ready in" in shown(episode)[6]


def test_a_skill_takes_as_long_as_its_way():
    episode = cooked(Scripted(("onion", "pot", *("wait",) * 9)), horizon=14)
    # from (2, 2) to (1, 3) two steps and one to take it, two to (1, 1) around the other cook at (1, 2), and one
    times = [int(text.split()[1]) for text in shown(episode)]
    assert times[:2] == [1, 4]
    assert times[2] == 4 + 5  # (2, 3), (2, 2), (2, 1), (1, 1), and the pot


def test_what_is_not_possible_is_refused_three_times_and_then_the_cook_waits():
    episode = cooked(Scripted(("soup", "pot", "serve", "discard", "onion", *("wait",) * 9)), horizon=8)
    assert episode.outcome.facts["refused"] == (4, 0)
    assert (
        episode.turns[2].ask.messages[-1].text
        == "'soup' is not possible: you hold nothing, and need a dish. What do you do?"
    )
    after = shown(episode)[4]
    assert "You did: not soup, not pot, not serve, not discard, wait." in after
    assert "forfeit" not in episode.outcome.facts


def test_who_names_no_skill_ends_the_match():
    episode = cooked(Constant("let me think"))
    assert episode.outcome.facts["forfeit"] == "first"
    assert set(episode.outcome.scores.values()) == {0.0}
    assert len([turn for turn in episode.turns if turn.ask.seat == SEATS[0]]) == 4


def test_words_that_are_no_skill_are_not_taken_for_what_was_done():
    episode = cooked(Scripted(("Well, wait, serve. Or", "onion", *("wait",) * 9)), horizon=6)
    assert "You did: not that, onion." in shown(episode)[2]
    last = [turn.ask for turn in episode.turns if turn.ask.seat == SEATS[0]][-1]
    assert view_of(last).did[:1] == ("onion",)


def test_a_cook_in_the_way_is_waited_for_and_then_given_up():
    # the second stands at the pot for ever, the first wants to go there
    second = Scripted(("onion", "pot", *("wait",) * 40))
    first = Scripted(("wait",) * 9 + ("onion", "pot", *("wait",) * 20))
    episode = cooked(first, second, horizon=25)
    assert "gave up pot" in shown(episode)[-1]
    assert episode.outcome.facts["history"][0].count("pot") == 0


def test_without_remembering_the_last_thing_is_shown():
    episode = cooked(Scripted(("onion", "pot", *("wait",) * 50)), horizon=20, remember=False)
    assert "You did: pot. Your partner did: wait." in shown(episode)[2]
    assert "Step" not in shown(episode)[2]


@pytest.mark.parametrize("kind", KINDS)
def test_a_cook_does_what_its_kind_does_and_nothing_impossible(kind):
    episode = cooked(Cook(kind), Cook("greedy"))
    assert episode.outcome.facts["refused"] == (0, 0)
    did = set(episode.outcome.facts["history"][0])
    kinds = {"greedy": {"onion", "pot"}, "idle": {"wait"}, "blocker": {"onion", "pot", "wait"}}
    kinds |= {"dishes": {"dish", "soup", "serve"}, "onions": {"onion", "pot"}}
    assert kinds[kind] <= did
    assert not (kind == "onions" and did & {"dish", "soup", "serve"})
    assert not (kind == "dishes" and did & {"onion", "pot"})


def test_a_cook_that_slips_takes_any_possible_skill():
    ask = Ask(SEATS[0], (Message("game", MiniKitchen().told(Kitchen(3), 0, [], [], 0)),), SKILLS)
    said = {
        Cook("idle", slips=1.0).reply([Ask(ask.seat, ask.messages, SKILLS, seed=seed)])[0].text
        for seed in range(0, 2**63, 2**57)
    }
    assert said == {"onion", "dish", "wait"} == set(possible_for(view_of(ask)))


def test_a_planner_fetches_the_dish_where_its_partner_brings_the_last_onion():
    text = MiniKitchen().told(Kitchen(3, holds=["nothing", "an onion"], onions=2), 0, [], ["onion"], 5)
    view = view_of(Ask(SEATS[0], (Message("game", text),)))
    assert greedy(view) == "onion"
    assert planned(view, "pot") == "dish"
    assert planned(view, "wait") == "onion"


@pytest.mark.parametrize(("rules", "message"), [({"horizon": 0}, "1 to 1000 steps"), ({"cooking": 0}, "at least 1")])
def test_rules_that_make_no_game_are_refused(rules, message):
    with pytest.raises(RedQueenError, match=message):
        MiniKitchen(**rules)


def test_a_cook_cannot_read_another_game():
    with pytest.raises(RedQueenError, match="a cook plays mini_kitchen"):
        Cook("idle").reply([Ask(SEATS[0], (Message("game", "Your move?"),))])


def test_chance_play_ends():
    assert cooked(Uniform("a"), Uniform("b")).outcome.facts["served"] >= 0
