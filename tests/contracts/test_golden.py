"""One transcript of each game is kept: a change in rules or wording is a diff that one can review."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

GOLDEN = Path(__file__).parent.parent / "golden"


def writer() -> ModuleType:
    plan = importlib.util.spec_from_file_location("golden_write", GOLDEN / "write.py")
    assert plan is not None
    assert plan.loader is not None
    module = importlib.util.module_from_spec(plan)
    plan.loader.exec_module(module)
    return module


WRITER = writer()


@pytest.mark.parametrize("name", list(WRITER.TRANSCRIPTS))
def test_a_game_speaks_and_plays_as_its_golden_transcript(name: str) -> None:
    kept = GOLDEN / f"{name}.txt"
    again = "run `python tests/golden/write.py`, read the diff, and commit it if the change is meant"
    assert kept.exists(), f"{kept} is missing: {again}"
    assert WRITER.transcript(name) == kept.read_text(encoding="utf-8"), f"{kept.name} differs: {again}"


def test_no_transcript_is_kept_of_a_game_that_is_gone() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(WRITER.TRANSCRIPTS)
