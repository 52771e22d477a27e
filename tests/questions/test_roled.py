"""A role before each answer: what is read as which, files of roles, and what is measured of them."""

import json
from random import Random

import pytest

from redqueen.contracts.questions import check_questions
from redqueen.measures.accuracy import HeldOut
from redqueen.players.scripted import Scripted
from redqueen.questions.catalogue import find_questions
from redqueen.questions.roled import role_and_answer, roled, roles_of
from redqueen.questions.small.cued import CUES, Cued
from redqueen.types import SOLVER, RedQueenError

ROLED = roled("cued")
TASK = Cued().task("adder", 7, 3)


def test_the_answer_and_the_role_are_two_figures():
    """A sum of 10 that an adder is asked for."""
    replies = ["adder\n10", "10", "taker\n10", "adder\n4"]
    assert ROLED.right([TASK] * 4, replies) == [True, True, True, False]
    found = ROLED.remarks([TASK] * 4, replies)
    assert [each["role_named"] for each in found] == [1.0, 0.0, 1.0, 1.0]
    assert [each["role_right"] for each in found] == [1.0, 0.0, 0.0, 1.0]


def test_of_a_task_without_a_role_it_is_not_known_which_is_right():
    (found,) = roled("sums:digits=1").remarks([find_questions("sums").seeds()[0]], ["adder\n2"])
    assert found == {"role_named": 1.0, "role_right": None}


@pytest.mark.parametrize(
    "reply, parts",
    [
        ("adder\n10", ("adder", "10")),
        (" adder \n 10\n11 ", ("adder", "10\n11")),
        ("10", ("", "10")),
        ("adder\n", ("", "adder")),
        ("\n10", ("", "10")),
        ("", ("", "")),
    ],
)
def test_a_role_is_the_first_line_where_another_follows(reply, parts):
    assert role_and_answer(reply) == parts


def test_demonstrations_begin_with_the_role_of_their_question():
    shown = ROLED.demonstrations(40, Random(0))
    assert {one.role for one in shown} == {SOLVER}
    assert {one.text.partition("\n")[0] for one in shown} == set(CUES)
    assert all(one.text == f"{one.task.facts['role']}\n{one.task.answer}" for one in shown)
    assert all(ROLED.right([one.task for one in shown], [one.text for one in shown]))


def test_the_same_numbers_are_four_tasks():
    tasks = [Cued().task(role, 12, 5, place=place) for role, place in zip(CUES, (0, 1, 2, 1), strict=True)]
    assert [task.prompt for task in tasks] == ["pear 12 5", "12 sand 5", "12 5 fox", "12 moon 5"]
    assert [task.answer for task in tasks] == ["17", "7", "12", "5 12"]


@pytest.mark.parametrize("spec", ["cued", "roled", "roled:cued"])
def test_both_sets_keep_the_contract_of_questions(spec):
    assert check_questions(find_questions(spec))


def test_roles_of_a_file_are_given_to_the_questions_of_another(tmp_path):
    rows(tmp_path / "train.jsonl", [{"question": f"What is {n}+1?", "answer": str(n + 1)} for n in range(40)])
    rows(tmp_path / "roles.jsonl", [{"prompt": f"What is {n}+1?", "role": f"You count to {n}."} for n in range(40)])
    found = find_questions(f"roled:inner={tmp_path / 'train.jsonl'},roles={tmp_path / 'roles.jsonl'}")
    (one, *_) = found.demonstrations(4, Random(0))
    number = one.task.prompt.removeprefix("What is ").removesuffix("+1?")
    assert one.text == f"You count to {number}.\n{int(number) + 1}"
    assert found.right([one.task], [one.text]) == [True]


def rows(path, found):
    path.write_text("".join(json.dumps(each) + "\n" for each in found), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "found, message",
    [
        ([{"prompt": "a"}], "a row of roles has a prompt and a role, both texts"),
        ([{"prompt": "a", "role": 3}], "a row of roles has a prompt and a role, both texts"),
        ([{"prompt": "a", "role": "b\nc"}], "a role stands in one line"),
        ([{"prompt": "a", "role": "b"}, {"prompt": "a", "role": "c"}], "line 2: 'a' has another role"),
    ],
)
def test_a_row_that_is_no_role_is_refused_with_its_place(found, message, tmp_path):
    with pytest.raises(RedQueenError, match=message):
        roles_of(rows(tmp_path / "roles.jsonl", found))


def test_a_question_without_a_role_is_named(tmp_path):
    with pytest.raises(RedQueenError, match=r"no role for the question 'What is .* of sums: roles=FILE names rows"):
        roled("sums").demonstrations(8, Random(0))
    place = rows(tmp_path / "roles.jsonl", [{"prompt": "What is 1+1?", "role": "adder"}])
    with pytest.raises(RedQueenError, match=r"among the 1 of .*roles.jsonl: each question that is learned from"):
        roled("sums:digits=4", place).demonstrations(60, Random(0))


def test_who_answers_with_a_role_keeps_the_tools_of_the_set():
    (tool,) = roled("tool_sums").tools_for(SOLVER)
    assert tool.name == find_questions("tool_sums").tools_for(SOLVER)[0].name == "calculate"
    assert roled("cued").tools_for(SOLVER) == ()


def test_roles_are_measured_beside_answers():
    measure = HeldOut(ROLED, Scripted(("adder\n0",)), 4, attempts=1)
    found = measure()
    assert found["role_named"] == 1.0
    assert found["role_right"] == pytest.approx(0.25), "one level in four asks for an adder"
