"""Condensed detachment (Meredith; Kalman 1983): a small kernel of propositional logic, whose proofs are short strings.

Formulas are in Polish notation with a space between symbols: `> p q` is p implies q, `~ p` is not p. The axioms are
Lukasiewicz's, which are ax-1, ax-2 and ax-3 of Metamath's set.mm:

    1    > p > q p
    2    > > p > q r > > p q > p r
    3    > > ~ p ~ q > q p

A proof is `D X Y`, where X and Y are proofs, or the name of an axiom. If X proves an implication and Y what can be made
equal to its condition, it proves the most general conclusion. D D 2 1 1 proves > p p.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

Term = int | tuple[str, "Term"] | tuple[str, "Term", "Term"]  # a variable, ("~", a), (">", a, b)

LETTERS = "pqrstuvwxyz"
MOST_SYMBOLS = 400  # of a formula on the way
MOST_STEPS = 5_000  # of one unification
LONGEST = 200  # symbols of a proof
IMPLIES, NOT, DETACH = ">", "~", "D"


class NoProof(Exception):
    """A string that proves nothing, with the reason in one line."""


def read(text: str) -> Term:
    """The formula in Polish notation, its letters numbered as they come. Raises NoProof."""
    words, numbers = text.split()[::-1], dict[str, int]()
    term = _read(words, numbers, text)
    if words:
        raise NoProof(f"{text[:60]!r} goes on after its formula")
    return term


def _read(words: list[str], numbers: dict[str, int], text: str) -> Term:
    stack: list[list[Term | str]] = []  # formulas that are being read: their sign and the parts so far
    while True:
        if not words:
            raise NoProof(f"{text[:60]!r} ends within a formula")
        word = words.pop()
        if word in (IMPLIES, NOT):
            stack.append([word])
            if len(stack) > MOST_SYMBOLS:
                raise NoProof("the formula is too deep")
            continue
        if len(word) != 1 or word not in LETTERS:
            raise NoProof(f"{word[:20]!r} is no symbol of a formula: these are > ~ and {' '.join(LETTERS)}")
        term: Term = numbers.setdefault(word, len(numbers))
        while stack:
            stack[-1].append(term)
            if len(stack[-1]) < (3 if stack[-1][0] == IMPLIES else 2):
                break
            term = tuple(stack.pop())  # type: ignore[assignment]
        else:
            return term


def written(term: Term) -> str:
    """The formula in Polish notation, its variables named in the order in which they come. Raises NoProof for more
    variables than there are letters."""
    names: dict[int, str] = {}
    words = []
    for each in _symbols(term):
        if isinstance(each, int):
            if each not in names and len(names) == len(LETTERS):
                raise NoProof(f"a formula has {len(LETTERS)} variables at most")
            words.append(names.setdefault(each, LETTERS[len(names) % len(LETTERS)]))
        else:
            words.append(each)
    return " ".join(words)


def size(term: Term) -> int:
    """How many symbols the formula has."""
    return sum(1 for _ in _symbols(term))


def _symbols(term: Term) -> Iterator[str | int]:
    waiting: list[Term] = [term]
    while waiting:
        each = waiting.pop()
        if isinstance(each, int):
            yield each
        else:
            yield each[0]
            waiting += reversed(each[1:])


AXIOMS: Mapping[str, Term] = MappingProxyType(
    {"1": read("> p > q p"), "2": read("> > p > q r > > p q > p r"), "3": read("> > ~ p ~ q > q p")}
)


def detached(major: Term, minor: Term) -> Term:
    """The most general conclusion from `major`, an implication, and `minor`. Raises NoProof where there
    is none, or none of a size that is allowed."""
    apart = _shifted(minor, 1 + max((each for each in _symbols(major) if isinstance(each, int)), default=0))
    bound: dict[int, Term] = {}
    if isinstance(major, int) or major[0] != IMPLIES:
        raise NoProof("the first part of a D proves no implication")
    condition, conclusion = major[1], major[2]  # type: ignore[misc]
    _unify(condition, apart, bound)
    return _numbered(_resolved(conclusion, bound))


def _made(sign: str, parts: Sequence[Term]) -> Term:
    return (sign, parts[0]) if len(parts) == 1 else (sign, parts[0], parts[1])


def _shifted(term: Term, by: int) -> Term:
    if isinstance(term, int):
        return term + by
    return _made(term[0], [_shifted(each, by) for each in term[1:]])


def _unify(first: Term, second: Term, bound: dict[int, Term]) -> None:
    """Binds variables until both are equal. Raises NoProof where they cannot be."""
    waiting, steps = [(first, second)], 0
    while waiting:
        steps += 1
        if steps > MOST_STEPS:
            raise NoProof("the formulas grow too large")
        left, right = (_found(each, bound) for each in waiting.pop())
        if left == right:
            continue
        if isinstance(right, int) and not isinstance(left, int):
            left, right = right, left
        if isinstance(left, int):
            if _occurs(left, right, bound):
                raise NoProof("the parts of a D do not fit: a formula would hold itself")
            bound[left] = right
        elif isinstance(right, int) or left[0] != right[0]:
            raise NoProof("the parts of a D do not fit")
        else:
            waiting += zip(left[1:], right[1:], strict=True)


def _found(term: Term, bound: Mapping[int, Term]) -> Term:
    while isinstance(term, int) and term in bound:
        term = bound[term]
    return term


def _occurs(variable: int, term: Term, bound: Mapping[int, Term]) -> bool:
    waiting, steps = [term], 0
    while waiting:
        steps += 1
        if steps > MOST_STEPS:
            raise NoProof("the formulas grow too large")
        each = _found(waiting.pop(), bound)
        if each == variable:
            return True
        if not isinstance(each, int):
            waiting += each[1:]
    return False


def _resolved(term: Term, bound: Mapping[int, Term], room: list[int] | None = None) -> Term:
    room = [MOST_SYMBOLS] if room is None else room
    term = _found(term, bound)
    room[0] -= 1
    if room[0] < 0:
        raise NoProof("the formulas grow too large")
    if isinstance(term, int):
        return term
    return _made(term[0], [_resolved(each, bound, room) for each in term[1:]])


def _numbered(term: Term, numbers: dict[int, int] | None = None) -> Term:
    """The formula with its variables numbered as they come, so that equal formulas are equal."""
    numbers = {} if numbers is None else numbers
    if isinstance(term, int):
        return numbers.setdefault(term, len(numbers))
    return _made(term[0], [_numbered(each, numbers) for each in term[1:]])


def proved(proof: str) -> Term:
    """The most general formula that the proof proves. Raises NoProof."""
    words = proof.split()
    if not words:
        raise NoProof("there is no proof")
    if len(words) > LONGEST:
        raise NoProof(f"a proof has {LONGEST} symbols at most, not {len(words)}")
    stack: list[Term] = []
    for word in reversed(words):  # the last symbols are read first, so that the parts of a D lie on the stack
        if word == DETACH:
            if len(stack) < 2:
                raise NoProof("a D has too few parts")
            major, minor = stack.pop(), stack.pop()
            stack.append(detached(major, minor))
        elif word in AXIOMS:
            stack.append(AXIOMS[word])
        else:
            raise NoProof(f"{word[:20]!r} is no symbol of a proof: these are {DETACH} {' '.join(AXIOMS)}")
    if len(stack) != 1:
        raise NoProof(f"the string holds {len(stack)} proofs and not one: a D is missing")
    return stack[0]


def is_instance(statement: Term, general: Term) -> bool:
    """Whether putting formulas for the variables of `general` makes it `statement`."""
    found: dict[int, Term] = {}
    waiting = [(general, statement)]
    while waiting:
        one, other = waiting.pop()
        if isinstance(one, int):
            if found.setdefault(one, other) != other:
                return False
        elif isinstance(other, int) or one[0] != other[0]:
            return False
        else:
            waiting += zip(one[1:], other[1:], strict=True)
    return True


@lru_cache(maxsize=4)
def theorems(longest: int, largest: int = 31) -> Mapping[Term, str]:
    """A shortest proof of each formula of at most `largest` symbols that proofs of at most `longest` symbols prove by
    way of such formulas, in the order of their lengths."""
    found: dict[Term, str] = {term: name for name, term in AXIOMS.items()}
    by_length: dict[int, list[Term]] = {1: list(AXIOMS.values())}
    for length in range(3, longest + 1, 2):
        by_length[length] = []
        for first in range(1, length - 1, 2):
            for major in by_length[first]:
                for minor in by_length[length - 1 - first]:
                    try:
                        term = detached(major, minor)
                    except NoProof:
                        continue
                    if term not in found and size(term) <= largest:
                        found[term] = f"{DETACH} {found[major]} {found[minor]}"
                        by_length[length].append(term)
    return MappingProxyType(found)
