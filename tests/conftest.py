"""One thread, and no GPU (tests_gpu/ is for one): the models of the tests are small, and sums then have one order.
A configuration folder of their own: the user's is neither read nor written. What is loaded once all tests are known is
set aside from the collector: else every run does so at its start, which takes a quarter of a second, most of the time
of a small one, and there are many."""

import atexit
import functools
import gc
import os
import shutil
import tempfile
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # before torch is imported

import hypothesis  # before all is set aside: its plugins ask the collector who holds what
import pytest
import torch

from redqueen.players.transformer import machine

# every type is as fast as another, whatever the machine: else one that is slow here is said, and fails a test
machine._product = functools.wraps(machine._product)(lambda dtype, device: 1.0)
torch.set_num_threads(1)
hypothesis.settings.register_profile("busy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("busy")  # a machine that others use is slow, which is no fault
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="redqueen-tests-")
atexit.register(shutil.rmtree, os.environ["XDG_CONFIG_HOME"], ignore_errors=True)

# the files that take longest: begun first, so that no worker is left alone with one at the end
LONGEST = {f"test_{name}.py" for name in ("learning", "recipes", "share", "lm_eval", "trackers", "model")}


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in LONGEST)  # a stable sort: the rest stays as it was


def pytest_collection_finish():
    gc.collect()
    gc.freeze()


CHECKOUT = Path(__file__).resolve().parents[1]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """A test that leaves a file in the checkout fails: it would find it there the next time, and so would git."""
    before = set(os.listdir(CHECKOUT))
    result = yield
    left = {name for name in set(os.listdir(CHECKOUT)) - before if not name.startswith(".")}
    assert not left, f"left in the checkout: {', '.join(sorted(left))}; write under tmp_path"
    return result
