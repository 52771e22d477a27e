"""`redqueen` and `python -m redqueen`: the command line."""

from __future__ import annotations

import os


def main() -> int:
    """Runs the command line. Waiting threads of torch are told to sleep before it starts them: by default
    they spin, and two processes that share the cores then slow each other many times over."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from redqueen.cli import main as command

    return command()


if __name__ == "__main__":
    raise SystemExit(main())
