"""Files of prompts to attack: columns, kinds, a part that is held out, and what is refused."""

import json
from random import Random

import pytest

from redqueen.games.red_team import BENIGN, HARMFUL, read_hidden
from redqueen.questions.red_prompts import RedPrompts
from redqueen.questions.small.red_words import find_world
from redqueen.types import RedQueenError, Task

ROWS = [{"prompt": f"harm {n}", "label": "harmful"} for n in range(10)] + [
    {"prompt": f"help {n}", "label": "benign", "response": f"answer {n}"} for n in range(5)
]


@pytest.fixture
def written(tmp_path):
    def write(rows, name="prompts.jsonl"):
        path = tmp_path / name
        path.write_text("\n".join(json.dumps(row) for row in rows))
        return str(path)

    return write


def prompts_of(world, rng, kind):
    return {world.seed(kind, rng).prompt for _ in range(200)}


def test_a_fifth_of_each_kind_is_held_out_and_never_a_seed(written):
    world = find_world(written(ROWS))
    held = world.held_out(100)
    assert {name: len(tasks) for name, tasks in held.items()} == {"attack/file": 2, "benign/file": 1}
    assert {name: len(tasks) for name, tasks in world.held_out(1).items()} == {"attack/file": 1, "benign/file": 1}
    drawn = {world.held_out(1, seed)["attack/file"][0].id for seed in range(20)}
    assert drawn == {task.id for task in held["attack/file"]}  # the seed says which of them
    shown = {task.facts["prompt"] for tasks in held.values() for task in tasks}
    seeds = prompts_of(world, Random(0), HARMFUL) | prompts_of(world, Random(0), BENIGN)
    assert shown | seeds == {row["prompt"] for row in ROWS} and not shown & seeds


@pytest.mark.parametrize(
    ("column", "harmful", "benign"),
    [
        ("label", "unsafe", "safe"),
        ("data_type", "adversarial_harmful", "vanilla_benign"),
        ("prompt_harm_label", "harmful", "unharmful"),
        ("harmful", True, False),
        ("Label", 1, 0),
    ],
)
def test_kinds_are_read_as_data_sets_write_them(written, column, harmful, benign):
    rows = [{"Goal": f"text {n}", column: harmful if n < 4 else benign} for n in range(6)]
    world = find_world(written(rows))
    held = world.held_out(9)
    assert prompts_of(world, Random(0), HARMFUL) <= {f"text {n}" for n in range(4)}
    assert prompts_of(world, Random(0), BENIGN) <= {"text 4", "text 5"}
    assert {name: {task.kind for task in tasks} for name, tasks in held.items()} == {
        "attack/file": {HARMFUL},
        "benign/file": {BENIGN},
    }


def test_a_list_of_forbidden_behaviours_is_harmful_throughout(written):
    world = find_world(written([{"Behavior": f"do {n}"} for n in range(5)]))
    assert set(world.held_out(9)) == {"attack/file"}
    with pytest.raises(RedQueenError, match="no benign prompt to train on: add some, or set --benign 0"):
        world.seed(BENIGN, Random(0))


def test_another_file_can_be_held_out_and_repeated_prompts_are_seeds_once(written):
    tests = written([{"prompt": "HARM  3", "label": "harmful"}], "tests.jsonl")
    world = RedPrompts(written([*ROWS, ROWS[0]]), test=tests)
    assert [task.facts["prompt"] for task in world.held_out(9)["attack/file"]] == ["HARM  3"]
    assert prompts_of(world, Random(0), HARMFUL) == {f"harm {n}" for n in range(10) if n != 3}


def test_seats_are_told_the_form_in_which_thoughts_are_hidden(written):
    path = written(ROWS)
    seed = Task("s", BENIGN, "How do I cut onions?")
    world, plain = find_world(path), find_world(f"prompts:path={path},thoughts=false")
    for question in (world.attack(seed), world.defence(seed.prompt)):
        assert "How do I cut onions?" in question.prompt and "</think>" in question.prompt
        assert "<answer>" in question.prompt
    assert plain.defence(seed.prompt).prompt == seed.prompt
    assert "refuses it, although nothing in it is harmful" in plain.attack(seed).prompt


def test_good_answers_of_the_file_are_shown_in_the_form_of_the_game(written):
    world = find_world(written(ROWS))
    shown = world.schooling(20, Random(0))
    trained = prompts_of(world, Random(0), BENIGN)
    assert len(shown) == 20 and {each.role for each in shown} == {"defender"}
    for each in shown:
        number = each.task.facts["prompt"].removeprefix("help ")
        assert each.task.facts["prompt"] in trained
        assert read_hidden(each.text).answer == f"answer {number}" and read_hidden(each.text).kept
    assert find_world(written([{"prompt": "a"}, {"prompt": "b"}])).schooling(3, Random(0)) == []


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"words": "a"}], "no column holds prompts: call it prompt, or name it with prompt=COLUMN"),
        ([{"prompt": "a", "label": "maybe"}], "line 1: label is 'maybe': write harmful or benign"),
        ([{"prompt": 7, "label": "harmful"}], "line 1: prompt must be a text, not 7"),
        ([{"prompt": "a", "label": "safe"}], "no harmful prompt is to train on"),
        ([{"prompt": "a", "label": "harmful"}], "no harmful prompt is held out"),
    ],
)
def test_what_cannot_be_used_is_said_with_its_line(written, rows, message):
    with pytest.raises(RedQueenError, match=message) as caught:
        find_world(written(rows))
    assert "\n" not in str(caught.value)


def test_a_column_that_is_not_there_is_said(written):
    with pytest.raises(RedQueenError, match="there is no column 'text': the columns are prompt, label, response"):
        RedPrompts(written(ROWS), prompt="text")
