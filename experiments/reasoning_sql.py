"""Reasoning-SQL on templated questions: what is paid for the parts of a wrong query, beside the rows alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from redqueen.recipes.agents.reasoning_sql import recipe
from redqueen.recipes.self_training import cold_start
from redqueen.settings.learner import Learner
from redqueen.trials.experiment import Experiment, Training, Trial, versus
from redqueen.trials.starts import Start, warmed

GAME = "working:sql"
LONGEST = 56  # tokens of a reply
TAUGHT = cold_start.Config(
    Learner(model="tiny:hidden=96,layers=3", max_completion_length=LONGEST, learning_rate=2e-3),
    game=GAME,
    steps=100,
    demonstrations_per_step=64,
    rest=50,
)
MORE = "more demonstrations"


@dataclass(frozen=True)
class Method:
    """Reasoning-SQL, or as many further steps of imitation."""

    sql: recipe.Config
    imitates: bool = False


@dataclass(frozen=True)
class OneSeed:
    def __call__(self, config: Method, seed: int, folder: Path) -> Trial:
        if not config.imitates:
            return Training(recipe.train)(config.sql, seed, folder)
        many = config.sql.tasks * config.sql.attempts
        shown = cold_start.Config(
            config.sql.learner, game=GAME, steps=config.sql.steps, demonstrations_per_step=many, rest=1
        )
        return Training(cold_start.train)(shown, seed, folder)


QUERIES = Experiment(
    title="Reasoning-SQL on templated questions",
    asked="Do the parts of a wrong query teach more right queries than the rows alone, on schemas never seen?",
    trial=OneSeed(),
    config=Method(recipe.Config(warmed(3e-4, max_completion_length=LONGEST), game=GAME, steps=25, tasks=6)),
    starts={"sql.learner.model": Start(TAUGHT)},
    variants={
        "gated": {},
        "execution": {"sql.reward": "execution"},
        "ngram": {"sql.reward": "ngram"},
        MORE: {"imitates": True},
    },
    figures=(
        *("success", "first sql/execution", "late sql/execution", "late sql/syntax", "late sql/schema"),
        *("late sql/ngram", "late rows_without_signal"),
    ),
    compared=versus("gated", ("execution", "ngram", MORE), ("success",)),
    controls=("execution", "ngram"),
    seeds=5,
    notes=(
        "`success`: 100 questions about six schemas that no training shows, one query each; the start was taught by "
        "100 steps of imitation. 48 queries a step in all variants, written or shown.",
    ),
)
