from itertools import pairwise
from random import Random

import numpy as np
import pytest

from redqueen.curricula.duplicates import NearDuplicates, Overlap, SameKey, SimilarMeaning
from redqueen.curricula.sameness import by_text
from redqueen.texts import Wording
from redqueen.types import RedQueenError, Task


def asked(prompt: str, name: str = "new", kind: str = "k") -> Task:
    return Task(name, kind, prompt)


def holding(screen, *prompts):
    for place, prompt in enumerate(prompts):
        screen.hold([asked(prompt, f"t{place}")])
    return screen


def test_a_key_that_is_held_is_refused_until_its_task_leaves():
    screen = holding(SameKey(by_text()), "What is 3 + 5?")
    assert screen.reason(asked("what is  3 + 5?")) == "duplicate of t0"
    assert screen.reason(asked("what is 3 + 6?")) == ""
    screen.release([asked("What is 3 + 5?", "t0")])
    assert screen.reason(asked("what is  3 + 5?")) == ""


def test_a_key_is_made_once_for_a_task_that_is_asked_about_and_held():
    made = []
    screen = SameKey(lambda task: made.append(task.id) or task.prompt)
    task = asked("a")
    assert screen.reason(task) == ""
    screen.hold([task])
    screen.release([task])
    assert made == ["new"]


def test_near_duplicates_by_hand():
    # runs of 2: ab bc cd de ef | ab bc cd de eg: 4 of 6 shared; | ab bc cd: 3 of 5
    screen = holding(NearDuplicates(0.65, 2), "a b c d e f")
    assert screen.nearest(asked("a b c d e g")) == ("t0", pytest.approx(4 / 6))
    assert screen.reason(asked("A b c d e g")) == "near duplicate of t0 (0.67)"
    assert screen.reason(asked("a b c d")) == ""
    assert screen.reason(asked("a b c d e f", kind="other")) == ""
    screen.release([asked("a b c d e f", "t0")])
    assert screen.reason(asked("a b c d e f")) == ""


def test_near_duplicates_at_the_threshold_itself_and_where_all_is_shared():
    assert holding(NearDuplicates(4 / 6, 2), "a b c d e f").reason(asked("a b c d e g"))
    assert holding(NearDuplicates(1.0, 2), "a b c").reason(asked("A  b c"))
    assert not holding(NearDuplicates(1.0, 2), "a b c").reason(asked("a b c d"))


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8, 0.95])
def test_near_duplicates_are_those_that_comparing_all_with_all_finds(threshold):
    rng = Random(int(threshold * 100))
    screen = NearDuplicates(threshold, 2)
    held: dict[str, tuple[Task, set[tuple[str, ...]]]] = {}
    found = 0
    for number in range(400):
        words = [rng.choice("abcd") for _ in range(rng.randrange(2, 12))]
        mine = set(pairwise(words))
        task = asked(" ".join(words), str(number))
        best = max((len(mine & other) / len(mine | other) for _, other in held.values()), default=0.0)
        nearest = screen.nearest(task)
        if best >= threshold:
            assert nearest is not None and nearest[1] == pytest.approx(best)
            found += 1
        else:
            assert nearest is None
            screen.hold([task])
            held[task.id] = (task, mine)
        if number % 5 == 0:
            screen.release([held.pop(rng.choice(list(held)))[0]])
    assert found > 50


def test_near_duplicates_keep_nothing_of_what_left():
    screen = NearDuplicates(0.8, 2)
    tasks = [asked(f"a b c {number}", str(number)) for number in range(20)]
    screen.hold(tasks)
    screen.release(tasks)
    assert not screen._runs and not screen._frequency and not screen._having


@pytest.mark.parametrize("varied", [7, 12, 20])
def test_near_duplicates_of_one_template_are_not_compared_with_each_other(varied):
    """Texts of one template differ in `varied` of 60 words: too little to be alike, and nearly so at 7."""
    rng = Random(varied)
    screen = NearDuplicates(0.8, 1)
    compared = _counting(screen)
    for number in range(400):
        words = [f"t{place}" for place in range(60 - varied)] + [str(rng.random()) for _ in range(varied)]
        task = asked(" ".join(f"w{word}" for word in words), str(number))
        assert screen.nearest(task) is None
        screen.hold([task])
    assert compared[0] < 400


def _counting(screen):
    """Counts how often one held task is looked at."""
    compared = [0]

    class Counting(dict):
        def __getitem__(self, key):
            compared[0] += 1
            return super().__getitem__(key)

    screen._runs = Counting()
    return compared


def letters(texts: list[str]) -> np.ndarray:
    return np.array([[text.count(letter) for letter in "abc"] for text in texts], dtype=float)


