"""Thoughts that a reasoning model writes before it answers, `<think>...</think>`.

They stay in the tokens of the reply, and so in its record and its loss; nobody else is shown them, and no answer is
looked for in them.
"""

from __future__ import annotations

import re

MARKS = OPEN, CLOSE = "<think>", "</think>"
_CLOSED = re.compile(rf"{OPEN}(.*?){CLOSE}", re.DOTALL)


def is_open(text: str) -> bool:
    """Whether a thought is opened in `text` and not closed."""
    return OPEN in _CLOSED.sub("", text)


def parted(text: str, opened: bool = False) -> tuple[str, str | None]:
    """The thoughts in `text`, and what it says without them: None if a thought was opened and not closed. `opened` is
    whether the prompt already opened one, as the chat templates of some reasoning models do."""
    whole = OPEN + text if opened and not text.lstrip().startswith(OPEN) else text
    if OPEN not in whole:
        return "", text
    if is_open(whole):
        return text.strip(), None
    said = _CLOSED.sub("", whole)
    return "\n".join(found.strip() for found in _CLOSED.findall(whole)).strip(), said.lstrip()
