"""A data set gone through again and again."""

from random import Random

import pytest

from redqueen.chance import derive
from redqueen.curricula import epochs
from redqueen.curricula.epochs import Epochs
from redqueen.types import RedQueenError, Task

TASKS = [Task(str(number)) for number in range(7)]


def ids(tasks):
    return [task.id for task in tasks]


def test_every_task_comes_once_in_an_epoch_in_an_order_of_its_own():
    data = Epochs(TASKS, seed=3)
    epochs = [ids(data.draw(7, Random(0))) for _ in range(3)]
    assert [sorted(epoch) for epoch in epochs] == [list("0123456")] * 3
    assert len({tuple(epoch) for epoch in epochs}) == 3


def test_a_draw_goes_on_into_the_next_epoch():
    whole, parts = Epochs(TASKS, seed=3), Epochs(TASKS, seed=3)
    assert ids(whole.draw(20, Random(0))) == ids(
        parts.draw(5, Random(1)) + parts.draw(12, Random(2)) + parts.draw(3, Random(3))
    )


def test_an_epoch_has_ended_when_its_last_task_was_drawn():
    data = Epochs(TASKS)
    ended = []
    for count in (6, 1, 6, 8):
        data.draw(count, Random(0))
        ended.append(data.ended)
    assert ended == [0, 1, 1, 3]


def test_a_restored_data_set_goes_on_where_it_was():
    data, again = Epochs(TASKS, seed=5), Epochs(TASKS, seed=5)
    data.draw(10, Random(0))
    again.restore(data.state())
    assert ids(again.draw(9, Random(1))) == ids(data.draw(9, Random(2)))


def test_an_epoch_is_shuffled_once_and_drawn_as_its_seed_says(monkeypatch):
    orders = [list("0123456"), list("0123456")]
    for number, order in enumerate(orders):
        Random(derive(3, "epoch", number)).shuffle(order)
    seeds = []
    monkeypatch.setattr(epochs, "Random", lambda seed: seeds.append(seed) or Random(seed))
    data = Epochs(TASKS, seed=3)
    assert ids(data.draw(5, Random(0)) + data.draw(9, Random(0))) == orders[0] + orders[1] and len(seeds) == 2
    data.restore({"drawn": 0})
    assert ids(data.draw(14, Random(0))) == orders[0] + orders[1]


def test_an_empty_data_set_is_refused():
    with pytest.raises(RedQueenError, match="at least one task"):
        Epochs([])
