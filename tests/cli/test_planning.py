"""`redqueen plan`: what it foretells is what the run then needs."""

import json
import re
import time

import pytest

from redqueen.cli import words as command_line
from redqueen.cli.main import main
from redqueen.cli.planning import plan
from redqueen.runs.checkpoints import checkpoints
from redqueen.runs.run import read_metrics

SPIRAL = ["spiral", "--game", "kuhn_poker", "--model", "tiny", "--matches-per-step", "16", "--steps", "3"]


def test_the_plan_is_what_the_run_then_needs(tmp_path, capsys):
    assert main(["plan", *SPIRAL, "--seed", "4"]) == 0
    said = capsys.readouterr().out
    assert "131,392 parameters, 131,392 trained" in said
    run = tmp_path / "run"
    flags = ["--seed", "4", "--record-episodes", "100", "--output", str(run)]
    assert main(["train", *SPIRAL, *flags]) == 0
    lines = [json.loads(line) for line in (run / "episodes" / "step_000001.jsonl").read_text().splitlines()]
    replies = [turn["reply"] for line in lines for turn in line["turns"]]
    tokens, prompts = (sum(len(reply[name]) for reply in replies) for name in ("tokens", "prompt_tokens"))
    spent = f"{tokens:,} tokens in all, to prompts of {prompts:,} tokens in all"
    assert f"a step: {len(replies)} replies, {spent}; 1 updates" in said
    assert f"a run of 3 steps: about {3 * len(replies)} replies" in said
    foretold = float(re.search(r"memory: ([\d.]+) GB, measured", said)[1])
    assert foretold == pytest.approx(read_metrics(run)[-1]["time"]["gigabytes"], rel=0.2)
    one = sum(path.stat().st_size for path in checkpoints(run)[-1].rglob("*") if path.is_file())
    assert f"of which {3 * one / 1e9:.2f} GB are checkpoints" in said


def test_what_passed_before_libraries_were_there_is_foretold_too(capsys, monkeypatch):
    monkeypatch.setattr(command_line, "began", time.perf_counter() - 100)
    plan(SPIRAL)
    assert 100 <= float(re.search(r"(\d+) s to begin", capsys.readouterr().out)[1]) < 160


def test_a_judge_behind_an_endpoint_is_counted_and_not_asked(capsys):
    flags = ["--model", "tiny", "--max-completion-length", "4", "--problems", "2", "--steps", "4", "--tasks", "2"]
    judge = ["--judge", "http://localhost:9/v1#none"]
    assert main(["plan", "self_rewarding", *flags, *judge, "--attempts", "2", "--updates", "1"]) == 0
    assert re.search(r"judge: [1-9]\d* calls a step", capsys.readouterr().out)


def test_replies_of_an_iteration_are_counted_once_each(capsys):
    flags = ["--model", "tiny", "--max-completion-length", "4", "--problems", "2", "--tasks", "2", "--attempts", "2"]
    assert main(["plan", "self_rewarding", *flags, "--steps", "8", "--updates", "4"]) == 0
    said = capsys.readouterr().out
    replies = int(re.search(r"the first of each 4 steps: (\d+) replies", said)[1])
    assert f"a run of 8 steps: about {2 * replies} replies" in said
    calls, in_all = map(int, re.search(r"judge: (\d+) calls the first of each 4 steps, (\d+) in all", said).groups())
    assert calls > 0
    assert in_all == 2 * calls
    assert re.search(r"s a step, [\d.]+ s the first of each 4, [\d.]+ s a measurement", said)


def test_a_gpu_by_name_is_an_estimate_and_loads_nothing(capsys):
    assert main(["plan", *SPIRAL, "--gpu", "H100", "--max-completion-length", "512", "--answer", "boxed"]) == 0
    said = capsys.readouterr().out
    assert "h100 has 80.0 GB" in said
    assert "an estimate by operations and bytes, for replies of 512 tokens each" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["plan"], "name a recipe: redqueen plan RECIPE, one of"),
        (["plan", *SPIRAL, "--gpu", "h1000"], "no GPU 'h1000' is known: name one of t4, l4,"),
        (["plan", *SPIRAL[:-1], "1"], "a plan measures 2 steps, and spiral is to take 1: just train it"),
        (["plan", *SPIRAL, "--modell", "x"], "unknown argument '--modell': did you mean --model?"),
        (["plan", *SPIRAL[:4], "./nowhere"], "there is no model folder ./nowhere"),
        (
            ["plan", *SPIRAL, "--gpu", "t4", "--cache-gigabytes", "40"],
            "it does not fit on t4: set --gradient-checkpointing",
        ),
    ],
)
def test_bad_plans_are_one_line(words, said, capsys):
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"redqueen: {said}")
    assert error.count("\n") == 1
