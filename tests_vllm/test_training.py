"""Recipes whose replies vLLM samples, with the log-probabilities and the weights that it was given, and one whose judge
stands on vLLM's own server. SmolLM2-135M, a CPU."""

import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

PROBLEMS = Path(__file__).parent.parent / "examples" / "arithmetic.jsonl"
ROUNDED = 0.1  # nats a token: bfloat16 of vLLM's adapters, float32 of the learner; above it the alarm rings


def trained(run, words):
    """The lines of metrics of a run that has just been trained as `words` say."""
    command = [sys.executable, "-m", "redqueen", "train", *words.split(), "--model", "smollm2-135m", "--output", run]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_grpo_learns_from_the_tokens_of_vllm_and_corrects_them(tmp_path):
    lines = trained(
        tmp_path / "run",
        f"grpo --questions {PROBLEMS} --sampler vllm --correct tis --truncated-score graded --tasks 8 --attempts 4 "
        "--max-completion-length 24 --learning-rate 1e-3 --problems 1 --steps 2 --evaluate-every 2",
    )
    weights = [line["weight_mean"] for line in lines]
    print(f"\nmean weight of a token: {weights}")
    assert all(math.isclose(weight, 1.0, abs_tol=0.1) and weight != 1.0 for weight in weights)
    assert any(line["gradient_norm"] > 0.0 for line in lines)


def test_spiral_plays_itself_through_vllm_with_its_newest_weights(tmp_path):
    """A game of free text: its measures need no list of replies."""
    lines = trained(
        tmp_path / "run",
        "spiral --game negotiation --sampler vllm --matches-per-step 4 --max-completion-length 24 "
        "--learning-rate 1e-3 --steps 3 --evaluate-every 3",
    )
    found = [line["sampler_mismatch_mean"] for line in lines]
    print(f"\nmismatch in nats a token: {found}")
    assert len(found) == 3
    assert all(0.0 < mean < ROUNDED for mean in found)  # after two updates too
    assert all(line["gradient_norm"] > 0.0 for line in lines)


def test_absolute_zero_proposes_and_solves_through_vllm(tmp_path):
    """SmolLM2 writes no proposal that can be read in so few tokens: it learns that these are refused, and from answers
    to the problems of the file."""
    lines = trained(
        tmp_path / "run",
        f"absolute_zero --questions {PROBLEMS} --sampler vllm --truncated-score graded --proposals 4 --attempts 4 "
        "--tasks 16 --max-completion-length 24 --learning-rate 1e-3 --problems 1 --steps 2 --evaluate-every 2",
    )
    found = [line["sampler_mismatch_mean"] for line in lines]
    print(f"\nmismatch in nats a token: {found}")
    assert len(found) == 2
    assert all(0.0 < mean < ROUNDED for mean in found)
    assert all(line["gradient_norm"] > 0.0 for line in lines)
    assert all(line["episodes"] == 4 + 16 for line in lines)  # four proposals, sixteen answers


@pytest.fixture
def judge(tmp_path):
    """The address of vLLM's own server with SmolLM2, as `--oracle` takes it."""
    from redqueen.players.transformer.loading import embedded_folder

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = tmp_path / "server.log"
    with place.open("w") as log:
        words = f"-m vllm.entrypoints.openai.api_server --served-model-name judge --host 127.0.0.1 --port {port}"
        words += " --enforce-eager --max-model-len 2048 --gpu-memory-utilization 0.2"
        server = subprocess.Popen(
            [sys.executable, *words.split(), "--model", embedded_folder()],
            stdout=log,
            stderr=log,
            env={**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"},
            start_new_session=True,
        )
    try:
        for _ in range(300):
            assert server.poll() is None, place.read_text()[-2000:]
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2.0).close()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(1.0)
        else:
            raise AssertionError(f"the server did not start in five minutes: {place.read_text()[-2000:]}")
        yield f"judge:http://127.0.0.1:{port}/v1#judge"
    finally:
        os.killpg(server.pid, signal.SIGKILL)  # with its engine
        server.wait()


def test_iterative_dpo_learns_from_a_judge_on_the_server_of_vllm(tmp_path, judge):
    # this judge says the lowest mark to two replies of three, and replies that are equally good are no pair: hence 32
    lines = trained(
        tmp_path / "run",
        f"iterative_dpo --questions {PROBLEMS} --oracle {judge} --judge.scale 1-9 --judge.expected "
        f"--judge.cache {tmp_path / 'kept'} --tasks 8 --attempts 4 --pairs-per-update 2 --problems 1 --updates 2 "
        "--passes 1 --steps 2 --max-completion-length 16 --evaluate-every 2",
    )
    kept = (tmp_path / "kept" / "judgements.jsonl").read_text().splitlines()
    print(f"\n{len(kept)} judgements of the server")
    assert len(kept) >= 4
    assert any(line["gradient_norm"] > 0.0 for line in lines)
    assert all(line.get("oracle/unread", 0.0) < 0.5 for line in lines)  # expected scores read every judgement
