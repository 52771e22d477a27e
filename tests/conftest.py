"""One thread: the models of the tests are small, and sums then have one order. A configuration folder of their own: the
user's is neither read nor written."""

import atexit
import os
import shutil
import tempfile

import torch

torch.set_num_threads(1)
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="redqueen-tests-")
atexit.register(shutil.rmtree, os.environ["XDG_CONFIG_HOME"], ignore_errors=True)
