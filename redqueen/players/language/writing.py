"""The policies that write free text: language models on this machine and on a server."""

from __future__ import annotations

from dataclasses import replace

from redqueen.objectives.additive import own_tokens
from redqueen.players.tinker.policy import TinkerPolicy
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.protocols import Policy
from redqueen.types import Batch, RedQueenError

Writer = TransformerPolicy | TinkerPolicy


def language_model(policy: Policy) -> Writer:
    """The policy as a language model. Raises RedQueenError for a table."""
    if isinstance(policy, Writer):
        return policy
    raise RedQueenError(f"{policy.name} is a table and cannot write: choose a --model such as tiny or smollm2-135m")


def on_this_machine(policy: Policy, why: str) -> TransformerPolicy:
    """The policy as a `TransformerPolicy` on this machine. Raises RedQueenError, with the reason `why`, for another."""
    if isinstance(policy, TransformerPolicy):
        return policy
    raise RedQueenError(f"{policy.name} must be a model on this machine, not on a server: {why}")


def refreshed(learner: Writer, batch: Batch) -> Batch:
    """The batch with the learner's current log-probabilities, if it was updated since it sampled them."""
    if bool(((batch.versions == learner.version) & ~batch.recited)[own_tokens(batch)].all()):
        return batch
    return replace(batch, sampled_logprobs=learner.likelihoods(batch).logprobs.to(batch.sampled_logprobs))
