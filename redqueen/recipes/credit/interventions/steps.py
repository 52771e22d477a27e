"""Failed attempts cut at their first error, with one better step in its place (InT, 2601.14209)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Literal, NamedTuple

import numpy as np

from redqueen.checks.leaks import stands_in
from redqueen.credit.outcomes import cut_off, verdicts, whole_reply
from redqueen.curricula.held_out import Apart
from redqueen.demonstrations.gold import gold_reply
from redqueen.demonstrations.transfer import aided, tokens_of
from redqueen.games.single_reply import SingleReply
from redqueen.games.talk import posed
from redqueen.measures.alarms import Alarm, Alarms, Ringing
from redqueen.objectives.batch import pack_samples
from redqueen.objectives.imitation import Imitation
from redqueen.objectives.rounds import Round, no_update
from redqueen.play.groups import attempts
from redqueen.players.language.writing import Writer
from redqueen.protocols import COUNT, FINITE, Maybe, Policy, Questions, State, shaped
from redqueen.questions.asking import SOLVE, graded, said
from redqueen.questions.verdicts import Truncated, check_known
from redqueen.texts import said_aloud
from redqueen.types import Ask, Episode, Group, Mean, Metrics, Task, Trajectory, Turn, mean_of

Learned = Literal["prefix", "step"]
INTERVENE = SingleReply("intervener")
GO_ON = "Go on from here, and end with the answer:\n{begun}"
_PROPOSAL = re.compile(r"^[^\S\n]*+(?:step\s*+)?(\d{1,4})\s*+:\s*+(\S.*)$", re.IGNORECASE | re.MULTILINE)
UNREAD = Alarm(
    "unread",
    "unread",
    "{value:.0%} of the interventions cannot be read: they are one line, the number of the step and what should stand "
    'there, as "3: 16/2=8"',
    limit=0.5,
    steps=5,
)
LATE = Alarm(
    "no_use",
    "led_on",
    "only {value:.0%} of the interventions lead to the answer: errors are found too late, or the steps are no better",
    limit=0.02,
    steps=5,
    below=True,
)
SHORTER = Alarm(
    "stops",
    "stopping",
    "{value:.0%} more of the attempts than at first end after one line, and wrong: replies stop after a step "
    "(fewer --supervised)",
    limit=0.3,
    steps=3,
)
TOO_FEW = Alarm(
    "too_few",
    "none",
    "{waiting} interventions wait and an update takes {enough}: none was learned before reinforcement (fewer "
    "--interventions, or more --tasks, --proposals, --supervised)",
    limit=0.5,
)


class Failed(NamedTuple):
    """An attempt that is wrong: what comes before its steps (a thought), and these, a line each."""

    episode: Episode
    before: str
    steps: tuple[str, ...]


class Proposed(NamedTuple):
    """A step in the place of the one at `place`, counted from 0, and of all that follow it."""

    failed: Failed
    place: int
    step: str

    @property
    def prefix(self) -> str:
        """What of the attempt stays, with a line break at its end; "" where nothing does."""
        return self.failed.before + "".join(f"{each}\n" for each in self.failed.steps[: self.place])


def failed(groups: Sequence[Group], learner: Writer) -> list[Failed]:
    """The wrong attempts of groups that nobody solved, which say something aloud and were not cut off."""
    found = []
    for group in groups:
        right = verdicts(group)
        if len(right) and not (right != 0.0).any():
            found += [each for each in (in_steps(one, learner) for one in group.attempts) if each is not None]
    return found


def in_steps(episode: Episode, learner: Writer) -> Failed | None:
    """The attempt in its steps; None for one that was cut off or says nothing aloud."""
    reply = episode.turns[-1].reply
    raw = learner.format.decode(reply.tokens.tolist()).rstrip()
    aloud = said_aloud(raw)
    if reply.truncated or not aloud or aloud not in raw:
        return None
    lines = tuple(each for each in aloud.splitlines() if each.strip())
    return Failed(episode, raw[: raw.rindex(aloud)], lines)


def request(one: Failed) -> Task:
    """What the intervener is shown: the problem, its reference solution, and the numbered attempt."""
    task = one.episode.task
    problem = "\n\n".join(message.text for message in task.messages) or task.prompt
    numbered = "\n".join(f"{number}: {step}" for number, step in enumerate(one.steps, 1))
    prompt = (
        f"Problem:\n{problem}\n\nReference solution:\n{gold_reply(task)}\n\nAttempt:\n{numbered}\n\n"
        "The attempt is wrong. Find its first step that is an error and is not taken back later. Reply with one line, "
        "the number of this step and what should stand in its place, in the words of the attempt and without the "
        "final answer, as in 3: 16/2=8"
    )
    return Task(f"intervention in {task.id}", "intervention", prompt)


def read(reply: str, one: Failed) -> Proposed | None:
    """The intervention in a reply, its last line of that form; None where there is none, or no such step."""
    found = _PROPOSAL.findall(reply)
    if not found or not 1 <= int(found[-1][0]) <= len(one.steps):
        return None
    return Proposed(one, int(found[-1][0]) - 1, found[-1][1].rstrip())


def leaks(step: str, answer: str) -> bool:
    """Whether a step gives the answer away: it comes to it, after its last "=", or holds it as a word where it has no
    "=". Released code compares parts of texts: an answer of 8 stands in 17+8=25."""
    return stands_in(step.rpartition("=")[2], answer)


def spliced(one: Proposed, learner: Writer) -> Trajectory:
    """The attempt up to the error and the step in its place, as the learner's demonstration on the problem alone, in
    two turns without an end of text: what stays, and the step."""
    episode = one.failed.episode
    seat = episode.turns[-1].ask.seat
    ask = Ask(seat, posed(episode.task, seat))
    whole = learner.recite(ask, f"{one.prefix}{one.step}\n")
    tokens = whole.tokens.tolist()
    tokens = tokens[:-1] if tokens and tokens[-1] in (learner.format.end,) else tokens
    cut = tokens_of(one.prefix, tokens, learner)
    turns, prompt = [], whole.prompt_tokens
    for piece in (tokens[:cut], tokens[cut:]):
        if piece:
            part = np.array(piece, dtype=np.int64)
            reply = replace(whole, prompt_tokens=prompt, tokens=part, logprobs=np.zeros(len(part)), recited=True)
            turns.append(Turn(ask, reply))
            prompt = np.concatenate([prompt, part])
    return Trajectory(replace(episode, turns=tuple(turns)), seat, tuple(turns), np.zeros(len(turns)))


class Waiting(Ringing):
    """Interventions that wait until there are `enough` for an update, and are learned once, each alike: an update on
    two or three would move as far as one on many. With `learn` "step" what stays of an attempt is prompt and is not
    learned."""

    def __init__(self, learn: Learned, enough: int) -> None:
        self._learn, self._enough = learn, enough
        self._round = Round(passes=1)
        self._updates = 0
        self._alarms = Alarms([TOO_FEW], quiet=True)
        self._figures: Metrics = {}

    def update(self, shown: Sequence[Trajectory], learner: Policy, rng: Random, last: bool) -> Metrics:
        """Metrics of an update on all that wait and `shown`; a loss and a gradient norm of 0 where they are not enough.
        Whether it is the `last` time."""
        if shown:
            learned = [each if self._learn == "prefix" else replace(each, turns=each.turns[-1:]) for each in shown]
            data = pack_samples(learned, [1.0] * len(learned))
            (self._round.add if self._round.open else self._round.renew)(data)
        size = self._round.size if self._round.open else 0
        metrics = no_update()
        if size >= self._enough:
            metrics = self._round.update(learner, size, Imitation(), rng)
            self._updates, size = self._updates + 1, 0
        told = {"none": float(last and not self._updates), "waiting": size, "enough": self._enough}
        self._figures = {"waiting": float(size), **self._alarms.observe(told)}
        return metrics

    def metrics(self) -> Metrics:
        """How many are `waiting`, and the alarm."""
        return self._figures

    def state(self) -> State:
        return {**super().state(), "round": self._round.state(), "updates": self._updates}

    def restore(self, state: State) -> None:
        shaped(state, {"alarms": dict, "round": dict, "updates": COUNT}, "the interventions that wait: ")
        super().restore(state)
        self._round.restore(state["round"])
        self._updates = state["updates"]


class Interventions(Ringing):
    """Asks for `proposals` interventions in each failed attempt, and keeps of each attempt the first that gives no
    answer away and from which one of `continuations` replies comes to the answer. Raises RedQueenError for a question
    set that does not know the answers to its `tests`."""

    def __init__(
        self, questions: Questions, tests: Apart, proposals: int, continuations: int, truncated: Truncated
    ) -> None:
        check_known(questions, tests)
        self._questions, self._proposals, self._continuations = questions, proposals, continuations
        self._truncated: Truncated = truncated
        self._figures: Metrics = {}
        self._first_of_one_line: float | None = None
        self._alarms = Alarms([UNREAD, LATE, SHORTER], quiet=True)

    def __call__(self, groups: Sequence[Group], learner: Writer, rng: Random) -> list[Trajectory]:
        wrong = failed(groups, learner)
        self._figures = {"one_line": mean_of([_stopped(*each) for group in groups for each in _with_verdicts(group)])}
        if not wrong:
            return []
        asked = attempts(INTERVENE, [request(one) for one in wrong], learner, self._proposals, rng)
        replies = [[read(reply, one) for reply in said([group])] for group, one in zip(asked, wrong, strict=True)]
        read_ones = [each for found in replies for each in found if each is not None]
        kept = [each for each in read_ones if not leaks(each.step, each.failed.episode.task.answer)]
        count = sum(map(len, replies))
        self._figures |= {
            "unread": Mean(1.0 - len(read_ones) / count, count),
            "leaking": Mean((len(read_ones) - len(kept)) / count, count),
        }
        first: dict[int, Proposed] = {}
        for each in kept:
            first.setdefault(id(each.failed), each)
        return [spliced(each, learner) for each in self._leading_on(list(first.values()), learner, rng)]

    def _leading_on(self, proposed: Sequence[Proposed], learner: Writer, rng: Random) -> list[Proposed]:
        if not proposed:
            return []
        tasks = [aided(each.failed.episode.task, GO_ON.format(begun=_begun(each))) for each in proposed]
        tries = graded(self._questions, attempts(SOLVE, tasks, learner, self._continuations, rng), self._truncated)
        found = [each for each, group in zip(proposed, tries, strict=True) if (verdicts(group) == 1.0).any()]
        self._figures["led_on"] = mean_of([1.0] * len(found) + [0.0] * (len(proposed) - len(found)))
        self._figures["place"] = mean_of([(each.place + 1) / len(each.failed.steps) for each in proposed])
        return found

    def metrics(self) -> Metrics:
        """Figures of the last call, and the alarms: the share of the attempts that end after one line and are not right
        (`one_line`); shares of the interventions that could not be read (`unread`) and that give the answer away
        (`leaking`), of those tried that led to the answer (`led_on`), and how far into the attempt they stand (`place`,
        1 is the last step)."""
        known = {name: float(value) for name, value in self._figures.items()}
        if "one_line" in known:
            if self._first_of_one_line is None:
                self._first_of_one_line = known["one_line"]
            known["stopping"] = known["one_line"] - self._first_of_one_line
        return self._figures | self._alarms.observe(known)

    def state(self) -> State:
        return {**super().state(), "one_line": self._first_of_one_line}

    def restore(self, state: State) -> None:
        shaped(state, {"alarms": dict, "one_line?": Maybe(FINITE)}, "the interventions: ")
        super().restore(state)
        self._first_of_one_line = state.get("one_line")


def _with_verdicts(group: Group) -> list[tuple[Episode, float]]:
    return list(zip(group.attempts, verdicts(group).tolist(), strict=True))


def _stopped(episode: Episode, right: float) -> bool:
    """Whether an attempt ended by itself after at most one line said aloud, and is not right."""
    return right != 1.0 and not cut_off(episode) and "\n" not in whole_reply(episode).strip()


def _begun(one: Proposed) -> str:
    """What a continuation is shown: the steps that stay and the new one, without thoughts."""
    return "\n".join([*one.failed.steps[: one.place], one.step])
