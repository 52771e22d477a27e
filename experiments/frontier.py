"""What it is worth that a proposer learns, at the frontier of what a model can do: problems that nobody of us wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random

from experiments.absolute_zero import CONTROLS, Controlled, train
from redqueen.adapters.reasoning_gym import SEEDS, Reasoning
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.protocols import Policy, Proposable
from redqueen.questions.asking import PROPOSE, read, tasks_among
from redqueen.questions.catalogue import find_proposable
from redqueen.recipes.proposers.absolute_zero import recipe as absolute_zero
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Experiment, Training, versus
from redqueen.trials.starts import Start, further, warmed
from redqueen.types import Demonstration, Metrics, Task

TERMS = (2, 3, 4)  # of one digit, added and subtracted: chain_sum
LEVELS = tuple(f"chain_sum(min_terms={n}, max_terms={n}, min_digits=1, max_digits=1)" for n in TERMS)
QUESTIONS = f"reasoning_gym:dataset={'+'.join(LEVELS)}".replace(" ", "")
HARDEST = LEVELS[-1]
ASKED = f"asked/{TERMS[-1]} terms"
POOL = 4096  # problems of each level that are shown
WRITTEN = 512  # proposals, to see what a proposer asks


@dataclass(frozen=True)
class Chains:
    """Sums of reasoning-gym with demonstrations: `asked` says how often each number of terms is proposed, `slips` how
    often such a sum is answered wrong by one."""

    asked: tuple[float, ...] = (1.0, 1.0, 1.0)
    slips: tuple[float, ...] = (0.0, 0.0, 0.0)
    inner: Reasoning = field(default_factory=lambda: Reasoning("+".join(LEVELS)))
    name: str = "chains"

    @property
    def levels(self) -> tuple[str, ...]:
        return self.inner.levels

    def problems(self, level: str, count: int, rng: Random) -> list[Task]:
        return self.inner.problems(level, count, rng)

    def right(self, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool]:
        return self.inner.right(tasks, answers)

    def demonstrations(self, count: int, rng: Random) -> list[Demonstration]:
        """A third proposals, two thirds solutions, of all levels alike."""
        return [self._proposal(rng) if number % 3 == 0 else self._solution(rng) for number in range(count)]

    def _proposal(self, rng: Random) -> Demonstration:
        before = Task("", "chain_sum", "", facts={"proposal": self._chosen(rng)})
        return Demonstration("proposer", invitation(self.inner, [before]), self._chosen(rng))

    def _chosen(self, rng: Random) -> str:
        return f"num_terms={rng.choices(TERMS, self.asked)[0]} seed={rng.randrange(SEEDS)}"

    def _solution(self, rng: Random) -> Demonstration:
        level = rng.randrange(len(TERMS))
        task = rng.choice(self._pool[level])
        off = rng.choice((-1, 1)) if rng.random() < self.slips[level] else 0
        return Demonstration("solver", task, str(int(task.answer) + off))

    @cached_property
    def _pool(self) -> list[list[Task]]:
        return [self.problems(level, POOL, Random(0)) for level in self.levels]


def invitation(questions: Proposable, before: Sequence[Task]) -> Task:
    """What a proposer is shown."""
    return questions.invite("chain_sum", before, 0)


def chains() -> Chains:
    """Returns sums whose solutions are all right."""
    return Chains()


def easy_chains() -> Chains:
    """Returns sums of which short ones are proposed, and long ones mostly answered wrong."""
    return Chains(asked=(0.85, 0.13, 0.02), slips=(0.3, 0.7, 0.95), name="easy_chains")


def asked(proposer: Policy, seed: int) -> Metrics:
    """Returns the share of the longest sums among all that a proposer writes."""
    questions = find_proposable(QUESTIONS)
    invitations = [invitation(questions, questions.seeds())] * WRITTEN
    tasks = tasks_among(read(questions, play(alone(PROPOSE, invitations, proposer), Random(seed))))
    return {ASKED: sum(f"num_terms={TERMS[-1]} " in task.id for task in tasks) / WRITTEN}


ABLE = Start(
    cold_start.Config(
        Learner(model="tiny:hidden=96,layers=3", max_completion_length=24, learning_rate=2e-3),
        questions="experiments.frontier:chains",
        steps=1500,
        demonstrations_per_step=96,
    )
)
START = further(ABLE, "experiments.frontier:easy_chains", 100, 50, max_completion_length=24)

REASONING_GYM = Experiment(
    title="A proposer at the frontier, on sums of reasoning-gym",
    asked="The start asks for short sums, long ones are tested too: is a proposer that learns worth more than others?",
    trial=Training(train, read=asked),
    config=Controlled(
        absolute_zero.Config(
            learner=warmed(max_completion_length=24), questions=QUESTIONS, proposals=32, tasks=64, references=1
        ),
        steps=100,
    ),
    starts={"method.learner.model": START},
    one_start=True,
    variants={"proposer learns": {}, **CONTROLS},
    figures=("accuracy", f"accuracy/{HARDEST}", f"pass@8/{HARDEST}", ASKED, "late proposals/solve_rate"),
    compared=versus("proposer learns", tuple(CONTROLS), ("accuracy", f"accuracy/{HARDEST}")),
    controls=tuple(CONTROLS),
    notes=(
        "A proposer chooses how many terms a sum of chain_sum has, 2 to 4, and the seed by which it is drawn. An "
        "untrained proposer is no control here: a model from nothing writes no valid choice.",
    ),
)
