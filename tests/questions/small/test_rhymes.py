"""Stories of six words: their quality by hand, pairs with true scores, and reasons that count wrongly."""

import re
from random import Random

import pytest

from redqueen.questions.catalogue import having
from redqueen.questions.dataset import Preferring
from redqueen.questions.small.rhymes import MOST, Rhymes, scored
from redqueen.types import RedQueenError

RHYMES = Rhymes()
TASK = RHYMES.task("cat", "dog")


@pytest.mark.parametrize(
    ("story", "quality"),
    [
        ("dog fog log cat hat cat", 6),  # dog fog, fog log, cat hat, hat cat; and the hero twice
        ("dog dog dog dog dog dog", 0),  # a word does not rhyme with itself
        ("dog fog log hog bog fog", 5),
        ("dog cat hen cat rug pen", 2),
        ("dog cat hen men rug pen", 1),
        ("cat hat cat hat cat hat", 0),  # begins otherwise
        ("dog fog log hog bog", 0),
        ("dog fog log hog bog fog log", 0),
        ("dog fog log hog bog sun", 0),
        ("", 0),
    ],
)
def test_neighbours_that_rhyme_and_a_hero_who_comes_twice(story, quality):
    assert RHYMES.quality(TASK, story) == quality
    assert RHYMES.rewards([TASK], [story]) == [quality / 7]
    assert RHYMES.right([TASK], [story]) == [quality >= 5]


def test_a_quality_is_a_score_from_one_to_five():
    assert [scored(each) for each in range(MOST + 1)] == [1, 2, 2, 3, 3, 4, 4, 5]


def test_the_answer_of_a_task_is_one_of_its_best_stories():
    tasks = [RHYMES.task(hero, opening) for hero in ("cat", "jug") for opening in ("cat", "hat", "dog", "jug")]
    assert [RHYMES.quality(task, task.answer) for task in tasks] == [7, 7, 6, 6, 6, 6, 6, 7]


def test_pairs_have_their_true_scores_and_no_prompt_is_in_both_parts():
    parts = {level: RHYMES.preferences(level, 999, Random(0)) for level in RHYMES.levels}
    prompts = {level: {pair.task.prompt for pair in pairs} for level, pairs in parts.items()}
    assert len(prompts["train"]) + len(prompts["held_out"]) == 400 and not prompts["train"] & prompts["held_out"]
    for pair in parts["train"]:
        true = [scored(RHYMES.quality(pair.task, each)) for each in (pair.chosen, pair.rejected)]
        assert pair.task.facts["scores"] == true and true[0] > true[1]
    again = {pair.task.id: pair for pair in RHYMES.preferences("train", 9, Random(1))}
    assert all(pair == again[pair.task.id] for pair in parts["train"] if pair.task.id in again)
    assert having(RHYMES, Preferring) is RHYMES


def test_reasons_count_wrongly_as_often_as_told_and_the_scores_follow():
    for miscounts in (0.0, 0.4):
        shown = [one for one in Rhymes(miscounts=miscounts).demonstrations(900, Random(0)) if one.role == "judge"]
        wrong = 0
        for one in shown:
            hero, opening = re.search(r"Six words about (\w+), from (\w+) on:", one.task.prompt).groups()
            task, stories = RHYMES.task(hero, opening), re.findall(r"Answer \w:\n=+\w+=+\n(.*)\n", one.task.prompt)
            said = re.findall(r"(\d) rhymes, hero (\d)", one.text)
            worth = [int(rhymes) + 2 * (int(times) >= 2) for rhymes, times in said]
            assert one.text.splitlines()[-1] == " ".join(str(scored(each)) for each in worth)
            wrong += sum(RHYMES.quality(task, story) != each for story, each in zip(stories, worth, strict=True))
        assert wrong / (2 * len(shown)) == pytest.approx(miscounts, abs=0.06)


def test_what_cannot_be_is_refused():
    with pytest.raises(RedQueenError, match="worth 1 to 6, not enough=7"):
        Rhymes(enough=7)
    with pytest.raises(RedQueenError, match="the levels are train, held_out"):
        RHYMES.problems("easy", 1, Random(0))
