"""One spelling of every character, so that equal texts compare as equal."""

from __future__ import annotations

import re
import unicodedata

VULGAR = "[¼-¾⅐-⅞↉]"
_RAISED = re.compile("[\u2070-\u207f²³¹]+")  # superscripts: digits, signs, brackets and n
_LOWERED = re.compile("(?<=[0-9])[₀-₉]+")  # the base of a number, not the 2 of H₂O
_MIXED = re.compile(f"(?<=[0-9])(?={VULGAR})")


def one_spelling(text: str) -> str:
    """The text with one spelling of each character: NFKC, but that it joins no digits. 5² is 5^(2) and not 52, 1½ is
    1 1/2 and not 11/2, 101₂ is 101_(2)."""
    text = _LOWERED.sub(r"_(\g<0>)", _RAISED.sub(r"^(\g<0>)", _MIXED.sub(" ", text)))
    return unicodedata.normalize("NFKC", text).replace("⁄", "/")
