from collections import Counter
from random import Random

import pytest

from redqueen.curricula.dealt import Enumerated, Sampled
from redqueen.types import RedQueenError, Task

EQUAL = [Task(name) for name in "abcdef"]
UNEQUAL = [Task("rare", weight=1.0), Task("usual", weight=3.0), Task("never", weight=0.0)]


def ids(tasks: list[Task]) -> Counter[str]:
    return Counter(task.id for task in tasks)


def test_sampled_draws_by_weight():
    counts = ids(Sampled(UNEQUAL).draw(4000, Random(0)))
    assert counts["rare"] == pytest.approx(1000, abs=110)
    assert counts["never"] == 0


def test_enumerated_deals_every_task_equally_often():
    counts = ids(Enumerated(EQUAL).draw(120, Random(0)))
    assert counts == Counter(dict.fromkeys("abcdef", 20))
    counts = ids(Enumerated(EQUAL).draw(128, Random(0)))
    assert sorted(counts.values()) == [21, 21, 21, 21, 22, 22]


def test_enumerated_keeps_to_weights():
    assert ids(Enumerated(UNEQUAL).draw(40, Random(0))) == Counter(rare=10, usual=30)


def test_the_remainder_of_an_enumeration_is_drawn_by_weight():
    rng = Random(1)
    total: Counter[str] = Counter()
    for _ in range(4000):
        total += ids(Enumerated(UNEQUAL).draw(1, rng))
    assert total["rare"] == pytest.approx(1000, abs=110)
    assert total["usual"] + total["rare"] == 4000
    pairs: Counter[str] = Counter()
    for _ in range(3000):
        pairs += ids(Enumerated(EQUAL).draw(2, rng))
    assert all(pairs[name] == pytest.approx(1000, abs=110) for name in "abcdef")


@pytest.mark.parametrize("count", [0, 1, 5, 7, 99, 1000])
def test_a_draw_has_the_size_asked_for(count):
    thirds = [Task(str(number), weight=1 / 3 + number / 7) for number in range(11)]
    for curriculum in (Sampled(thirds), Enumerated(thirds)):
        assert len(curriculum.draw(count, Random(count))) == count


def test_the_order_of_an_enumeration_is_random_and_comes_from_the_generator():
    curriculum = Enumerated(EQUAL)
    first = curriculum.draw(60, Random(3))
    assert first == curriculum.draw(60, Random(3))
    assert first != curriculum.draw(60, Random(4))
    assert [task.id for task in first] != sorted(task.id for task in first)


@pytest.mark.parametrize("kind", [Sampled, Enumerated])
@pytest.mark.parametrize(
    ("tasks", "line"),
    [
        ([], "at least one task"),
        ([Task("a", weight=-1.0)], "weight of task 'a'"),
        ([Task("a", weight=float("nan"))], "weight of task 'a'"),
        ([Task("a", weight=0.0)], "above 0"),
    ],
)
def test_tasks_that_cannot_be_drawn_are_refused(kind, tasks, line):
    with pytest.raises(RedQueenError, match=line):
        kind(tasks)


@pytest.mark.parametrize("kind", [Sampled, Enumerated])
def test_curricula_without_memory_have_an_empty_state(kind):
    curriculum = kind(EQUAL)
    curriculum.observe([])
    curriculum.restore(curriculum.state())
    assert curriculum.state() == {}
