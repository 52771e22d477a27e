"""`redqueen tasks`: what a run keeps in its store, counted and written."""

import json
from collections import OrderedDict

import numpy as np
import pytest
import torch

from redqueen.cli.main import main
from redqueen.curricula.on_disk import read_tasks
from redqueen.curricula.store import TaskStore
from redqueen.runs.checkpoints import write_checkpoint
from redqueen.types import Task

TASKS = [Task("a", "sum", "1 + 1 = ?", "2", {"digits": 1, "cards": (1, 2)}), Task("b", "riddle", "What is it?", "it")]


class Remembering:
    """A memory of all that a checkpoint may hold."""

    def state(self):
        arrays = {"one": np.arange(3.0), "number": np.float64(0.5), "bytes": b"\xff"}
        return {"tensor": torch.ones(2), "ordered": OrderedDict(a=torch.zeros(1)), **arrays}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """The folder of a run, and how a checkpoint of it is written that holds these parts."""
    monkeypatch.chdir(tmp_path)
    settings = {"recipe": "sec", "config": {}, "seed": 0, "schedule": {}, "versions": {}}
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text(json.dumps(settings))

    def saved(*parts, step=3):
        write_checkpoint(tmp_path / "run" / "checkpoints" / f"step_{step:06d}", [], parts, {"step": step})

    return saved


def store(tasks=TASKS):
    found = TaskStore()
    found.add(tasks[:1], origin="seed")
    found.add(tasks[1:], origin="proposer")
    return found


def said(capsys, *words):
    status = main(["tasks", "run", *words])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_the_tasks_of_the_newest_checkpoint_are_counted_and_written(run, tmp_path, capsys):
    run(Remembering(), store(TASKS[:1]), step=3)
    run(Remembering(), store(), Remembering(), step=10)
    assert said(capsys)[:2] == (0, "run, after 10 updates: 1 sum, 1 riddle; by origin: 1 seed, 1 proposer\n")
    status, text, _ = said(capsys, "--write", "out/tasks.jsonl")
    assert status == 0 and text.endswith("written to out/tasks.jsonl\n")
    assert read_tasks(tmp_path / "out" / "tasks.jsonl") == TASKS


def test_they_are_written_as_a_data_set_with_their_histories(run, tmp_path, capsys):
    datasets = pytest.importorskip("datasets")
    run(store())
    assert said(capsys, "--dataset", "set")[0] == 0
    rows = datasets.load_from_disk(str(tmp_path / "set" / "dataset"))
    assert rows["id"] == ["a", "b"] and rows["origin"] == ["seed", "proposer"]
    assert said(capsys, "--dataset", "set")[2] == "redqueen: set exists already: name a new folder\n"


def test_a_run_that_keeps_none_gets_one_clear_line(run, tmp_path, capsys):
    assert said(capsys)[2] == "redqueen: run has no checkpoint yet\n"
    run(Remembering())
    status, _, line = said(capsys, "--write", "tasks.jsonl")
    assert status == 2 and line.startswith("redqueen: run keeps no tasks: the recipe sec has no store of them")
    run(TaskStore())
    assert said(capsys)[2] == "redqueen: run keeps no tasks after 3 updates: its store is empty as yet\n"
    path = tmp_path / "run" / "checkpoints" / "step_000003" / "parts.pt"
    path.write_bytes(path.read_bytes()[:-7])
    assert "step_000003 is broken: parts.pt was cut or changed" in said(capsys)[2]
    assert not (tmp_path / "tasks.jsonl").exists()
