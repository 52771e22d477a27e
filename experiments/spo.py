"""Preferences that circle: what SPO, SPPO, DPO and Nash-MD reach on tables, and what a reward model misses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random

import numpy as np

from redqueen.checks.preferences import ByReward
from redqueen.protocols import Policy, PreferenceOracle
from redqueen.questions.small.matchups import Matchups
from redqueen.recipes.preferences import iterative_dpo, nash_md, spo, sppo
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Experiment, Training, versus
from redqueen.types import Task


@dataclass(frozen=True)
class BradleyTerry:
    """The reward model that a table's comparisons make: scores of highest likelihood where all pairs are compared
    alike. An oracle for `--oracle experiments.spo:BradleyTerry:biased`."""

    table: str = "biased"
    name: str = field(default="bradley_terry", repr=False)

    @cached_property
    def scores(self) -> np.ndarray:
        """[K], their mean zero."""
        wins = Matchups(self.table).wins
        scores = np.zeros(len(wins))
        for _ in range(2_000):
            believed = 1.0 / (1.0 + np.exp(scores[None, :] - scores[:, None]))
            scores = scores + 0.2 * (wins - believed).sum(axis=1)
        return scores

    def __call__(self, tasks: Sequence[Task], first: Sequence[str], second: Sequence[str], rng: Random) -> np.ndarray:
        known = dict(zip(Matchups(self.table).task().choices, self.scores.tolist(), strict=True))
        oracle: PreferenceOracle = ByReward(lambda tasks, answers: [known[answer] for answer in answers])
        return oracle(tasks, first, second, rng)


PLACE, FITTED = "redqueen.questions.small.matchups:Matchups", "experiments.spo:BradleyTerry"
NOISY, RANKED = f"{PLACE}:biased,labels=true,noise=0.2", f"{PLACE}:transitive"


@dataclass(frozen=True)
class Method:
    """One of four recipes, each with its own settings."""

    method: str = "spo"
    spo: spo.Config = spo.Config(Learner(), questions=PLACE, steps=3000, tasks=4, problems=1)
    sppo: sppo.Config = sppo.Config(
        Learner(learning_rate=3.5),
        questions=PLACE,
        steps=2500,
        updates=5,
        passes=5,
        problems=1,
        eta=0.5,
        tasks=128,
        replies_per_update=640,
    )
    dpo: iterative_dpo.Config = iterative_dpo.Config(
        Learner(learning_rate=40.0),
        questions=PLACE,
        steps=400,
        updates=10,
        tasks=64,
        attempts=2,
        problems=1,
        beta=0.5,
        passes=10,
        pairs_per_update=64,
    )
    nash_md: nash_md.Config = nash_md.Config(
        Learner(learning_rate=1.0), questions=PLACE, steps=1000, kl=0.05, problems=1
    )


def train(config: Method, run: Run) -> Policy:
    """Trains by the recipe that is named."""
    if config.method == "sppo":
        return sppo.train(config.sppo, run)
    if config.method == "dpo":
        return iterative_dpo.train(config.dpo, run)
    return nash_md.train(config.nash_md, run) if config.method == "nash_md" else spo.train(config.spo, run)


LAST, AVERAGE = "exploitability", "average_exploitability"
REWARD_MODEL = "Bradley-Terry reward model"
PREFERENCE_TABLES = Experiment(
    title="Preferences that circle",
    asked="Which methods come near the equilibrium of preferences that circle, where a reward model cannot?",
    trial=Training(train, evaluate_every=5),
    config=Method(),
    variants={
        "SPO": {},
        "SPO, 20 % random labels": {"spo.questions": NOISY},
        REWARD_MODEL: {"spo.oracle": f"{FITTED}:biased"},
        "SPPO": {"method": "sppo"},
        "DPO, reference last": {"method": "dpo", "dpo.reference": "last"},
        "DPO, reference initial": {"method": "dpo"},
        "Nash-MD": {"method": "nash_md"},
        "SPO, transitive": {"spo.questions": RANKED},
        "Bradley-Terry, transitive": {"spo.questions": RANKED, "spo.oracle": f"{FITTED}:transitive"},
    },
    figures=(LAST, AVERAGE, "average_distance"),
    compared=(
        *(each for name in ("SPO", "SPPO", "Nash-MD") for each in versus(name, (REWARD_MODEL,), (LAST, AVERAGE))),
        *versus("SPO, transitive", ("Bradley-Terry, transitive",), (LAST, AVERAGE)),
    ),
    controls=(REWARD_MODEL, "Bradley-Terry, transitive"),
    notes=(
        "Tables of logits from a uniform start. `biased` has its equilibrium at 2/9, 3/9, 4/9, 0; no single answer of "
        "it is less exploitable than 0.2. Averages are of the iterates, all alike.",
    ),
)
