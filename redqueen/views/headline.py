"""What happened in a run and how far to believe it: the sentence, the end and the alarms that every view opens with."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from statistics import fmean
from typing import Any, Literal, NamedTuple, TypeGuard

from redqueen.measures.figures import RANKED, SHARE, described, headline
from redqueen.measures.intervals import Interval, student_interval, student_quantile, wilson_interval
from redqueen.runs.run import ERROR, INTERRUPTED, LOCK, TERMINATED, Line, alarms_of, read_final, read_metrics
from redqueen.trust.reading import read_json
from redqueen.types import Basis, Damaged

Status = Literal["finished", "stopped", "running", "died"]
SILENCE = 600.0  # seconds after the last step beyond which a run counts as dead, where its lock cannot be looked up
MOST_WORDS = 2_000  # characters of an error that are shown
ALIKE = 1e-9  # figures that differ by less, relative to the larger one, are equal


class Point(NamedTuple):
    """A figure after `step` updates, with its interval; infinite bounds where nothing is known of it."""

    step: int
    value: float
    low: float
    high: float


UNKNOWN = (
    "Whether the replies became better is unknown: no held-out answer has a verdict, and attempts are compared with "
    "each other, of which one half wins whatever was learned; a file with answers measures it (--test FILE)."
)


@dataclass(frozen=True)
class Ending:
    """How a run ended: `words` for a reader, and the error that ended it."""

    status: Status
    words: str
    error: str = ""


@dataclass(frozen=True)
class Rung:
    """An alarm that fired: its last message, and the steps between which it did."""

    name: str
    message: str
    first: int
    last: int
    steps: int
    now: bool  # whether it fired in the last step


Courses = Mapping[int, Sequence[Point]]  # of runs that differ in the seed alone, by seed


@dataclass(frozen=True)
class Headline:
    """What happened in a run: the figure that says most about it, its course and a sentence."""

    figure: str
    sentence: str
    alarms: Sequence[Rung]
    points: Sequence[Point]
    basis: Basis
    ending: Ending = Ending("running", "still training")


def headline_of(folder: Path, config: Mapping[str, Any]) -> Headline:
    """What happened in the run of a folder, whose `config.json` is given."""
    lines, final = read_metrics(folder), read_final(folder)
    watched = config.get("watch", {})
    score = str(watched.get("score", "")) if isinstance(watched, dict) else ""
    found = told([*lines, final] if final else lines, bases_of(folder), score)
    return replace(found, ending=ending(folder, config, lines, final))


def told(lines: Sequence[Line], bases: Mapping[str, Basis], score: str = "") -> Headline:
    """The headline of a run with these lines of metrics, its last measurement included. `score` is the figure that the
    user has named as the run's score."""
    names = list(dict.fromkeys(name for line in lines for name, value in line.items() if _is_number(value)))
    figure = score if score in names else headline(names)
    basis = _with_verdicts(bases.get(figure, Basis()), lines, figure)
    points = course(lines, figure, basis)
    said = UNKNOWN if RANKED in names and not points else sentence(figure, points, basis)
    return Headline(figure, said, alarms(lines), points, basis)


def _with_verdicts(basis: Basis, lines: Sequence[Line], figure: str) -> Basis:
    """The basis of as many problems as had a verdict when the figure was last measured."""
    last = next((line for line in reversed(lines) if _is_number(line.get(figure))), {})
    known = basis.count * (1.0 - last.get(f"{figure}_unknown", 0.0))
    if figure.startswith("pass@"):  # a share of problems, which stands with their number
        known = min(known, last.get("rests_on", {}).get(figure) or known)
    return replace(basis, count=max(int(known + 1e-6), 1)) if basis.count and not basis.exact else basis


# --- the sentence --------------------------------------------------------------------------------------------------


def course(lines: Sequence[Line], figure: str, basis: Basis) -> list[Point]:
    """The figure wherever it is known and finite, with its 95 % interval: as the run measured it, or Wilson's for a
    share of `basis.count` problems (attempts at one problem are not independent and count as one)."""
    found = []
    for line in lines:
        value = line.get(figure)
        if not _is_number(value) or not math.isfinite(value):
            continue
        low, high = line.get(f"{figure}_low"), line.get(f"{figure}_high")
        if basis.exact:
            found.append(Point(int(line["step"]), value, value, value))
        elif _is_number(low) and _is_number(high):
            found.append(Point(int(line["step"]), value, low, high))
        elif described(figure).unit == SHARE and basis.count > 0 and 0.0 <= value <= 1.0:
            found.append(Point(int(line["step"]), *wilson_interval(value * basis.count, basis.count)))
        else:
            found.append(Point(int(line["step"]), value, -math.inf, math.inf))
    return found


