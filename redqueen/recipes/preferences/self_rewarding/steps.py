"""The prompts of an iteration of Self-Rewarding, and what its judge is asked and says (2401.10020)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from random import Random

import numpy as np

from redqueen.checks.judge import Score
from redqueen.credit.group_rewards import Stated
from redqueen.credit.outcomes import cut_off, numbers, verdicts, whole_reply
from redqueen.credit.pairs import Pairs, best_and_worst
from redqueen.curricula.held_out import apart_from, held_out
from redqueen.curricula.store import TaskStore
from redqueen.demonstrations.rehearsal import Equipped
from redqueen.demonstrations.transfer import aided, said_plainly
from redqueen.games.tools import ToolReply
from redqueen.measures.divergence import Divergence
from redqueen.measures.judges import Agreement
from redqueen.measures.wins import watched
from redqueen.play.groups import attempts, episodes_of
from redqueen.players.language.writing import Writer
from redqueen.protocols import COUNT, Player, Policy, Proposable, Questions, State, shaped
from redqueen.questions.asking import (
    JUDGE,
    empty_lowest,
    evenly,
    graded,
    invited,
    judged_answers,
    judgements_of,
    read,
    said,
    seeded,
    seeds_of,
    tasks_among,
    with_opinions,
)
from redqueen.questions.catalogue import having
from redqueen.questions.fenced import asked, between_fences
from redqueen.questions.toolbox import find_tools
from redqueen.questions.verdicts import as_scores
from redqueen.types import Group, Mean, Metrics, RedQueenError, Task, Trajectory, mean_of

PATIENCE = 64  # answers that a judge may leave without a score before the first that has one


class Prompts:
    """The prompts of each iteration, `count` in all: up to the share `invented` are proposed, the others are the
    question set's own. The `problems` of each level that measure are not among them."""

    def __init__(self, questions: Questions, count: int, invented: float, problems: int, seed: int) -> None:
        self._questions = questions
        self._proposable = having(questions, Proposable) if invented else None
        self._count = count
        self._asked = round(invented * count)
        self._invented = 0
        self._seed = seed
        self._tests = held_out(questions, problems, seeds_of(questions), seed)
        self._store = TaskStore() if self._proposable is None else seeded(TaskStore(), self._proposable)

    def watched(self, learner: Policy) -> Divergence:
        """The measures of training by preferences on the problems that are kept from it."""
        return watched(self._questions, learner, self._tests, self._seed)

    def invited(self, rng: Random) -> list[Task]:
        """Invitations to propose a prompt, each with an earlier one as its example."""
        if self._proposable is None:
            return []
        return invited(self._proposable, self._store, self._asked // len(self._proposable.kinds), 1, rng)

    def taken(self, proposals: Sequence[Group], rng: Random, step: int) -> list[Task]:
        """The prompts of the iteration, first those that were proposed, which become examples."""
        written = read(self._proposable, proposals) if self._proposable else []
        invented = apart_from(self._tests, tasks_among(written))
        self._store.add(invented, origin="invented", step=step)
        self._invented = len(invented)
        return invented + evenly(self._questions, self._count - len(invented), rng, self._tests)

    def metrics(self) -> Metrics:
        """`invented`: the share of the prompts just taken that were proposed."""
        return {"invented": Mean(self._invented / self._count, self._count)}

    def state(self) -> State:
        return self._store.state()

    def restore(self, state: State) -> None:
        self._store.restore(state)


class Judging:
    """The judgements of an iteration, and how well the latest ones agree with the verdicts of the question set."""

    game = JUDGE
    reward = Stated("opinion")
    asked = staticmethod(judged_answers)

    def __init__(self, questions: Questions, tool: str = "none", gate: int = 0) -> None:
        self._questions = questions
        self._tools, self._gate = find_tools(tool), gate
        self.pairs = Pairs([], [])  # of the iteration
        self._usefulness: dict[str, float] = {}  # of the latest pair of each task, NaN where nothing was read
        self._plain: dict[str, Task] = {}  # the tasks that are asked with advice, as they are learned
        self._figures: Metrics = {}
        self._agreement = Agreement()
        self._asked = self._read = 0  # answers judged ever, and those with a score

    def seated(self, judge: Player) -> Player:
        """The judge, with its tool if it has one: what the tool says is in its view alone, never in that of who
        answers."""
        return Equipped(judge, ToolReply(JUDGE.role, self._tools)) if self._tools else judge

    def rounds(self, tasks: Sequence[Task], rewrites: int, judge: Player, rng: Random) -> Iterator[list[Task]]:
        """What is asked in an iteration: the tasks, and up to `rewrites` times those of which there is no useful pair
        yet, with advice."""
        self.pairs, self._usefulness, self._plain = Pairs([], []), {}, {}
        yield list(tasks)
        for _ in range(rewrites):
            if not (asked := self._advised(tasks, judge, rng)):
                return
            yield asked

    def paired(
        self, replies: Sequence[Trajectory], learner: Writer, judge: Player, repeats: int, rng: Random
    ) -> list[Trajectory]:
        """The scored replies of a round, those to tasks with advice as if they had been said to the plain ones; their
        pairs that pass the gate are added to `pairs`."""
        plain = [self._plain.get(each.episode.task.id) for each in replies]
        told = [
            each if task is None else said_plainly(each, task, learner)
            for each, task in zip(replies, plain, strict=True)
        ]
        found = self.useful(best_and_worst(told), judge, repeats, rng)
        self.pairs = Pairs(
            self.pairs.chosen + found.chosen, self.pairs.rejected + found.rejected, self.pairs.equal + found.equal
        )
        self._figures |= self._truths()
        return told

    def _truths(self) -> Metrics:
        """Of the pairs the share of a right and a wrong reply (`decisive`), and of these the share that prefers the
        right one (`pairs_right`); nothing where the question set does not know."""
        right = self._questions.right
        sides = [
            as_scores(right([one.task for one in played], said(played)))
            for played in ([each.episode for each in side] for side in (self.pairs.chosen, self.pairs.rejected))
        ]
        known = [each - other for each, other in zip(*sides, strict=True) if not np.isnan(each - other)]
        decisive = [gap > 0.0 for gap in known if gap]
        found: Metrics = {"decisive": mean_of([gap != 0.0 for gap in known])} if known else {}
        return found | ({"pairs_right": mean_of(decisive)} if decisive else {})

    def useful(self, pairs: Pairs, judge: Player, repeats: int, rng: Random) -> Pairs:
        """The pairs whose usefulness the judge puts at the gate or above, by the mean of `repeats` scores from 1 to 10;
        one without a score is not among them. All where there is no gate."""
        if not self._gate or not pairs.chosen:
            return pairs
        shown = [about_usefulness(*pair) for pair in zip(pairs.chosen, pairs.rejected, strict=True)]
        said_of = [
            [score for score in map(Score().read, judgements_of(group.attempts)) if score is not None]
            for group in attempts(JUDGE, shown, judge, repeats, rng)
        ]
        means = [float(np.mean(scores)) if scores else np.nan for scores in said_of]
        self._usefulness |= {each.episode.task.id: mean for each, mean in zip(pairs.chosen, means, strict=True)}
        kept = [mean >= self._gate for mean in means]
        self._figures.setdefault("pairs_kept", mean_of(kept))
        return Pairs(list(compress(pairs.chosen, kept)), list(compress(pairs.rejected, kept)), pairs.equal)

    def _advised(self, tasks: Sequence[Task], judge: Player, rng: Random) -> list[Task]:
        """The tasks without a useful pair, each with a sentence of advice from the judge, which knows how useful it
        found the last pair; the answers are judged with the advice in view too. A task for which it writes nothing is
        not among them."""
        done = {each.episode.task.id for each in self.pairs.chosen}
        open_ = {task.id: task for task in tasks if task.id not in done}
        shown = [about_advice(task, self._usefulness.get(name)) for name, task in open_.items()]
        written = episodes_of(attempts(JUDGE, shown, judge, 1, rng)) if shown else []
        advice = ["" if cut_off(one) else text.strip() for one, text in zip(written, said(written), strict=True)]
        found = [(task, text) for task, text in zip(open_.values(), advice, strict=True) if text]
        self._figures.setdefault("advised", Mean(len(found) / len(tasks), len(tasks)))
        self._plain = {task.id: task for task, _ in found}
        return [aided(task, text) for task, text in found]

    def heard(self, answers: Sequence[Group], judgements: Sequence[Group]) -> list[Group]:
        """The answers, each with the judge's score as the fact `opinion`, the lowest for one that says nothing.
        Verdicts are for audits: no reward looks at them. Raises RedQueenError once `PATIENCE` answers or more were
        judged and not one score could be read."""
        told = with_opinions(answers, judgements)
        known = [not np.isnan(each) for group in told for each in numbers(group, "opinion")]
        self._asked, self._read = self._asked + len(known), self._read + sum(known)
        if not self._read and self._asked >= PATIENCE:
            replies = said([episode for group in judgements for episode in group.attempts])
            raise RedQueenError(
                f"the judge gave no score that can be read to any of {self._asked} answers: it is to end with "
                f"<score>1</score> to <score>10</score>, and said {' '.join(replies[0].split())!r:.60}; train it first "
                "(redqueen train cold_start --questions judged:sums), or name another --judge"
            )
        for group in graded(self._questions, told):
            self._agreement.observe(numbers(group, "opinion").tolist(), verdicts(group).tolist())
        return empty_lowest(told)

    def metrics(self) -> Metrics:
        """What `Agreement` knows; after an iteration `decisive` and `pairs_right` of its pairs (`_truths`), with a gate
        `pairs_kept`, the share of the first pairs that pass, and `advised`, the share of the prompts that were asked
        again with advice."""
        figures, self._figures = self._figures, {}
        return self._agreement.metrics() | figures

    def alarms(self) -> list[str]:
        return self._agreement.alarms()

    def state(self) -> State:
        return {"agreement": self._agreement.state(), "asked": self._asked, "read": self._read}

    def restore(self, state: State) -> None:
        shaped(state, {"agreement": dict, "asked": COUNT, "read": COUNT}, "the judge: ")
        self._agreement.restore(state["agreement"])
        self._asked, self._read = state["asked"], state["read"]


def about_advice(task: Task, usefulness: float | None) -> Task:
    """The task of a judge who says what whoever answers, and whoever judges, is to heed."""
    unknown = usefulness is None or np.isnan(usefulness)
    why = "its answers could not be told apart" if unknown else f"its best pair was {usefulness:.1f} of 10 useful"
    prompt = (
        f"Of the answers to this question nothing could be learned: {why}. Write one sentence that says what a good "
        f"answer has to heed, for who answers and for who judges. Do not answer it.\n{asked(task)}"
    )
    return Task(f"advice on {task.id}", "advice", prompt)


def about_usefulness(chosen: Trajectory, rejected: Trajectory) -> Task:
    """The task of a judge who says how much may be learned from a pair."""
    task = chosen.episode.task
    better, worse = whole_reply(chosen.episode), whole_reply(rejected.episode)
    rubric = "How well does it teach to prefer the first of two answers to the second?"
    end = "Score it from 1 (useless or the wrong way round) to 10 (clearly right) as <score>5</score>."
    parts = {"Question": asked(task), "First answer": better, "Second answer": worse}
    return Task(f"pair of {task.id}", "pair", between_fences(rubric, parts, end))
