"""Every shipped player and policy keeps the contract, and the contract says what others do wrong."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from redqueen.contracts import players as contract
from redqueen.contracts.players import check_player
from redqueen.players.language.answers import Boxed
from redqueen.players.scripted import FirstChoice, Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.players.transformer.loading import add_lora, tiny_model
from redqueen.players.transformer.policy import TransformerPolicy


def listed():
    return TransformerPolicy(tiny_model(3, hidden=32), learning_rate=1e-2)


def adapted():
    return TransformerPolicy(add_lora(tiny_model(3, hidden=32), rank=2), learning_rate=1e-2)


def free():
    return TransformerPolicy(tiny_model(3, hidden=32), learning_rate=1e-2, constrain=False, max_completion_length=6)


def boxed():
    return TransformerPolicy(
        tiny_model(3, hidden=32), learning_rate=1e-2, constrain=False, answer=Boxed(), max_completion_length=6
    )


# a table and one tiny language model are checked by `make check` too
LONG = (adapted, free, boxed)
POLICIES = (TabularPolicy, listed, *LONG)
OPEN = (TabularPolicy, listed, adapted, Uniform, FirstChoice)


def each(kinds):
    return [pytest.param(made, marks=[pytest.mark.long] if made in LONG else []) for made in kinds]


@pytest.fixture(params=each(dict.fromkeys((*POLICIES, *OPEN))), ids=lambda made: made.__name__)
def player(request):
    return request.param()


@pytest.fixture(params=each(POLICIES), ids=lambda made: made.__name__)
def policy(request):
    """One that has learned a little, so that nothing is uniform by accident."""
    made = request.param()
    contract.taught(made)
    return made


@pytest.mark.parametrize("check", [contract.check_replies, contract.check_company], ids=lambda check: check.__name__)
def test_every_player_keeps_the_contract(check, player):
    check(player)


@pytest.mark.parametrize(
    "check",
    [
        contract.check_seeds,
        contract.check_tokens,
        contract.check_ratings,
        contract.check_rating_changes_nothing,
        contract.check_update,
        contract.check_frozen,
        contract.check_restore,
        contract.check_saved,
    ],
    ids=lambda check: check.__name__,
)
def test_every_policy_keeps_the_contract(check, policy):
    check(policy)


def test_saved_and_loaded_is_the_same_policy(policy, request):
    contract.check_saved(policy, request.node.callspec.params["policy"])


@pytest.mark.parametrize("made", each(OPEN), ids=lambda made: made.__name__)
def test_probabilities_are_those_of_the_replies(made):
    contract.check_probabilities(made())


def test_all_is_well_is_said_in_one_line():
    assert check_player(Uniform()) == (
        "uniform keeps the contract of players: replies for itself and has the probabilities of its replies"
    )
    assert check_player(TabularPolicy(), TabularPolicy) == (
        "learner keeps the contract of players: replies for itself and learns and has the probabilities of its replies"
    )


@dataclass(frozen=True)
class Wrong:
    """Draws uniformly; each test breaks one thing of it."""

    change: str = ""
    name: str = "wrong"

    def reply(self, asks):
        replies = Uniform(self.name).reply(asks)
        if self.change == "company":
            return [replace(each, text=f"{each.text} {len(asks) % 2}") for each in replies]
        if self.change == "names":
            return [replace(each, player="somebody") for each in replies]
        if self.change == "fewer":
            return replies[1:]
        return ["yes" for _ in replies] if self.change == "texts" else replies


class Boastful(Wrong):
    def probabilities(self, asks):
        return [np.array([0.9, 0.1]) for _ in asks]


class Silent:
    name = "silent"


class Forgetful(TabularPolicy):
    """Restores nothing."""

    def restore(self, state):
        pass


class Thawed(TabularPolicy):
    """Its frozen copy is itself under another name."""

    def freeze(self):
        copy = super().freeze()
        copy.reply = self.reply
        return copy


def test_the_contract_says_what_a_player_does_wrong():
    for made, complaint in (
        (Silent(), "Silent is no player: it has no reply"),
        (Wrong("names"), "wrong replies in the name 'somebody'"),
        (Wrong("fewer"), "'wrong' gave 23 replies to 24 asks"),
        (Wrong("texts"), "must answer with a Reply whose text is a string"),
        (Wrong("company"), "to an ask in other company, .* take all chance from Ask.seed"),
        (Boastful(), "wrong says 'bet' in .* of 2000 replies, and gives it the probability 0.900"),
        (Forgetful(), "learner has the version 2 after restore"),
        (Thawed(), "a frozen copy of learner changes when the policy learns"),
    ):
        with pytest.raises(AssertionError, match=complaint) as caught:
            check_player(made)
        assert "\n" not in str(caught.value)
