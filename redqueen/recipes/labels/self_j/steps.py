"""What the judge of Self-J is taught: answers of the start, scored with the right answer in view (2409.00935); and the
one of EvolvR: reasons for known verdicts on two answers, filtered (2508.06046)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress, cycle
from math import isnan
from random import Random
from typing import Any, Literal

import numpy as np

from redqueen.checks.votes import by_value
from redqueen.credit.outcomes import cut_off, number, vote
from redqueen.credit.rewards import payoff, score
from redqueen.curricula.held_out import Apart
from redqueen.demonstrations.transfer import aided, unaided
from redqueen.measures.alarms import Alarm, Alarms
from redqueen.measures.judges import auc
from redqueen.objectives.imitation import Imitation
from redqueen.play.groups import attempts, episodes_of, grouped
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.players.language.reciter import Reader, Reciter
from redqueen.players.language.writing import Writer
from redqueen.protocols import Objective, Player, Questions, State, shaped
from redqueen.questions.asked_judges import AskedJudge
from redqueen.questions.asking import JUDGE, SOLVE, evenly, graded, said
from redqueen.questions.catalogue import having
from redqueen.questions.dataset import Preferring, training_pairs
from redqueen.questions.fenced import about_score
from redqueen.questions.judging import HIGHEST, LOWEST
from redqueen.questions.verdicts import Truncated, check_known
from redqueen.recipes.labels.self_j.measures import Told, Withholding
from redqueen.recipes.labels.self_j.objective import Distilled, in_twos
from redqueen.recipes.labels.self_j.questions import (
    Form,
    Letters,
    Scores,
    Shown,
    about_reason,
    likeliest,
    pairs_in,
    reason_in,
    recalled,
    survives,
    told,
)
from redqueen.settings.roles import without_format
from redqueen.texts import likeness
from redqueen.types import Batch, Episode, Group, Match, Mean, Metrics, RedQueenError, Task, Trajectory, mean_of

Likeness = Literal["check", "text"]
BLIND = Alarm(
    "blind_labels",
    "label_auc",
    "a right answer is labelled above a wrong one in only {value:.0%}: the labels teach little (--likeness check; a "
    "start that has learned to compare)",
    limit=0.6,
    steps=5,
    below=True,
)
ONE_LABEL = Alarm(
    "one_label",
    "commonest_label",
    "{value:.0%} of the answers have one and the same label: nothing is told apart",
    limit=0.9,
    steps=5,
)
UNREAD = Alarm(
    "unread",
    "unread",
    "{value:.0%} of the replies hold no answer: they are not judged (--max-completion-length, --answer)",
    limit=0.5,
    steps=5,
)


def label(score: float, like: float, mix: float) -> int:
    """The label from 0 to 9: `mix` parts of the judge's score (0 to 9), the others of the likeness (0 to 1)."""
    return int(mix * score + (1.0 - mix) * HIGHEST * like + 0.5)


