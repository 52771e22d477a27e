"""Two agents that solve problems, untouched: one with the client of OpenAI, one of pydantic-ai (docs/agents.md).

redqueen train grpo --game agent:examples/two_solvers.py:with_client,questions=train.jsonl --model smollm2-135m
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
from openai import AsyncOpenAI, OpenAI  # pip install openai 'pydantic-ai-slim[openai]'
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

CLIENT = OpenAI(base_url="http://127.0.0.1", api_key="none", max_retries=0)


def with_client(task: Any, seats: Mapping[str, Any]) -> str:
    """The second reply: the first one is looked at again."""
    agent = seats["agent"]
    client = CLIENT.with_options(base_url=agent.url, api_key=agent.key)
    told = [{"role": "user", "content": task.prompt}]
    draft = client.chat.completions.create(model=agent.model, messages=told).choices[0].message.content or ""
    told += [{"role": "assistant", "content": draft}, {"role": "user", "content": "Check it, and answer again."}]
    return client.chat.completions.create(model=agent.model, messages=told).choices[0].message.content or ""


def with_library(task: Any, seats: Mapping[str, Any]) -> str:
    """What the library's own loop ends with."""
    return asyncio.run(_run(task.prompt, seats["agent"]))


async def _run(prompt: str, seat: Any) -> str:
    async with httpx.AsyncClient(verify=False, timeout=600.0) as http:  # made in a millisecond
        client = AsyncOpenAI(base_url=seat.url, api_key=seat.key, http_client=http, max_retries=0)
        model = OpenAIChatModel(seat.model, provider=OpenAIProvider(openai_client=client))
        return (await Agent(model, instructions="Solve the problem.").run(prompt)).output
