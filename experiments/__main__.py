"""Runs experiments by name: `python -m experiments NAME[:EXPERIMENT]... [--seeds N] [--steps N] [--repeats N]`.

    python -m experiments exact magnetic         seconds to minutes
    python -m experiments absolute_zero          every experiment of the file, an hour or more
    python -m experiments absolute_zero:frontier     one of them
    python -m experiments speed/sampling         how fast

Finished seeds are kept: an experiment that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import sys


def main(words: list[str]) -> int:
    """Runs what is named and returns the exit status: 0, or 2 for bad input."""
    from redqueen.cli.trying import run_experiments
    from redqueen.types import RedQueenError

    try:
        run_experiments(words)
    except RedQueenError as error:
        print(f"experiments: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
