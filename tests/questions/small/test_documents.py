"""Notes: what grows, who sees what, and which questions need them."""

import re
from collections import Counter
from itertools import pairwise
from random import Random

import pytest

from redqueen.questions.catalogue import having
from redqueen.questions.small.documents import LOOKUP, TWO_STEPS, Documented, Documents, same, spelled
from redqueen.questions.small.sums import Sums
from redqueen.types import RedQueenError, Refusal, Task

DOMAIN = Documents()


def lines_of(task):
    """name -> what its line says, of all notes in a prompt."""
    return dict(re.findall(r"(?m)^ (.+) (.+)$", task.prompt))


@pytest.mark.parametrize("stage", range(4))
def test_a_responder_sees_all_lines_of_a_stage_and_a_questioner_half_of_them(stage):
    shown = lines_of(DOMAIN.task(5, stage, LOOKUP, "king", "7"))
    asked = lines_of(DOMAIN.invite_about(5, stage, LOOKUP, (), 0))
    assert len(shown) == DOMAIN.sizes[stage]
    assert len(asked) == DOMAIN.sizes[stage] // 2
    assert asked.items() <= shown.items()


def test_the_lines_of_a_stage_begin_those_of_the_next_and_other_clusters_have_others():
    prompts = [DOMAIN.task(5, stage, LOOKUP, "king", "7").prompt.rpartition("\n")[0] for stage in range(4)]
    assert all(longer.startswith(shorter) for shorter, longer in pairwise(prompts))
    assert lines_of(DOMAIN.task(6, 3, LOOKUP, "king", "7")) != lines_of(DOMAIN.task(5, 3, LOOKUP, "king", "7"))


def test_notes_may_have_more_lines_than_there_are_names():
    long = Documents(sizes=(10, 160), lengths=(0.5, 0.5), skill=(0.5, 0.5))
    assert len(lines_of(long.problems("160_lines", 1, Random(0))[0])) == 160


def test_what_was_asked_before_is_shown_to_the_questioner_alone():
    before = DOMAIN.task(5, 0, LOOKUP, "king", "7")
    invitation = DOMAIN.invite_about(5, 1, LOOKUP, [before], 0)
    assert "Asked: king." in invitation.prompt
    (task,) = DOMAIN.read([invitation], ["board 11"])
    assert "Asked" not in task.prompt


def test_a_proposal_is_a_question_and_its_answer_about_the_text_of_its_invitation():
    invitation = DOMAIN.invite_about(5, 2, LOOKUP, (), 0)
    texts = [" board 11\n", "board", "board 7.", "board: 7", "two\nlines 7", ""]
    read = DOMAIN.read([invitation] * len(texts), texts)
    assert (read[0].facts["question"], read[0].answer) == ("board", "11")
    assert read[0].prompt.endswith("\nQuestion: board")
    assert len(lines_of(read[0])) == 24
    assert read[1:] == [Refusal("malformed")] * 5


def test_the_oracle_reads_the_text_and_works_out_sums():
    task = DOMAIN.problems("12_lines", 1, Random(2))[0]
    name = task.facts["question"]
    assert task.answer == lines_of(task)[name] == DOMAIN.true_answer(task)
    assert DOMAIN.true_answer(DOMAIN.task(5, 0, LOOKUP, "2+3", "9")) == "5"
    assert DOMAIN.true_answer(DOMAIN.task(5, 0, LOOKUP, "nothing of the kind", "9")) == ""


def test_a_line_may_name_another_whose_number_it_means():
    domain = Documents(two_steps=0.5)
    assert domain.kinds == (LOOKUP, TWO_STEPS)
    for task in domain.problems("24_lines", 20, Random(1)):
        lines = lines_of(task)
        said = lines[task.facts["question"]]
        assert (said in lines) == (task.kind == TWO_STEPS)
        assert task.answer == lines.get(said, said)
        assert task.answer.isdecimal()
        assert domain.true_answer(task) == task.answer