def change(first: Point, last: Point) -> Interval:
    """The change between two points with its interval, from theirs (Newcombe 1998, method 10). It takes them to be
    independent: problems that are the same at both ends make it wider than it need be, never narrower."""
    difference = last.value - first.value
    down = math.hypot(last.value - last.low, first.high - first.value)
    up = math.hypot(last.high - last.value, first.value - first.low)
    return Interval(difference, difference - down, difference + up)


def sentence(figure: str, points: Sequence[Point], basis: Basis) -> str:
    """One sentence: from where to where, on how much, and whether the change is more than chance."""
    if not points:
        return "Nothing that says how good the policy is was measured."
    words, training = _capital(described(figure).words), _in_training(figure)
    first, last = points[0], points[-1]
    if len(points) == 1:
        once = f"{words} was {_number(figure, first.value)} at step {first.step}{_on(figure, basis)}"
        return f"{once}{_sure(figure, first)} and was not measured again."
    if training:
        return _of_training(figure, words, points)
    moved = f"{words} {_moved(figure, first, last)}{_on(figure, basis)}"
    return f"{moved}{_best(figure, points)}{_belief(figure, first, last, basis)}."


def sentence_of_seeds(figure: str, courses: Sequence[Sequence[Point]]) -> str:
    """The sentence of several runs that differ in the seed alone; the interval is Student's t over their changes."""
    measured = [points for points in courses if len(points) > 1]
    if len(measured) < 2:
        return ""
    shared = set.intersection(*({point.step for point in points} for points in measured))
    if len(shared) > 1:  # from the first to the last step that all have measured
        ends_at = (min(shared), max(shared))
        measured = [[point for point in points if point.step in ends_at] for points in measured]
    changes = student_interval([points[-1].value - points[0].value for points in measured])
    ends = [
        Point(
            int(fmean(points[place].step for points in measured)),
            fmean(points[place].value for points in measured),
            0.0,
            0.0,
        )
        for place in (0, -1)
    ]
    words = _capital(described(figure).words)
    moved = f"{words} {_moved(figure, *ends)}, the mean of {len(measured)} seeds"
    return f"{moved}; {_verdict(figure, changes, 'the spread of seeds explains')}."


def sentence_of_difference(figure: str, those: Courses, first: Courses) -> str:
    """How far runs are from the first ones of a comparison at the last step that all have measured: Student's t on the
    differences of each seed (courses by seed). Empty where fewer than two seeds are shared, and of figures of training,
    which are of one step."""
    pairs = [(those[seed], first[seed]) for seed in those if seed in first]
    if len(pairs) < 2 or _in_training(figure):
        return ""
    shared = set.intersection(*({point.step for point in points} for pair in pairs for points in pair))
    if not shared:
        return ""
    ends = [[point.value for points in pair for point in points if point.step == max(shared)] for pair in pairs]
    found = student_interval([here - there for here, there in ends])
    verdict = _verdict(figure, found, "the spread of seeds explains", "the difference")
    return f"Against the first at step {max(shared)}, over the same {len(pairs)} seeds: {verdict}."


