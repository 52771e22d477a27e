"""An agent with the client of OpenAI, untouched: it drafts, asks again, and is paid for digits (docs/agents.md).

redqueen train grpo --game agent:examples/agent_of_digits.py:paid,questions=sums,problems=16 --model tiny ...
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from openai import OpenAI  # pip install openai

CLIENT = OpenAI(base_url="http://127.0.0.1", api_key="none", max_retries=0)


def asked_twice(task: Any, seats: Mapping[str, Any]) -> str:
    """The second reply."""
    agent = seats["agent"]
    client = CLIENT.with_options(base_url=agent.url, api_key=agent.key)
    told = [{"role": "user", "content": task.prompt}]
    draft = client.chat.completions.create(model=agent.model, messages=told).choices[0].message.content or ""
    told += [{"role": "assistant", "content": draft}, {"role": "user", "content": "Again, in digits."}]
    return client.chat.completions.create(model=agent.model, messages=told).choices[0].message.content or ""


def paid(task: Any, seats: Mapping[str, Any]) -> float:
    """The share of digits in the second reply."""
    text = asked_twice(task, seats)
    return sum(letter.isdigit() for letter in text) / max(len(text), 1)


def at_random(task: Any, seats: Mapping[str, Any]) -> float:
    """The control: as much pay, for nothing."""
    return random.Random(asked_twice(task, seats)).random()
