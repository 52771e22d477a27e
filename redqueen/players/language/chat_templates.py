"""A conversation as a model's chat template shows it, rendered in a process that can be killed.

A template is a program that comes with a folder of weights. transformers runs it in jinja's sandbox, which keeps it
from files and from the interpreter, but not from loops in loops, from filters that double a text forty times, or from
`10 ** (10 ** 9)`, which no signal interrupts.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from redqueen.checks.worker import Undecided, Worker
from redqueen.types import RedQueenError

SECONDS = 5.0  # of processor time for one conversation
MEMORY = 2 << 30  # bytes of address space
LONGEST = 1 << 24  # characters of a rendered conversation
KNOWN = frozenset({"872be49dbb638044ad01b60388f48d469ff2980e5f0dccdc22ec907db54d0788"})  # SmolLM2-135M-Instruct's
_WORKERS: dict[int, Worker] = {}  # one a process, by its number: a fork has no share in the pipes of another


class TooDear(RedQueenError):
    """The template exceeds a limit of time, memory or length."""


def rendered(
    tokenizer: Any, turns: Sequence[Mapping[str, Any]], reply: bool = False, arguments: Mapping[str, Any] | None = None
) -> str:
    """The conversation as text, with the opening of a `reply`. Raises TooDear past a limit, ValueError with what the
    template said where it shows no such conversation."""
    settings = {"add_generation_prompt": reply, **(arguments or {})}
    if not _is_jinja(tokenizer):  # a format of an installed package
        return str(tokenizer.apply_chat_template(turns, tokenize=False, **settings))
    if not turns:
        raise ValueError("an empty conversation")
    template = tokenizer.get_chat_template()
    question = {"conversation": list(turns), "template": template, "settings": {**_special(tokenizer), **settings}}
    if hashlib.sha256(template.encode(errors="replace")).hexdigest() in KNOWN:
        answer = render(question)
    else:
        try:
            answer = _worker().ask(question)
        except Undecided as error:
            raise TooDear(f"{_CAUSES[error.reason]} of one conversation: {_ADVICE}") from None
    if "length" in answer:
        raise TooDear(
            f"the model's chat template makes {answer['length']} characters of one conversation, more than "
            f"{LONGEST}: {_ADVICE}"
        )
    if "refused" in answer:
        raise ValueError(answer["refused"])
    return str(answer["text"])


_ADVICE = "mend it in the model's folder, or use plain text, --raw-prompt True"
_CAUSES = {
    "time": f"the model's chat template takes more than {SECONDS:g} s of processor time",
    "memory": f"the model's chat template takes more than {MEMORY >> 30} GiB of memory",
    "death": "the model's chat template ends the process in which it makes a text",
}


def _worker() -> Worker:
    """The process of this process, which starts with its first question."""
    if os.getpid() not in _WORKERS:
        _WORKERS[os.getpid()] = Worker(f"{__name__}:prepare", SECONDS, MEMORY)
    return _WORKERS[os.getpid()]


def _is_jinja(tokenizer: Any) -> bool:
    """Whether conversations are rendered by transformers from the template of the tokenizer."""
    from transformers import PreTrainedTokenizerBase

    own = getattr(type(tokenizer), "apply_chat_template", None)
    return isinstance(tokenizer, PreTrainedTokenizerBase) and own is PreTrainedTokenizerBase.apply_chat_template


def _special(tokenizer: Any) -> dict[str, Any]:
    """The special tokens that a template can name."""
    found = tokenizer.special_tokens_map.items()
    return {name: [str(each) for each in value] if isinstance(value, list) else str(value) for name, value in found}


def prepare() -> Callable[[dict[str, Any]], dict[str, Any]]:
    """`render`, once what it needs is imported."""
    from transformers.utils import chat_template_utils

    assert chat_template_utils
    return render


def render(question: Mapping[str, Any]) -> dict[str, Any]:
    """The "text" of a "conversation" by a "template" with "settings"; its "length" where it is too long; what the
    template said where it "refused"."""
    from transformers.utils.chat_template_utils import render_jinja_template

    try:
        found: Any = render_jinja_template(
            [question["conversation"]], chat_template=question["template"], **question["settings"]
        )
    except MemoryError:
        raise
    except Exception as error:  # templates raise what they like
        return {"refused": " ".join(str(error)[:4096].split())[:400] or type(error).__name__}
    text = found[0][0]
    return {"text": text} if len(text) <= LONGEST else {"length": len(text)}
