"""Damaged folders of runs: a seeded share of `fuzz_folders.py`, and the seeds that once went wrong."""

import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest

from redqueen.records import episode_to_json
from redqueen.runs.folder import episode_of
from redqueen.types import Damaged, Episode, Outcome, Seat, Task

HERE = Path(__file__).parent
PLAN = importlib.util.spec_from_file_location("fuzz_folders", HERE / "fuzz_folders.py")
fuzz = importlib.util.module_from_spec(PLAN)
sys.modules[PLAN.name] = fuzz
PLAN.loader.exec_module(fuzz)

INSIDE = (4, 5, 6, 17, 22, 23)  # once went wrong: seats with control characters, weights, tokenizers and names
KEPT = [int(line) for line in fuzz.KEPT.read_text().split()]


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return fuzz.template(tmp_path_factory.mktemp("runs") / "run")


@pytest.mark.parametrize("seed", [*KEPT, *range(100_000, 100_004)])
def test_a_damaged_folder_is_told_in_one_line(seed, template):
    assert fuzz.tried(template, seed) == []


@pytest.fixture(scope="module")
def with_a_model(tmp_path_factory):
    return fuzz.template_of("absolute_zero", tmp_path_factory.mktemp("runs") / "run")


@pytest.mark.slow
@pytest.mark.parametrize("seed", INSIDE)
def test_a_checkpoint_that_is_damaged_with_its_hashes_is_told_in_one_line(seed, with_a_model):
    assert fuzz.tried(with_a_model, seed, fuzz.damage_inside) == []


@pytest.mark.parametrize("name", ["config.json", "metrics.jsonl", "final.json"])
def test_a_file_larger_than_any_that_we_write_is_not_read(name, template, tmp_path):
    """It takes no room in an archive: its bytes are holes."""
    run = tmp_path / "run"
    fuzz.shutil.copytree(template, run)
    (run / name).touch()
    os.truncate(run / name, 3 << 30)
    assert fuzz._fault(["report", str(run)]) == ""


NESTED = "[" * 900 + "]" * 900  # which `json.loads` reads, and of which `repr` and `json.dumps` fail


@pytest.mark.parametrize(
    ("name", "old", "command"),
    [
        ("config.json", '"recipe":', "report"),
        ("config.json", '"steps":', "resume"),
        ("config.json", '"schedule":', "evaluate"),
        ("metrics.jsonl", '"time":', "report"),
        ("metrics.jsonl", '"episodes":', "watch"),
        ("episodes/step_000001.jsonl", '"scores":', "replay"),
        ("episodes/step_000001.jsonl", '"facts":', "report"),
        ("tournament.json", "{", "report"),
        ("checkpoints/step_000002/manifest.json", '"digests":', "resume"),
    ],
)
def test_what_is_nested_too_deep_is_told_in_one_line(name, old, command, template, tmp_path):
    run = tmp_path / "run"
    fuzz.shutil.copytree(template, run)
    text = (run / name).read_text()
    assert old in text
    (run / name).write_text(text.replace(old, f'{old} {NESTED}, "rest":' if old != "{" else f'{{"a": {NESTED}, ', 1))
    words = [command, str(run), *(["--once"] if command == "watch" else [])]
    assert fuzz._fault(words) == ""


@pytest.mark.parametrize("right", ["<script>", [], {"a": 1}])
def test_a_verdict_that_is_none_makes_no_episode(right: object) -> None:
    seat, task = Seat("solver"), Task("t", prompt="x")
    told = episode_to_json(Episode("single_reply:solver", task, 0, (), Outcome({seat: 0.0}, {"right": True}), (seat,)))
    assert episode_of(json.dumps(told), "there")[0].outcome.facts == {"right": True}
    told["facts"]["right"] = right
    with pytest.raises(Damaged, match="there is no episode"):
        episode_of(json.dumps(told), "there")
