"""Checkpoints: their bytes, what they refuse, and what a full disk leaves."""

import hashlib
import json
import os
import pickle
import shutil

import numpy as np
import pytest
import torch

from redqueen.cli.main import main
from redqueen.contracts.recipes import shrunk
from redqueen.players.tabular import TabularPolicy
from redqueen.runs.checkpoints import check, checkpoints, in_one_form, read_checkpoint, read_parts, write_checkpoint
from redqueen.runs.run import Schedule
from redqueen.runs.train import train
from redqueen.settings.finding import find_recipe
from redqueen.types import RedQueenError


class Part:
    def __init__(self, state):
        self._state = state

    def state(self):
        return self._state

    def restore(self, state):
        self._state = state


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    config = shrunk(find_recipe("magnetic").Config())
    train("magnetic", config, folder, schedule=Schedule(evaluate_every=2, checkpoint_every=1))
    return folder


def test_equal_contents_make_equal_bytes(tmp_path):
    word, again = "".join(["a ", "word"]), "".join(["a", " word"])
    row, numbers = [1, 2.5, word], np.arange(3.0)
    one = {"rows": [row, row], "words": (word, word), "numbers": [numbers, numbers], "device": "cpu"}
    other = {"rows": [[1, 2.5, again], [1, 2.5, word]], "words": (word, again), "numbers": [numbers, numbers.copy()]}
    other["device"] = "".join(["c", "pu"])
    assert pickle.dumps(one) != pickle.dumps(other)  # which is why
    for name, state in (("step_000001", one), ("step_000002", other)):
        write_checkpoint(tmp_path / "checkpoints" / name, [], [Part(state)], {"step": int(name[-1])})
    first, second = checkpoints(tmp_path)
    assert (first / "parts.pt").read_bytes() == (second / "parts.pt").read_bytes()
    assert str(read_parts(first)[0]) == str(one)


def test_one_form_is_equal():
    state = {"a": [1, (2, "x")], 3: None, "t": torch.ones(2)}
    found = in_one_form(state)
    assert found["a"] == state["a"]
    assert found["t"] is state["t"]
    assert list(found) == list(state)


def copied(run, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    return tmp_path / "run"


def manifest(folder, change):
    path = checkpoints(folder)[-1] / "manifest.json"
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda found: found.update(step=-1), "its manifest is of step -1"),
        (lambda found: found.update(step=7), "its manifest is of step 7"),
        (lambda found: found.update(step=True), "step must be a whole number"),
        (lambda found: found.pop("step"), "has no 'step'"),
        (lambda found: found["digests"].pop("parts.pt"), "parts.pt is not in its manifest"),
        (lambda found: found["digests"].update({"../../../etc/hosts": "0"}), "is missing"),
        (lambda found: found.update(digests=[]), "digests must be an object"),
        (lambda found: found.update(collapse="x"), "collapse must be an object"),
    ],
)
def test_a_tampered_manifest_is_refused(change, said, run, tmp_path):
    folder = copied(run, tmp_path)
    manifest(folder, change)
    with pytest.raises(RedQueenError, match="is broken") as caught:
        check(checkpoints(folder)[-1])
    assert said in str(caught.value)


def test_a_file_that_is_not_in_the_manifest_is_refused(run, tmp_path):
    folder = copied(run, tmp_path)
    (checkpoints(folder)[-1] / "learner" / "more.safetensors").write_bytes(b"")
    with pytest.raises(RedQueenError, match=r"more\.safetensors is not in its manifest"):
        check(checkpoints(folder)[-1])


def resumed(folder):
    return main(["resume", str(folder)])


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("config", "matches_per_step"), -3, "must be at least 1, not -3"),
        (("config", "matches_per_step"), 2.5, "matches_per_step must be a whole number, not 2.5"),
        (("config", "matches_per_step"), True, "matches_per_step must be a whole number, not True"),
        (("config", "matches_per_step"), 7, "was written with another recipe, seed or config"),
        (("config", "learner", "learning_rate"), float("nan"), "must be a finite number, not nan"),
        (("config", "learner", "learning_rate"), "x", "learning_rate must be"),
        (("config", "learner", "temperature"), [], "temperature must be"),
        (("seed",), 9, "was written with another recipe, seed or config"),
        (("seed",), "9", "seed must be a whole number, not '9'"),
        (("recipe",), "spiral", "does not have"),
        (("recipe",), 3, "recipe must be a text, not 3"),
        (("schedule", "checkpoint_every"), 0, "--checkpoint-every must be at least 1, not 0"),
        (("schedule", "checkpoint_every"), None, "checkpoint_every must be a whole number"),
        (("schedule",), [], "schedule must be an object"),
        (("config",), None, "config must be an object"),
        (("command",), "x", "command must be a list"),
    ],
)
def test_tampered_settings_are_refused(path, value, said, run, tmp_path, capsys):
    folder = copied(run, tmp_path)
    found = json.loads((folder / "config.json").read_text())
    place = found
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    (folder / "config.json").write_text(json.dumps(found))
    before = checkpoints(folder)
    assert resumed(folder) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert said in err
    assert checkpoints(folder) == before


def test_an_untouched_run_is_resumed(run, tmp_path):
    assert resumed(copied(run, tmp_path)) == 0


def test_a_table_that_is_not_finite_is_refused(run, tmp_path, capsys):
    folder = copied(run, tmp_path)
    newest = checkpoints(folder)[-1]
    table = newest / "learner" / "table.json"
    found = json.loads(table.read_text())
    found["logits"][0][0] = float("nan")
    table.write_text(json.dumps(found))
    manifest(folder, lambda said: said["digests"].update({"learner/table.json": _sha(table)}))
    assert resumed(folder) == 2
    assert "learner/table.json: the table: .logits[0][0] must be a finite number, not nan" in capsys.readouterr().err


def _sha(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class RunsCode:
    def __reduce__(self):
        return os.mkdir, ("ran",)


@pytest.mark.parametrize("name", ["parts.pt", "learner/optimizer.pt"])
def test_nothing_pickled_is_loaded(name, run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = copied(run, tmp_path)
    path = checkpoints(folder)[-1] / name
    torch.save([RunsCode()], path)
    manifest(folder, lambda said: said["digests"].update({name: _sha(path)}))
    resumed(folder)
    assert not (tmp_path / "ran").exists()
    if name == "parts.pt":
        assert "fits only the recipe and the settings that wrote it" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["../../outside", "\ud800", "other"])
def test_a_policy_of_another_name_is_refused_before_anything_is_written_under_it(name, tmp_path):
    policy = TabularPolicy()
    write_checkpoint(tmp_path / "checkpoints" / "step_000001", [policy], [], {"step": 1})
    saved = tmp_path / "checkpoints" / "step_000001" / "learner" / "table.json"
    saved.write_text(json.dumps({**json.loads(saved.read_text()), "name": name}))
    with pytest.raises(RedQueenError, match="holds a policy of another name"):
        read_checkpoint(saved.parents[1], [policy], [])
