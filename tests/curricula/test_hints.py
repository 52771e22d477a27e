"""Hints: what they say, who gets them, and that a group is replaced whole."""

import pytest

from redqueen.curricula.hints import by_opening, hinted, opening, share_hinted, unsolved, with_hints
from redqueen.types import Episode, Group, Message, Outcome, RedQueenError, Seat, Task

SOLVER = Seat("solver")
TASKS = [Task(f"t{number}", prompt="Which number is it, of four digits?", answer="1234") for number in range(3)]


def group(task, *right):
    tries = tuple(
        Episode("g", task, at, (), Outcome({SOLVER: 0.0}, {"right": each}), (SOLVER,)) for at, each in enumerate(right)
    )
    return Group(0, task, tries)


def test_an_opening_never_gives_away_the_answer():
    assert [opening("1234", level) for level in (1, 2, 3)] == ["1", "12", "123"]
    assert [opening("7", level) for level in (1, 2, 3)] == ["", "", ""]
    (helped,) = by_opening(TASKS[:1], 2)
    assert helped.prompt == f"{TASKS[0].prompt}\n\nHint: 12..."
    assert (helped.id, helped.facts["hinted"], helped.answer) == ("t0", 2, "1234")
    assert by_opening([Task("t", prompt="Which digit?", answer="7")], 3) == [None]


def test_a_conversation_has_its_hint_in_the_last_message():
    task = Task("t", messages=(Message("user", "Hello."), Message("user", "What is it?")), answer="x")
    assert [each.text for each in hinted(task, "a letter").messages] == ["Hello.", "What is it?\n\nHint: a letter"]


def test_a_hint_longer_than_the_prompt_is_refused_in_one_line():
    with pytest.raises(RedQueenError) as caught:
        hinted(Task("t", prompt="Why?"), "because")
    assert str(caught.value) == (
        "the hint to task 't' has 7 characters, more than the 4 of its prompt: a hint is shorter than what is asked"
    )


def test_a_group_is_unsolved_where_nobody_is_right_and_somebody_was_judged():
    assert unsolved(group(TASKS[0], False, False))
    assert unsolved(group(TASKS[0], False, None))
    assert not unsolved(group(TASKS[0], False, True))
    assert not unsolved(group(TASKS[0], None, None))


def test_unsolved_groups_are_replaced_whole_until_somebody_solves_them():
    """Task 0 is solved at once, task 1 with the second hint, task 2 never: 1 + 1 and 1 + 1 + 1 groups more."""
    asked = []

    def attempt(tasks):
        asked.append([(task.id, task.facts["hinted"]) for task in tasks])
        return [group(task, task.id == "t1" and task.facts["hinted"] == 2, False) for task in tasks]

    first = [group(TASKS[0], True, False), group(TASKS[1], False, False), group(TASKS[2], False, False)]
    found = with_hints(first, by_opening, 3, attempt)
    assert asked == [[("t1", 1), ("t2", 1)], [("t1", 2), ("t2", 2)], [("t2", 3)]]
    assert found[0] is first[0]
    assert [each.task.facts.get("hinted") for each in found] == [None, 2, 3]
    assert [len(each.attempts) for each in found] == [2, 2, 2]
    assert share_hinted(found) == pytest.approx(2 / 3)


def test_without_levels_or_without_a_hint_nothing_is_attempted_again():
    first = [group(TASKS[0], False)]
    assert with_hints(first, by_opening, 0, None) == first
    assert with_hints(first, lambda tasks, level: [None] * len(tasks), 3, None) == first