class Lessons:
    """Scores each answer by the model of the start, `judge`, with the reference in view; joined with the likeness of
    answer and reference this is its label. Each label is taught twice, with the reference in view and without it.
    Answers without a reference, and replies in which no answer was found, teach nothing. Raises RedQueenError where
    there has been no reference at all."""

    def __init__(
        self, judge: Player, mix: float, kind: Likeness, majority: bool, truncated: Truncated = "wrong"
    ) -> None:
        self._judge = AskedJudge(judge, f"the judge {judge.name}")
        self._mix, self._kind, self._majority = mix, kind, majority
        self._truncated: Truncated = truncated
        self._references = 0  # there have been
        self._figures: Metrics = {}
        self._alarms = Alarms([BLIND, ONE_LABEL, UNREAD], quiet=True)

    def __call__(self, groups: Sequence[Group], learner: Reader, rng: Random) -> list[Episode]:
        """Two episodes for each label, one after the other, in which the learner recites it: aided, and plain."""
        references = [self._referred(group) for group in groups]
        self._references += sum(map(bool, references))
        if not self._references and self._majority:
            raise RedQueenError(
                f"--majority takes the commonest answer for the right one, and in no attempt at {len(groups)} tasks "
                "an answer was found: allow longer replies (--max-completion-length), or ask for them otherwise "
                "(--answer)"
            )
        if not self._references:
            raise RedQueenError(
                "answers are labelled with a reference in view, and there is none: --columns answer=COL names a column "
                "of answers, --majority takes the commonest of several --attempts"
            )
        tried = [
            (one, text, reference)
            for group, reference in zip(groups, references, strict=True)
            for one, text in zip(group.attempts, said([group]), strict=True)
        ]
        answers = [each for each in tried if each[1].strip() and each[2]]
        aided = [
            about_score(one.task, text, rng, LOWEST, HIGHEST, reference=reference) for one, text, reference in answers
        ]
        about = [("", "aided", task.prompt) for task in aided]
        chances = self._judge.chances(aided, about, rng) if aided else []
        right = [number(one.outcome.facts["right"]) for one, *_ in answers]
        likes = [self._like(*each) for each in zip(right, answers, strict=True)]
        scores = [float(row @ np.arange(LOWEST, HIGHEST + 1)) for row in chances]
        labels = [label(score, like, self._mix) for score, like in zip(scores, likes, strict=True)]
        self._observe(labels, scores, right)
        self._figures["unread"] = mean_of([not text.strip() for _, text, _ in tried])
        self._figures |= self._alarms.observe({name: float(value) for name, value in self._figures.items()})
        plain = [about_score(one.task, text, rng, LOWEST, HIGHEST) for one, text, _ in answers]
        matches = [
            Match(JUDGE, task, {JUDGE.role: Reciter(learner, str(each))})
            for pair, each in zip(zip(aided, plain, strict=True), labels, strict=True)
            for task in pair
        ]
        return play(matches, rng)

    def _like(self, right: float, answered: tuple[Episode, str, str]) -> float:
        """How alike an answer and its reference are, from 0 to 1. What the question set says of the answer counts where
        the reference is its own: a majority is one by value."""
        _, text, reference = answered
        if self._kind == "check" and self._majority:
            return float(by_value(text) == by_value(reference))
        return right if self._kind == "check" and not isnan(right) else likeness(text, reference) or 0.0

    def joined(self, batch: Batch) -> Batch:
        """The batch with the two of each label as a pair."""
        return in_twos(batch)

    def signs(self, taught: Sequence[Trajectory]) -> list[float]:
        """1 for what is said with the reference in view, -1 for the same without it."""
        return [1.0, -1.0] * (len(taught) // 2)

    def _referred(self, group: Group) -> str:
        return vote(group, truncated=self._truncated).answer if self._majority else group.task.answer

    def _observe(self, labels: Sequence[int], scores: Sequence[float], right: Sequence[float]) -> None:
        self._figures = {}
        if labels:
            common = Counter(labels).most_common(1)[0][1]
            self._figures["label"] = mean_of(labels)
            self._figures["commonest_label"] = Mean(common / len(labels), len(labels))
        known = [not isnan(each) for each in right]
        truths = [bool(each) for each in compress(right, known)]
        for name, values in (("label_auc", labels), ("aided_auc", scores)):
            area = auc(list(compress(values, known)), truths)
            self._figures |= {} if area is None else {name: area}

    def metrics(self) -> Metrics:
        """The mean `label` and the share of the commonest one; `unread`, the share of replies without an answer; how
        often a right answer is labelled (`label_auc`) or scored with the reference in view (`aided_auc`) above a wrong
        one, where both are known; and the alarms."""
        return self._figures

    def alarms(self) -> list[str]:
        return self._alarms.alarms()

    def state(self) -> State:
        return {"alarms": self._alarms.state(), "references": self._references}

    def restore(self, state: State) -> None:
        self._alarms.restore(state["alarms"])
        self._references = state["references"]


# --- a judge of two answers, which reasons ---------------------------------------------------------

Filter = Literal["all", "rule", "none"]
PERSONAS = ("a scholar", "an artist", "a pragmatist", "a cynic", "somebody who reads for pleasure")
NOTHING_KEPT = Alarm(
    "nothing_kept",
    "kept_share",
    "only {value:.0%} of the reasons are learned from: see told, withstood, likeliest for what refuses them",
    limit=0.02,
    steps=5,
    below=True,
)
HOLLOW = Alarm(
    "hollow",
    "withstood",
    "only {value:.0%} of the reasons that end with the verdict are sound by the judge: it takes them for the other "
    "verdict too (--filter rule), or they say nothing",
    limit=0.1,
    steps=5,
    below=True,
)


AGAIN = (
    "Somebody gave the following reason. Tell it again so that nothing in it speaks against what is known, and end it "
    "in the same way:"
)
Row = tuple[Shown, Task, Episode]  # a pair, the task of its judge, and a reason that was given


class Reasons:
    """Reasons that the model of the start, `judge`, writes for known verdicts, `count` to each pair and order, and that
    pass the filters (`keep`): they end with the verdict ("rule"), the judge takes them for reasons of this verdict and
    not of an opposite one, and after the reason alone the verdict is the likeliest ("all"). With `rewrite` the model
    tells a reason that ends with the verdict again, knowing that the verdict is beyond question; one that has no reason
    then, or another end, stays as it was. The first that passes is taught, as a reply to the pair alone."""

    def __init__(self, judge: Writer, count: int, keep: Filter, form: Form = Letters(), rewrite: bool = False) -> None:
        self._player, self._judge = judge, AskedJudge(judge, f"the judge {judge.name}")
        self._count, self._keep, self._form, self._rewrite = count, keep, form, rewrite
        self._figures: Metrics = {}
        self._alarms = Alarms([NOTHING_KEPT, HOLLOW], quiet=True)

    def __call__(self, groups: Sequence[Group], learner: Writer, rng: Random) -> list[Episode]:
        """The episodes in which the learner recites a reason and its verdict."""
        shown = pairs_in(groups, self._form)
        self._figures = {"paired": mean_of([1.0] * (len(shown) // 2) + [0.0] * (len(groups) - len(shown) // 2))}
        each = [(pair, self._form.plain(pair, rng)) for pair in shown for _ in range(self._count)]
        asked = [
            aided(task, f"{self._known(pair)}. Say in a few words why, as {who} would.")
            for (pair, task), who in zip(each, cycle(PERSONAS), strict=False)
        ]
        tries = episodes_of(attempts(JUDGE, asked, self._player, 1, rng)) if asked else []
        rows = [(pair, task, one) for (pair, task), one in zip(each, tries, strict=True)]
        kept = {number for number, row in enumerate(rows) if said([row[2]])[0].strip() and not cut_off(row[2])}
        if self._keep != "none" and rows:
            kept = {number for number in kept if self._carries(rows[number][0], rows[number][2])}
            self._figures["told"] = len(kept) / len(rows)
            rows = self._retold(rows, sorted(kept), rng) if self._rewrite and kept else rows
            kept = self._standing(rows, sorted(kept), rng) if self._keep == "all" and kept else kept
        self._figures |= {"kept_share": len(kept) / len(rows)} if rows else {}
        self._figures |= self._alarms.observe({name: float(value) for name, value in self._figures.items()})
        first = {number // self._count: number for number in sorted(kept, reverse=True)}
        chosen = [rows[number] for _, number in sorted(first.items())]
        heard = score([one for *_, one in chosen], payoff)
        return [each.episode for each in unaided(heard, [task for _, task, _ in chosen], learner)]

    def joined(self, batch: Batch) -> Batch:
        """The batch as it is."""
        return batch

    def signs(self, taught: Sequence[Trajectory]) -> list[float]:
        """1 for each: all are imitated."""
        return [1.0] * len(taught)

    def _known(self, pair: Shown) -> str:
        return f"It is known that {self._form.claim(pair.verdict)}"

    def _carries(self, pair: Shown, one: Episode) -> bool:
        """Whether a whole reply gives a reason and ends with the verdict."""
        (text,) = said([one])
        return not cut_off(one) and self._form.read(text) == pair.verdict and bool(reason_in(text))

    def _retold(self, rows: Sequence[Row], which: Sequence[int], rng: Random) -> list[Row]:
        """The rows with the reasons of `which` told again, where they still carry the verdict then."""
        asked = [
            aided(rows[n][1], f"{self._known(rows[n][0])}, beyond question. {AGAIN}\n{said([rows[n][2]])[0]}")
            for n in which
        ]
        told = dict(zip(which, episodes_of(attempts(JUDGE, asked, self._player, 1, rng)), strict=True))
        mended = {n: one for n, one in told.items() if self._carries(rows[n][0], one)}
        self._figures["retold"] = len(mended) / len(which)
        return [(pair, task, mended.get(number, one)) for number, (pair, task, one) in enumerate(rows)]

    def _standing(self, rows: Sequence[Row], which: Sequence[int], rng: Random) -> set[int]:
        """Those of `which` that stand the attack, and after which the verdict is the likeliest."""
        reasons = {n: reason_in(said([rows[n][2]])[0]) for n in which}
        asked = [
            about_reason(rows[n][0], reasons[n], self._form.claim(verdict), rng)
            for n in which
            for verdict in (rows[n][0].verdict, self._form.opposite(rows[n][0].verdict, rng))
        ]
        fits = [float(row[0]) for row in self._judge.chances(asked, [("", "fits", task.prompt) for task in asked], rng)]
        sound = [n for n, pair in zip(which, zip(fits[::2], fits[1::2], strict=True), strict=True) if survives(*pair)]
        self._figures["withstood"] = len(sound) / len(which)
        if not sound:
            return set()
        after = [(n, *each) for n in sound for each in self._form.asked_after(reasons[n], rows[n][0].verdict)]
        tasks = [replace(aided(rows[n][1], words), choices=listed) for n, words, listed, _ in after]
        rated = self._judge.chances(tasks, [("", "after", task.prompt) for task in tasks], rng)
        failed = {
            n for (n, _, listed, true), row in zip(after, rated, strict=True) if not likeliest(row, listed.index(true))
        }
        self._figures["likeliest"] = 1.0 - len(failed) / len(sound)
        return set(sound) - failed

    def metrics(self) -> Metrics:
        """`paired`, the share of the questions with a right and a wrong answer; of the reasons the share that is
        learned from (`kept_share`), that ends with the verdict (`told`), of these that was told again (`retold`) and
        that stands the attack (`withstood`), and of the last after which the verdict is the likeliest (`likeliest`);
        and the alarms."""
        return self._figures

    def alarms(self) -> list[str]:
        return self._alarms.alarms()

    def state(self) -> State:
        return {"alarms": self._alarms.state()}

    def restore(self, state: State) -> None:
        self._alarms.restore(shaped(state, {"alarms": dict}, "the reasons: ")["alarms"])


@dataclass(frozen=True)
class Attempted:
    """Attempts of `author` at problems of the question set, as many at each, graded."""

    questions: Questions
    author: Player
    attempts: int
    truncated: Truncated

    def drawn(self, count: int, apart: Apart, rng: Random) -> list[Match]:
        """The matches of attempts at `count` problems, none held out."""
        tasks = evenly(self.questions, count, rng, apart)
        return mirror(SOLVE, [task for task in tasks for _ in range(self.attempts)], self.author)

    def graded(self, episodes: Sequence[Episode]) -> list[Group]:
        """The attempts at each problem with the verdicts of the question set."""
        return graded(self.questions, grouped(episodes, self.attempts), self.truncated)


@dataclass(frozen=True)
class Given:
    """The pairs of the question set: of each a chosen answer, which is right, and a rejected one."""

    questions: Preferring

    graded = staticmethod(told)

    def drawn(self, count: int, apart: Apart, rng: Random) -> list[Match]:
        """The matches of up to `count` pairs, none of a held-out task. Raises RedQueenError where none is left."""
        return recalled(training_pairs(self.questions, count, apart, rng))


def school(
    config: Any, questions: Questions, learner: Writer, seed: int
) -> tuple[Attempted | Given, Lessons | Reasons, Objective, Withholding | Told]:
    """The answers that are judged, what the model of the start teaches the learner about them, the objective of that,
    and what is measured of the judge, as the settings of the recipe say. Judgements are read whole, whatever the answer
    format of the solver."""
    start = without_format(learner, [JUDGE.role]).freeze()
    answers = Attempted(questions, start, config.attempts, config.truncated_score)
    facts = questions, start, learner, config.problems, seed, config.truncated_score
    if not config.pairs:
        lessons = Lessons(start, config.mix, config.likeness, config.majority, config.truncated_score)
        return answers, lessons, Distilled(config.plain, config.distill), Withholding(*facts)
    form = Scores() if config.scores else Letters()
    reasons = Reasons(start, config.reasons, config.filter, form, config.rewrite)
    if config.given:
        given = Given(having(questions, Preferring))
        return given, reasons, Imitation(), Told(questions, None, *facts[2:], form)
    told_apart = Told(*facts, form)
    check_known(questions, told_apart.tests, "--given takes pairs that somebody compared, ")
    return answers, reasons, Imitation(), told_apart
