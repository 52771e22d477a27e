"""Reasoning-SQL: what is right of a query, what it earns, and who is asked about it."""

from dataclasses import replace
from random import Random

import pytest

from redqueen.contracts.recipes import TINY, metrics, trained
from redqueen.games.acting import Working
from redqueen.play.groups import attempts
from redqueen.players.scripted import Constant
from redqueen.recipes.agents.reasoning_sql import recipe
from redqueen.recipes.agents.reasoning_sql.recipe import Config
from redqueen.recipes.agents.reasoning_sql.steps import Composite, Judged, figures, parts_of
from redqueen.settings.roles import Role
from redqueen.types import RedQueenError, Seat, Task
from redqueen.worlds.sql import Sql

TEAM = {"team": {"columns": ["name", "city", "coach"], "rows": [["a1", "rome", "ada"], ["a2", "oslo", "rome"]]}}
OTHER = {"team": {"columns": ["name", "city", "coach"], "rows": [["b1", "oslo", "ada"], ["b2", "rome", "bob"]]}}
KNOWN = "select name from team where city = 'rome'"
WRONG = "select name from team where coach = 'rome'"
ASKED = Task("t", prompt="Which name?", facts={"tables": TEAM, "other": OTHER, "query": KNOWN})
AGENT = Seat("agent")


def played(*said):
    return [attempts(Working(Sql()), [ASKED], Constant(text), 1, Random(0))[0] for text in said]


def parts(text):
    return parts_of(played(text)[0].attempts[0])


def test_the_parts_of_a_query_are_those_of_the_card():
    """The card (15): three names of four in common are two, five of nine bigrams."""
    assert parts(KNOWN) == dict.fromkeys(("execution", "syntax", "schema", "ngram", "form"), 1.0) | {"judged": 0.0}
    found = parts(WRONG)
    assert found["ngram"] == pytest.approx(5 / 9)
    del found["ngram"]
    assert found == {"execution": 0.0, "syntax": 1.0, "schema": 0.5, "judged": 0.0, "form": 1.0}
    assert parts("select 1")["syntax"] == 1.0 and parts("select 1")["execution"] == 0.0
    broken = parts("select name frm team where city = 'rome'")  # names count where a query does not run
    assert (broken["syntax"], broken["schema"]) == (0.0, 1.0)
    assert parts("") == dict.fromkeys(found | {"ngram": 0.0}, 0.0)


@pytest.mark.parametrize(
    ("reward", "earned"),
    [("summed", 3.0556), ("gated", 0.382), ("execution", 0.0), ("ngram", 0.5556)],
)
def test_what_a_wrong_query_earns_is_that_of_the_card(reward, earned):
    composite = Composite(Config(reward=reward))
    wrong, right = (
        sum(seats[AGENT][0] for seats in composite.of_group(group).values()) for group in played(WRONG, KNOWN)
    )
    assert wrong == pytest.approx(earned, abs=1e-4)
    assert right == (7.0 if reward == "summed" else 1.0)


def test_a_query_that_is_right_by_luck_in_one_database_is_wrong():
    assert parts("select name from team where name = 'a1'")["execution"] == 0.0


class Cast(dict):
    """The players of the roles."""


@pytest.mark.parametrize(("said", "opinion"), [("It is close.\n\nScore: 7", 0.7), ("Who knows?", None)])
def test_a_judge_in_prose_is_asked_about_wrong_queries_alone(said, opinion):
    config = Config(judge=Role("frozen"))
    asked = []

    class Prose(Constant):
        def reply(self, asks):
            asked.extend(ask.messages[-1].text for ask in asks)
            return super().reply(asks)

    judged = Judged(config, Cast(judge=Prose(said)))
    wrong, right = judged(played(WRONG, KNOWN), Random(0))
    assert wrong.attempts[0].outcome.facts["opinion"] == opinion
    assert "opinion" not in right.attempts[0].outcome.facts
    assert len(asked) == 1 and "team(name, city, coach)" in asked[0] and KNOWN not in asked[0]
    found = figures([wrong, right])
    assert found["sql/unread"] == (opinion is None)
    earned = Composite(config).of_group(wrong)["judged"][AGENT][0]
    assert earned == pytest.approx(0.5 * 2.0 / 6.0 * (opinion or 0.0))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"game": "acting:site"}, "have no facts tables and query"),
        ({"judged": 1.0}, "--judged has no effect with --judge none"),
        ({"judge": Role("frozen"), "reward": "execution"}, "--judge has no effect"),
        ({"syntax": 0.0, "schema": 0.0, "ngram": 0.0, "form": 0.0}, "that is --reward execution"),
    ],
)
def test_what_has_no_effect_is_refused(changes, said, tmp_path):
    with pytest.raises(RedQueenError, match=said):
        trained(recipe, replace(Config(TINY, steps=1, tasks=1, attempts=2, problems=1), **changes), tmp_path)


def test_a_run_notes_each_part_and_pays_what_is_weighed(tmp_path):
    (line,) = metrics(trained(recipe, Config(TINY, steps=1, tasks=2, attempts=2, problems=1, ngram=0.0), tmp_path))
    assert {"sql/execution", "sql/syntax", "sql/schema", "sql/ngram", "sql/form"} <= line.keys()
    assert {"reward/execution", "reward/syntax", "reward/schema", "reward/form"} <= line.keys()
    assert not {"reward/ngram", "reward/judged", "sql/judged", "sql/unread"} & line.keys()