def test_meaning_is_the_cosine_of_vectors():
    screen = holding(SimilarMeaning(letters, 0.9), "aaa", "ab")
    assert screen.reason(asked("a")) == "means the same as t0 (1.00)"
    assert screen.reason(asked("aab")) == "means the same as t1 (0.95)"  # 3 / sqrt(10)
    assert screen.reason(asked("c")) == ""
    assert screen.reason(asked("")) == ""


def test_meanings_that_leave_make_room_for_the_last():
    screen = holding(SimilarMeaning(letters, 0.99), "a", "b", "c")
    screen.release([asked("a", "t0")])
    assert screen.reason(asked("a")) == ""
    assert screen.reason(asked("b")) == "means the same as t1 (1.00)"
    assert screen.reason(asked("c")) == "means the same as t2 (1.00)"
    screen.release([asked("c", "t2")])
    screen.hold([asked("a", "t3")])
    assert screen.reason(asked("aa")) == "means the same as t3 (1.00)"
    assert screen.reason(asked("c")) == ""


def test_prepared_tasks_are_embedded_together():
    calls = []
    screen = SimilarMeaning(lambda texts: calls.append(len(texts)) or letters(texts))
    tasks = [asked(text, text) for text in ("a", "b", "c")]
    screen.prepare(tasks)
    for task in tasks:
        assert screen.reason(task) == ""
        screen.hold([task])
    assert calls == [3]


def test_vectors_of_the_wrong_shape_are_refused():
    with pytest.raises(RedQueenError, match=r"shape \[1, d\]"):
        SimilarMeaning(lambda texts: np.zeros(3)).hold([asked("a")])


TETRAHEDRON = (
    "Let ABCD be a tetrahedron such that AB = CD = sqrt 41 and AC = BD = sqrt 80 and BC = AD = sqrt 89. "
    "Find the distance from a point inside the tetrahedron to each of its faces."
)
OTHER_NUMBERS = TETRAHEDRON.replace("41", "53").replace("80", "90").replace("89", "97")


def test_overlap_finds_the_same_text_and_the_containing_text():
    screen = Overlap([asked("What is 3 + 5?", "short"), asked(TETRAHEDRON, "aime")])
    assert screen.reason(asked("what is 3 + 5")) == "is the evaluation task short"
    assert screen.reason(asked("In a story somebody asked what is 3+5? Nobody knew")).startswith("overlaps the eval")
    assert screen.reason(asked("In a story somebody asked what is 3 + 55? Nobody knew")) == ""
    assert screen.reason(asked("Here is one. " + TETRAHEDRON)).startswith("overlaps the evaluation task aime")
    assert screen.reason(asked("Find the distance from a point to a plane.")) == ""


def test_overlap_finds_a_short_text_inside_others_from_four_words_on():
    screen = Overlap([asked("What is 12+7?", "five"), asked("12+7=", "four"), asked("2", "one"), asked("1+1", "three")])
    assert screen.reason(asked("Tom says: What is 12+7? Answer it.")) == "overlaps the evaluation task five (1.00)"
    assert screen.reason(asked("Find x where 12 + 7 = x")) == "overlaps the evaluation task four (1.00)"
    assert screen.reason(asked("1 + 1")) == "overlaps the evaluation task three (1.00)"
    for prompt in ("Is 2 even?", "What is 1+1 and 2?", "What is 12 + 77?", "What is it?", "Tom says: What is 12?"):
        assert screen.reason(asked(prompt)) == ""


def test_overlap_finds_changed_numbers_where_numbers_do_not_count():
    """Published self-play sets held such copies of AIME24 (inclusionAI/PromptCoT, issue 8)."""
    task = asked(OTHER_NUMBERS.replace("distance from a point inside", "distance from every point of"))
    strict = Overlap([asked(TETRAHEDRON, "aime")], containment=0.7)
    assert strict.reason(task) == ""
    blind = Overlap([asked(TETRAHEDRON, "aime")], containment=0.7, wording=Wording(punctuation=False, numbers=False))
    assert blind.reason(task).startswith("overlaps the evaluation task aime (0.7")


def test_containment_by_hand():
    # runs of 2 of the evaluation task: ab bc cd de; the task holds ab bc
    evaluation = [asked("a b c d e", "five")]
    assert Overlap(evaluation, 0.5, 2).reason(asked("x a b c y")) == "overlaps the evaluation task five (0.50)"
    assert Overlap(evaluation, 0.51, 2).reason(asked("x a b c y")) == ""


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda: NearDuplicates(0.0), "threshold above 0"),
        (lambda: NearDuplicates(0.5, 0), "length of at least 1"),
        (lambda: SimilarMeaning(letters, 1.5), "cosine"),
        (lambda: Overlap([], 1.5), "containment"),
        (lambda: Overlap([asked("  ", "e")]), "evaluation task 'e' has no prompt"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(make, line):
    with pytest.raises(RedQueenError, match=line):
        make()
