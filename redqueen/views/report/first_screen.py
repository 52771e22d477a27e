"""What a report's first screen shows of a run's own words: one prompt before and after, and what is played in each
state of a small game. All of it is read as data from the run's folder; no model is loaded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from redqueen.measures.exact.known_equilibria import MOST_BLUFFS, kuhn_bets, kuhn_states, nearest_alpha
from redqueen.protocols import shaped
from redqueen.records import ask_from_json
from redqueen.runs.checkpoints import checkpoints
from redqueen.runs.run import LEARNER
from redqueen.trust.reading import read_json
from redqueen.types import Ask, Episode, RedQueenError

MOST_PAIRS = 2  # prompts shown before and after
MOST_STATES = 40  # of a small game, which are all shown
FEW_STATES = 6  # of a larger one, those met most often
MET_MOST = "that were met most often"
LARGEST_TABLE = 50_000_000  # bytes
LEAST_REPLIES = 2  # recorded in a state on average, for shares to be shown
BREAKS = ("\n\n", ".\n", ":\n", "?\n", ". ", "? ")  # between sentences and paragraphs, not between rows of a board
PART = 5  # a fifth of the recorded steps at either end counts as before and after

_REPLY = {
    "question": str,
    "reply": str,
    "extracted": str,
    "expected": str,
    "verdict": (bool, type(None)),
    "cut_off": bool,
    "tests": int,
}
REPLIES = {"step": int, "replies": [_REPLY]}

Recorded = tuple[int, Episode]  # a step and an episode of it


class Pair(NamedTuple):
    """Places of two recorded episodes, and what is the same in them: "task", "kind" or "game"."""

    before: int
    after: int
    same: str


# --- one prompt before and after -----------------------------------------------------------------------------------


def pairs(recorded: Sequence[Recorded]) -> list[Pair]:
    """An early and a late episode of each game: of the same task where the first and the last tenth of the steps share
    one, else of the same kind, else of the game. The earliest and the latest such episodes are taken, whatever came of
    them; games with graded answers come first."""
    games = list(dict.fromkeys(episode.game for _, episode in recorded if episode.turns))
    found = [pair for game in games if (pair := _pair(recorded, game)) is not None]
    graded = [bool(recorded[pair.after][1].task.answer) for pair in found]
    order = sorted(range(len(found)), key=lambda place: not graded[place])
    return [found[place] for place in order[:MOST_PAIRS]]


def _pair(recorded: Sequence[Recorded], game: str) -> Pair | None:
    places = [n for n, (_, episode) in enumerate(recorded) if episode.game == game and episode.turns]
    steps = [recorded[place][0] for place in places]
    first, last = min(steps), max(steps)
    if first == last:
        return None
    tenth = max((last - first) // 10, 1)
    early = [place for place in places if recorded[place][0] < min(first + tenth, last)]
    late = [place for place in reversed(places) if recorded[place][0] > max(last - tenth, first)]
    ways: tuple[tuple[str, Callable[[Episode], Hashable]], ...] = (
        ("task", lambda episode: (episode.task.id, episode.task.prompt, _role(episode))),
        ("kind", lambda episode: (episode.task.kind, _role(episode))),
        ("game", lambda episode: True),
    )
    for same, key in ways:
        latest: dict[Hashable, int] = {}
        for place in late:
            latest.setdefault(key(recorded[place][1]), place)
        for place in early:
            if (after := latest.get(key(recorded[place][1]))) is not None:
                return Pair(place, after, same)
    return None


def _role(episode: Episode) -> str:
    """Who spoke first."""
    return str(episode.turns[0].ask.seat)


# --- held-out questions before and after ---------------------------------------------------------------------------


def answered(folder: Path) -> dict[str, Any] | None:
    """The replies of the first and of the last measurement to some held-out questions, and the steps of these; None
    where there are not both, or they are no such replies."""
    both = [_replies(folder / f"{which}_replies.json") for which in ("first", "last")]
    if not all(both) or both[0]["step"] == both[1]["step"]:
        return None
    before, after = ({each["question"]: each for each in found["replies"]} for found in both)
    return {
        "steps": [found["step"] for found in both],
        "replies": [[each, after[question]] for question, each in before.items() if question in after],
    }


def _replies(path: Path) -> dict[str, Any]:
    """What a run kept of a measurement; empty where there is nothing that can be read as such."""
    try:
        found = read_json(path) if path.exists() else {}
        return dict(shaped(found, REPLIES, path.name)) if found else {}
    except RedQueenError:
        return {}


# --- what is played in each state ----------------------------------------------------------------------------------


def states(folder: Path, recorded: Sequence[Recorded]) -> dict[str, Any] | None:
    """What the policy plays where its replies are listed: from the table of the last checkpoint, else how often each
    reply was given in the last fifth of the recorded steps. None where neither is known, or the states are too many for
    the replies that were recorded."""
    return _of_table(folder, recorded) or _of_records(recorded)


def _of_table(folder: Path, recorded: Sequence[Recorded]) -> dict[str, Any] | None:
    rows = list(_table(folder))
    if not rows:
        return None
    shown, total = rows, len(rows)
    if total > MOST_STATES:
        met = Counter(turn.ask for _, episode in recorded for turn in episode.turns)
        shown = sorted(rows, key=lambda row: -met[row[0]])[:FEW_STATES]
    source = (
        f"the table of the last checkpoint, after step {checkpoints(folder)[-1].name.removeprefix('step_').lstrip('0')}"
    )
    which = MET_MOST if recorded else "in the order of the table"
    return _shown([(ask, chances, None, None) for ask, chances in shown], total, source, which=which)


def _table(folder: Path) -> Iterator[tuple[Ask, list[float]]]:
    """The states of a table and the probability of each reply; nothing of what cannot be read as such."""
    saved = checkpoints(folder)
    path = saved[-1] / LEARNER / "table.json" if saved else None
    try:
        if path is None or path.stat().st_size > LARGEST_TABLE:
            return
        data = read_json(path)
        for kept, logits in zip(data["asks"], data["logits"], strict=True):
            ask = ask_from_json(kept)
            if len(logits) == len(ask.choices) and all(math.isfinite(each) for each in logits):
                top = max(logits, default=0.0)
                weights = [math.exp(each - top) for each in logits]
                yield ask, [weight / sum(weights) for weight in weights]
    except (RedQueenError, OSError, ArithmeticError, ValueError, TypeError, KeyError, AttributeError):
        return


def _of_records(recorded: Sequence[Recorded]) -> dict[str, Any] | None:
    steps = sorted({step for step, _ in recorded})
    part = max(len(steps) // PART, 1)
    if len(steps) < 2 * part:
        return None
    early, late = _said(recorded, set(steps[:part])), _said(recorded, set(steps[-part:]))
    replies = sum(sum(said.values()) for said in late.values())
    if not late or len(late) > MOST_STATES or replies < LEAST_REPLIES * len(late):
        return None
    rows = [(ask, _shares(ask, said), _shares(ask, early.get(ask)), sum(said.values())) for ask, said in late.items()]
    where = f"steps {steps[-part]} to {steps[-1]} ({replies} recorded replies)"
    return _shown(rows, len(rows), where, f"steps {steps[0]} to {steps[part - 1]}")


def _said(recorded: Sequence[Recorded], steps: set[int]) -> dict[Ask, Counter[str]]:
    """How often the learner gave each reply in each state, in these steps."""
    found: dict[Ask, Counter[str]] = {}
    for step, episode in recorded:
        for turn in episode.turns if step in steps else ():
            if turn.ask.choices and turn.reply.player == LEARNER and turn.reply.text in turn.ask.choices:
                found.setdefault(turn.ask, Counter())[turn.reply.text] += 1
    return found


def _shares(ask: Ask, said: Counter[str] | None) -> list[float] | None:
    return None if not said else [said[choice] / sum(said.values()) for choice in ask.choices]


def _shown(
    rows: Sequence[tuple[Ask, list[float] | None, list[float] | None, int | None]],
    total: int,
    source: str,
    before: str = "",
    which: str = MET_MOST,
) -> dict[str, Any]:
    order = {ask: place for place, ask in enumerate(kuhn_states())}
    ordered = sorted(rows, key=lambda row: (str(row[0].seat), order.get(row[0], 0), _text(row[0])))
    known, nearest = _equilibria({ask: after for ask, after, _, _ in rows if after is not None})
    seats = [str(ask.seat) for ask, *_ in ordered]
    texts = [
        text
        for seat in dict.fromkeys(seats)
        for text in told_apart([_text(row[0]) for row, own in zip(ordered, seats, strict=True) if own == seat])
    ]
    return {
        "source": source,
        "before": before,
        "total": total,
        "which": which,
        "nearest": nearest,
        "rows": [
            {
                "seat": str(ask.seat),
                "text": text,
                "choices": list(ask.choices),
                "after": _rounded(after),
                "before": _rounded(early),
                "count": count,
                "known": known.get(ask),
            }
            for text, (ask, after, early, count) in zip(texts, ordered, strict=True)
        ],
    }


def _equilibria(played: Mapping[Ask, Sequence[float]]) -> tuple[dict[Ask, list[list[float]]], str]:
    """Of the states of Kuhn poker the least and the largest probability of each reply in an equilibrium, and its
    probability in the nearest one; and which this is. Nothing where another game is played."""
    least, most = kuhn_bets(0.0), kuhn_bets(MOST_BLUFFS)
    if not played or not set(played) <= set(least):
        return {}, ""
    alpha = nearest_alpha({ask: chances[1] for ask, chances in played.items()})
    near = kuhn_bets(alpha)
    found = {}
    for ask in played:
        low, high = sorted((least[ask], most[ask]))
        both = [[1.0 - high, 1.0 - low, 1.0 - near[ask]], [low, high, near[ask]]]
        found[ask] = [[round(chance, 4) for chance in each] for each in both]
    return found, f"{alpha:.2f}"


def _text(ask: Ask) -> str:
    return "\n".join(message.text for message in ask.messages)


def _rounded(chances: Sequence[float] | None) -> list[float] | None:
    return None if chances is None else [round(chance, 4) for chance in chances]


def told_apart(texts: Sequence[str]) -> list[str]:
    """The texts without the sentences that all of them begin and end with, such as the rules."""
    if len(set(texts)) < 2:
        return list(texts)
    start = _boundary(_start(texts))
    rest = [text[start:] for text in texts]
    shared = _start([text[::-1] for text in rest])[::-1]
    breaks = [place + len(mark) for mark in BREAKS if (place := shared.find(mark)) >= 0]
    if shared.rstrip().endswith((".", "?", ":")):  # a last line in words, such as a question below a board
        breaks.append(shared.rfind("\n") + 1 or len(shared))
    end = len(shared) - min(breaks) if breaks else 0
    return [text[: len(text) - end].strip() for text in rest]


def _boundary(shared: str) -> int:
    """Where the last whole sentence or paragraph of a text ends."""
    return max(shared.rfind(mark) + len(mark) if mark in shared else 0 for mark in BREAKS)


def _start(texts: Sequence[str]) -> str:
    """What all texts begin with."""
    low, high = min(texts), max(texts)
    same = next((n for n, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low))
    return low[:same]