def _of_training(figure: str, words: str, points: Sequence[Point]) -> str:
    """Of a figure that every step has: the means of its first and last fifth, at most ten steps each."""
    part = min(max(len(points) // 5, 1), 10)
    before, after = points[:part], points[-part:]
    ends = [Point(side[-1].step, fmean(each.value for each in side), 0.0, 0.0) for side in (before, after)]
    start, end = (_number(figure, each.value) for each in ends)
    if start == end:
        moved = f"{words}, stayed at {start} (means of the first and last {_steps(part)})"
    else:
        last = f"to {end} (of the last {_steps(part)})"
        moved = f"{words}, {_verb(*ends)} from {start} (mean of the first {_steps(part)}) {last}"
    unsure = "measured in training, on tasks and opponents that change: nothing held out was measured"
    if part < 2:
        return f"{moved}, {unsure}."
    return f"{moved}, {unsure}; {_verdict(figure, _welch(before, after), 'chance explains')}."


def _welch(before: Sequence[Point], after: Sequence[Point]) -> Interval:
    """The difference of two means with its interval, steps taken as independent (Welch, 1947)."""
    sides = [(fmean(values), _variance(values) / len(values), len(values)) for values in _values(before, after)]
    (one, first, count), (other, second, _) = sides
    spread = first + second
    if not spread:
        return Interval(other - one, other - one, other - one)
    degrees = spread**2 * (count - 1) / (first**2 + second**2)
    reach = student_quantile(0.975, max(int(degrees), 1)) * math.sqrt(spread)
    return Interval(other - one, other - one - reach, other - one + reach)


def _values(*sides: Sequence[Point]) -> list[list[float]]:
    return [[point.value for point in side] for side in sides]


def _variance(values: Sequence[float]) -> float:
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _belief(figure: str, first: Point, last: Point, basis: Basis) -> str:
    """What follows on whether the change is real."""
    if basis.exact:
        return ", computed exactly from the policy's probabilities: no sampling error, one seed"
    found = change(first, last)
    if not (math.isfinite(found.low) and math.isfinite(found.high)):
        missing = "how far single ones spread" if basis.count else "how many problems or games that rests on"
        return f"; the run does not say {missing}, so chance cannot be ruled out"
    if _equal(first.value, last.value):
        return f"; a change of {_bounds(figure, found)} could have gone unseen"
    return f"; {_verdict(figure, found, 'chance explains')}"


def _verdict(figure: str, found: Interval, explains: str, what: str = "the change") -> str:
    """The change or difference with its interval, and whether it exceeds it."""
    if not found.low <= 0.0 <= found.high:
        good = {"higher": found.mean > 0.0, "lower": found.mean < 0.0}.get(described(figure).better, True)
        judged = f"{'' if good else 'worse, by '}more than {explains}"
    else:
        judged = f"no more than {explains}"
    return f"{what}, {_difference(figure, found)}, is {judged}"


def _difference(figure: str, found: Interval) -> str:
    mean = f"{100.0 * found.mean:+.1f} points" if described(figure).unit == SHARE else f"{found.mean:+.3g}"
    return f"{mean} (95% interval {_bounds(figure, found)})"


def _bounds(figure: str, found: Interval) -> str:
    shares = described(figure).unit == SHARE
    low, high = (f"{100.0 * value:+.1f}" if shares else f"{value:+.3g}" for value in found[1:])
    return f"{low} to {high}{' points' if shares else ''}"


def _moved(figure: str, first: Point, last: Point) -> str:
    if _equal(first.value, last.value):
        return f"stayed at {_number(figure, last.value)} from step {first.step} to step {last.step}"
    verb, start, end = _verb(first, last), _number(figure, first.value), _number(figure, last.value)
    return f"{verb} from {start} at step {first.step} to {end} at step {last.step}"


def _verb(first: Point, last: Point) -> str:
    return "rose" if last.value > first.value else "fell"


def _best(figure: str, points: Sequence[Point]) -> str:
    """The best measurement, where the last one is worse than it by more than chance and a tenth of what was gained."""
    sign = {"higher": 1.0, "lower": -1.0}.get(described(figure).better, 0.0)
    best, last = max(points, key=lambda point: sign * point.value), points[-1]
    lost = change(best, last)
    gained = abs(best.value - points[0].value)
    if best is points[0] or not sign or lost.low <= 0.0 <= lost.high or abs(lost.mean) < gained / 10.0:
        return ""
    return f", after {_number(figure, best.value)} at step {best.step}"


def in_words(basis: Basis) -> str:
    """What a figure rests on: "64 held-out problems × 8 attempts"; empty where that is not known."""
    if basis.exact or not basis.count:
        return "exact" if basis.exact else ""
    return f"{basis.count} {basis.of or 'items'}" + (f" × {basis.attempts} attempts" if basis.attempts > 1 else "")


def _on(figure: str, basis: Basis) -> str:
    """On how much a figure rests."""
    if basis.exact or not basis.count:
        return ""
    each = f", {basis.attempts} attempts each" if basis.attempts > 1 else ""
    of = basis.of.removeprefix("held-out ") if "held-out" in described(figure).words else basis.of
    of = of or "items"
    return f" on {basis.count} {of.removesuffix('s') if basis.count == 1 else of}{each}"


def _sure(figure: str, point: Point) -> str:
    if point.low == point.high or not (math.isfinite(point.low) and math.isfinite(point.high)):
        return ""
    return f" (95% interval {_number(figure, point.low)} to {_number(figure, point.high)})"


def _number(figure: str, value: float) -> str:
    return f"{100.0 * value:.1f}%" if described(figure).unit == SHARE else f"{value:.3g}"


def _equal(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=ALIKE, abs_tol=1e-12)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _steps(count: int) -> str:
    return f"{count} steps" if count > 1 else "step"


def _in_training(figure: str) -> bool:
    return figure.startswith("reward/") or "/reward/" in figure


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


# --- how it ended --------------------------------------------------------------------------------------------------


def ending(folder: Path, config: Mapping[str, Any], lines: Sequence[Line], final: Line) -> Ending:
    """How the run ended. A run without a last measurement is one that is still trained or one that died."""
    done = int(lines[-1]["step"]) + 1 if lines else 0
    planned = planned_steps(config)
    of_all = f"{done} of {planned} steps" if planned > done else f"{done} step{'s' if done != 1 else ''}"
    if final:
        why = str(final.get("stopped", ""))[:MOST_WORDS]
        return (
            Ending("stopped", f"stopped early after {of_all}", why)
            if why
            else Ending("finished", f"finished, {of_all}")
        )
    error = _error(folder)
    if error.endswith((INTERRUPTED, TERMINATED)):
        return Ending("stopped", f"interrupted after {of_all}", f"redqueen resume {quote(str(folder))} goes on")
    if not error and _is_trained(folder, lines):
        return Ending("running", f"still training, {of_all} done")
    if not error:
        error = "It left no error: it was killed, ran out of memory, or its machine went down. "
        error += f"redqueen resume {quote(str(folder))} goes on."
    return Ending("died", f"died after {of_all}", error)


def planned_steps(config: Mapping[str, Any]) -> int:
    """How many steps the run was to have; 0 where its settings do not say."""
    settings = config.get("config")
    steps = settings.get("steps", 0) if isinstance(settings, dict) else 0
    return steps if isinstance(steps, int) and steps > 0 else 0


def _error(folder: Path) -> str:
    try:
        with (folder / ERROR).open(encoding="utf-8", errors="replace") as file:
            return file.read(MOST_WORDS).strip()
    except OSError:
        return ""


def _is_trained(folder: Path, lines: Sequence[Line]) -> bool:
    """Whether a process trains the run now. The lock is looked up, not opened: a process that opens and closes the file
    loses its own lock on it."""
    try:
        inode = (folder / LOCK).stat().st_ino
    except OSError:
        return False
    try:
        return any(line.split()[-3].endswith(f":{inode}") for line in Path("/proc/locks").read_text().splitlines())
    except (OSError, IndexError):  # not Linux
        at = lines[-1].get("time", {}).get("at", 0.0) if lines else 0.0
        return time.time() - float(at) < SILENCE


# --- alarms --------------------------------------------------------------------------------------------------------


def alarms(lines: Sequence[Line]) -> list[Rung]:
    """Every alarm that fired in these lines, those that fire in the last step first."""
    steps: dict[str, list[int]] = {}
    messages: dict[str, str] = {}
    trained = [line for line in lines if "time" in line] or lines
    for line in trained:
        for name, message in alarms_of(line).items():
            steps.setdefault(name, []).append(int(line["step"]))
            messages[name] = message.removeprefix(f"{name}: ") or messages.get(name, "")
    last = int(trained[-1]["step"]) if trained else 0
    found = [Rung(name, messages[name], rung[0], rung[-1], len(rung), rung[-1] == last) for name, rung in steps.items()]
    return sorted(found, key=lambda each: not each.now)


# --- what figures rest on ------------------------------------------------------------------------------------------


def bases_of(folder: Path) -> dict[str, Basis]:
    """What the figures of a run rest on, by `measures.json`; nothing where there is none, as in older runs."""
    path = folder / "measures.json"
    try:
        kept = read_json(path) if path.is_file() else {}
    except Damaged as error:
        raise Damaged(f"{path} is cut short or was changed: remove it, or have it written again ({error})") from None
    return {name: _basis(each) for name, each in kept.items() if isinstance(each, dict)}


def _basis(kept: Mapping[str, Any]) -> Basis:
    """A basis from its JSON; what is not of its type is left at its default."""
    count, attempts, references = kept.get("count"), kept.get("attempts"), kept.get("references")
    return Basis(
        exact=kept.get("exact") is True,
        count=count if isinstance(count, int) and 0 < count < 1 << 53 else 0,
        of=of[:100] if isinstance(of := kept.get("of"), str) else "",
        attempts=attempts if isinstance(attempts, int) and attempts > 0 else 1,
        references={
            str(name)[:100]: float(value)
            for name, value in (references.items() if isinstance(references, dict) else ())
            if _is_number(value) and math.isfinite(value)
        },
    )
