"""A disk that is full, a quota, a folder that may not be written: one line, and a folder that resumes."""

import json
import os
import resource
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from redqueen.cli.main import main
from redqueen.players.transformer.loading import tiny_tokenizer
from redqueen.runs.checkpoints import checkpoints, saving
from redqueen.runs.run import read_final
from redqueen.trust import no_links
from redqueen.types import RedQueenError

FLAGS = ["--steps", "6", "--matches-per-step", "8", "--checkpoint-every", "1", "--evaluate-every", "2"]


def trained(folder, *more):
    return main(["train", "spiral", *FLAGS, "--output", str(folder), *more])


def weights(folder):
    return json.loads((checkpoints(folder)[-1] / "learner" / "table.json").read_text())


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert trained(folder) == 0
    return folder


CALLS = {
    "write": "os.fdopen",
    "rename": "os.replace",
    "sync": "os.fsync",
    "remove": "shutil.rmtree",
    "unlink": "os.unlink",
    "folder": "os.mkdir",
}


FAILING = [*((call, 28) for call in CALLS), ("write", 122), ("write", 30), ("write", 13)]


@pytest.mark.slow
@pytest.mark.parametrize("first", [3, 25])
@pytest.mark.parametrize(("call", "error"), FAILING)
def test_each_write_that_fails_ends_in_one_line_and_the_run_resumes(
    call, error, first, whole, tmp_path, monkeypatch, capsys
):
    """The same call fails for good after its third or 25th time, as on a disk that is full."""
    module, name = CALLS[call].split(".")
    place = {"os": os, "shutil": shutil}[module]
    real, count, folder = getattr(place, name), [0], tmp_path / "run"

    def fails(*words, **named):
        count[0] += 1
        if count[0] > first:
            raise OSError(error, os.strerror(error))
        return real(*words, **named)

    with monkeypatch.context() as patch:
        patch.setattr(getattr(no_links, module), name, fails)
        status = trained(folder)
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("redqueen:")]
    assert (status, len(said)) == ((2, 1) if count[0] > first else (0, 0))
    assert status == 0 or os.strerror(error) in said[0]
    if (folder / "config.json").exists():
        assert main(["resume", str(folder)]) == 0
    else:
        shutil.rmtree(folder, ignore_errors=True)
        assert trained(folder) == 0
    assert weights(folder) == weights(whole)
    assert read_final(folder) == read_final(whole)


@pytest.mark.slow
def test_a_limit_on_the_size_of_files_ends_in_one_line(tmp_path):
    program = (
        "import resource, sys; from redqueen.cli.main import main; "
        f"resource.setrlimit(resource.RLIMIT_FSIZE, (9000, {resource.RLIM_INFINITY})); sys.exit(main(sys.argv[1:]))"
    )
    folder = tmp_path / "run"
    words = ["train", "spiral", *FLAGS, "--output", str(folder)]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "File too large" in done.stderr or "cut short" in done.stderr
    if (folder / "config.json").exists():
        assert main(["resume", str(folder)]) == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_told_in_one_line(tmp_path, capsys):
    tmp_path.chmod(0o500)
    try:
        assert trained(tmp_path / "run") == 2
    finally:
        tmp_path.chmod(0o700)
    assert "Permission denied" in capsys.readouterr().err


@pytest.mark.parametrize(
    "said",
    ["basic_ios::clear: iostream error", "[enforce fail at inline_container.cc:858] . Writer failed"],
)
def test_however_torch_tells_of_a_full_disk_it_is_one_line(said, tmp_path):
    """The first is what it says where the end of its archive does not fit any more."""

    source = Path(torch.serialization.__file__)
    raising = compile("def fail(said):\n    raise RuntimeError(said)", str(source), "exec")
    space = {}
    exec(raising, space)
    with pytest.raises(RedQueenError, match="cut short, perhaps by a full disk") as caught, saving(tmp_path / "step_1"):
        space["fail"](said)
    assert "\n" not in str(caught.value)
    with pytest.raises(RuntimeError), saving(tmp_path / "step_1"):
        raise RuntimeError("an error of a device")


WRITERS = {
    "tokenizers": lambda path: tiny_tokenizer().backend_tokenizer.save(str(path)),
    "safetensors": lambda path: save_file({"a": torch.zeros(9)}, path),
    "torch": lambda path: torch.save([torch.zeros(9)], path),
    "text": lambda path: path.write_text("abcdefgh"),
}


@contextmanager
def full():
    """No file may have more than four bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("library", WRITERS)
def test_each_library_that_writes_on_a_full_disk_is_one_line(library, tmp_path):
    """tokenizers raises a plain Exception for it, which ended a training in a traceback."""
    with (
        pytest.raises(RedQueenError, match=r"cannot write .*(File too large|by a full disk)") as caught,
        full(),
        saving(tmp_path),
    ):
        WRITERS[library](tmp_path / "file")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("library", ["tokenizers", "text"])
def test_a_full_disk_outside_of_a_training_is_one_line_too(library, tmp_path, monkeypatch, capsys):
    def written(words):
        with full():
            WRITERS[library](tmp_path / "file")

    monkeypatch.setattr("redqueen.cli.main._command", lambda name: written)
    assert main(["list"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "File too large" in said
