"""What a protocol asks for is found from its own lines, and looked for in one place."""

from typing import Protocol

from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.tic_tac_toe import TicTacToe
from redqueen.players.scripted import Uniform
from redqueen.protocols import (
    Player,
    Proposable,
    Questions,
    StatesInformation,
    StreamingPlayer,
    has,
    lacking,
    members,
)
from redqueen.questions.small.sums import Sums


class Sized(Protocol):
    """Something with a size, as an attribute."""

    size: int

    def grow(self) -> None: ...


class Half:
    size = 3


def test_the_members_are_attributes_and_methods_those_of_the_extended_protocol_first():
    assert members(Questions) == ["name", "levels", "problems", "right"]
    assert members(Proposable) == [*members(Questions), "kinds", "seeds", "sources", "invite", "read"]
    assert members(Sized) == ["size", "grow"]
    assert members(StreamingPlayer) == [*members(Player), "stream"]


def test_what_is_lacking_is_named_in_the_order_of_the_protocol():
    assert lacking(Half(), Sized) == ["grow"]
    assert lacking(object(), Sized) == ["size", "grow"]
    assert not has(Half(), Sized)


def test_whoever_has_all_members_has_the_protocol_without_inheriting_it():
    assert has(Sums(), Proposable) and not has(Sums(), Player)
    assert has(Uniform(), Player) and not has(Uniform(), StreamingPlayer)
    assert has(TicTacToe(), StatesInformation) and has(KuhnPoker(), StatesInformation)
