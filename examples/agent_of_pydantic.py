"""An agent of pydantic-ai, untouched: its own loop, paid for the right answer (docs/agents.md).

redqueen train grpo --game agent:examples/agent_of_pydantic.py:solved,questions=train.jsonl --model smollm2-135m
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
from openai import AsyncOpenAI
from pydantic_ai import Agent  # pip install 'pydantic-ai-slim[openai]'
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


def solved(task: Any, seats: Mapping[str, Any]) -> str:
    """What the library's loop ends with."""
    return asyncio.run(_run(task.prompt, seats["agent"]))


async def _run(prompt: str, seat: Any) -> str:
    async with httpx.AsyncClient(verify=False, timeout=600.0) as http:  # made in a millisecond
        client = AsyncOpenAI(base_url=seat.url, api_key=seat.key, http_client=http, max_retries=0)
        model = OpenAIChatModel(seat.model, provider=OpenAIProvider(openai_client=client))
        return (await Agent(model, instructions="Solve the problem.").run(prompt)).output
