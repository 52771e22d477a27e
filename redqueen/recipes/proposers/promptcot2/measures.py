"""The lower bound that PromptCoT 2.0 maximises, and figures of the problems its prompter writes (2509.19894)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from redqueen.credit.novelty import bleu, distinct_share
from redqueen.credit.outcomes import verdicts
from redqueen.measures.accuracy import spread
from redqueen.measures.recitations import recited
from redqueen.objectives.batch import pack
from redqueen.play.groups import attempts, episodes_of
from redqueen.players.language.writing import Writer
from redqueen.protocols import Player, State
from redqueen.questions.asking import PROPOSE, SOLVE, graded, read, said, tasks_among
from redqueen.questions.small.templates import Explained
from redqueen.questions.verdicts import share_right
from redqueen.recipes.proposers.promptcot2.questions import EXPLAIN, invitations, proposals_of
from redqueen.types import Demonstration, Mean, Metrics, Task, mean_of


def log_likelihoods(policy: Writer, shown: Sequence[Demonstration]) -> np.ndarray:
    """[n] log-probability, in nats, of each demonstrated reply with its end token."""
    trajectories = recited(shown, policy)
    batch = pack(trajectories, [np.ones(1) for _ in trajectories])
    assert len(batch) == len(trajectories), "every text has a token, its end at least"
    logprobs = policy.likelihoods(batch).logprobs
    sums = np.where(batch.loss_weights.numpy() != 0, logprobs.double().cpu().numpy(), 0.0).sum(axis=1)
    return np.asarray(sums)


def agreement(tasks: Sequence[Task], texts: Sequence[str], name: str) -> Metrics:
    """The figure `name`: the share of `texts` that equal the rationale behind their problem, where it is known."""
    known = [text == behind(task) for text, task in zip(texts, tasks, strict=True) if behind(task)]
    return {name: mean_of(known)} if known else {}


def behind(task: Task) -> str:
    """The rationale behind a problem; "" if unknown."""
    return str(task.facts.get("rationale", ""))


class Bound:
    """Figures of held-out problems, in nats a problem: `bound`, the lower bound on log p(x | c), estimated from
    `samples` rationales of q for each problem; `problem_logprob`, log of the sum of p(z, x | c) over all rationales of
    the set, if it lists them; `explained`, the share of sampled rationales that are the one behind the problem, where
    known."""

    def __init__(
        self,
        questions: Explained,
        explainer: Player,
        prompter: Writer,
        tasks: Sequence[Task],
        samples: int = 4,
        seed: int = 0,
    ) -> None:
        self._questions, self._explainer, self._prompter = questions, explainer, prompter
        self._tasks, self._samples, self._seed = tasks, samples, seed

    def __call__(self) -> Metrics:
        asked = [self._questions.explain(task) for task in self._tasks]
        episodes = episodes_of(attempts(EXPLAIN, asked, self._explainer, self._samples, Random(self._seed)))
        repeated = [task for task in self._tasks for _ in range(self._samples)]
        sampled = np.array([float(episode.turns[-1].reply.logprobs.sum()) for episode in episodes])
        texts = said(episodes)
        joint = log_likelihoods(self._prompter, proposals_of(self._questions, repeated, texts))
        found: Metrics = {"bound": mean_of(joint - sampled)}
        return found | agreement(repeated, texts, "explained") | self._problem_logprob()

    def _problem_logprob(self) -> Metrics:
        listed = list(self._questions.rationales())
        if not listed:
            return {}
        repeated = [task for task in self._tasks for _ in listed]
        joint = log_likelihoods(self._prompter, proposals_of(self._questions, repeated, listed * len(self._tasks)))
        return {"problem_logprob": mean_of(np.logaddexp.reduce(joint.reshape(-1, len(listed)), axis=1))}

    def limit(self, replies: int) -> None:
        self._tasks = spread(self._tasks, replies and max(replies // self._samples, 1))

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None


@dataclass
class Generated:
    """Figures in [0, 1] of the problems that a prompter writes from the concepts of `tasks`, on the same seeds at every
    measurement: `generated/valid_share`; `generated/solve_rate`, the accuracy of the frozen player `base` by the
    question set's own answers; `generated/distinct_share`; `generated/spread`, the mean of 1 - BLEU over pairs of
    problems, on characters."""

    questions: Explained
    prompter: Player
    base: Player
    tasks: Sequence[Task]
    attempts: int = 4
    seed: int = 0

    def __call__(self) -> Metrics:
        rng = Random(self.seed)
        proposals = attempts(PROPOSE, invitations(self.questions, self.tasks), self.prompter, 1, rng)
        written = read(self.questions, proposals)
        posed = tasks_among(written)
        found: Metrics = {"generated/valid_share": Mean(len(posed) / len(written), len(written))}
        if len(posed) < 2:
            return found
        tries = graded(self.questions, attempts(SOLVE, posed, self.base, self.attempts, rng))
        rates = [right for group in tries for right in verdicts(group).tolist()]
        texts = [task.prompt for task in posed]
        alike = bleu([list(text) for text in texts])
        apart = 1.0 - alike[~np.eye(len(texts), dtype=bool)]
        return found | {
            **share_right("generated/solve_rate", rates),
            "generated/distinct_share": Mean(distinct_share(texts), len(texts)),
            "generated/spread": Mean(float(apart.mean()), len(texts)),
        }

    def limit(self, replies: int) -> None:
        self.tasks = spread(self.tasks, replies and max(replies // (1 + self.attempts), 1))

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None
