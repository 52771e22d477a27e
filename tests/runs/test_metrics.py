"""The metrics of a run: what is new in them, and all of them as a table."""

import json
import math
import sys

import pytest

from redqueen.runs.metrics import NewLines, figures_of, metrics_frame
from redqueen.runs.run import read_metrics
from redqueen.types import RedQueenError


def written(folder, *lines, mode="a", end="\n"):
    folder.mkdir(exist_ok=True)
    with (folder / "metrics.jsonl").open(mode) as file:
        file.write("".join(json.dumps(line) + end for line in lines))


def run(folder, *lines, seed=0, final=None):
    written(folder, *lines)
    settings = {"recipe": "spiral", "config": {}, "seed": seed, "schedule": {}, "versions": {}}
    (folder / "config.json").write_text(json.dumps(settings))
    if final is not None:
        (folder / "final.json").write_text(json.dumps(final))
    return folder


def steps(found):
    return [line["step"] for line in found[0]], found[1]


def test_only_what_is_new_is_read(tmp_path):
    lines = NewLines(tmp_path)
    assert steps(lines.read()) == ([], False)
    written(tmp_path, {"step": 0}, {"step": 1})
    assert steps(lines.read()) == ([0, 1], False)
    assert steps(lines.read()) == ([], False)
    written(tmp_path, {"step": 2})
    assert steps(lines.read()) == ([2], False)


def test_a_line_counts_once_it_is_whole(tmp_path):
    lines = NewLines(tmp_path)
    written(tmp_path, {"step": 0})
    written(tmp_path, {"step": 1}, end="")
    assert steps(lines.read()) == ([0], False)
    written(tmp_path, end="")
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write("\n")
    assert steps(lines.read()) == ([1], False)


@pytest.mark.parametrize("bad", [b'{"step": 2, "los\n', b"\xff\xfe\n", b"[1]\n", b'{"loss": 1.0}\n'])
def test_a_damaged_line_is_named(tmp_path, bad):
    lines = NewLines(tmp_path)
    written(tmp_path, {"step": 0}, {"step": 1})
    lines.read()
    with (tmp_path / "metrics.jsonl").open("ab") as file:
        file.write(bad)
    written(tmp_path, {"step": 3})
    for read in (lines.read, lambda: read_metrics(tmp_path)):
        with pytest.raises(RedQueenError, match=r"line 3 of .*metrics.jsonl is no line of metrics"):
            read()


def test_a_run_that_is_resumed_from_an_earlier_step_is_read_again(tmp_path):
    lines = NewLines(tmp_path)
    written(tmp_path, *({"step": step, "time": {"step": 1}} for step in range(5)))
    lines.read()
    written(tmp_path, *({"step": step, "time": {"step": 1}} for step in range(3)), mode="w")
    assert steps(lines.read()) == ([0, 1, 2], True)
    written(tmp_path, *({"step": step, "time": {"step": 2}} for step in range(3, 9)))
    assert steps(lines.read()) == ([3, 4, 5, 6, 7, 8], False)


def test_a_resumed_run_that_is_longer_already_is_read_again_too(tmp_path):
    lines = NewLines(tmp_path)
    written(tmp_path, *({"step": step, "time": {"step": 1}} for step in range(5)))
    lines.read()
    written(tmp_path, *({"step": step, "time": {"step": 1 if step < 3 else 2}} for step in range(8)), mode="w")
    assert steps(lines.read()) == (list(range(8)), True)


def test_a_run_that_begins_anew_is_read_again(tmp_path):
    lines = NewLines(tmp_path)
    written(tmp_path, {"step": 0}, {"step": 1})
    lines.read()
    (tmp_path / "metrics.jsonl").write_text("")
    assert steps(lines.read()) == ([], True)
    written(tmp_path, {"step": 0})
    assert steps(lines.read()) == ([0], False)


def test_what_is_no_number_is_no_figure():
    line = {"step": 1, "loss": 0.5, "note": "words", "pass@4": 1, "time": {"step": 2.0, "at": 3.0, "gigabytes": 4.0}}
    assert figures_of(line) == {"loss": 0.5, "pass@4": 1.0, "time/step": 2.0, "memory/gigabytes": 4.0}


def test_runs_are_one_frame_with_a_column_for_each_figure(tmp_path):
    pytest.importorskip("pandas")
    one = run(
        tmp_path / "one",
        {"step": 0, "loss": 1.0, "exploitability": 0.5, "time": {"step": 0.25, "at": 9.0}},
        {"step": 1, "loss": 0.5},
        seed=3,
        final={"step": 2, "exploitability": 0.125},
    )
    two = run(tmp_path / "two", {"step": 0, "entropy": 0.75}, seed=4)
    frame = metrics_frame(one, str(two))
    assert list(frame.columns) == ["run", "seed", "step", "loss", "exploitability", "time/step", "entropy"]
    assert frame["run"].tolist() == ["one", "one", "one", "two"]
    assert frame["seed"].tolist() == [3, 3, 3, 4]
    assert frame["step"].tolist() == [0, 1, 2, 0]
    assert frame["exploitability"].tolist()[::2] == [0.5, 0.125]
    assert math.isnan(frame["loss"][3]) and math.isnan(frame["exploitability"][1])
    assert frame.groupby("seed")["loss"].mean()[3] == 0.75


def test_a_run_without_a_step_is_a_frame_without_rows(tmp_path):
    pytest.importorskip("pandas")
    frame = metrics_frame(run(tmp_path / "new"))
    assert list(frame.columns) == ["run", "seed", "step"] and len(frame) == 0


def test_what_cannot_be_a_frame_is_said(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    with pytest.raises(RedQueenError, match="name at least one run"):
        metrics_frame()
    with pytest.raises(RedQueenError, match="is not a run"):
        metrics_frame(tmp_path / "nothing")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(RedQueenError, match=r"pip install 'redqueen\[notebook\]'"):
        metrics_frame(run(tmp_path / "new"))
