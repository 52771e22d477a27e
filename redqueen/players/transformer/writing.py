"""Telling a language model from other policies, where a role must be able to write."""

from __future__ import annotations

from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.protocols import Policy
from redqueen.types import RedQueenError


def language_model(policy: Policy) -> TransformerPolicy:
    """The policy, known to be a language model. Raises RedQueenError for a table."""
    if isinstance(policy, TransformerPolicy):
        return policy
    raise RedQueenError(f"{policy.name} is a table and cannot write: choose a --model such as tiny or smollm2-135m")
