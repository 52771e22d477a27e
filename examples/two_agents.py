"""Two agents of two libraries, which know nothing of Red Queen, are trained against each other: one of OpenAI's client
writes a text, one of pydantic-ai repeats it. The writer is paid the share of the letters that are missing then, the
other one the rest.

    pip install openai 'pydantic-ai-slim[openai]' 'redqueen[serve]'
    redqueen train grpo --game agent:examples/two_agents.py:Repeating --model tiny ...
    python examples/two_agents.py --seeds 5

The second command trains a tiny model that begins from nothing, in both seats, once for each seed, and measures it on
other themes: as the writer against the model that it began as, and as the one who repeats against the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from random import Random
from statistics import mean
from typing import Any

import httpx
import tyro
from openai import AsyncOpenAI, OpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from redqueen.chance import derive
from redqueen.credit.advantages.keys import by_game_and_role
from redqueen.credit.advantages.statistics import GroupRelative
from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.games.catalogue import find_game
from redqueen.measures.intervals import student_interval
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.play.lockstep import play
from redqueen.protocols import Policy
from redqueen.settings.learner import Learner
from redqueen.types import Match, Seat, Task

CLIENT = OpenAI(base_url="http://127.0.0.1", api_key="none", max_retries=2)
THEMES = ("sea", "wood", "iron", "salt", "wind", "clay", "moss", "snow", "rust", "milk", "fern", "sand")
OTHERS = ("rain", "wool", "coal", "dust", "corn", "jade", "wax", "ice")


class Repeating:
    roles = ("writer", "repeater")

    def tasks(self) -> list[Task]:
        return [Task(theme, prompt=f"Write about {theme}.") for theme in THEMES]

    def held_out(self) -> list[Task]:
        return [Task(theme, prompt=f"Write about {theme}.") for theme in OTHERS]

    def play(self, task: Task, seats: Mapping[str, Any]) -> dict[str, float]:
        text = written(task.prompt, seats["writer"])
        missing = share_missing(text, repeated(text, seats["repeater"]))
        return {"writer": missing, "repeater": 1.0 - missing}


def written(prompt: str, seat: Any) -> str:
    """What the agent of OpenAI's client writes."""
    client = CLIENT.with_options(base_url=seat.url, api_key=seat.key)
    told = [{"role": "user", "content": prompt}]
    return client.chat.completions.create(model=seat.model, messages=told).choices[0].message.content or ""


def repeated(text: str, seat: Any) -> str:
    """What the agent of pydantic-ai says to a text."""
    return asyncio.run(_repeated(text, seat))


async def _repeated(text: str, seat: Any) -> str:
    async with httpx.AsyncClient(verify=False, timeout=600.0) as http:  # made in a millisecond
        client = AsyncOpenAI(base_url=seat.url, api_key=seat.key, http_client=http, max_retries=2)
        model = OpenAIChatModel(seat.model, provider=OpenAIProvider(openai_client=client))
        return (await Agent(model, instructions="Repeat.").run(text or "nothing")).output


def share_missing(text: str, again: str) -> float:
    """The share of the letters of a text, each kind once, that are not in the other; 0 for no letters."""
    letters = set(text.lower()) - set(" \n")
    return len(letters - set(again.lower())) / len(letters) if letters else 0.0


def trained(seed: int, steps: int) -> tuple[dict[str, Policy], dict[str, Policy]]:
    """The policies of both seats, each with weights of its own: as they began, and after steps of 32 matches."""
    rng = Random(derive(seed, "two agents"))
    policies = {role: LEARNER.build(derive(seed, role), name=role) for role in GAME.roles}
    begun = {role: policy.freeze() for role, policy in policies.items()}
    estimate, objective, tasks = GroupRelative(by_game_and_role), Reinforce(), list(GAME.tasks())
    for step in range(steps):
        matches = [Match(GAME, rng.choice(tasks), policies, derive(seed, step, number)) for number in range(32)]
        trajectories = score(play(matches, rng), payoff)
        for policy in policies.values():
            mine = spoken_by(policy, trajectories)
            policy.update(pack(mine, estimate(mine)), objective)
    return begun, {role: policy.freeze() for role, policy in policies.items()}


def success(role: str, policy: Policy, others: Mapping[str, Policy], seed: int) -> float:
    """The mean score of a policy in its seat, on 64 matches of held-out themes against others that do not learn."""
    cast = {**others, role: policy}
    tasks = [task for task in GAME.held_out() for _ in range(8)]
    matches = [Match(GAME, task, cast, derive(seed, "measured", number)) for number, task in enumerate(tasks)]
    known = [episode.outcome for episode in play(matches, Random(seed)) if "reason" not in episode.outcome.facts]
    return mean(outcome.scores[Seat(role)] for outcome in known)  # of matches that no agent broke off


def main(seeds: int = 5, steps: int = 40) -> None:
    gains: dict[str, list[float]] = {role: [] for role in GAME.roles}
    for seed in range(seeds):
        begun, now = trained(seed, steps)
        for role, values in gains.items():
            before, after = (success(role, which[role], begun, seed) for which in (begun, now))
            values.append(after - before)
            print(f"seed {seed}, {role} against the start: {before:.3f} -> {after:.3f}", flush=True)
    for role, values in gains.items():
        print(f"{role} better by {student_interval(values)}")


if __name__ == "__main__":
    GAME = find_game(f"agent:{__file__}:Repeating")
    LEARNER = Learner(model="tiny", lora_rank=0, learning_rate=3e-3, max_completion_length=8)
    tyro.cli(main)