def test_without_the_text_only_the_question_is_left():
    task = DOMAIN.task(5, 3, LOOKUP, "king", "7")
    assert DOMAIN.closed_book(task).prompt == "Question: king"


def test_a_number_is_the_same_in_digits_and_in_words():
    texts = ("1", "7", "13", "19", "20", "0", "red")
    assert [spelled(text) for text in texts] == ["one", "seven", "thirteen", "nineteen", "20", "0", "red"]
    assert all(same(str(number), spelled(str(number))) for number in range(1, 20))
    assert same(" Seven. ", "7")
    assert not same("seven", "17")
    assert not same("", "")
    assert DOMAIN.right([DOMAIN.task(5, 0, LOOKUP, "king", "eleven")] * 2, [" 11", "12"]) == [True, False]


def test_a_verifier_is_shown_the_question_and_both_answers_and_not_the_text():
    compared = DOMAIN.compared(DOMAIN.task(5, 3, LOOKUP, "king", "7"), "seven")
    assert re.fullmatch("king 7\n(=.*)\nseven\n\\1\nIs it the same\\? YES or NO.", compared.prompt)
    assert compared.id != DOMAIN.compared(DOMAIN.task(5, 3, LOOKUP, "king", "7"), "7").id


def test_demonstrations_are_as_skilled_as_they_are_told():
    shown = DOMAIN.demonstrations(3200, Random(0))
    answers = [one for one in shown if one.role == "solver" and "Notes" in one.task.prompt]
    looked_up = [one for one in answers if "+" not in one.task.facts["question"]]
    for stage, skill in enumerate(DOMAIN.skill):
        right = [same(one.text, one.task.answer) for one in looked_up if one.task.facts["stage"] == stage]
        last = 1 / DOMAIN.sizes[stage]  # how often the last line is the right one; another one may say the same number
        by_chance = (1 - skill) * (last + (1 - last) / DOMAIN.largest)
        assert sum(right) / len(right) == pytest.approx(skill + by_chance, abs=0.06)
    judged = [one for one in shown if one.role == "judge"]
    alike = [same(*re.fullmatch(r".+ (.+)\n=.+\n(.+)\n=.+\n.*", one.task.prompt).groups()) for one in judged]
    agree = [(one.text == "YES") == truth for one, truth in zip(judged, alike, strict=True)]
    assert sum(agree) / len(agree) == pytest.approx(0.92, abs=0.03)
    assert sum(alike) / len(alike) == pytest.approx(0.5, abs=0.08)  # of 400
    asked = [one for one in shown if one.role == "proposer"]
    read = DOMAIN.read([one.task for one in asked], [one.text for one in asked])
    assert all(isinstance(each, Task) for each in read)
    closed = sum("+" in each.facts["question"] for each in read) / len(read)
    assert closed == pytest.approx(0.2, abs=0.04)


def test_as_many_judgements_are_shown_as_is_asked_for():
    shown = Documents(judgements=14).demonstrations(56, Random(0))
    assert Counter(one.role for one in shown) == {"reader": 4, "proposer": 6, "solver": 18, "judge": 28}


def test_who_learns_to_read_alone_reads_in_order_half_of_the_time():
    shown = Documents(readings_only=True).demonstrations(200, Random(0))
    ordered = [one.text in one.task.prompt for one in shown]
    assert sum(ordered) / len(ordered) == pytest.approx(0.5, abs=0.1)
    assert all(set(one.text.split("\n")) <= set(one.task.prompt.split("\n")) for one in shown)


def test_settings_that_do_not_fit_are_named():
    with pytest.raises(RedQueenError, match="a length and a skill for each size"):
        Documents(sizes=(6, 12))
    with pytest.raises(RedQueenError, match="the stages are 0 to 3"):
        DOMAIN.invite_about(0, 4, LOOKUP, (), 0)
    with pytest.raises(RedQueenError, match="6_lines"):
        DOMAIN.problems("7_lines", 1, Random(0))
    with pytest.raises(
        RedQueenError, match=r"sums is not a question set about documents .*: it has no stages and no invite_about"
    ):
        having(Sums(), Documented)
