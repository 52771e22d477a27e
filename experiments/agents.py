"""Agents of others, trained through the endpoint on problems that nobody here wrote (docs/agents.md)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from experiments import grpo as of_grpo
from redqueen.recipes.credit.grpo import recipe
from redqueen.trials.experiment import Difference, Experiment, Training, versus

EXAMPLES = Path(__file__).parents[1] / "examples"
WITH_LIBRARY, WITH_CLIENT = "agent_of_pydantic.py:solved", "agent_of_digits.py:asked_twice"
CLIENT, LIBRARY = "OpenAI's client", "pydantic-ai"
SHUFFLED = f"{LIBRARY}, shuffled answers"


def game(agent: str, questions: str) -> str:
    """The name of the agent's game on a question set."""
    return f"agent:{EXAMPLES}/{agent},questions={questions},problems=64"


QUESTIONS = f"dataset(path={of_grpo.FILE},held_out=0.3)"
SOLVERS = Experiment(
    title="Two agents of others on reasoning-gym's arithmetic",
    asked="Does SmolLM2 solve more behind an agent that knows nothing of its training?",
    trial=Training(recipe.train, evaluate_every=50),
    config=replace(of_grpo.BESIDE_TRL.config.grpo, questions="sums", game=game(WITH_LIBRARY, QUESTIONS), steps=50),
    variants={
        LIBRARY: {},
        CLIENT: {"game": game(WITH_CLIENT, QUESTIONS)},
        SHUFFLED: {"game": game(WITH_LIBRARY, of_grpo.SHUFFLED)},
    },
    figures=("first success", "success"),
    compared=(
        Difference(LIBRARY, LIBRARY, "success", "first success"),
        Difference(CLIENT, CLIENT, "success", "first success"),
        *versus(LIBRARY, (SHUFFLED,), ("success",)),
    ),
    controls=(SHUFFLED,),
    seeds=3,
    first_seed=2,
    notes=(
        "The agents are `examples/agent_of_pydantic.py` and `examples/agent_of_digits.py`, which asks twice. "
        "Libraries, prompts and loops are as they come; what they return is compared with the answer.",
        "One attempt at each of 64 held-out problems, drawn anew for each seed.",
        "The settings are those of GRPO on the same problems ([grpo](grpo.md)), chosen on seeds 0 and 1 there.",
    ),
)
