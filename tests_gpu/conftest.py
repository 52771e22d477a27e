"""On a GPU: `make test-gpu`. The processor computes beside it by torch's own operations, which need no compiler."""

import os

import pytest
import torch

if os.environ.get("REDQUEEN_GPU", "cuda") != "cpu" and not torch.cuda.is_available():
    pytest.exit("there is no CUDA device here: REDQUEEN_GPU=cpu tries the tests themselves on the processor", 2)
os.environ["CXX"] = "none"

from tests.players.transformer.conftest import made  # noqa: F401
