"""The figures of many pairs: each row holds what it says, in order."""

import pytest

from experiments.speed import pairs
from redqueen.objectives import packed


@pytest.mark.slow
def test_pairs_are_read_packed_and_joined(monkeypatch):
    monkeypatch.setattr(pairs, "RECITED", 8)
    headings, rows, note = pairs.held(1100, 16)
    assert len(headings) == 4
    assert [row[1] for row in rows[:2]] == ["0.00 GB", "0.00 GB"]
    most = [float(row[3].split()[0]) for row in rows]
    assert most == sorted(most)
    assert note.startswith("1,100 pairs; ")


def test_memory_is_kept_where_no_library_gives_it_back(monkeypatch):
    packed.give_back()
    monkeypatch.setattr(packed.ctypes, "CDLL", lambda name: object())
    packed.give_back()
