"""MARFT in the relay: credit across agents, against one that learns alone and against each by itself."""

from __future__ import annotations

from dataclasses import dataclass

from redqueen.credit.rewards import payoff
from redqueen.protocols import Policy
from redqueen.recipes.games.marft import recipe
from redqueen.recipes.games.marft.steps import at_the_end
from redqueen.runs.run import Run
from redqueen.trials.experiment import Difference, Experiment, Training, versus

ACTION, TURNS = "together", "together, in turn"
FIRST, LAST = "planner alone learns", "solver alone learns"
OWN, EACH = "each by itself, own reward", "each by itself, paid the outcome"


@dataclass(frozen=True)
class Controlled:
    """The method, or independent learners: no value of another agent, and who is paid."""

    method: recipe.Config
    together: bool = True
    outcome: bool = False  # whether each seat is paid the score, or the last turn alone


def train(config: Controlled, run: Run) -> Policy:
    """The method, with the credit that the variant asks for."""
    return recipe.train(config.method, run, config.together, payoff if config.outcome else at_the_end)


RELAY = Experiment(
    title="A relay of two tables",
    asked="Is credit across agents worth more than one agent that learns, and than agents that learn by themselves?",
    trial=Training(train),
    config=Controlled(recipe.Config(steps=100)),
    variants={
        ACTION: {},
        TURNS: {"method.learns": "in_turn", "method.period": 10},
        FIRST: {"method.learns": "first"},
        LAST: {"method.learns": "last"},
        OWN: {"together": False},
        EACH: {"together": False, "outcome": True},
    },
    figures=("team_score", "team_score_unheard", "first team_score"),
    compared=(
        *versus(ACTION, (FIRST, LAST, OWN, EACH, TURNS), ("team_score",)),
        Difference(ACTION, ACTION, "team_score", "team_score_unheard"),
    ),
    controls=(FIRST, LAST, OWN, EACH),
    seeds=5,
    notes=(
        "100 updates of 64 matches with four numbers, of which a word that tells nothing finds one in four. "
        "team_score_unheard: the solver hears what the planner said in another match. A reply of a table is one token, "
        "so that credit by token is the same. Each by itself: no agent's turn leans on the value of the "
        "next agent's; with its own reward the planner is paid nothing, with the outcome both are paid the score.",
    ),
)
