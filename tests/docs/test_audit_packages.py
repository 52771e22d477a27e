"""Installed packages beside advisories in OSV's form; the ranges are those of OSV's own evaluation rules."""

import importlib.util
import json
import zipfile
from pathlib import Path

import pytest

PLACE = Path(__file__).parents[2] / "docs" / "audit_packages.py"


@pytest.fixture(scope="module")
def audit():
    plan = importlib.util.spec_from_file_location("audit_packages", PLACE)
    module = importlib.util.module_from_spec(plan)
    plan.loader.exec_module(module)
    return module


def affected(*events, versions=(), name="Some_Package"):
    ranges = [{"type": "ECOSYSTEM", "events": [dict([event]) for event in events]}] if events else []
    return {"package": {"ecosystem": "PyPI", "name": name}, "ranges": ranges, "versions": list(versions)}


@pytest.mark.parametrize(
    ("version", "events", "hit"),
    [
        ("1.0", [("introduced", "0")], True),
        ("1.0", [("introduced", "0"), ("fixed", "1.0")], False),
        ("1.0rc1", [("introduced", "0"), ("fixed", "1.0")], True),
        ("1.10", [("introduced", "1.9"), ("fixed", "1.11")], True),
        ("1.9", [("introduced", "1.10")], False),
        ("2.0", [("introduced", "1.0"), ("last_affected", "2.0")], True),
        ("2.0.1", [("introduced", "1.0"), ("last_affected", "2.0")], False),
        ("3.1", [("introduced", "1.0"), ("fixed", "2.0"), ("introduced", "3.0"), ("fixed", "3.2")], True),
        ("2.5", [("fixed", "2.0"), ("introduced", "1.0"), ("introduced", "3.0")], False),
        ("1.0", [("introduced", "no version")], False),
    ],
)
def test_a_range_begins_and_ends(audit, version, events, hit):
    assert audit.is_affected(version, affected(*events)) is hit


def test_a_version_that_is_listed_is_affected(audit):
    assert audit.is_affected("2024b", affected(versions=["2024b"]))
    assert not audit.is_affected("2024c", affected(versions=["2024b"]))


@pytest.mark.parametrize("zipped", [True, False])
def test_holes_are_named_and_withdrawn_ones_are_not(audit, zipped, tmp_path, capsys):
    hole = {"id": "PYSEC-1", "summary": "reads\nfiles", "affected": [affected(("introduced", "0"), ("fixed", "2"))]}
    gone = {**hole, "id": "PYSEC-2", "withdrawn": "2026-01-01T00:00:00Z"}
    other = {
        **hole,
        "id": "GHSA-3",
        "affected": [{**hole["affected"][0], "package": {"ecosystem": "npm", "name": "x"}}],
    }
    place = tmp_path / ("all.zip" if zipped else "all")
    if zipped:
        with zipfile.ZipFile(place, "w") as archive:
            for each in (hole, gone, other):
                archive.writestr(f"{each['id']}.json", json.dumps(each))
    else:
        place.mkdir()
        for each in (hole, gone, other):
            (place / f"{each['id']}.json").write_text(json.dumps(each))
    assert audit.holes({"some-package": "1.5", "x": "1.0"}, place) == ["some-package 1.5: PYSEC-1 reads files"]
    assert audit.holes({"some-package": "2.0"}, place) == []
    assert audit.main(place) == 0
    assert "no known hole in" in capsys.readouterr().out
    assert audit.main(tmp_path / "none.zip") == 2
