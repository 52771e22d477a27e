"""STARLING: what becomes practice, how its share falls, and that a run goes from practice to the game."""

import json
from dataclasses import replace
from random import Random

import pytest

from redqueen.contracts.recipes import metrics, trained
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.quests import Quests, form, limited, quest_in, quest_of, shortest, to_json
from redqueen.play.groups import attempts
from redqueen.players.scripted import Constant
from redqueen.questions.asking import PROPOSE
from redqueen.recipes.curricula.starling import recipe as starling
from redqueen.recipes.curricula.starling.steps import EXAMPLE, Practice, Template, refusal
from redqueen.settings.learner import Flat
from redqueen.types import RedQueenError

TABLE = starling.Config(
    Flat(model="tabular", learning_rate=1.0), game="quests:count=8,held=4", practice=8, steps=5, tasks=4, attempts=2
)


def posed(practice, text, count=1):
    practice.add(attempts(PROPOSE, practice.invited(count, Random(0)), Constant(text), 1, Random(0)))


def test_what_is_worth_playing():
    """The card (3.4): the example takes five moves, four with a door between kitchen and cellar."""
    quest = quest_of({**EXAMPLE, "limit": 5})
    nearer = quest_of({**EXAMPLE, "doors": [*EXAMPLE["doors"], ["kitchen", "cellar"]]})
    assert refusal(limited(quest, 4), 1, ()) == "unsolvable"
    assert refusal(nearer, 5, ()) == "trivial"
    assert refusal(quest, 5, ()) == ""
    assert refusal(quest, 5, (form(limited(quest, 0)),)) == "duplicate"


def test_one_quest_of_a_form_is_kept_and_the_others_are_refused_in_words():
    practice = Practice(TABLE, [])
    posed(practice, f"Sure! Here it is: {json.dumps(EXAMPLE)} Enjoy.", 2)
    posed(practice, json.dumps({**EXAMPLE, "limit": 3}))
    posed(practice, "I would rather not.")
    found = practice.metrics([])
    assert found["tasks/practice"] == 1.0
    assert {name: value for name, value in found.items() if name.startswith("refused/")} == {
        "refused/duplicate": 0.25,
        "refused/unsolvable": 0.25,
        "refused/malformed": 0.25,
    }
    kept = Practice(replace(TABLE, proof=False), [])
    posed(kept, json.dumps({**EXAMPLE, "limit": 3}))
    assert kept.metrics([])["tasks/practice"] == 1.0


def test_held_out_quests_are_no_practice():
    held_out = Quests(count=4).held_out()
    practice = Practice(TABLE, held_out)
    posed(practice, json.dumps(to_json(quest_in(held_out[0]))))
    assert practice.metrics([]) == {"practised": 0.0, "proved": 0.0, "tasks/practice": 0.0, "refused/held out": 1.0}


def test_another_game_has_no_quests_to_practise():
    with pytest.raises(RedQueenError, match="the game kuhn_poker does not play"):
        Practice(replace(TABLE, game="kuhn_poker"), KuhnPoker().tasks())


def test_it_rings_where_nothing_can_be_practised():
    practice = Practice(TABLE, [])
    for _ in range(3):
        posed(practice, "no")
        found = practice.metrics([])
    assert found["alarm/no_quest_can_be_won"] == 1.0
    assert "3 malformed" in practice.alarms()[0]


@pytest.mark.parametrize(("step", "drawn"), [(0, 10), (15, 5), (30, 0), (49, 0)])
def test_the_share_of_practice_falls_on_a_line(step, drawn):
    practice = Practice(TABLE, [])
    practice.add(attempts(PROPOSE, practice.invited(64, Random(0)), Template(1), 1, Random(0)))
    assert len(practice.draw(10, step, 50, Random(0))) == drawn
    assert Practice(TABLE, []).draw(10, 0, 50, Random(0)) == []
    again = Practice(TABLE, [])
    again.restore(practice.state())
    assert again.state() == practice.state()
    assert all(shortest(quest_in(task)) is not None for task in again.draw(10, 0, 50, Random(0)))


def test_a_run_goes_from_practice_to_the_game(tmp_path):
    lines = metrics(trained(starling, TABLE, tmp_path))
    assert [line["practised"] for line in lines] == [1.0, 0.75, 0.25, 0.0, 0.0]
    assert lines[-1]["tasks/practice"] == 8.0
