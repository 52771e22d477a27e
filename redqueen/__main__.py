"""`python -m redqueen` is the command line."""

from redqueen.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
