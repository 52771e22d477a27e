"""Similarity of two patches: the reward of SWE-RL (Wei et al., 2025, arXiv:2502.18449), which runs no code.

    R = -1                                                 where the edits are malformed
        mean over files of ratio(diff of the patch, diff of the oracle)       otherwise

The mean is over the files that either changes; one that only one of them changes counts 0. The ratio is difflib's
(`SequenceMatcher`, autojunk off) between unified diffs. Its time can grow with the cube of their length: where one has
more than `LONGEST` characters, or the two take more than `texts.MOST_STEPS` to compare, and they are not equal, it
counts 0. The paper's -1 also covers the tags around a reply, which are checked by the parser of replies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from redqueen.checks.repository.edits import BadEdit, Edit, Repository, file_diffs
from redqueen.texts import likeness

MALFORMED = -1.0
LONGEST = 10_000  # characters of the diff of one file


def patch_similarity(predicted: Mapping[str, str], oracle: Mapping[str, str], *, both_empty: float) -> float:
    """Similarity of the diffs of two patches, file by file, in [0, 1]. `both_empty` is returned if neither changes
    anything: the released code gives 1.0, which rewards doing nothing if the oracle does nothing."""
    paths = sorted({*predicted, *oracle})
    if not paths:
        return both_empty
    return sum(_ratio(predicted.get(path, ""), oracle.get(path, "")) for path in paths) / len(paths)


def patch_reward(before: Repository, edits: Iterable[Edit], oracle: Repository, *, both_empty: float) -> float:
    """The reward of `edits` to `before`, given the desired repository `oracle`."""
    try:
        after = before.apply(edits)
    except BadEdit:
        return MALFORMED
    return patch_similarity(file_diffs(before, after), file_diffs(before, oracle), both_empty=both_empty)


def _ratio(predicted: str, oracle: str) -> float:
    if predicted == oracle:
        return float(bool(predicted))
    if not predicted or not oracle or max(len(predicted), len(oracle)) > LONGEST:
        return 0.0
    return likeness(predicted, oracle) or 0.0
