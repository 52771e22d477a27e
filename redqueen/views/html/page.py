"""One page of HTML with its style, its script and its data in it.

All that a model, a game or a person said is data in the page, never markup: the script puts it on the screen as text.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import jinja2

PLACE = Path(__file__).parent


def rendered(title: str, style: str, script: str, data: object, nonce: str | None = None) -> str:
    """The page, its own style and script after those that every page has. A page that is served names the nonce that
    its policy of content allows; one that is opened as a file states its policy itself."""
    source = (PLACE / "page.html.j2").read_text(encoding="utf-8")
    page = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(source)
    return page.render(
        title=title,
        style=(PLACE / "look.css").read_text(encoding="utf-8") + style,
        script=(PLACE / "words.js").read_text(encoding="utf-8") + script,
        data=as_data(data),
        nonce=nonce,
    )


def as_data(value: object) -> str:
    """JSON that can stand inside a script element: nothing in it can close the element or open a comment. What is not
    finite is null, as JSON has no word for it."""
    text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _finite(value: object) -> object:
    """The value with null for numbers that are not finite."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(each) for key, each in value.items()}
        case list() | tuple():
            return [_finite(each) for each in value]
    return value
