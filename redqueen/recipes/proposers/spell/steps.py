"""The texts that grow in SPELL, the filter of its questions, its verifier, and what its roles are paid (2509.23863)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated

import numpy as np

from redqueen.checks.judge import Label, rule_or_majority, vote_rewards
from redqueen.checks.numeric import Covers
from redqueen.credit.filters import drop_even_groups
from redqueen.credit.group_rewards import FromBelow, OfGroup, Stated, correct, for_its_seat
from redqueen.credit.learnability import Bell
from redqueen.credit.outcomes import cut_off, numbers
from redqueen.curricula.history import storable
from redqueen.measures.alarms import Alarm, Alarms
from redqueen.measures.judges import Agreement
from redqueen.play.groups import attempts, episodes_of, with_facts
from redqueen.protocols import Player, Row, State, shaped
from redqueen.questions.asking import JUDGE, SOLVE, answered, judgements_of, mean_known, tasks_among
from redqueen.questions.catalogue import find_questions_with
from redqueen.questions.small.documents import Documented
from redqueen.questions.verdicts import with_truncated
from redqueen.records import TASK, plain, task_from_json, task_to_json
from redqueen.settings.limits import Within
from redqueen.types import Group, Metrics, RedQueenError, Refusal, Task, Trajectory, Truncated

CLOSED_BOOK = "closed book"
UNREAD = Alarm(
    "unread_verdicts",
    "verdicts/unread",
    "{value:.0%} of {verdicts:.0f} verdicts say neither YES nor NO",
    limit=0.5,
    trials="verdicts",
)
UNTAUGHT = Alarm(
    "untaught_judge",
    "verdicts/answers",
    "the judge learns nothing: a step allows {allowed} of its verdicts, one for every --answers-per-verdict answers "
    "that are learned from, and one answer has {votes} (--votes)",
    limit=1.0,
    steps=5,
    below=True,
)
Votes = Annotated[int, Within(3)]
"""The number of verdicts on an answer: of two no majority is one that not all share."""


def find_documented(spec: str) -> Documented:
    """The question set that a specification names, if it asks about texts."""
    return find_questions_with(spec, Documented)


class Grounds:
    """Whether a question needs its text: one that is answered without it is refused as "closed book"."""

    def __init__(self, questions: Documented) -> None:
        self._questions = questions
        self._rule = Covers()

    def checked(self, written: Sequence[Task | Refusal], responder: Player, rng: Random) -> list[Task | Refusal]:
        """The proposals, refused where one attempt that is not shown the text is right by the rule."""
        tasks = tasks_among(written)
        closed = [self._questions.closed_book(task) for task in tasks]
        answers = answered(attempts(SOLVE, closed, responder, 1, rng))
        known = iter([self._rule(task, answer) for task, answer in zip(tasks, answers, strict=True)])
        return [Refusal(CLOSED_BOOK) if isinstance(each, Task) and next(known) else each for each in written]

    def without_texts(self, written: Sequence[Task | Refusal]) -> list[Task | Refusal]:
        """The questions without their texts, for figures: a text is another each time, and holds the answer."""
        return [self._questions.closed_book(each) if isinstance(each, Task) else each for each in written]


class Verifying:
    """The verdicts of a step, how far the majorities of late agree with the question set, and alarms where most
    verdicts cannot be read and where a judge that `learns` could not learn from any for some steps. `truncated` says
    what an answer that was cut off counts as."""

    game = JUDGE

    def __init__(self, questions: Documented, learns: bool = False, truncated: Truncated = "wrong") -> None:
        self._questions = questions
        self._truncated = truncated
        self._rule = Covers()
        self._agreement = Agreement(threshold=0.51)  # a tie is no majority
        self._alarms = Alarms([UNREAD, *([UNTAUGHT] if learns else [])], quiet=True)
        self._room: dict[str, float | str] = {}  # of this step, for verdicts on how many answers
        self._judged: list[Group] = []  # of this step, with what each verdict earns

    def asked(self, tries: Sequence[Group]) -> list[Task]:
        """One task for the judge per different answer to each question; none for empty answers."""
        answers = zip(episodes_of(tries), self._answered(tries), strict=True)
        asked = [self._questions.compared(each.task, answer.strip()) for each, answer in answers if answer.strip()]
        return list({task.id: task for task in asked}.values())

    def heard(self, tries: Sequence[Group], judgements: Sequence[Group]) -> list[Group]:
        """The tries with the fact `right`: whether the rule or the majority of the verdicts finds them right. A try
        that was cut off is wrong by the rule, unless such answers are graded or unknown.

        Judgements are kept for `drawn`, with the fact `vote`: 1 with the majority, 0 against it, -1 where it cannot be
        read; None where the verdicts on one answer teach nothing: all agree, too few agree, or the majority is not what
        the rule says."""
        names, votes = self._names(tries), {group.task.id: verdicts(group) for group in judgements}
        ruled = [
            self._rule(each.task, text) for each, text in zip(episodes_of(tries), self._answered(tries), strict=True)
        ]
        right = [rule_or_majority(votes.get(name, ()), each) for name, each in zip(names, ruled, strict=True)]
        by_rule = dict(zip(names, ruled, strict=True))
        paid = [(vote_rewards(given, by_rule[name]), len(given)) for name, given in votes.items()]
        self._judged += with_facts(
            judgements, [{"vote": given and given[place]} for given, count in paid for place in range(count)]
        )
        self._agreement.observe(*self.agreed(tries, judgements))
        cut = map(cut_off, episodes_of(tries))
        facts = [
            {"right": with_truncated(bool(each), ended, self._truncated)}
            for each, ended in zip(right, cut, strict=True)
        ]
        return with_facts(tries, facts)

    def agreed(
        self, tries: Sequence[Group], judgements: Sequence[Group]
    ) -> tuple[list[float | None], list[bool | None]]:
        """Two lists for `Agreement.observe`, one entry per different answer: the share of all its verdicts that say YES
        (None where none can be read), and whether the question set finds it right."""
        same = self._questions.right([episode.task for episode in episodes_of(tries)], self._answered(tries))
        truths = dict(zip(self._names(tries), same, strict=True))
        votes = {group.task.id: verdicts(group) for group in judgements}
        shares = [
            None if all(each is None for each in given) else sum(each is True for each in given) / len(given)
            for given in votes.values()
        ]
        return shares, [truths[name] for name in votes]

    def drawn(self, most: int, rng: Random) -> list[Group]:
        """Random whole groups of this step's judgements whose verdicts do not all earn the same, with at most `most`
        verdicts in all."""
        groups = [group for group in self._judged if len({each.outcome.facts["vote"] for each in group.attempts}) > 1]
        if groups:
            votes = len(groups[0].attempts)
            self._room = {"verdicts/answers": most // votes, "allowed": str(most), "votes": str(votes)}
        found = []
        for group in rng.sample(groups, len(groups)):
            if len(group.attempts) <= most:
                found.append(group)
                most -= len(group.attempts)
        return found

    def check(self) -> Metrics:
        """The figures of a step, which ends: those of the agreement, and `verdicts/unread`, the share that cannot be
        read, where there are verdicts."""
        given = [verdict for group in self._judged for verdict in verdicts(group)]
        unread = {"verdicts/unread": sum(each is None for each in given) / len(given)} if given else {}
        room, self._judged, self._room = self._room, [], {}
        return self._agreement.metrics() | unread | self._alarms.observe({**unread, **room, "verdicts": len(given)})

    def alarms(self) -> list[str]:
        return [*self._agreement.alarms(), *self._alarms.alarms()]

    def _answered(self, tries: Sequence[Group]) -> list[str]:
        return answered(tries, self._truncated)

    def _names(self, tries: Sequence[Group]) -> list[str]:
        """The id of the comparison of each try's answer."""
        pairs = zip(episodes_of(tries), self._answered(tries), strict=True)
        return [self._questions.compared(each.task, text.strip()).id for each, text in pairs]

    def state(self) -> State:
        return {"agreement": self._agreement.state(), "alarms": self._alarms.state()}

    def restore(self, state: State) -> None:
        shaped(state, {"agreement": dict, "alarms": dict}, "the verifier: ")
        self._agreement.restore(state["agreement"])
        self._alarms.restore(state["alarms"])


