"""EPO in price talk: rewards for critical turns beside the score alone, with and without a baseline, and controls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from redqueen.protocols import Policy
from redqueen.recipes.games.epo import recipe
from redqueen.recipes.games.epo.steps import Named, critical, everywhere, nowhere
from redqueen.runs.run import Run
from redqueen.trials.experiment import Difference, Experiment, Training, versus

PAPER, BASELINE, SCORE, SCORE_BASELINE, EVEN, DEAF = (
    "as in the paper",
    "less the other talks",
    "the score alone",
    "the score alone, less the other talks",
    "all turns critical",
    "advice unheard",
)
NAMED: Mapping[str, Named] = MappingProxyType({"critical": critical, "nowhere": nowhere, "everywhere": everywhere})


@dataclass(frozen=True)
class Controlled:
    """The method, and the turns that its judge calls critical."""

    method: recipe.Config
    named: Literal["critical", "nowhere", "everywhere"] = "critical"


def train(config: Controlled, run: Run) -> Policy:
    """The method with the judge that the variant asks for."""
    return recipe.train(config.method, run, NAMED[config.named])


PAYOFF, OTHER, UNADVISED = "payoff/no_advice", "other_actor/payoff/no_advice", "unadvised/payoff/no_advice"
TALK = Experiment(
    title="Price talk, tabular strategist",
    asked="Does a strategist gain over actors without advice, by which reward and baseline, and over itself?",
    trial=Training(train, evaluate_every=60),
    config=Controlled(recipe.Config()),
    variants={
        PAPER: {},
        BASELINE: {"method.baseline": "others"},
        SCORE: {"named": "nowhere"},
        SCORE_BASELINE: {"named": "nowhere", "method.baseline": "others"},
        EVEN: {"named": "everywhere"},
        DEAF: {"method.obedience": 0.2},
    },
    figures=(PAYOFF, f"first {PAYOFF}", "deal_rate", OTHER, UNADVISED, "win_rate/round_before"),
    compared=(
        Difference(PAPER, PAPER, PAYOFF, f"first {PAYOFF}"),
        Difference(PAPER, PAPER, PAYOFF, UNADVISED),
        Difference(BASELINE, BASELINE, PAYOFF, UNADVISED),
        Difference(SCORE_BASELINE, SCORE_BASELINE, PAYOFF, UNADVISED),
        Difference(DEAF, DEAF, PAYOFF, f"first {PAYOFF}"),
        *versus(PAPER, (BASELINE, SCORE, EVEN), (PAYOFF, OTHER)),
    ),
    controls=(EVEN, DEAF),
    seeds=5,
    first_seed=1,  # seed 0 was looked at
    notes=(
        "Three rounds of 60 updates of 32 talks of at most 8 turns. payoff: the score of the side that is advised, "
        "over both sides and three reserves, where the other side is told one of four lines at random, never to "
        "leave; unadvised: where both are. A strategist begins with all five lines as likely, and leaves in a fifth of "
        "its turns: first. An adviser that knows the reserve could have .316 (measures.best_payoff). advice unheard: "
        "actors take each of the five lines as often, whatever they are told.",
    ),
)
