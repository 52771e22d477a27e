"""What changed in a state, and whether it is what was asked for: by hand."""

import pytest

from redqueen.checks.state_diff import Diff, Goal, diff

SHOP = {"cart": {}, "orders": {}, "stock": {"cup": 5, "pen": 2}, "user": {"city": "rome"}}
TWO_CUPS = Goal(Diff(added={"orders.1": {"cup": 2}}, updated={"stock.cup": (5, 3)}), free=("ui.*",))


def ordered(**changes):
    return {**SHOP, "orders": {"1": {"cup": 2}}, "stock": {"cup": 3, "pen": 2}, **changes}


@pytest.mark.parametrize(
    ("after", "score", "reached", "kept"),
    [
        ({**SHOP, "cart": {"cup": 2}}, 0.0, 0.0, 0.0),
        (ordered(), 1.0, 1.0, 1.0),
        (ordered(user={"city": "oslo"}), 0.0, 1.0, 0.0),
        (SHOP, 0.0, 0.0, 1.0),
        ({**SHOP, "stock": {"cup": 3, "pen": 2}}, 0.0, 0.5, 1.0),
        ({**ordered(), "ui": {"page": "cart"}}, 0.0, 1.0, 0.0),  # a whole page that was not there is no place below ui
    ],
)
def test_an_order_is_done_only_where_nothing_else_changed(after, score, reached, kept):
    found = TWO_CUPS.assess(SHOP, after)
    assert (found.score, found.parts["reached"], found.parts["kept"]) == (score, reached, kept)


def test_what_is_free_does_not_count():
    before = {"ui": {"page": "home"}, **SHOP}
    assert TWO_CUPS.assess(before, {**ordered(), "ui": {"page": "cart", "note": "done"}}).score == 1.0


def test_the_order_of_the_acts_does_not_show():
    before = {"a": {"x": 1, "y": [1, 2]}, "b": 0}
    found = diff(before, {"b": 0, "c": {}, "a": {"y": [2, 1], "z": None}})
    assert found == Diff({"a.z": None, "c": {}}, {"a.x": 1}, {"a.y": ([1, 2], [2, 1])})
    assert found.as_facts() == {"added a.z": None, "added c": {}, "removed a.x": 1, "updated a.y": ([1, 2], [2, 1])}


def test_one_is_not_true_and_a_mapping_is_not_its_value():
    assert diff({"a": 1, "b": {}}, {"a": True, "b": 0}).updated == {"a": (1, True), "b": ({}, 0)}


def test_where_nothing_is_asked_for_nothing_may_change():
    assert Goal(Diff()).assess(SHOP, SHOP).score == 1.0
    assert Goal(Diff()).assess(SHOP, ordered()).score == 0.0