def verdicts(judgements: Group) -> list[bool | None]:
    """What the judgements of one answer say: YES, NO, or None where that cannot be read."""
    labels = [Label().read(text) for text in judgements_of(judgements.attempts)]
    return [None if label is None else label == "YES" for label in labels]


class Rewards:
    """What the roles earn."""

    solver = correct
    judge = Stated("vote")

    def proposer(
        self, proposals: Sequence[Group], written: Sequence[Task | Refusal], tries: Sequence[Group]
    ) -> Questioning:
        """What each question earns: a bell around one half of the solve rate of the tries at it, -0.5 where no text is
        needed, -1 for any other refusal; NaN where too few tries were finished."""
        bell, reasons = Bell(), [each.reason if isinstance(each, Refusal) else "" for each in written]
        costs = [0.0 if not reason else -0.5 if reason == CLOSED_BOOK else -1.0 for reason in reasons]
        paid = FromBelow(tries, {"difficulty": [bell(numbers(group, "right")) for group in tries]})
        return Questioning(paid, {each.number: cost for each, cost in zip(proposals, costs, strict=True)})

    def kept(self, trajectories: Sequence[Trajectory]) -> list[Trajectory]:
        """Those of groups of answers that are not all right or all wrong."""
        return drop_even_groups(trajectories)


