"""What a server can do for a policy: known facts of each kind, and checks of a running server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from redqueen.players.tinker.adapters import Adam, Adapter, PastSampler, Wanted
from redqueen.players.tinker.connection import Connection
from redqueen.players.tinker.dialects import DIALECTS, Dialect, Words
from redqueen.players.tinker.losses import LINEAR
from redqueen.types import RedQueenError

_PROMPT = (11, 12, 13, 14, 15, 16)  # any tokens will do
_FIXED = "as the server was started"
_NEAR = 1e-3  # nats per token, between a sampler and a trainer of one precision


def facts(dialect: Dialect) -> dict[str, str]:
    """The facts about a server of this kind, by name."""
    ours = {"linear": "`Reinforce`, `Imitation`", "ppo": "`ClippedRatio`", "cispo": "`Cispo`"}
    return {
        "listed replies": "scored, then chosen here: exact",
        "log-probabilities of given tokens": "yes",
        "entropy": "exact where replies are listed, estimated in free text",
        "losses that take one pass": ", ".join(ours[kind] for kind in ours if kind in dialect.losses),
        "all other losses, pairs": "two passes" + ("" if dialect.sums else ", weights sent as advantages"),
        "past selves": "named sampler weights" if dialect.keeps_samplers else "an adapter each, loaded when asked",
        "sampling from older weights while learning": _yes(dialect.keeps_samplers),
        "adapters at a time": dialect.adapters,
        "clipping of the gradient": _yes(dialect.clips) if dialect.adam else _FIXED,
        "betas, epsilon, weight decay": "yes" if dialect.adam else _FIXED,
        "temperature of free text": "1 only",
        "training of all weights": "no, LoRA",
    }


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def known_table(dialects: Sequence[Dialect] = DIALECTS) -> str:
    """The facts as a Markdown table, a column for each kind of server."""
    columns = [facts(dialect) for dialect in dialects]
    lines = [["", *[dialect.name for dialect in dialects]], ["---"] * (len(dialects) + 1)]
    lines += [[what, *[column[what] for column in columns]] for what in columns[0]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    what: str
    ok: bool
    found: str


def checked(connection: Connection, rank: int = 4) -> list[Check]:
    """The results of all checks, made with a temporary adapter: about a dozen requests, a minute if the server
    compiles."""
    adapter = connection.create(rank, 0)
    context = f"reads {connection.longest} tokens" if connection.longest else "does not say how many tokens it reads"
    checks = [
        Check("base model", True, f"{connection.base_model}; {context}"),
        Check("kind of server", True, adapter.dialect.name),
    ]
    for what, attempt in _ATTEMPTS.items():
        try:
            ok, found = attempt(adapter)
        except RedQueenError as error:
            ok, found = False, str(error)
        checks.append(Check(what, ok, found))
    connection.release(adapter)
    return checks


def _samples(adapter: Adapter) -> tuple[bool, str]:
    """Whether sampled tokens have the trainer's log-probabilities, and one seed gives one reply."""
    wanted = Wanted(_PROMPT, 7)
    one = adapter.write([wanted], [], 4)[0]
    again = adapter.write([Wanted(_PROMPT, 8), wanted], [], 4)[1]
    rated = adapter.logprobs([_PROMPT + one.tokens])[0][len(_PROMPT) - 1 :]
    apart = float(np.abs(rated - np.array(one.logprobs)).max())
    seeds = "the same seed gives the same tokens" if again.tokens == one.tokens else "seeds are ignored"
    return apart < _NEAR, f"{apart:.1e} nats from the trainer; {seeds}"


def _gradient(adapter: Adapter) -> tuple[bool, str]:
    """Whether the gradient's norm is the same for a linear loss of either sign, and doubles with the loss."""

    def norm(*scales: float) -> float:
        counts = np.zeros(len(_PROMPT) - 1)
        rows = [Words(_PROMPT, counts + scale * np.eye(len(counts))[-1], counts) for scale in scales]
        adapter.accumulate(LINEAR, rows)
        found = adapter.step(_still)
        if found is None:
            raise RedQueenError("the server does not report the norm of a gradient: not checked")
        return found

    plus, minus, twice, split = norm(1.0), norm(-1.0), norm(-2.0), norm(3.0, -2.0)
    exact = np.allclose([minus, twice, split], [plus, 2 * plus, plus], rtol=1e-3)
    return exact, f"norms {plus:.4g}, {minus:.4g}, {twice:.4g}, {split:.4g} for losses of 1, -1, -2, 3 - 2"


def _remembers(adapter: Adapter) -> tuple[bool, str]:
    path = adapter.save("doctor")
    before = adapter.logprobs([_PROMPT])[0]
    moved = _moved(adapter, before)
    adapter.load(path)
    apart = float(np.abs(adapter.logprobs([_PROMPT])[0] - before).max())
    return apart < 1e-5 < moved, f"moved by {moved:.2g} nats per token, {apart:.1g} after loading"


def _past(adapter: Adapter) -> tuple[bool, str]:
    """Whether named sampler weights are used as this kind of server is expected to."""
    path = adapter.save_sampler("doctor")
    before = adapter.logprobs([_PROMPT])[0]
    _moved(adapter, before)
    after = adapter.logprobs([_PROMPT])[0]
    past = PastSampler(adapter.connection, path)
    past.write([Wanted(_PROMPT, 7)], [], 1)
    rated = past.logprobs([_PROMPT])[0]
    stays = float(np.abs(rated - before).max()) < _NEAR
    alone = float(np.abs(adapter.logprobs([_PROMPT])[0] - after).max()) < _NEAR
    found = ("stay unchanged" if stays else "change with the learner") + (
        ", and leave the learner alone" if alone else ", and overwrite the learner"
    )
    kept = adapter.dialect.keeps_samplers
    used = (
        ""
        if stays and alone
        else "; past selves get an adapter each"
        if not kept
        else "; past selves are not safe here"
    )
    return (stays and alone) or not kept, found + used


def _moved(adapter: Adapter, before: np.ndarray) -> float:
    adapter.accumulate(LINEAR, [Words(_PROMPT, np.ones(len(_PROMPT) - 1), np.zeros(len(_PROMPT) - 1))])
    adapter.step(Adam(1e-2, (0.9, 0.999), 0.0, 1e9))
    return float(np.abs(adapter.logprobs([_PROMPT])[0] - before).max())


_still = Adam(0.0, (0.9, 0.999), 0.0, 1e9)
_ATTEMPTS: dict[str, Callable[[Adapter], tuple[bool, str]]] = {
    "sampling": _samples,
    "our own losses": _gradient,
    "saving and loading": _remembers,
    "named sampler weights": _past,
}
