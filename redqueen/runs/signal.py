"""Whether a run has anything to learn from; where it has not, one message with the cause.

    signal = Signal()                                  once a run
    signal.observe(trajectories, advantages, metrics)  for each update
    metrics |= signal.check(line, updated)             once a step: `alarm/...` of each alarm that fires or has fired
    for text in signal.alarms(): print(text)
    line |= signal.shown()                             three replies, in the step in which an alarm begins to fire

An alarm over replies fires once their share is surely above 85 %: the lower bound of its interval (`alarms.at_least`)
over the newest replies of a role, to twelve tasks or more. So 4 wrong replies of 4 fire nothing, 32 of 32 do. That a
step made no update is certain at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import isnan, nan
from statistics import median
from typing import Any

import numpy as np

from redqueen.credit.rewards import has_verdict
from redqueen.measures.alarms import Alarm, Alarms, at_least
from redqueen.protocols import COUNT, FINITE, Row, State, shaped
from redqueen.types import Episode, Metrics, Reply, Task, Trajectory, Turn

SURE = 0.85  # the share that is surely passed where an alarm fires
ENOUGH = 32  # replies, and tasks, that are looked at where there are as many: 32 of 32 are surely above 85 %
LEAST_TASKS = 12  # below it nothing is sure of tasks in general
SHOWN = 3  # replies
LONGEST = 240  # characters of a text that is shown

CAUSES = ("no_verdict", "truncated", "unreadable", "all_wrong", "all_right", "equal_rewards", "unanimous")
ALARMS = (
    *(Alarm(name, name, f"{{why_{name}}}", SURE) for name in CAUSES),
    Alarm("no_update", "no_update", "no policy was updated, {why_no_update}", 0.0),
    Alarm(
        "sampler",
        "sampler_mismatch_mean",
        "sampler and learner rate the same tokens {value:.2g} nats apart, with the same weights: compare their "
        "precision, their templates and their sampling settings",
        0.1,
    ),
    Alarm(
        "clipped",
        "clip_fraction",
        "{value:.0%} of the tokens are beyond the clip and teach nothing, for {steps} steps: lower the learning rate, "
        "or make fewer updates of one batch",
        0.5,
        steps=2,
    ),
)


@dataclass(frozen=True)
class Tally:
    """Counts over the replies that one role sampled for one update."""

    replies: int  # turns
    truncated: int
    unreadable: int  # whole replies in which no action in the stated format was found
    seats: int  # trajectories
    tasks: int  # groups of attempts; a trajectory that is in no group counts as one
    unknown: int  # trajectories without a verdict
    mute: int  # of these, those on which a judge was asked
    answers: int  # trajectories whose task has an answer
    right: int  # trajectories whose reply was found right
    wrong: int
    taught: int  # trajectories with an advantage other than 0
    rewards: tuple[float, ...]  # the lowest and the highest known one
    unpaid: int = 0  # trajectories with a verdict that their reward makes no number of


_TALLY: dict[str, Any] = {each.name: COUNT for each in fields(Tally) if each.name != "unpaid"} | {
    "rewards": [FINITE],
    "unpaid?": COUNT,
}
_STATE = {"alarms": dict, "late": {...: [_TALLY]}, "causes": {...: Row(str, str, FINITE)}}


class Signal:
    """Looks at what every update of a run is made of. See the module."""

    def __init__(self) -> None:
        self._alarms = Alarms(ALARMS, quiet=True)
        self._late: dict[str, list[Tally]] = {}  # by role, oldest first
        self._new: dict[str, list[Trajectory]] = {}  # by role, of this step
        self._causes: dict[str, tuple[str, str, float]] = {}  # by role: the cause, its message, how sure it is
        self._formats: dict[str, str] = {}  # by role, what it was told of its answer's form
        self._shown: list[dict[str, Any]] = []

    def observe(
        self,
        trajectories: Sequence[Trajectory],
        advantages: Sequence[np.ndarray],
        metrics: Metrics,
        policy: str = "",
        asked_for: Callable[[str], str] | None = None,
    ) -> None:
        """Takes in what one update was made of. Without `metrics` it is only known what was said, not what was learned.
        Replies that were given to the policy, to be imitated, are left out. `policy` is named where several learn;
        `asked_for` gives the sentence that tells it in a role how to mark its answer."""
        found: dict[str, list[tuple[Trajectory, np.ndarray]]] = {}
        for trajectory, advantage in zip(trajectories, advantages, strict=True):
            if not any(turn.reply.recited for turn in trajectory.turns):
                role = trajectory.seat.role
                name = role if policy in ("", role) else f"{policy}, as {role}"
                found.setdefault(name, []).append((trajectory, advantage))
        for name, own in found.items():
            self._late.setdefault(name, []).append(_tally(own, bool(metrics)))
            self._formats[name] = asked_for(own[0][0].seat.role) if asked_for else ""
            self._new.setdefault(name, []).extend(trajectory for trajectory, _ in own)

    def check(self, line: Mapping[str, Any], updated: bool, unused: Sequence[Episode] = ()) -> Metrics:
        """The alarms of a finished step with these figures, in which a policy was `updated` or none was, also because
        demonstrations are `waiting` for an update; `unused` are matches whose replies were in no update."""
        before = self.alarms()
        for role, own in self._new.items():
            self._late[role] = _window(self._late[role])
            was = self._causes.get(role, ("", "", 0.0))[0]
            self._causes[role] = _cause(role, self._late[role], own, updated, self._formats[role], was)
        figures: dict[str, float | str] = dict.fromkeys(CAUSES, 0.0)
        for cause, why, share in self._causes.values():
            if cause and share > float(figures[cause]):
                figures |= {cause: share, f"why_{cause}": why}
        missed = not updated and not line.get("waiting") and not any(float(figures[cause]) > SURE for cause in CAUSES)
        figures |= {"no_update": float(missed), "why_no_update": _reason(line)}
        for name in ("sampler_mismatch_mean", "clip_fraction"):
            values = [float(value) for key, value in line.items() if key == name or key.endswith(f"/{name}")]
            figures |= {name: max(values)} if values else {}
        rung = self._alarms.observe(figures)
        self._shown = (self._examples() or [*map(_unused, unused)]) if self._begun(before) else []
        self._new = {}
        return rung

    def alarms(self) -> list[str]:
        """Messages of all firing alarms; empty if none fires."""
        return self._alarms.alarms()

    def shown(self) -> dict[str, list[dict[str, Any]]]:
        """`replies`: three of the step in which an alarm began to fire, each with the end of what was asked and what
        was expected; empty in all other steps."""
        return {"replies": self._shown} if self._shown else {}

    def _begun(self, before: Sequence[str]) -> bool:
        known = {text.partition(":")[0] for text in before}
        return any(text.partition(":")[0] not in known for text in self.alarms())

    def _examples(self) -> list[dict[str, Any]]:
        """Of roles with a cause, where there are any; of different tasks, where there are as many."""
        own = [each for role, found in self._new.items() if self._causes[role][0] for each in found]
        found = own or [each for own in self._new.values() for each in own]
        firsts = {each.episode.task.id: each for each in reversed(found)}
        apart = [*reversed(firsts.values())]
        others = [each for each in found if firsts[each.episode.task.id] is not each]
        return [_example(each) for each in [*apart, *others][:SHOWN]]

    def state(self) -> State:
        return {
            "alarms": self._alarms.state(),
            "late": {role: [asdict(tally) for tally in own] for role, own in self._late.items()},
            "causes": {role: list(cause) for role, cause in self._causes.items()},
        }

    def restore(self, state: State) -> None:
        shaped(state, _STATE, "signal: ")
        self._alarms.restore(state["alarms"])
        self._late = {
            role: [Tally(**{**tally, "rewards": tuple(tally["rewards"])}) for tally in own]
            for role, own in state["late"].items()
        }
        self._causes = {role: (cause, why, share) for role, (cause, why, share) in state["causes"].items()}


def _tally(own: Sequence[tuple[Trajectory, np.ndarray]], learned: bool) -> Tally:
    """Counts over trajectories of one role and their advantages; without an update every one counts as taught."""
    trajectories = [trajectory for trajectory, _ in own]
    replies = [turn.reply for trajectory in trajectories for turn in trajectory.turns]
    facts = [trajectory.episode.outcome.facts for trajectory in trajectories]
    unknown = [not has_verdict(trajectory) for trajectory in trajectories]
    judged = [any(fact in each for fact in ("opinion", "wins", "labels")) for each in facts]
    known = [float(each.rewards.sum()) for each, lacks in zip(trajectories, unknown, strict=True) if not lacks]
    return Tally(
        replies=len(replies),
        truncated=sum(reply.truncated for reply in replies),
        unreadable=sum(reply.malformed and not reply.truncated for reply in replies),
        seats=len(trajectories),
        tasks=len({id(each) if each.group is None else each.group for each in trajectories}),
        unknown=sum(unknown),
        mute=sum(lacks and asked for lacks, asked in zip(unknown, judged, strict=True)),
        answers=sum(bool(each.episode.task.answer) for each in trajectories),
        right=sum(each.get("right") is True for each in facts),
        wrong=sum(each.get("right") is False for each in facts),
        taught=sum(bool((np.abs(each) > 1e-9).any()) for _, each in own) if learned else len(own),
        rewards=(min(known), max(known)) if known else (),
        unpaid=sum(
            lacks and not asked and each.get("right") is not None and "right" in each
            for lacks, asked, each in zip(unknown, judged, facts, strict=True)
        ),
    )


def _window(tallies: Sequence[Tally]) -> list[Tally]:
    """The newest tallies, as many as hold enough replies and tasks."""
    first = len(tallies)
    while first and min(_sum(tallies[first:], "seats"), _sum(tallies[first:], "tasks")) < ENOUGH:
        first -= 1
    return list(tallies[first:])


def _sum(tallies: Sequence[Tally], name: str) -> int:
    return sum(getattr(tally, name) for tally in tallies)


def _cause(
    role: str, late: Sequence[Tally], new: Sequence[Trajectory], updated: bool, told: str, was: str = ""
) -> tuple[str, str, float]:
    """Why the replies of a role teach nothing, its message, and the share that is surely so; "" where they teach
    something, or where the replies are too few to be sure. Where none is better than another and most were cut off,
    that is the cause; if it `was` the cause before, it stays so down to a third."""
    replies, seats, tasks = (_sum(late, name) for name in ("replies", "seats", "tasks"))
    truncated, unreadable, unknown = (_sum(late, name) for name in ("truncated", "unreadable", "unknown"))
    enough = tasks >= LEAST_TASKS
    if 0 < unknown == _sum(late, "unpaid") and (unknown == seats or (enough and at_least(unknown, seats) > SURE)):
        why = f"the reward of {unknown} of {seats} replies of the {role} is no number (NaN or None): all have a verdict"
        return "no_verdict", why, at_least(unknown, seats) if enough else 1.0
    silent = not updated and 0 < unknown == seats  # nobody can say anything of them
    cut_off = (enough and at_least(truncated, replies) > SURE) or (silent and truncated > SURE * replies)
    alike = enough and not _sum(late, "taught") and unknown < seats
    cut_off |= (explains := alike and truncated > replies / (3 if was == "truncated" else 2))
    if cut_off and _sum(late, "right") < seats:
        lengths = sorted(len(turn.reply.tokens) for each in new for turn in each.turns)
        why = (
            f"{truncated} of {replies} replies of the {role} were cut off; {_lengths(lengths)}: allow longer replies "
            "(--max-completion-length), or ask for shorter ones"
        )
        return "truncated", why, 1.0 if silent or explains else at_least(truncated, replies)
    if (enough and at_least(unreadable, replies) > SURE) or (silent and unreadable > SURE * replies):
        why = f"in {unreadable} of {replies} replies of the {role} no answer in the stated format was found"
        why += f", although it was told: {told}" if told else ""
        return "unreadable", why, 1.0 if silent else at_least(unreadable, replies)
    if (enough and at_least(unknown, seats) > SURE) or silent:
        if _sum(late, "mute") == unknown:
            why = f"no judgement on {unknown} of {seats} replies of the {role} holds a score that can be read"
        elif not _sum(late, "answers"):
            why = (
                f"none of the {tasks} tasks of the {role} has an answer, and no vote or judge gave a verdict: where "
                "the attempts vote, no two agree, so say what an answer looks like (--compare); where answers are "
                "known, name the column that holds them (--columns answer=COL)"
            )
        else:
            why = f"{unknown} of {seats} replies of the {role} have no verdict"
        return "no_verdict", why, 1.0 if unknown == seats else at_least(unknown, seats)
    if not enough or _sum(late, "taught"):
        return "", "", 0.0
    known = seats - unknown
    every, earned = f"all {known} replies of the {role} to {tasks} tasks", {r for tally in late for r in tally.rewards}
    sure = at_least(known, known) if known else 0.0
    if len(earned) > 1:
        why = f"the replies of the {role} to each of {tasks} tasks earn the same: none is better than another"
        return "unanimous", why, at_least(tasks, tasks)
    if _sum(late, "wrong") == known:
        return "all_wrong", f"{every} are wrong: easier tasks, a better model or another prompt are needed", sure
    if _sum(late, "right") == known:
        return "all_right", f"{every} are right: harder tasks are needed", sure
    return "equal_rewards", f"{every} earn the same, {max(earned, default=0.0):g}: none is better than another", sure


def _lengths(lengths: Sequence[int]) -> str:
    """The lengths in words, from the shortest to the longest."""
    if lengths[0] == lengths[-1]:
        return f"the newest have {lengths[0]} tokens each"
    return f"their lengths are {lengths[0]} to {lengths[-1]} tokens, half of them {median(lengths):g} or more"


def _reason(line: Mapping[str, Any]) -> str:
    """Why a step with these figures made no update, as far as they say it."""
    if line.get("round/stopped"):
        return "since a ceiling has stopped this iteration: fewer updates an iteration, or a higher ceiling"
    if line.get("round/passes") and line.get("round/pairs"):
        used = f"since the {line['round/pairs']:.0f} pairs of this iteration were used {line['round/passes']:.0f} times"
        return f"{used}: more data, more passes over it, or fewer updates"
    if line.get("round/equal"):
        return f"since all {line['round/equal']:.0f} pairs of this iteration say the same twice: vary the replies more"
    if "round/pairs" in line:
        return "since nothing was kept to learn from: no reply, or no pair of a better and a worse one"
    whole, cut, unreadable = line.get("samples", {}).get("skipped", (0, 0, 0))
    if not (count := whole + cut + unreadable):
        return "since there was nothing in its batch"
    left_out = f"since all {count} replies that it could learn from were left out of its batch"
    if cut > SURE * count:
        return f"{left_out}: {cut} were cut off; allow longer replies (--max-completion-length)"
    if cut + unreadable > SURE * count:
        return f"{left_out}: in {unreadable} no answer in the stated format was found, and {cut} were cut off"
    return f"{left_out}, as where those to each task are all right or all wrong"


def _example(trajectory: Trajectory) -> dict[str, Any]:
    """The end of what was asked, what was replied, what was expected and earned."""
    return _told(trajectory.turns[-1], trajectory.episode.task, float(trajectory.rewards.sum()))


def _unused(episode: Episode) -> dict[str, Any]:
    """The same of a match whose replies were in no update."""
    return {**_told(episode.turns[-1], episode.task, nan), "left_out": True}


def _told(turn: Turn, task: Task, reward: float) -> dict[str, Any]:
    return {
        "asked": _end(turn.ask.messages[-1].text),
        "replied": _whole(turn.reply),
        "tokens": len(turn.reply.tokens),
        "expected": task.answer,
        "reward": None if isnan(reward) else reward,
    }


def _end(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= LONGEST else f"…{words[-LONGEST:]}"


def _whole(reply: Reply) -> str:
    """The reply with its thought, shortened in the middle."""
    words = " ".join(f"{reply.thought} {reply.text}".split())
    half = LONGEST // 2
    return words if len(words) <= LONGEST else f"{words[:half]} … {words[-half:]}"
