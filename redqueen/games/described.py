"""Ten small games, each described in words and as a tree (`games.tree`).

pennies, prisoners, rock_paper_scissors, together     both choose without knowing of the other
in_turn, entry, offer                                  the second sees what the first chose
coin, kuhn, beer                                       chance begins, and not everybody sees it
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

from redqueen.games.tree import Node

BLIND = "Choose."  # what a seat is told that does not know what the other one chose


@dataclass(frozen=True)
class Description:
    """A game in words, with the names of its roles and moves, and the tree that it means."""

    name: str
    text: str
    roles: tuple[str, ...]
    root: Node = field(repr=False)


def end(roles: Sequence[str], *scores: float) -> Node:
    return {"scores": dict(zip(roles, scores, strict=True))}


def decision(role: str, state: str, choices: Mapping[str, Node]) -> Node:
    return {"role": role, "state": state, "choices": dict(choices)}


def _two_moves(
    roles: tuple[str, str],
    first: Sequence[str],
    second: Sequence[str],
    pays: Callable[[str, str], tuple[float, float]],
    seen: bool,
) -> Node:
    """The first role moves, then the second, which has seen that or not."""
    after = {}
    for one in first:
        ends = {other: end(roles, *pays(one, other)) for other in second}
        after[one] = decision(
            roles[1], f"The {roles[0]} chose {one}. Choose." if seen else f"{roles[1]}: {BLIND}", ends
        )
    return decision(roles[0], f"{roles[0]}: {BLIND}", after)


def _table(rows: Mapping[str, Mapping[str, tuple[float, float]]]) -> Callable[[str, str], tuple[float, float]]:
    return lambda one, other: rows[one][other]


def _pennies() -> Description:
    roles, sides = ("hider", "seeker"), ("heads", "tails")
    root = _two_moves(roles, sides, sides, lambda one, other: (-1, 1) if one == other else (1, -1), seen=False)
    text = (
        "The hider lays a coin under its hand: heads or tails. The seeker, who does not see it, names heads or tails. "
        "If it is right it wins 1 and the hider loses 1, else the hider wins 1 and the seeker loses 1."
    )
    return Description("pennies", text, roles, root)


def _prisoners() -> Description:
    roles, moves = ("first", "second"), ("cooperate", "defect")
    rows = {"cooperate": {"cooperate": (3, 3), "defect": (0, 5)}, "defect": {"cooperate": (5, 0), "defect": (1, 1)}}
    text = (
        "The first and the second player choose at the same time: cooperate or defect. If both cooperate each gets 3, "
        "if both defect each gets 1. If one alone defects it gets 5, and the other 0."
    )
    return Description("prisoners", text, roles, _two_moves(roles, moves, moves, _table(rows), seen=False))


def _rock_paper_scissors() -> Description:
    roles, moves = ("first", "second"), ("rock", "paper", "scissors")

    def pays(one: str, other: str) -> tuple[float, float]:
        won = (0, 1, -1)[(moves.index(one) - moves.index(other)) % 3]
        return won, -won

    text = (
        "The first and the second player show at the same time rock, paper or scissors. Paper beats rock, scissors "
        "beat paper, rock beats scissors. The winner gets 1, the loser -1; if both show the same each gets 0."
    )
    return Description("rock_paper_scissors", text, roles, _two_moves(roles, moves, moves, pays, seen=False))


_MARKET = {"low": {"low": (4, 4), "high": (3, 5)}, "high": {"low": (5, 3), "high": (2, 2)}}
_PAYS = (
    "If both produce low each earns 4, if both produce high each earns 2. If one alone produces high it earns 5, and "
    "the other 3."
)


def _together() -> Description:
    roles, moves = ("first", "second"), ("low", "high")
    text = f"The first and the second firm decide at the same time to produce low or high. {_PAYS}"
    return Description("together", text, roles, _two_moves(roles, moves, moves, _table(_MARKET), seen=False))


def _in_turn() -> Description:
    roles, moves = ("leader", "follower"), ("low", "high")
    text = f"The leader decides to produce low or high. The follower sees that, and produces low or high. {_PAYS}"
    return Description("in_turn", text, roles, _two_moves(roles, moves, moves, _table(_MARKET), seen=True))


def _entry() -> Description:
    roles = ("entrant", "owner")
    after = decision("owner", "The entrant came.", {"fight": end(roles, -1, 1), "share": end(roles, 2, 2)})
    root = decision("entrant", "Enter or stay.", {"enter": after, "stay": end(roles, 0, 4)})
    text = (
        "The entrant may enter a market or stay out of it (enter, stay). If it stays it gets 0 and the owner 4. If it "
        "enters, the owner may fight or share: if it fights the entrant gets -1 and the owner 1, if it shares both get "
        "2."
    )
    return Description("entry", text, roles, root)


def _offer() -> Description:
    roles = ("proposer", "responder")
    splits = {"fair": (5, 5), "greedy": (8, 2)}

    def pays(one: str, other: str) -> tuple[float, float]:
        return splits[one] if other == "accept" else (0, 0)

    text = (
        "The proposer makes a fair or a greedy offer (fair, greedy). The responder sees it, and may accept or reject. "
        "If it rejects both get 0. An accepted fair offer gives 5 to each, an accepted greedy one 8 to the proposer "
        "and 2 to the responder."
    )
    return Description("offer", text, roles, _two_moves(roles, tuple(splits), ("accept", "reject"), pays, seen=True))


def _coin() -> Description:
    roles, sides = ("guesser",), ("heads", "tails")
    outcomes = []
    for side in sides:
        guesses = {guess: end(roles, float(guess == side)) for guess in sides}
        outcomes.append({"p": 0.5, "then": decision("guesser", "A coin was thrown.", guesses)})
    text = (
        "A fair coin is thrown where nobody sees it. The guesser names heads or tails, and gets 1 if it is right and 0 "
        "else."
    )
    return Description("coin", text, roles, {"chance": "coin", "outcomes": outcomes})


def _kuhn() -> Description:
    roles, cards = ("first", "second"), "JQK"

    def ends(winner: int, stake: float) -> Node:
        return end(roles, *((stake, -stake) if winner == 0 else (-stake, stake)))

    def dealt(one: str, other: str) -> Node:
        better = 0 if cards.index(one) > cards.index(other) else 1
        bet = {"fold": ends(0, 1), "call": ends(better, 2)}
        raised = decision(
            "first", f"You hold {one}; you checked, the second bet.", {"fold": ends(1, 1), "call": ends(better, 2)}
        )
        checked = {"check": ends(better, 1), "bet": raised}
        return decision(
            "first",
            f"You hold {one}.",
            {
                "check": decision("second", f"You hold {other}; the first checked.", checked),
                "bet": decision("second", f"You hold {other}; the first bet.", bet),
            },
        )

    outcomes = [{"p": 1 / 6, "then": dealt(one, other)} for one, other in permutations(cards, 2)]
    text = (
        "Of three cards, jack, queen and king (the king is the highest), one is dealt to each of two players, all six "
        "deals as likely; each sees its own alone. Each has paid 1. The first player may check or bet 1. After a check "
        "the second may check or bet 1; if it bets the first may fold or call. After a bet by the first the second may "
        "fold or call. Who folds loses what it paid, 1. Else the higher card wins what the other paid: 1, or 2 after a "
        "bet and a call. What one wins the other loses."
    )
    return Description("kuhn", text, roles, {"chance": "cards", "outcomes": outcomes})


def _beer() -> Description:
    roles = ("sender", "receiver")
    outcomes = []
    for kind, likes, p in (("strong", "beer", 0.9), ("weak", "quiche", 0.1)):
        meals = {}
        for meal in ("beer", "quiche"):
            liked = float(meal == likes)
            pays = {
                "fight": end(roles, liked, float(kind == "weak")),
                "retreat": end(roles, liked + 2, float(kind == "strong")),
            }
            meals[meal] = decision("receiver", f"The sender has {meal}.", pays)
        outcomes.append({"p": p, "then": decision("sender", f"You are {kind}.", meals)})
    text = (
        "The sender is strong with probability 0.9 and weak with 0.1, which it alone knows. It has beer or quiche. The "
        "receiver sees what it has, and may fight or retreat. The sender gets 1 if it has what it likes (beer where it "
        "is strong, quiche where it is weak), and 2 more if the receiver retreats. The receiver gets 1 if it fights a "
        "weak sender or retreats from a strong one, and 0 else."
    )
    return Description("beer", text, roles, {"chance": "kind", "outcomes": outcomes})


DESCRIPTIONS: Mapping[str, Description] = {
    each.name: each
    for each in (
        _pennies(),
        _prisoners(),
        _rock_paper_scissors(),
        _together(),
        _in_turn(),
        _entry(),
        _offer(),
        _coin(),
        _kuhn(),
        _beer(),
    )
}
