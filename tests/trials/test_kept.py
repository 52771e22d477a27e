"""Finished work is used again until a module that it imported, or a file that it read, changes."""

import os
import sys
from types import ModuleType

import pytest

from redqueen.trials import kept as keeping
from redqueen.trials.kept import all_texts, keep, kept, note_reads, place_of, texts


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A folder of three modules, two of them loaded, and two data files, one of them read."""
    for name in ("used", "also_used", "unrelated"):
        (tmp_path / f"{name}.py").write_text(f"NAME = {name!r}\n")
    for name in ("rows.jsonl", "out.txt"):
        (tmp_path / name).write_text("{}\n")
    monkeypatch.setattr(keeping, "BEGAN", float("inf"))
    monkeypatch.setattr(keeping, "_READ", {})
    note_reads()
    (tmp_path / "rows.jsonl").read_text()
    for name in ("used", "also_used"):
        module = ModuleType(name)
        module.__file__ = str(tmp_path / f"{name}.py")
        monkeypatch.setitem(sys.modules, f"kept_test_{name}", module)
    keep(tmp_path / "cache" / "made.json", {"score": 1.0}, [tmp_path])
    return tmp_path


def test_only_what_was_loaded_or_read_counts(written):
    loaded = {name: module for name, module in sys.modules.items() if name.startswith("kept_test_")}
    found = texts([written / "elsewhere", written], {**loaded, "torch": sys.modules["torch"]})
    assert list(found) == ["1/also_used.py", "1/rows.jsonl", "1/used.py"]


def test_data_that_lies_elsewhere_counts_where_it_was_read_and_not_written(written, tmp_path_factory, monkeypatch):
    data, made = tmp_path_factory.mktemp("data"), written / "cache" / "made.json"
    (data / "before.csv").write_text("question,answer\n")
    os.utime(data / "before.csv", (1, 1))
    monkeypatch.setattr(keeping, "BEGAN", 2.0)
    (data / "written.csv").write_text("question,answer\n")
    for name in ("before.csv", "written.csv"):
        (data / name).read_text()
    monkeypatch.setattr(keeping, "BEGAN", float("inf"))
    keep(made, {"score": 1.0}, [written])
    (data / "written.csv").unlink()
    assert kept(made, [written]) is not None
    (data / "before.csv").write_text("problem,answer\n")
    assert kept(made, [written]) is None


def test_weights_that_are_replaced_make_them_anew(written, tmp_path_factory):
    model, made = tmp_path_factory.mktemp("model"), written / "cache" / "made.json"
    for name in ("config.json", "model.safetensors"):
        (model / name).write_text("{}")
    (model / "config.json").read_text()
    keep(made, {"score": 1.0}, [written])
    (model / "notes.txt").write_text("new")
    assert kept(made, [written]) is not None
    (model / "model.safetensors").write_text("{ }")
    assert kept(made, [written]) is None


def test_a_change_in_an_unrelated_module_keeps_the_results(written):
    (written / "unrelated.py").write_text("NAME = 'changed'\n")
    made = kept(written / "cache" / "made.json", [written])
    assert made is not None and made["score"] == 1.0


@pytest.mark.parametrize("name", ["used.py", "also_used.py", "rows.jsonl"])
def test_a_change_in_what_was_imported_makes_them_anew(written, name):
    (written / name).write_text("changed\n")
    assert kept(written / "cache" / "made.json", [written]) is None


def test_a_module_that_is_gone_makes_them_anew(written):
    (written / "used.py").unlink()
    assert kept(written / "cache" / "made.json", [written]) is None


def test_another_checkout_takes_it_up_only_where_its_modules_have_the_same_text(written, tmp_path_factory):
    other, made = tmp_path_factory.mktemp("other"), written / "cache" / "made.json"
    for name in ("used.py", "also_used.py", "rows.jsonl"):
        (other / name).write_text((written / name).read_text())
    assert kept(made, [other]) is not None
    (other / "used.py").write_text("changed\n")
    assert kept(made, [other]) is None and kept(made, [written]) is not None


def test_work_is_not_kept_where_a_module_changed_while_it_went_on(written, monkeypatch):
    monkeypatch.setattr(keeping, "BEGAN", 0.0)
    keep(written / "late.json", {"score": 1.0}, [written])
    assert kept(written / "late.json", [written]) is None


def test_places_depend_on_the_facts_and_functions_count_by_name():
    assert place_of("x", [keep, 1]) == place_of("x", [keep, 1])
    assert len({place_of("x", [keep, 1]), place_of("x", [kept, 1]), place_of("x", [keep, 2])}) == 3


def test_one_digest_for_all_files_changes_with_any(written):
    before = all_texts([written])
    (written / "unrelated.py").write_text("x = 2\n")
    assert all_texts([written]) != before
