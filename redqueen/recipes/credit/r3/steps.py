"""R3's reflections on old mistakes, its ranking of replies that were cut off, and its price of length (2601.19620)."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from redqueen.credit.filters import own_score
from redqueen.credit.outcomes import cut_off, verdicts, whole_reply
from redqueen.credit.rewards import spoken_turns
from redqueen.measures.alarms import Alarm, Alarms, Ringing
from redqueen.objectives.batch import pack
from redqueen.protocols import FINITE, Policy, State, shaped
from redqueen.types import Episode, Group, Mean, Message, Metrics, RedQueenError, Seat, Task, Trajectory

REQUEST = "That is wrong. Find the mistake, then answer the question again."
AGAIN = ", with a mistake"  # behind the id of a task that is shown with one
LATEST = 8  # results of a task that count
MOST = 4096  # tasks that are remembered
CUT_OFF = Alarm(
    "paid_for_being_cut_off",
    "ranked",
    "{value:.0%} of the attempts were cut off and are paid for that alone (--rank), {steps} steps in a row: replies "
    "grow longer, not better; raise --max-completion-length, or --rank 0",
    limit=0.5,
    steps=5,
)


class Reflections:
    """Tasks as they are asked again with one of their wrong replies, where the mean of their latest results is below
    `below`."""

    def __init__(self, below: float) -> None:
        self._below = below
        self._results: dict[str, deque[float]] = {}  # by the id of a task, in the order in which they were last met
        self._mistakes: dict[str, str] = {}

    def on(self, tasks: Sequence[Task]) -> list[Task]:
        """Those of the tasks that keep failing, each once, as conversations: the question, a wrong reply to it, and
        the request to look again."""
        failing = {task.id: task for task in tasks if task.id in self._mistakes and self._mean(task.id) < self._below}
        return [with_mistake(task, self._mistakes[name]) for name, task in failing.items()]

    def _mean(self, name: str) -> float:
        return float(np.mean(self._results[name]))

    def observe(self, groups: Sequence[Group]) -> None:
        """Records the results of the tasks, and the latest wrong reply to each that was not cut off."""
        for group in groups if self._below else ():
            name, results = group.task.id, verdicts(group)
            if name.endswith(AGAIN) or np.isnan(results).all():
                continue
            latest = self._results.pop(name, deque(maxlen=LATEST))
            latest.extend(_known(results).tolist())
            self._results[name] = latest
            wrong = [each for each, right in zip(group.attempts, results, strict=True) if right == 0.0]
            texts = [whole_reply(each).strip() for each in wrong if not cut_off(each)]
            if told := [text for text in texts if text]:
                self._mistakes[name] = told[-1]
        while len(self._results) > MOST:
            oldest = next(iter(self._results))
            del self._results[oldest]
            self._mistakes.pop(oldest, None)

    def metrics(self, groups: Sequence[Group]) -> Metrics:
        """The share of the groups that were shown a mistake, and the share of right attempts among theirs."""
        shown = [group for group in groups if group.task.id.endswith(AGAIN)]
        found: Metrics = {"reflecting": Mean(len(shown) / len(groups), len(groups))}
        right = np.concatenate([_known(verdicts(group)) for group in shown]) if shown else np.zeros(0)
        return found | ({"reflected_right": Mean(float(right.mean()), len(right))} if len(right) else {})

    def state(self) -> State:
        return {"results": {name: list(each) for name, each in self._results.items()}, "mistakes": self._mistakes}

    def restore(self, state: State) -> None:
        shaped(state, {"results": {...: [FINITE]}, "mistakes": {...: str}}, "the reflections: ")
        self._results = {name: deque(each, maxlen=LATEST) for name, each in state["results"].items()}
        self._mistakes = dict(state["mistakes"])


def _known(results: np.ndarray) -> np.ndarray:
    return np.asarray(results[~np.isnan(results)])


def with_mistake(task: Task, mistake: str) -> Task:
    """The task with a wrong reply in its conversation, and the request to find the mistake."""
    asked = task.messages or (Message("user", task.prompt),)
    said = (*asked, Message("assistant", mistake), Message("user", REQUEST))
    return replace(task, id=task.id + AGAIN, messages=said)


@dataclass(frozen=True)
class Brevity:
    """weight (1 - l / longest) on the last turn of a seat whose reply is right, l its tokens; never below 0."""

    weight: float
    longest: int

    def __call__(self, episode: Episode) -> dict[Seat, np.ndarray]:
        right = episode.outcome.facts.get("right") is True
        found = {}
        for seat, turns in spoken_turns(episode).items():
            used = sum(len(turn.reply.tokens) for turn in turns)
            found[seat] = np.zeros(len(turns))
            if right and turns:
                found[seat][-1] = self.weight * max(0.0, 1.0 - used / self.longest)
        return found


class Ranking(Ringing):
    """Adds to the rewards of replies that were cut off, in groups of which nobody is right, up to `most` by the shape
    of their entropies (`standing`), as the part `ranking`. Raises RedQueenError for a `top` of no tokens."""

    def __init__(self, policy: Policy, most: float, top: float) -> None:
        if not top:
            raise RedQueenError("--top 0 leaves no tokens to take a peak of: a share above 0, or --rank 0")
        self._policy, self._most, self._top = policy, most, top
        self._ranked = self._seen = 0
        self._alarms = Alarms([CUT_OFF], quiet=True)

    def __call__(self, trajectories: Sequence[Trajectory]) -> list[Trajectory]:
        cut = self._cut_off(trajectories) if self._most else []
        shapes = [shape(each, self._top) for each in entropies_of(self._policy, [trajectories[at] for at in cut])]
        groups: dict[int | None, list[int]] = defaultdict(list)
        for place, at in enumerate(cut):
            groups[trajectories[at].group].append(place)
        found = list(trajectories)
        for places in groups.values():
            paid = self._most * standing([shapes[place] for place in places]) if len(places) > 1 else [0.0]
            for place, more in zip(places, paid, strict=True):
                found[cut[place]] = _with(trajectories[cut[place]], more)
        self._ranked, self._seen = len(cut), len(found)
        return found

    @staticmethod
    def _cut_off(trajectories: Sequence[Trajectory]) -> list[int]:
        """The places of those that were cut off, with a verdict, in groups of which nobody is right."""
        best: dict[int | None, float] = defaultdict(float)
        for each in trajectories:
            best[each.group] = max(best[each.group], np.nan_to_num(own_score(each)))
        return [
            at
            for at, each in enumerate(trajectories)
            if best[each.group] <= 0.0 and each.turns[-1].reply.truncated and not np.isnan(each.rewards).any()
        ]

    def metrics(self) -> Metrics:
        """The share of the last attempts that were ranked, and the alarm that most were."""
        share: Metrics = {"ranked": Mean(self._ranked / max(self._seen, 1), self._seen)}
        return share | self._alarms.observe(share)


def _with(trajectory: Trajectory, more: float) -> Trajectory:
    paid = np.zeros(len(trajectory.turns))
    paid[-1] = more
    parts = {**(trajectory.parts or {"correctness": trajectory.rewards}), "ranking": paid}
    return replace(trajectory, rewards=trajectory.rewards + paid, parts=parts)


def entropies_of(policy: Policy, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
    """[L] for each trajectory, the policy's entropies at its own free tokens."""
    if not trajectories:
        return []
    batch = pack(trajectories, [np.zeros(len(each.turns)) for each in trajectories])
    found = policy.likelihoods(batch).entropies.double().cpu().numpy()
    own, owner = (batch.loss_weights != 0).numpy(), batch.trajectory.numpy()
    return [found[owner == at][own[owner == at]] for at in range(len(trajectories))]


def shape(entropies: np.ndarray, top: float) -> tuple[float, float]:
    """The mean of the `top` share of the entropies [L], at least one, and the mean of all; zeros where there are
    none."""
    if not len(entropies):
        return 0.0, 0.0
    count = max(int(top * len(entropies)), 1)
    return float(np.sort(entropies)[-count:].mean()), float(entropies.mean())


def standing(shapes: Sequence[tuple[float, float]]) -> np.ndarray:
    """[N] from 1 for the reply that beats the most others down to 0; ties have the mean of their ranks. A reply beats
    another where its peak is higher and its mean entropy is lower."""
    beaten = np.array([sum(peak > other and mean < whole for other, whole in shapes) for peak, mean in shapes])
    order = np.argsort(-beaten, kind="stable")
    earned = np.empty(len(shapes))
    earned[order] = 1.0 - np.arange(len(shapes)) / max(len(shapes) - 1, 1)
    return np.array([earned[beaten == each].mean() for each in beaten])
