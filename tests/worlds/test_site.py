"""Three text sites: tasks that can be done, pages that tell nothing of the task."""

from copy import deepcopy

import pytest

from redqueen.types import RedQueenError
from redqueen.worlds.catalogue import find_world
from redqueen.worlds.site import MOST_ACTS, Site


@pytest.mark.parametrize("only", ["shop", "mail", "agenda"])
def test_every_task_can_be_done_and_not_at_the_start(only):
    site = Site(only, count=60, tests=20)
    for task in (*site.tasks(), *site.held_out()):
        visit, acts = site.open(task, 0), site.expert(task)
        assert visit.assess().score == 0.0
        assert 2 <= len(acts) <= MOST_ACTS + 1
        assert [visit.act(act).over for act in acts] == [False] * (len(acts) - 1) + [True]
        assert visit.assess().score == 1.0


def test_a_page_depends_on_the_state_and_not_on_the_task():
    site = Site("agenda", count=20, tests=5)
    for task in site.tasks():
        other = deepcopy(dict(task.facts)) | {"after": site.tasks()[0].facts["after"]}
        visit, blind = site.open(task, 0), site.open(type(task)("other", facts=other), 0)
        for act in site.expert(task):
            assert visit.look() == blind.look()
            assert visit.act(act) == blind.act(act)


def test_an_order_takes_from_the_stock_and_empties_the_cart():
    site = Site("shop", count=100, tests=5)
    task = next(task for task in site.tasks() if task.prompt.startswith("Order 2"))
    visit, good = site.open(task, 0), task.prompt.split()[2].rstrip(".")
    before = visit.state()
    for act in (f"open {good}", "add", "add", "cart", "order"):
        visit.act(act)
    after = visit.state()
    assert after["cart"] == {}
    assert after["orders"] == {"1": {good: 2}}
    assert after["stock"][good] == before["stock"][good] - 2
    assert visit.assess().score == 1.0


def test_more_than_is_left_cannot_be_added():
    visit = (site := Site("shop")).open(task := site.tasks()[0], 0)
    good, left = next(iter(task.facts["before"]["stock"].items()))
    visit.act(f"open {good}")
    assert ["add" in visit.act("add").choices for _ in range(left)] == [True] * (left - 1) + [False]


@pytest.mark.parametrize(
    ("name", "said"),
    [("site:bank", "no site 'bank'"), ("sight", "did you mean site"), ("site(shop,0)", "at least a task")],
)
def test_a_wrong_name_is_one_line(name, said):
    with pytest.raises(RedQueenError, match=said):
        find_world(name)
