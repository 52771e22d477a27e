"""What is said of proposals that were refused: their shares by reason, and the commonest reasons in words."""

from __future__ import annotations

from collections import Counter

from redqueen.types import Mean, Metrics


def refused_shares(refused: Counter[str], posed: int) -> tuple[Metrics, str]:
    """`refused/REASON`, the share of the `posed` proposals that was refused for it, and the three commonest reasons in
    words: "4 malformed, 1 duplicate", or "none refused"."""
    shares: Metrics = {f"refused/{why}": Mean(count / posed, posed) for why, count in refused.items()}
    return shares, ", ".join(f"{count} {why}" for why, count in refused.most_common(3)) or "none refused"
