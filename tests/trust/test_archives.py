"""Archives in a checkpoint that unfold to more than they hold, and folders that are made to be walked for ever."""

import ast
import importlib.util
import io
import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest
import torch

from redqueen.players import archives
from redqueen.players.archives import read_archive
from redqueen.texts import is_hollow
from redqueen.trust.reading import as_object, files_below
from redqueen.types import Damaged

PLAN = importlib.util.spec_from_file_location("fuzz_folders", Path(__file__).with_name("fuzz_folders.py"))
fuzz = importlib.util.module_from_spec(PLAN)
sys.modules[PLAN.name] = fuzz
PLAN.loader.exec_module(fuzz)


def saved(path, value):
    torch.save(value, path)
    return path


def test_what_torch_wrote_is_read(tmp_path):
    value = {"rows": [1, 2.5, None, "x"], "weights": torch.arange(6.0).reshape(2, 3), "none": []}
    found = read_archive(saved(tmp_path / "parts.pt", value))
    assert torch.equal(found.pop("weights"), value.pop("weights"))
    assert found == value


def test_a_transposed_tensor_is_no_wider_than_its_storage(tmp_path):
    found = read_archive(saved(tmp_path / "parts.pt", torch.arange(6.0).reshape(2, 3).T))
    assert found.tolist() == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.slow
def test_a_packed_archive_is_not_unpacked(tmp_path):
    """Two gigabytes of zeros behind the pickle, in some megabytes."""
    path = saved(tmp_path / "parts.pt", [{"count": 1}])
    parts = zipfile.ZipFile(io.BytesIO(path.read_bytes()))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for name in parts.namelist():
            with packed.open(name, "w", force_zip64=True) as file:
                file.write(parts.read(name))
                for _ in range(128 * name.endswith("data.pkl")):
                    file.write(bytes(1 << 24))
    with pytest.raises(Damaged, match="must hold its parts as they are, not packed"):
        read_archive(path)


@pytest.mark.parametrize("content", [b"", b"PK", b"\x80\x02]q\x00.", b"x" * 1000])
def test_what_is_no_archive_is_told(content, tmp_path):
    (tmp_path / "parts.pt").write_bytes(content)
    with pytest.raises(Damaged, match="is no archive of torch"):
        read_archive(tmp_path / "parts.pt")


def laughs():
    """A list of ten of a list of ten ...: a thousand million values in 300 bytes."""
    found = [0] * 10
    for _ in range(8):
        found = [found] * 10
    return found


def in_itself():
    found = []
    found.append(found)
    return found


@pytest.mark.parametrize("value", [laughs(), {"a": {"b": laughs()}}, in_itself()], ids=["list", "inside", "cycle"])
def test_one_list_in_many_places_is_refused(value, tmp_path):
    with pytest.raises(Damaged, match="stands in itself or in too many places"):
        read_archive(saved(tmp_path / "parts.pt", value))


def test_a_tensor_of_more_numbers_than_are_stored_is_refused(tmp_path):
    with pytest.raises(Damaged, match=f"a tensor of {1 << 40} numbers, more than it stores"):
        read_archive(saved(tmp_path / "parts.pt", [{"rows": torch.zeros(1).expand(1 << 40)}]))


def test_json_of_more_values_than_fit_into_the_memory_is_refused():
    with pytest.raises(Damaged, match="it has more than 20000000 values"):
        as_object('{"a":[' + "[]," * 20_000_000 + "0]}", "it")


def nest(place, depth):
    above = os.open(place, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=above)
        inner = os.open("d", os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = inner
    os.close(above)


def flatten(place):
    """Removes what `nest` made, from the outside in: no call of its own goes so deep."""
    while (place / "d").is_dir():
        beside = place / "moved"
        if (place / "d" / "d").is_dir():
            (place / "d" / "d").rename(beside)
            (place / "d").rmdir()
            beside.rename(place / "d")
        else:
            (place / "d").rmdir()


def test_files_of_folders_in_folders_are_listed_without_following_links(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "x").touch()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert sorted(files_below(tmp_path)) == ["a/b/x", "link"]


def test_a_large_file_of_holes_is_told_from_one_of_bytes(tmp_path):
    path = tmp_path / "file"
    path.touch()
    os.truncate(path, 1 << 30)
    assert not is_hollow(path.stat())
    os.truncate(path, 8 << 40)
    assert is_hollow(path.stat())


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return fuzz.template(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture
def run(template, tmp_path):
    shutil.copytree(template, tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize("command", ["evaluate", "resume", "tasks"])
@pytest.mark.parametrize("place", ["checkpoints/step_000002/learner", "checkpoints/.writing_step_000003"])
def test_folders_nested_a_thousand_deep_are_one_line(place, command, run):
    (run / place).mkdir(exist_ok=True)
    nest(run / place, 1500)
    try:
        assert fuzz._fault([command, str(run)]) == ""
    finally:
        flatten(run / place)


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "a\u2028b", "\x1b[31m", "\udcff"])
def test_names_of_files_in_a_checkpoint_keep_to_the_line(name, run):
    (run / "checkpoints/step_000002" / name).write_text("x")
    assert fuzz._fault(["evaluate", str(run)]) == ""


def test_a_checkpoint_of_holes_is_not_hashed(run):
    os.truncate(run / "checkpoints/step_000002/parts.pt", 8 << 40)
    assert fuzz._fault(["evaluate", str(run)]) == ""


def test_the_tasks_of_parts_that_are_no_objects_are_one_line(run):
    checkpoint = run / "checkpoints/step_000002"
    torch.save([[0], 1], checkpoint / "parts.pt")
    fit(checkpoint)
    assert fuzz._fault(["tasks", str(run)]) == ""


def fit(checkpoint):
    """Makes the hashes of a checkpoint those of its files."""
    manifest = fuzz.json.loads((checkpoint / "manifest.json").read_text())
    digests = {
        name: fuzz.hashlib.sha256((checkpoint / name).read_bytes()).hexdigest()
        for name in files_below(checkpoint)
        if name != "manifest.json"
    }
    (checkpoint / "manifest.json").write_text(fuzz.json.dumps({**manifest, "digests": digests}))


UNPICKLING = ("pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "yaml")
OWN_RUN = "contracts/recipes.py"  # which compares runs that it has made itself
OWN_PROCESSES = "play/actors.py"  # which speaks with processes that it has started, over sockets that nobody else holds


def test_nothing_in_the_package_unpickles_but_by_its_weights():
    """`torch.load` is always asked for weights alone, and nothing else that runs what it reads is imported."""
    package, loads = Path(archives.__file__).parents[1], 0
    for path in package.rglob("*.py"):
        name = path.relative_to(package).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import) and name != OWN_PROCESSES:
                assert not {each.name.partition(".")[0] for each in node.names} & {*UNPICKLING}, name
            elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in UNPICKLING:
                assert [each.name for each in node.names] == ["UnpicklingError"], name
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "load":
                owner = ast.unparse(node.func.value)
                told = {word.arg: ast.unparse(word.value) for word in node.keywords}
                if owner == "torch" and name != OWN_RUN:
                    assert told.get("weights_only") == "True", name
                    loads += 1
                assert owner not in ("np", "numpy") and told.get("allow_pickle", "False") == "False", name
    assert loads
