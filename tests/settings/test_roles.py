"""Who plays a role: the cast of a recipe, made from its config."""

from dataclasses import dataclass, replace
from typing import Annotated

import pytest

from redqueen.settings.learner import Learner
from redqueen.settings.limits import Amount
from redqueen.settings.roles import FROZEN, Cast, PaidTo, Role, Still
from redqueen.types import RedQueenError

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)


class Seeded:
    """A run, as far as a cast needs one."""

    def derived(self, *path):
        return len(str(path))


@dataclass(frozen=True)
class Config:
    learner: Learner = TINY
    proposer: Role = Role()
    judge: Annotated[Role, Still(("rule",))] = Role(FROZEN)
    novelty: Annotated[Amount, PaidTo("proposer")] = 0.0
    steps: int = 3


def cast(**changes):
    return Cast(replace(Config(), **changes), Seeded())


def test_a_shared_role_is_the_learner_and_a_frozen_one_stays_as_it_was():
    found = cast()
    assert found["proposer"] is found.learner
    assert found["judge"] is not found.learner
    assert found["judge"].name == "learner@0"
    assert found.learning == [found.learner]


def test_a_model_of_its_own_learns_under_the_name_of_its_role():
    found = cast(proposer=Role("separate"))
    assert [player.name for player in found.learning] == ["learner", "proposer"]


def test_what_a_role_is_paid_is_refused_where_it_does_not_learn():
    assert cast(proposer=Role("separate"), novelty=0.5).learning
    with pytest.raises(RedQueenError, match="--novelty has no effect with --proposer frozen"):
        cast(proposer=Role(FROZEN), novelty=0.5)


def test_a_role_that_learns_nothing_has_no_weights_of_its_own():
    with pytest.raises(RedQueenError, match="the judge does not learn: separate would stay what it was made as"):
        cast(judge=Role("separate"))


def test_a_word_that_the_recipe_knows_makes_no_player():
    with pytest.raises(KeyError):
        cast(judge=Role("rule"))["judge"]
    with pytest.raises(RedQueenError, match="the judge cannot be 'rul': did you mean rule"):
        cast(judge=Role("rul"))


def test_a_rule_that_names_no_role_says_so():
    @dataclass(frozen=True)
    class Wrong:
        learner: Learner = TINY
        novelty: Annotated[float, PaidTo("nobody")] = 0.0

    Wrong.__annotations__ = {"learner": Learner, "novelty": Annotated[float, PaidTo("nobody")]}
    with pytest.raises(RedQueenError, match=r"the rule PaidTo\('nobody'\) of novelty names no role of Wrong"):
        Cast(Wrong(), Seeded())


def test_a_table_sits_where_it_learns_or_stands_still():
    @dataclass(frozen=True)
    class Rivals:
        learner: Learner = Learner()
        attacker: Role = Role()
        defender: Role = Role(FROZEN)

    found = Cast(Rivals(), Seeded(), table_learning_rate=2.0)
    assert found["attacker"] is found.policy is not found["defender"]
    assert found.seated("attacker", "defender") == [found.policy]
    assert found.seated("defender") == []
    with pytest.raises(RedQueenError, match="a tabular defender is shared or frozen, not 'adapter'"):
        Cast(Rivals(defender=Role("adapter")), Seeded(), table_learning_rate=2.0)


def test_only_those_who_sit_and_learn_are_seated():
    own = cast(proposer=Role("separate"))
    assert own.seated("proposer", "judge") == [own["proposer"]]
    assert own.learning == [own.learner, own["proposer"]]
