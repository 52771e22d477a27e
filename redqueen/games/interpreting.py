"""From words to a game: a description is written as a tree, checked, and mended by what the checks say.

The method of GameInterpreter (arXiv:2501.17282), which trains nothing. With `stages` 2 the interpreter first says how
many information sets each role has, then writes the tree as JSON (`games.tree`); with 1 the tree alone. What does not
pass the checks is told in one line, and it writes again, at most `retries` times in each stage:

    the form of a tree, chances that sum to 1, information sets of one role with equal moves    (games.tree.Tree)
    a seat knows what it did before; no outcome without probability; as many information sets as were said

The score is 1 for a tree that is the one meant, up to the order of moves and the wording of what seats are told
(`difference`), else 0: a tree may pass all checks and be another game. Facts: `written`, the tree as it was read, and
`difference`. An interpreter that writes no tree breaks the rules.

Differences from the paper: the tree is JSON, not code that builds it, so that nothing is run; no examples of other
games are shown.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from redqueen.games.described import DESCRIPTIONS
from redqueen.games.talk import GAME, ask_together, offence, titled, told
from redqueen.games.tree import SURE, Node, Tree, walked
from redqueen.protocols import Play
from redqueen.types import Ask, Message, Outcome, RedQueenError, Seat, Task

INTERPRETER = Seat("interpreter")
FORM = (
    'A game is written as JSON. A decision is {"role": ROLE, "state": TEXT, "choices": {MOVE: NODE, ...}}: state is '
    "what the role is told, so that decisions of a role with the same state are one information set. Chance is "
    '{"chance": NAME, "outcomes": [{"p": PROBABILITY, "then": NODE}, ...]}. An end is {"scores": {ROLE: NUMBER, ...}} '
    "with a score for every role. Of players who choose at the same time one is written below the other."
)
FIRST = "How many information sets has each role? Reply with JSON"
EXAMPLE = 3  # a count that no role of these games has
SECOND = "Write the whole tree as JSON."


@dataclass(frozen=True)
class Interpreting:
    retries: int = 2  # further chances of a stage after a reply that does not pass the checks
    stages: int = 2
    roles: tuple[str, ...] = field(default=(INTERPRETER.role,), init=False)

    def __post_init__(self) -> None:
        if self.stages not in (1, 2):
            raise RedQueenError(f"interpreting has 1 or 2 stages, not {self.stages}")

    @property
    def name(self) -> str:
        return titled("interpreting", self)

    def tasks(self) -> list[Task]:
        """One task for each description."""
        found = []
        for each in DESCRIPTIONS.values():
            prompt = f"{each.text} The roles are called {' and '.join(each.roles)}."
            found.append(Task(each.name, "description", prompt, facts={"game": each.name}))
        return found

    def play(self, task: Task, rng: Random) -> Play:
        meant = DESCRIPTIONS[task.facts["game"]]
        messages = told(f"{FORM}\n\n{task.prompt}")
        said: Mapping[str, int] | None = None
        if self.stages == 2:
            example = json.dumps(dict.fromkeys(meant.roles, EXAMPLE))
            first = told(f"{messages[0].text}\n\n{FIRST}, such as {example}.")
            (answer,) = yield from ask_together(
                [Ask(INTERPRETER, first)], self.retries, lambda _, text: wrong_counts(text, meant.roles)
            )
            if not answer.legal:
                return Outcome({INTERPRETER: 0.0}, offence(INTERPRETER, answer.text))
            said = dict(read(answer.text))
            messages = answer.messages
        last = (*messages, Message(GAME, SECOND)) if said else told(f"{messages[0].text}\n\n{SECOND}")
        (answer,) = yield from ask_together(
            [Ask(INTERPRETER, last)], self.retries, lambda _, text: wrong_tree(text, meant.roles, said)
        )
        if not answer.legal:
            return Outcome({INTERPRETER: 0.0}, offence(INTERPRETER, answer.text))
        root = root_of(read(answer.text))
        unlike = difference(root, meant.root)
        return Outcome({INTERPRETER: float(not unlike)}, {"written": json.dumps(root), "difference": unlike})


def read(text: str) -> Mapping[str, Any]:
    """The first JSON object in a text. Raises RedQueenError with one line where there is none."""
    start = text.find("{")
    if start < 0:
        raise RedQueenError("There is no JSON object in the reply.")
    try:
        found, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise RedQueenError(f"This is no JSON: {' '.join(str(error).split()):.120}.") from error
    assert isinstance(found, Mapping)
    return found


def root_of(data: Mapping[str, Any]) -> Any:
    """The root of what was written: a node, or a file's {"root": NODE}."""
    return data.get("root", data)