@dataclass(frozen=True, eq=False)
class Questioning:
    """What questions are `paid` by the tries at them, and the `costs` of refused ones, by the number of their group."""

    paid: FromBelow
    costs: Mapping[int, float]

    def of_group(self, group: Group) -> OfGroup:
        costs = [self.costs[group.number]] * len(group.attempts)
        return {**self.paid.of_group(group), **for_its_seat(group, {"refused": costs})}


class ClusterMemory:
    """The last `size` questions about each of `clusters` clusters that were solved now and then: those with a mean
    score of `solvable` or more. A cluster is at the first of the `stages` plus the number of its questions, up to the
    last of them. Raises RedQueenError for stages that the question set does not have or no cluster can reach."""

    def __init__(
        self,
        questions: Documented,
        clusters: int,
        size: int = 3,
        stages: tuple[int, int] = (0, 3),
        solvable: float = 0.01,
    ) -> None:
        first, last = stages
        if last >= questions.stages:
            raise RedQueenError(
                f"--stages {first} {last}: the last stage of {questions.name} is {questions.stages - 1}"
            )
        if clusters < 1 or size < 1 or not 0 <= first <= last:
            raise RedQueenError(
                "a memory needs 1 cluster and 1 question of each at least, and stages from 0 that do not fall, not "
                f"{clusters}, {size} and {first} to {last}"
            )
        if last > first + size:
            raise RedQueenError(
                f"a cluster remembers {size} questions, and grows by a stage with each: no text of stage {last} "
                f"follows from one of stage {first}"
            )
        self._questions = questions
        self._first, self._last, self._solvable = first, last, solvable
        self._asked: list[deque[Task]] = [deque(maxlen=size) for _ in range(clusters)]

    def invited(self, count: int, rng: Random) -> list[Task]:
        """An invitation of each kind for each of `count` clusters drawn at random, at its stage and with its memory."""
        clusters = self.draw(count, rng)
        return [
            self._questions.invite_about(cluster, self.stage(cluster), kind, self.before(cluster), number)
            for kind in self._questions.kinds
            for number, cluster in enumerate(clusters)
        ]

    def draw(self, count: int, rng: Random) -> list[int]:
        """`count` different clusters at random, all where there are fewer."""
        return rng.sample(range(len(self._asked)), min(count, len(self._asked)))

    def before(self, cluster: int) -> tuple[Task, ...]:
        """The questions remembered, oldest first."""
        return tuple(self._asked[cluster])

    def stage(self, cluster: int) -> int:
        return min(self._first + len(self._asked[cluster]), self._last)

    def observe(self, tries: Sequence[Group]) -> None:
        """The groups at questions that name their cluster among their facts."""
        for group in tries:
            if mean_known(numbers(group, "right")) >= self._solvable:
                self._asked[group.task.facts["cluster"]].append(storable(group.task))

    def metrics(self) -> Metrics:
        """`stage`, the mean over the clusters, and `longest`, the share of them that is at the last stage."""
        stages = np.array([self.stage(cluster) for cluster in range(len(self._asked))])
        return {"clusters/stage": float(stages.mean()), "clusters/longest": float((stages == self._last).mean())}

    def state(self) -> State:
        return {"asked": [[plain(task_to_json(task)) for task in asked] for asked in self._asked]}

    def restore(self, state: State) -> None:
        shaped(state, {"asked": Row(*[[TASK]] * len(self._asked))}, "the memory of clusters: ")
        for held, asked in zip(self._asked, state["asked"], strict=True):
            held.clear()
            held.extend(task_from_json(dict(task)) for task in asked)
