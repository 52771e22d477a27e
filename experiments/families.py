"""One run of each family with SmolLM2, on problems that nobody here wrote where there are such.

Games: `mirror_descent:language`. Questions with answers, and by majority: `grpo:own_file`. Labels, credit and
self-training: `label_free:smollm2` and `r3:scarce`. Here are the others, at the same rate, and from the same
start but where a note says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from experiments import frontier as of_frontier
from experiments import grpo as of_grpo
from experiments import self_redteam as of_redteam
from redqueen.measures.accuracy import HeldOut
from redqueen.protocols import Policy
from redqueen.questions.catalogue import find_questions
from redqueen.recipes.adversaries.self_redteam import recipe as self_redteam
from redqueen.recipes.agents.retool import recipe as retool
from redqueen.recipes.curricula import sec
from redqueen.recipes.preferences import iterative_dpo
from redqueen.recipes.proposers.absolute_zero import recipe as absolute_zero
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.settings.roles import Role
from redqueen.trials.experiment import Difference, Experiment, Train, Training, Trial, versus
from redqueen.trials.starts import Start
from redqueen.types import Metrics, Task

LEARNER = Learner(model="smollm2-135m", max_completion_length=32, learning_rate=2e-4)
LEVELS = f"{of_grpo.QUESTIONS},level=dataset"  # the four kinds of problem
PROBLEMS = 64
COIN = f"{Path(__file__)}:Coin"
TOKENS = "Tokens: those of the replies that were learned from."
NOTES = (
    "Problems that measure are 64 of the 165 that are held out, drawn anew for each seed; start and end on the same.",
    TOKENS,
    "Rate and length of replies are those of `grpo:own_file`, chosen on seeds 0 and 1, which are left out.",
)
START, END = ("start", "start's pass@8"), ("accuracy", "pass@8")


@dataclass(frozen=True)
class Coin:
    """Prefers either of two answers by chance: the pairs of a run have no signal."""

    def __call__(self, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random) -> np.ndarray:
        return np.array([float(rng.random() < 0.5) for _ in tasks])


@dataclass(frozen=True)
class Measured:
    """One training, and `problems` held-out ones of each level of `questions`, dealt by the seed, asked of its start
    and of its end."""

    train: Train
    questions: str = of_grpo.QUESTIONS
    problems: int = PROBLEMS

    def asked(self, policy: Policy, seed: int) -> Metrics:
        return HeldOut(find_questions(self.questions), policy, self.problems, seed=seed)()

    def __call__(self, config: Any, seed: int, folder: Path) -> Trial:
        start = self.asked(config.learner.build_model(0), seed)
        trial = Training(self.train, read=self.asked)(config, seed, folder)
        known = {"start": start["accuracy"], "start's pass@8": start["pass@8"]}
        return replace(trial, final={**trial.final, **known})


def tokens(trial: Trial) -> float:
    """The tokens of all replies that a training learned from."""
    return float(
        sum(
            line[f"{who}completion_length"] * line[f"{who}episodes"] * line[f"{who}turns_per_episode"]
            for line in trial.lines
            for who in {key.removesuffix("completion_length") for key in line if key.endswith("completion_length")}
            if f"{who}episodes" in line
        )
    )


PREFERENCES = Experiment(
    title="Preferences: iterative DPO on right and wrong attempts",
    asked="Does SmolLM2 learn from pairs of its own attempts, and what is left of it when a coin compares them?",
    trial=Measured(iterative_dpo.train),
    config=iterative_dpo.Config(
        LEARNER, questions=of_grpo.QUESTIONS, steps=50, updates=10, tasks=80, attempts=8, beta=0.1
    ),
    variants={"right before wrong": {}, "a coin": {"oracle": COIN}},
    figures=(*START, *END, "tokens"),
    compared=(
        *versus("right before wrong", ("a coin",), END),
        Difference("right before wrong", "right before wrong", "accuracy", "start"),
    ),
    controls=("a coin",),
    derived={"tokens": tokens},
    seeds=3,
    first_seed=2,
    notes=NOTES,
)
PUPIL = Learner(model="smollm2-135m", learning_rate=2e-5, lora_rank=0, max_completion_length=48)
OF_EACH = 24  # held-out problems of each number of terms
PROPOSERS = Experiment(
    title="Proposers: Absolute Zero over the sums of a generator",
    asked="Does SmolLM2 learn more from the sums that it proposes while it learns than from what its start proposes?",
    trial=Measured(absolute_zero.train, of_frontier.QUESTIONS, OF_EACH),
    config=absolute_zero.Config(
        LEARNER, questions=of_frontier.QUESTIONS, steps=60, proposals=8, attempts=8, tasks=64, problems=OF_EACH
    ),
    starts={
        "learner.model": Start(
            cold_start.Config(
                PUPIL, questions=of_frontier.QUESTIONS, steps=20, demonstrations_per_step=16, rest=20, problems=8
            )
        )
    },
    variants={"learns to propose": {}, "start proposes": {"proposer": Role("frozen")}},
    figures=(*START, *END, "late proposals/valid_share", "late proposals/solve_rate", "tokens"),
    compared=(
        *versus("learns to propose", ("start proposes",), END),
        Difference("learns to propose", "learns to propose", "accuracy", "start"),
    ),
    controls=("start proposes",),
    derived={"tokens": tokens},
    seeds=3,
    first_seed=2,
    notes=(
        "Sums of two to four terms from chain_sum of reasoning-gym: a proposal is the number of terms and a seed, and "
        "the library knows the answer. 24 held-out ones of each number of terms, drawn anew for each seed; start and "
        "end on the same.",
        TOKENS,
        "The start imitates for 20 steps, a third of it proposals: SmolLM2 itself writes none that can be read. From a "
        "file nobody knows the answers of what is proposed, and a proposer is paid for its form alone.",
    ),
)
CURRICULA = Experiment(
    title="Curricula: a bandit draws the kinds of problem",
    asked="Does SmolLM2 learn more where a bandit draws the kinds of problem than where chance does?",
    trial=Measured(sec.train),
    config=sec.Config(LEARNER, questions=LEVELS, steps=50, tasks=8, attempts=8),
    variants={"bandit": {}, "by chance": {"tau": 1e9}},
    figures=(*START, *END, "tokens"),
    compared=(*versus("bandit", ("by chance",), END), Difference("bandit", "bandit", "accuracy", "start")),
    controls=("by chance",),
    derived={"tokens": tokens},
    seeds=3,
    first_seed=2,
    notes=NOTES,
)
AGENTS = Experiment(
    title="Agents: a calculator within the answer",
    asked="Does SmolLM2 learn to use a calculator on problems that it can also answer without?",
    trial=Measured(retool.train),
    config=retool.Config(
        replace(LEARNER, max_completion_length=64), questions=of_grpo.QUESTIONS, steps=25, tasks=8, attempts=8
    ),
    variants={"calculator": {}, "no tool": {"tool": "none"}},
    figures=(*START, *END, "tokens"),
    compared=(
        *versus("calculator", ("no tool",), END),
        Difference("calculator", "calculator", "accuracy", "start"),
    ),
    controls=("no tool",),
    derived={"tokens": tokens},
    seeds=3,
    first_seed=2,
    notes=(*NOTES, "Held-out problems are answered without the tool: what is left in the weights."),
)
ADVERSARIES = Experiment(
    title="Adversaries: an attacker that learns, and one that stays",
    asked="Is SmolLM2's defender harder to attack after an attacker that learns than after one that stays as it was, "
    "or after prompts as they stand?",
    trial=Training(self_redteam.train, evaluate_every=40),
    config=self_redteam.Config(LEARNER, steps=40, matches_per_step=32, imitation=0.3),
    starts={
        "learner.model": Start(
            replace(
                of_redteam.WORDS,
                learner=replace(PUPIL, learning_rate=1e-4),
                steps=120,
                rest=25,
                demonstrations_per_step=32,
            )
        )
    },
    measured=of_redteam.measured,
    variants={
        "co-trained": {},
        "attacker static": {"attacker.player": "frozen"},
        "static prompts": {"vanilla": 1.0},
    },
    figures=("first attack_success", "attack_success", "benign_compliance", "tokens"),
    compared=(
        *versus("co-trained", ("attacker static", "static prompts"), ("attack_success", "benign_compliance")),
        *versus("attacker static", ("static prompts",), ("attack_success",)),
        Difference("co-trained", "co-trained", "attack_success", "first attack_success"),
    ),
    controls=("attacker static", "static prompts"),
    derived={"tokens": tokens},
    seeds=3,
    first_seed=2,
    notes=(
        "The requests and the rule that judges them are ours: no package ships harmful prompts.",
        "The start imitates attacks and answers for 120 steps, until it refuses seven or more of ten plainly bad "
        "requests. SmolLM2 itself forfeits all matches by their form, and a start of 40 steps, which cannot yet tell "
        "bad from harmless, comes to say one thing to all requests in its first update (seeds 0 and 2).",
        "Rate, imitation and length of the start were chosen on seeds 0 and 1, which are left out. The difference of "
        "the two controls was asked after the others had been seen.",
    ),
)
