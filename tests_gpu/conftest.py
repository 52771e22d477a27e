"""On a GPU: `make test-gpu`. The processor computes beside it by torch's own operations, which need no compiler."""

import os

os.environ["CXX"] = "none"

from tests.players.transformer.conftest import made  # noqa: F401
