"""Discussions of several members: who solves, criticises and scores, and what each is paid (CoMAS, 2510.08529)."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from random import Random
from typing import NamedTuple

from redqueen.checks.judge import Label, Score
from redqueen.credit.outcomes import cut_off, numbers, verdicts, whole_reply
from redqueen.demonstrations.transfer import aided
from redqueen.games.single_reply import SingleReply
from redqueen.measures.alarms import Alarm, Alarms
from redqueen.measures.unseen import OF_REWARDS, Unseen
from redqueen.play.groups import noted
from redqueen.protocols import Player, Questions, State
from redqueen.questions.asking import SOLVE, graded, judgements_of, said
from redqueen.questions.fenced import asked, between_fences
from redqueen.questions.verdicts import Truncated
from redqueen.types import Episode, Group, Match, Metrics, Task, Trajectory, mean_of

EVALUATE, SCORE = SingleReply("evaluator"), SingleReply("scorer")
ROLES = (EVALUATE.role, SCORE.role)
EARNED = "earned"
WORST, BEST = 1, 3
_SCORE, _IN_PROSE = Label(tuple(map(str, range(WORST, BEST + 1)))), Score(low=WORST, high=BEST)
STRICT = Alarm(
    "strict_critic",
    "solutions_earn",
    "solutions earn {value:.2f} of 1 in the mean: whatever is said is called wrong, and nothing is told apart",
    limit=0.1,
    steps=5,
    below=True,
)
APPLAUSE = Alarm(
    "applause",
    "solutions_earn",
    "solutions earn {value:.2f} of 1 in the mean: whatever is said is called right, and nothing is told apart",
    limit=0.9,
    steps=5,
)
UNREAD = Alarm(
    "unread_scores",
    "unread",
    "{value:.0%} of the scores cannot be read: a score is 1, 2 or 3, alone on the last line",
    limit=0.5,
    steps=5,
)


class Round(NamedTuple):
    """A solution, what is said about it ("" where nobody was asked), and its score; None if it cannot be read."""

    solution: str
    evaluation: str
    score: int | None


def interaction(score: int | None) -> tuple[float, float]:
    """What a solution and its evaluation earn for a score of 1 to 3 (eq. 7); NaN without one."""
    if score is None:
        return nan, nan
    earned = (score - WORST) / (BEST - WORST)
    return earned, 1.0 - earned


def read_score(text: str) -> int | None:
    """The score that a reply gives, alone on its last line or in prose ("Score: 2", "3/3"); None if it cannot be
    read."""
    alone = _SCORE.read(text)
    return _IN_PROSE.read(text) if alone is None else int(alone)


def if_said(episode: Episode, earned: float) -> float:
    """What is earned; 0 where nothing was said, as by a reply that ended within its thoughts: nobody was shown
    anything, so no score is owed to it. NaN stays."""
    return earned if whole_reply(episode).strip() else 0.0 * earned


def with_history(task: Task, rounds: Sequence[Round]) -> Task:
    """The task with the rounds behind its prompt, without their scores."""
    said_before = [
        f"Solution {number}:\n{each.solution}" + (f"\nCriticism of it:\n{each.evaluation}" if each.evaluation else "")
        for number, each in enumerate(rounds, 1)
    ]
    return aided(task, "Said before:\n\n" + "\n\n".join(said_before)) if said_before else task


def about_evaluation(task: Task, solution: str, rng: Random) -> Task:
    """What the evaluator is shown: the question and the solution, without the right answer."""
    end = "Say in few words what is wrong with the solution. Check it; do not agree to be kind."
    posed = between_fences("Find the faults of a solution.", {"Question": asked(task), "Solution": solution}, end, rng)
    return Task(f"evaluation of {task.id}", "evaluation", posed)


def about_scoring(task: Task, solution: str, evaluation: str, rng: Random) -> Task:
    """What the scorer is shown: the question, the solution, and what was said about it if anything was."""
    parts = {"Question": asked(task), "Solution": solution} | ({"Criticism": evaluation} if evaluation else {})
    end = "End with 3 if the solution is right, 2 if it has a small flaw, 1 if it is wrong, alone on the last line."
    return Task(f"score of {task.id}", "scoring", between_fences("How good is a solution?", parts, end, rng))


def match(game: SingleReply, task: Task, speaker: Player) -> Match:
    """One reply to the task by the speaker."""
    return Match(game, task, {game.role: speaker})


class Discussion:
    """One discussion of each task at a time. Who speaks is drawn anew for each turn, all members alike. A solver is
    shown the last `recalled` rounds; with `evaluations` each solution is criticised before it is scored."""

    def __init__(
        self,
        questions: Questions,
        members: Sequence[Player],
        recalled: int,
        evaluations: bool,
        truncated: Truncated,
    ) -> None:
        self._questions, self._members = questions, members
        self._recalled, self._evaluations = recalled, evaluations
        self._truncated: Truncated = truncated
        self._tasks: Sequence[Task] = ()
        self._rounds: list[list[Round]] = []
        self._heard: list[tuple[Sequence[Episode], ...]] = []  # solutions, evaluations and scores of each round
        self._unseen = Unseen(questions, truncated, OF_REWARDS)
        self._alarms = Alarms([STRICT, APPLAUSE, UNREAD], quiet=True)
        self._figures: Metrics = {}

    def begin(self, tasks: Sequence[Task]) -> None:
        """Opens a discussion of each task; those before are forgotten."""
        self._tasks, self._rounds, self._heard = tasks, [[] for _ in tasks], []

    def solving(self, rng: Random) -> list[Match]:
        """A solution of each task."""
        shown = [
            with_history(task, rounds[len(rounds) - min(self._recalled, len(rounds)) :])
            for task, rounds in zip(self._tasks, self._rounds, strict=True)
        ]
        return [match(SOLVE, task, rng.choice(self._members)) for task in shown]

    def evaluating(self, solutions: Sequence[Episode], rng: Random) -> list[Match]:
        """Criticism of each solution; none without evaluations."""
        texts = map(whole_reply, solutions)
        pairs = zip(self._tasks, texts, strict=True) if self._evaluations else ()
        shown = [about_evaluation(task, text, rng) for task, text in pairs]
        return [match(EVALUATE, task, rng.choice(self._members)) for task in shown]

    def scoring(self, solutions: Sequence[Episode], evaluations: Sequence[Episode], rng: Random) -> list[Match]:
        """A score of each solution."""
        trios = zip(self._tasks, map(whole_reply, solutions), self._said(evaluations), strict=True)
        shown = [about_scoring(task, text, evaluation, rng) for task, text, evaluation in trios]
        return [match(SCORE, task, rng.choice(self._members)) for task in shown]

    def _said(self, evaluations: Sequence[Episode]) -> list[str]:
        return said(evaluations) if self._evaluations else [""] * len(self._tasks)

    def hear(self, solutions: Sequence[Episode], evaluations: Sequence[Episode], scores: Sequence[Episode]) -> None:
        """Takes note of a round, with the fact `earned` of all that was said."""
        read = list(map(read_score, judgements_of(scores)))
        whole = zip(map(whole_reply, solutions), self._said(evaluations), read, strict=True)
        for rounds, one in zip(self._rounds, whole, strict=True):
            rounds.append(Round(*one))
        paid = [interaction(each) for each in read]
        earned = [self._held(one, each) for one, (each, _) in zip(solutions, paid, strict=True)]
        persuaded = zip(evaluations, (each for _, each in paid[: len(evaluations)]), strict=True)
        self._heard.append(
            (
                noted(solutions, [{EARNED: each, "score": one} for each, one in zip(earned, read, strict=True)]),
                noted(evaluations, [{EARNED: if_said(*each)} for each in persuaded]),
                noted(scores, [{EARNED: -1.0 if each is None else 0.0} for each in read]),
            )
        )

    def _held(self, solution: Episode, earned: float) -> float:
        """What a solution earns, as `truncated` says where it was cut off."""
        if not cut_off(solution) or self._truncated == "graded":
            return if_said(solution, earned)
        return 0.0 if self._truncated == "wrong" else nan

    def groups(self) -> list[Group]:
        """What was said in each role about each task, one group each: the solutions of all tasks first."""
        found = []
        for role in range(3):
            for place, task in enumerate(self._tasks):
                own = tuple(each[role][place] for each in self._heard if each[role])
                if own:
                    found.append(Group(own[0].seed, task, own))
        return found

    def observe(self, trajectories: Sequence[Trajectory]) -> None:
        """Takes note of what was paid for the groups, one trajectory for each attempt in order."""
        solved = self.groups()[: len(self._tasks)]
        self._unseen.observe(solved, trajectories[: sum(len(group.attempts) for group in solved)])
        read = [each.score for rounds in self._rounds for each in rounds]
        self._figures = {"unread": mean_of([each is None for each in read])}
        if any(each is not None for each in read):
            self._figures["solutions_earn"] = mean_of([interaction(each)[0] for each in read if each is not None])
        truths = [truth for group in graded(self._questions, solved, "graded") for truth in verdicts(group)]
        scores = [each for group in solved for each in numbers(group, "score")]
        agree = [
            (one > WORST) == bool(truth)
            for one, truth in zip(scores, truths, strict=True)
            if one == one and truth == truth  # neither is NaN
        ]
        if agree:
            self._figures["score_right"] = mean_of(agree)

    def metrics(self) -> Metrics:
        """Of the last discussions: `solutions_earn`, the mean reward of solutions whose score can be read; `unread`,
        the share of scores that cannot; `score_right`, the share of scores that agree with the question set; what
        `Unseen` knows of the solutions; and the alarms."""
        watched = {name: float(value) for name, value in self._figures.items()}
        return self._figures | self._unseen.metrics() | self._alarms.observe(watched)

    def alarms(self) -> list[str]:
        return [*self._unseen.alarms(), *self._alarms.alarms()]

    def state(self) -> State:
        return {"unseen": self._unseen.state(), "alarms": self._alarms.state()}

    def restore(self, state: State) -> None:
        self._unseen.restore(state["unseen"])
        self._alarms.restore(state["alarms"])
