"""Tasks of a world as questions, to which new ones are proposed by doing them."""

from random import Random

import pytest

from redqueen.contracts.questions import check_questions
from redqueen.contracts.recipes import TINY, metrics, small, trained
from redqueen.questions.catalogue import find_proposable
from redqueen.questions.set_by_doing import SetByDoing, as_text, world_task
from redqueen.recipes.proposers.absolute_zero import recipe
from redqueen.types import RedQueenError, Refusal, Task
from redqueen.worlds.hindsight import proposal_in
from tests.shop import START

SITE = SetByDoing("site(shop,20,4)")
INVITATION = Task("invitation", "acts", "Set one.", facts={"task": as_text(START)})


def read(*lines):
    (found,) = SITE.read([INVITATION], ["\n".join(lines)])
    return found


@pytest.mark.parametrize(
    "world",
    ["site(,30,6)", "proofs(7)", "circuits(,12,4)", "circuits(,12,4,true)", "sql(filter,8,4,4,2)", "traces(6,2)"],
)
def test_the_questions_of_a_world_keep_the_contract(world):
    assert "keeps the contract of question sets" in check_questions(find_proposable(f"hindsight:{world}"))


def test_the_fewest_acts_that_do_a_proposed_task_are_its_answer():
    """By hand (worlds.md 0.3): opening another page changes nothing, so two acts are enough."""
    found = read("acts: open cup | add | home | open pen", "task: Put 1 cup into the cart.")
    assert isinstance(found, Task)
    assert (found.id, found.kind, found.answer) == ('shop1 {"added cart.cup": 1}', "acts", "open cup | add")
    assert found.prompt.startswith("Put 1 cup into the cart.\nshop, home: cup 3 left, pen 2 left\n")
    answers = ["open cup | add", "open cup\nadd\n", "I would.\nacts: open cup | add", "open cup | add | add", "add", ""]
    assert SITE.right([found] * 6, answers) == [True, True, True, False, False, False]
    assert SITE.right([found], ["open cup | add" + " | home" * 62]) == [True]
    assert SITE.right([found], ["open cup | add" + " | home" * 63]) == [False]  # 65 acts


def test_what_is_no_task_is_refused():
    assert read("acts: open cup | home", "task: Look.") == Refusal("nothing has changed")
    assert read("acts: open cup | add", "task: Open cup and add.") == Refusal("names an act")
    assert read("acts: open lamp", "task: Look.") == Refusal("no such act")
    assert read("task: Look.") == read("acts: " + "home | " * 13, "task: Look.") == Refusal("malformed")
    assert read("acts: open cup | add", "task: " + "x" * 1001) == Refusal("malformed")


def test_a_new_task_begins_where_its_first_reference_does():
    one, two = SITE.seeds()[:2]
    invitation = SITE.invite("acts", [two, one], 3)
    assert world_task(invitation) == world_task(two)
    assert invitation.prompt.index(world_task(two).prompt) < invitation.prompt.index(world_task(one).prompt)
    assert SITE.invite("acts", [], 1).prompt != SITE.invite("acts", [], 2).prompt


def test_a_design_with_the_sign_between_acts_is_one_act():
    assert proposal_in("acts: assign y = a | b ;\ntask: Or.", several=False) == (["assign y = a | b ;"], "Or.")
    questions = SetByDoing("circuits(two,40,10)")
    for task in questions.problems("two", 40, Random(0)):
        assert questions.right([task], [task.answer]) == [True]
    assert any("|" in task.answer for task in questions.problems("two", 40, Random(0)))


def test_every_proposal_that_is_demonstrated_is_a_task():
    questions = SetByDoing("site(,30,6)")
    shown = [one for one in questions.demonstrations(60, Random(1)) if one.role == "proposer"]
    found = questions.read([one.task for one in shown], [one.text for one in shown])
    assert len(found) == 20 and all(isinstance(each, Task) for each in found)


@pytest.mark.parametrize(
    ("world", "said"), [("real", "no task can be set in hindsight in real"), ("sight", "there is no world 'sight'")]
)
def test_a_world_in_which_nothing_can_be_set_is_one_line(world, said):
    with pytest.raises(RedQueenError, match=said):
        find_proposable(f"hindsight:{world}")


def test_absolute_zero_proposes_to_a_world(tmp_path):
    config = small(recipe, learner=TINY, questions="hindsight:site(shop,30,6)", steps=2)
    lines = metrics(trained(recipe, config, tmp_path))
    assert len(lines) == 2 and "proposals/valid_share" in lines[-1]
