"""`redqueen` and `python -m redqueen`: the command line."""

from __future__ import annotations

import os


def main() -> int:
    """Runs the command line and returns its exit status. Settings that torch reads when it is loaded are set before:

    Waiting threads spin for some microseconds and then sleep. By default they spin for longer, and two processes
    that share the cores then slow each other many times over; without spinning, a step of sampling (thousands of small
    products) takes 1.7 times as long. Memory is allocated in huge pages where the system has them: a training step
    allocates and frees gigabytes, and small pages cost a tenth of its time or more.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    from redqueen.cli.main import main as command

    return command()


if __name__ == "__main__":
    raise SystemExit(main())
