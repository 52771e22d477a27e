"""A toy translation: both rules by hand, what is wrong with wrong demonstrations, and a figure of the words."""

from random import Random

import pytest

from redqueen.questions.catalogue import find_questions
from redqueen.questions.small.translation import (
    SOURCE_ADJECTIVES,
    SOURCE_NOUNS,
    SOURCE_VERBS,
    TARGET_ADJECTIVES,
    TARGET_NOUNS,
    TARGET_VERBS,
    Phrase,
    Translation,
    at_place,
    mistaken,
)
from redqueen.types import RedQueenError

SET = Translation()
WHO, VERB, WHOM = Phrase(0, (2,)), 3, Phrase(1)
TASK = SET.task(WHO, VERB, WHOM)


def test_the_verb_goes_to_the_end_and_adjectives_agree():
    assert SOURCE_NOUNS[:2] == ("tibu", "tilo") and TARGET_NOUNS[:2] == ("faxa", "faqo")
    adjective = TARGET_ADJECTIVES[2]
    assert TASK.prompt == f"Translate: {SOURCE_ADJECTIVES[2]} tibu {SOURCE_VERBS[3]} tilo"
    assert TASK.answer == f"{adjective}a faxa faqo {TARGET_VERBS[3]}"
    assert SET.task(Phrase(1, (2,)), 0, Phrase(0)).answer.startswith(f"{adjective}o faqo faxa")


def test_forty_words_each_with_one_of_its_own():
    source = (*SOURCE_NOUNS, *SOURCE_VERBS, *SOURCE_ADJECTIVES)
    target = (*TARGET_NOUNS, *TARGET_VERBS, *TARGET_ADJECTIVES)
    assert len(source) == len(set(source)) == len(target) == len(set(target)) == 40


@pytest.mark.parametrize("level", range(4))
def test_levels_are_numbers_of_words(level):
    tasks = SET.problems(SET.levels[level], 40, Random(0))
    assert (
        {len(task.prompt.split()) - 1 for task in tasks} == {len(task.answer.split()) for task in tasks} == {level + 3}
    )


def test_a_wrong_translation_has_the_order_the_agreement_or_a_word_wrong():
    words = TASK.answer.split()
    assert mistaken(WHO, VERB, WHOM, "order", Random(0)) == [words[0], words[1], words[3], words[2]]
    assert mistaken(WHO, VERB, WHOM, "agreement", Random(0)) == [words[0][:-1] + "o", *words[1:]]
    other = mistaken(WHO, VERB, WHOM, "word", Random(0))
    assert other[:3] == words[:3] and other[3] in TARGET_VERBS and other[3] != words[3]


def test_demonstrations_are_right_as_often_as_told():
    for skill in (0.6, 1.0):
        shown = Translation(skill).demonstrations(600, Random(0))
        right = SET.right([one.task for one in shown], [one.text for one in shown])
        assert sum(right) / 600 == pytest.approx(skill, abs=0.05)


def test_the_share_of_words_at_their_place_is_a_figure():
    replies = [TASK.answer, TASK.answer + " faxa", "", TASK.answer.split()[0]]
    assert [at_place(TASK, each) for each in replies] == [1.0, 0.8, 0.0, 0.25]
    assert SET.remarks([TASK], [TASK.answer]) == [{"words_right": 1.0}]
    assert SET.right([TASK] * 4, replies) == [True, False, False, False]


def test_a_judge_of_known_skill_is_shown_no_right_answer():
    shown = find_questions("scored:inner=translation,skill=0.85").demonstrations(900, Random(0))
    judged = [one for one in shown if one.role == "judge"]
    assert len(judged) == 300 and {one.text for one in judged} <= set("012789")


def test_what_cannot_be_is_refused():
    with pytest.raises(RedQueenError, match="a share, 0 to 1, of right demonstrations, not 2"):
        Translation(2.0)
    with pytest.raises(RedQueenError, match="there is no level 'long'"):
        SET.problems("long", 1, Random(0))
