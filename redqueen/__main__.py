"""`redqueen` and `python -m redqueen`: the command line."""

from __future__ import annotations

import os


def main() -> int:
    """Runs the command line. What torch reads once when it is loaded is set before:

    Its waiting threads spin for some microseconds and then sleep. By default they spin for longer, and two processes
    that share the cores then slow each other many times over; without spinning, a step of sampling, which is
    thousands of small products, takes 1.7 times as long. Its memory comes in huge pages where the system has them: a
    training step takes and gives back gigabytes, and in small pages that costs it a tenth of its time or more.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    from redqueen.cli.main import main as command

    return command()


if __name__ == "__main__":
    raise SystemExit(main())
