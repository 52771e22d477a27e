"""A recipe whose replies vLLM samples, with the log-probabilities and the weights that it was given."""

import json
import math
import subprocess
import sys
from pathlib import Path

PROBLEMS = Path(__file__).parent.parent / "examples" / "arithmetic.jsonl"


def test_grpo_learns_from_the_tokens_of_vllm_and_corrects_them(tmp_path):
    run = tmp_path / "run"
    words = [
        "train",
        "grpo",
        "--model",
        "smollm2-135m",
        "--sampler",
        "vllm",
        "--correct",
        "tis",
        "--truncated-score",
        "graded",
        "--tasks",
        "8",
        "--attempts",
        "4",
        "--max-completion-length",
        "24",
        "--learning-rate",
        "1e-3",
        "--problems",
        "1",
        "--steps",
        "2",
        "--evaluate-every",
        "2",
    ]
    command = [sys.executable, "-m", "redqueen", *words, "--questions", str(PROBLEMS), "--output", str(run)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    weights = [line["weight_mean"] for line in lines]
    print(f"\nmean weight of a token: {weights}")
    assert all(math.isclose(weight, 1.0, abs_tol=0.1) and weight != 1.0 for weight in weights)
    assert any(line["gradient_norm"] > 0.0 for line in lines)
