"""Files of pairs that somebody compared (`self_j --pairs --given`), from a stranger: each is taken or refused in one
line, whatever stands in a column."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from redqueen.cli.main import main
from redqueen.play.lockstep import play
from redqueen.questions.dataset import Dataset
from redqueen.recipes.labels.self_j.questions import Letters, Scores, given_pairs, pairs_in, recalled, told
from redqueen.texts import MOST_NESTED
from redqueen.types import RedQueenError


def nested(depth: int, kind: str = "[]") -> Any:
    text = "[" * depth + "]" * depth if kind == "[]" else '{"a":' * depth + "1" + "}" * depth
    return json.loads(text)


NASTY: tuple[Any, ...] = (
    *(None, True, False, -3, 0, 1, 10**15, 2**63, 10**400, 1e308, math.nan, math.inf, -math.inf),
    *("", " ", "x", "nan", "1e999", "\x1b[31mred\x07", "\ud800", "a\nb\u2028c", "</script>", "‮", "\x00", "9" * 4000),
    *(
        [],
        {},
        [[]],
        [None],
        [1],
        {"a": 1},
        ["x", "y"],
        nested(MOST_NESTED - 9),
        nested(MOST_NESTED + 9),
        nested(900),
        nested(400, "{}"),
    ),
    *([{"from": [], "value": "x"}], [{"from": {}, "value": 1}], [{"from": "human", "value": []}], [{"from": "human"}]),
    *([{"role": "user", "content": 3}], [{"role": [], "content": "x"}], [{"role": "assistant", "content": [{}]}]),
    *([{"role": "user", "content": "x"}, {"role": "system", "content": "y"}], [1, 2, 3]),
)
ROW = {"prompt": "Which?", "chosen": "this one", "rejected": "that one", "chosen_score": 5, "rejected_score": 2}
ROW |= {"margin": 1.5, "system": "Be brief.", "context": "There are two.", "category": "k"}
TALK = {
    name: [{"role": "user", "content": "Which?"}, {"role": "assistant", "content": text}]
    for name, text in (("chosen", "this one"), ("rejected", "that one"))
}


def taken(path: Path) -> int:
    """How many pairs `self_j` takes, and what it does with them before it asks a model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        questions = Dataset(str(path), category="category" if "category" in path.read_text()[:600] else "")
    pairs = questions.preferences("train", 99, Random(0))
    for form in (Letters(), Scores()):
        for pair in pairs_in(told(play(recalled(pairs), Random(0))), form):
            form.plain(pair, Random(0))
            assert form.read(f"so\n{pair.verdict}") == pair.verdict
    given_pairs(questions, [pair.task for pair in pairs], Random(0))
    return len(pairs)


@pytest.mark.parametrize("form", [ROW, TALK], ids=["texts", "messages"])
def test_whatever_stands_in_a_column_is_taken_or_told_in_one_line(form: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    for name in form:
        for value in NASTY:
            sound = [
                {key: f"{number} {each}" if isinstance(each, str) else each for key, each in form.items()}
                for number in range(2)
            ]
            path.write_text("".join(json.dumps(row) + "\n" for row in ({**form, name: value}, *sound)))
            try:
                assert taken(path) >= 1  # one at least of the sound ones, of which one may be held out
            except RedQueenError as error:
                assert "\n" not in str(error), (name, value)
            except Exception as error:
                pytest.fail(f"{name} = {str(value)[:60]!r}: {type(error).__name__}: {error}")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _link_to_a_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _holes(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def _text(text: str | bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(text if isinstance(text, bytes) else text.encode()) and None


HOSTILE: dict[str, Callable[[Path], None]] = {
    "pairs.jsonl": _pipe,
    "linked.jsonl": _link_to_a_pipe,
    "device.jsonl": _device,
    "device.csv": _device,
    "holes.jsonl": _holes,
    "folder.jsonl": Path.mkdir,
    "cut.jsonl": _text(json.dumps(ROW)[:-9]),
    "cut.json": _text("[" + json.dumps(ROW)[:-9]),
    "cut.parquet": _text(b"PAR1\x00\x00PAR1"),
    "names.csv": _text("chosen,rejected\x1b[31m,\x00\na,b,c\n"),
    "quote.csv": _text('prompt,chosen,rejected\n"' + "x" * 200_000),
    "line.jsonl": _text('{"prompt": "' + "x" * 4_000_000),
    "deep.jsonl": _text("[" * 2_000_000 + "\n"),
    "columns.jsonl": _text("{" + ", ".join(f'"c{n}": {n}' for n in range(20_000)) + "}\n"),
    "bytes.jsonl": _text(b"\xff\xfe\x00{"),
    "empty.jsonl": _text(""),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_holds_no_pairs_is_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    HOSTILE[name](tmp_path / name)
    words = ["--pairs", "--given", "--questions", name, "--model", "tiny", "--steps", "1"]
    assert main(["train", "self_j", *words, "--output", "run"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and len(said) < 1000 and said.strip().isprintable()
    assert not (tmp_path / "run").exists()