def wrong_counts(text: str, roles: Sequence[str]) -> str:
    """What is wrong with a reply that says how many information sets each role has; "" if nothing is."""
    try:
        data = read(text)
    except RedQueenError as error:
        return str(error)
    if set(data) == set(roles) and all(type(count) is int and 0 <= count <= 1000 for count in data.values()):
        return ""
    return f"Say a whole number for each of {', '.join(roles)}."


def wrong_tree(text: str, roles: Sequence[str], said: Mapping[str, int] | None = None) -> str:
    """What is wrong with a tree in a reply, in one line; "" if it passes all checks."""
    try:
        root = root_of(read(text))
        Tree("written", tuple(roles), root)
    except RedQueenError as error:
        return str(error)
    never = next((node for node in walked(root) if any(each["p"] == 0 for each in node.get("outcomes", ()))), None)
    if never is not None:
        return f"Chance {never['chance']!r:.40} has an outcome of probability 0: leave it out."
    if fault := forgotten(root):
        return fault
    sets = information_sets(root)
    for role, count in (said or {}).items():
        if sets[role] != count:
            return (
                f"You said that {role} has {count} information sets, and the tree has {sets[role]}: decisions of a "
                "role that are told the same are one."
            )
    return ""


def information_sets(root: Node) -> Counter[str]:
    """The number of information sets of each role."""
    return Counter(role for role, _ in {(node["role"], node["state"]) for node in walked(root) if "role" in node})


def forgotten(root: Node) -> str:
    """Where a seat is told the same after it was told or chose something else before, in one line; "" where each
    remembers what it did."""
    known: dict[str, tuple[tuple[str, str], ...]] = {}
    waiting: list[tuple[Node, Mapping[str, tuple[tuple[str, str], ...]]]] = [(root, {})]
    while waiting:
        node, done = waiting.pop()
        waiting += [(outcome["then"], done) for outcome in node.get("outcomes", ())]
        if "role" not in node:
            continue
        role, state = node["role"], node["state"]
        own = done.get(role, ())
        if known.setdefault(state, own) != own:
            return f"The {role} is told {state!r:.60} after it was told or chose something else before."
        for choice, child in node["choices"].items():
            waiting.append((child, {**done, role: (*own, (state, choice))}))
    return ""


def difference(root: Node, meant: Node) -> str:
    """How a tree differs from the one meant, up to the order of moves and outcomes and the wording of states; "" where
    it is the same game."""
    counts = [Counter(_kind(node) for node in walked(each)) for each in (root, meant)]
    for kind in ("decisions", "chance nodes", "ends"):
        if counts[0][kind] != counts[1][kind]:
            return f"{counts[0][kind]} {kind}, not {counts[1][kind]}"
    found, wanted = information_sets(root), information_sets(meant)
    for role in sorted(found | wanted):
        if found[role] != wanted[role]:
            return f"{found[role]} information sets of the {role}, not {wanted[role]}"
    same = next(_matched([(root, meant)], {}, {}), None)
    return "" if same is not None else "scores, chances, moves or information sets stand elsewhere"


def _kind(node: Node) -> str:
    return "ends" if "scores" in node else "decisions" if "role" in node else "chance nodes"


def _matched(pairs: list[tuple[Node, Node]], there: Mapping[str, str], back: Mapping[str, str]) -> Iterator[bool]:
    """True for each way in which nodes are the same pair by pair, with states renamed one to one."""
    if not pairs:
        yield True
        return
    (one, other), rest = pairs[-1], pairs[:-1]
    if _kind(one) != _kind(other):
        return
    if "scores" in one:
        if all(abs(one["scores"][role] - score) < SURE for role, score in other["scores"].items()):
            yield from _matched(rest, there, back)
    elif "role" in one:
        mine, theirs = one["state"], other["state"]
        alike = there.get(mine, theirs) == theirs and back.get(theirs, mine) == mine
        if alike and one["role"] == other["role"] and set(one["choices"]) == set(other["choices"]):
            below = [(child, other["choices"][choice]) for choice, child in one["choices"].items()]
            yield from _matched(rest + below, {**there, mine: theirs}, {**back, theirs: mine})
    else:
        yield from _outcomes(list(one["outcomes"]), list(other["outcomes"]), rest, there, back)


def _outcomes(
    mine: list[Any],
    theirs: list[Any],
    rest: list[tuple[Node, Node]],
    there: Mapping[str, str],
    back: Mapping[str, str],
) -> Iterator[bool]:
    """The ways in which the outcomes of chance are the same in some order, with the `rest` of the pairs."""
    if len(mine) != len(theirs):
        return
    if not mine:
        yield from _matched(rest, there, back)
        return
    first, *others = mine
    for place, each in enumerate(theirs):
        if abs(first["p"] - each["p"]) < SURE and next(_matched([(first["then"], each["then"])], there, back), None):
            left = theirs[:place] + theirs[place + 1 :]
            yield from _outcomes(others, left, [*rest, (first["then"], each["then"])], there, back)
