"""Stories by hand: who is stuck where, and what a variant may be."""

from collections import Counter
from random import Random

import pytest

from redqueen.questions.catalogue import find_questions, having
from redqueen.questions.small.sums import Sums
from redqueen.questions.small.variants import BACK, ON, PLAIN, TURNED, Variants, Varying, level_of, story, stuck, worked
from redqueen.types import RedQueenError, Refusal, Task


@pytest.mark.parametrize(
    ("steps", "on", "back", "level"),
    [
        ((5, 3, 2), "on 5+3=8+2=10", "back 2+3=5+5=10", PLAIN),
        ((5, -3, 2), "on 5-3=2+2=4", "back 2 stuck", PLAIN),
        ((5, -3, 4), "on 5-3=2+4=6", "back 4-3=1+5=6", PLAIN),
        ((2, -5, 6), "on 2 stuck", "back 6-5=1+2=3", TURNED),
        ((5, 3, -2), "on 5+3=8-2=6", "back stuck", PLAIN),
        ((3, -3, 1), "on 3-3=0+1=1", "back 1 stuck", PLAIN),  # nought is not below nought
        ((2, -5, 4), "on 2 stuck", "back 4 stuck", ""),
        ((4, 3, -8, 5), "on 4+3=7 stuck", "back 5 stuck", ""),
        ((4, -5, 1, 4), "on 4 stuck", "back 4+1=5-5=0+4=4", TURNED),
    ],
)
def test_where_each_way_leads(steps, on, back, level):
    assert (worked(steps, ON), worked(steps, BACK), level_of(steps)) == (on, back, level)


def test_a_story_reads_as_its_steps():
    assert story((2, -5, 6)) == "2 loses 5 gains 6"
    (task,) = Variants().read([Task("v", answer="9")], ["2 loses 5 gains 6"])
    assert task.prompt == "What has one who has 2 loses 5 gains 6?"
    assert task.facts == {"steps": [2, -5, 6], "level": TURNED}


def test_a_variant_has_the_answer_that_was_asked_for_and_the_oracle_knows_better():
    domain = Variants()
    invitation = domain.vary("on 4+5=9", "9", 4)
    true, false = domain.read([invitation] * 2, ["4 gains 5", "4 gains 4"])
    assert (true.answer, false.answer) == ("9", "9")
    assert [domain.true_answer(task) for task in (true, false)] == ["9", "8"]
    assert domain.right([true, false], ["back 5+4=9", "on 9+0=9"]) == [
        True,
        True,
    ]  # graded by the answer asked for alone


def test_a_story_without_an_answer_has_no_true_one():
    (task,) = Variants().read([Task("v", answer="1")], ["1 loses 2"])
    assert Variants().true_answer(task) == ""


def test_the_synthesiser_is_shown_the_response_and_not_the_problem():
    prompt = Variants().vary("back 1+2=3", "3", 0).prompt
    assert "back 1+2=3" in prompt
    assert not any(word in prompt for word in ("gains", "loses", "has"))


@pytest.mark.parametrize(
    "text",
    ["", "2", "2 gains 0", "2 loses 5 gains", "has 2 gains 5", "2 gains 05", "2 gains 100", "2 takes 5"],
)
def test_what_is_no_story_is_refused(text):
    assert Variants().read([Task("v", answer="3")], [text]) == [Refusal("malformed")]


@pytest.mark.parametrize("text", ["2 gains 1 gains 1 gains 1 gains 1", "7 loses 1", "1 gains 13"])
def test_a_story_that_is_too_large_is_refused(text):
    assert Variants().read([Task("v")], [text]) == [Refusal("too large")]


@pytest.mark.parametrize(
    "answer", ["3", "on", "on stuck", "on 4", "via 3", "on 3 4", "on -3", "", "stuck", "on 3 stuck"]
)
def test_wrong_answers(answer):
    (task,) = Variants().read([Task("v", answer="3")], ["2 loses 5 gains 6"])
    assert Variants().right([task], [answer]) == [False]


def test_problems_are_of_their_level_with_true_answers():
    domain = Variants()
    for level in domain.levels:
        for task in domain.problems(level, 50, Random(1)):
            assert task.facts["level"] == level
            assert task.answer == domain.true_answer(task) != ""
            ways = [worked(task.facts["steps"], way) for way in (ON, BACK)]
            assert any(domain.right([task] * 2, ways))
    with pytest.raises(RedQueenError, match="levels are plain, turned"):
        domain.problems("hard", 1, Random(0))


def test_demonstrations_show_both_ways_whatever_is_needed_and_variants_that_mostly_keep_the_answer():
    domain = Variants(works_on=0.6, faithful=0.8)
    shown = domain.demonstrations(4000, Random(0))
    solved = [each for each in shown if each.role == "solver"]
    assert len(solved) == 2000
    for level in (PLAIN, TURNED):
        of_level = [each for each in solved if each.task.facts["level"] == level]
        assert sum(each.text.startswith(ON) for each in of_level) / len(of_level) == pytest.approx(0.6, abs=0.05)
    right = Counter(
        (each.task.facts["level"], domain.right([each.task], [each.text])[0]) for each in solved if ON in each.text
    )
    assert right[PLAIN, False] == right[TURNED, True] == 0
    varied = [each for each in shown if each.role == "proposer"]
    told = domain.read([each.task for each in varied], [each.text for each in varied])
    assert not any(isinstance(each, Refusal) for each in told)
    kept = [domain.true_answer(task) == task.answer for task in told]
    assert 0.78 < sum(kept) / len(kept) < 0.9  # 0.8, and those that keep it by chance
    retold = [task for task, keeps in zip(told, kept, strict=True) if keeps]
    assert {task.facts["level"] for task in retold} == {PLAIN, TURNED}
    assert all("stuck" not in each.task.prompt for each in varied)


def test_a_skilled_demonstration_goes_on_exactly_where_that_leads_to_the_end():
    shown = Variants(works_on=0.0, skill=1.0).demonstrations(400, Random(0))
    solved = [(each.task.facts["level"], each.text.split()[0]) for each in shown if each.role == "solver"]
    assert set(solved) == {(PLAIN, ON), (TURNED, BACK)}


def test_stuck_is_about_running_totals_alone():
    assert stuck((1, -2, 9), ON)
    assert not stuck((1, -2, 9), BACK)


def test_a_domain_without_variants_is_refused_by_name():
    assert having(Variants(), Varying) == Variants()
    with pytest.raises(
        RedQueenError,
        match=r"sums is not .* told anew .*: it has no vary and no true_answer; .* have it: dataset, variants$",
    ):
        having(Sums(), Varying)


def test_it_is_found_by_its_place():
    assert find_questions("redqueen.questions.small.variants:Variants:changes=2") == Variants(changes=2)
