"""What a step has freed is given back to the system: a process holds as much after many steps as after one."""

import os
import re
import subprocess
import sys

import pytest

STEPS = """
import re
from pathlib import Path
from random import Random

import numpy as np
import torch

from redqueen.credit.rewards import payoff, score
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.play.lockstep import play
from redqueen.players.transformer.loading import load_model
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.questions.asking import SOLVE
from redqueen.types import Match, Task

torch.set_num_threads(1)
loaded = load_model("tiny:hidden=512,layers=8,heads=8", torch.float32, "cpu")
policy = TransformerPolicy(loaded, max_completion_length=24, learning_rate=1e-6)
for step in range(6):
    tasks = [Task(str(number), prompt=f"{step} " * (number + 3 + step)) for number in range(12)]
    said = score(play([Match(SOLVE, task, {"solver": policy}) for task in tasks], Random(step)), payoff)
    policy.update(pack(said, [np.ones(1)] * len(said)), Reinforce())
    policy.forget()
    print("held", re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counted by /proc")
def test_a_process_holds_no_more_after_six_steps_than_after_one():
    # torch and oneDNN keep code for the last 1,024 shapes, about a hundredth of this process a step until they are full
    kept = {**os.environ, "LRU_CACHE_CAPACITY": "1", "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "1"}
    said = subprocess.run([sys.executable, "-c", STEPS], capture_output=True, text=True, check=True, env=kept).stdout
    first, *later = [float(each) for each in re.findall(r"held (\d+)", said)]  # kilobytes
    assert len(later) == 5
    assert max(later) < 1.05 * first, said
