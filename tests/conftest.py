"""One thread: the models of the tests are small, and sums then have one order."""

import torch

torch.set_num_threads(1)
