"""Rows from disk: what each kind of file holds, and one clear line where it does not."""

import json
import sys
from pathlib import Path

import pytest

from redqueen.questions import data_rows
from redqueen.questions.data_rows import read_rows
from redqueen.types import RedQueenError

ROWS = [{"prompt": "Say hé", "completion": 'hé, "you"'}, {"prompt": "Say\nno", "completion": "no"}]


def columns(path, split=""):
    return [dict(row.columns) for row in read_rows(Path(path), split)]


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def refused(path, split=""):
    with pytest.raises(RedQueenError) as error:
        read_rows(Path(path), split)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_json_lines_are_known_by_their_lines(tmp_path):
    path = written(tmp_path / "a.jsonl", f"{json.dumps(ROWS[0])}\n\n{json.dumps(ROWS[1])}\n")
    assert columns(path) == ROWS
    assert [row.place for row in read_rows(path)] == [f"{path}, line 1", f"{path}, line 3"]


def test_a_line_ends_with_a_line_feed_and_nothing_else(tmp_path):
    text = "one\u2028two\x85three"
    path = written(tmp_path / "a.jsonl", json.dumps({"prompt": text}, ensure_ascii=False) + "\r\n")
    assert columns(path) == [{"prompt": text}]


def test_json_is_a_list_whose_rows_are_counted(tmp_path):
    path = written(tmp_path / "a.json", json.dumps(ROWS))
    assert columns(path) == ROWS
    assert read_rows(path)[1].place == f"{path}, row 2"


def test_json_may_hold_its_list_in_an_object(tmp_path):
    rows = read_rows(written(tmp_path / "a.json", '{"version": 1, "tags": ["x"], "data": [{"prompt": "a"}]}'))
    assert [dict(row.columns) for row in rows] == [{"prompt": "a"}]


def test_csv_has_quotes_line_ends_and_empty_fields(tmp_path):
    path = written(tmp_path / "a.csv", 'prompt,completion,answer\nSay hé,"hé, ""you""",\n\n"Say\nno",no,no\n')
    assert columns(path) == [ROWS[0], {**ROWS[1], "answer": "no"}]
    assert read_rows(path)[1].place == f"{path}, row 2"


def test_semicolons_and_tabs_part_fields_where_the_header_has_no_comma(tmp_path):
    for sign, name in ((";", "a.csv"), ("\t", "b.tsv")):
        path = written(tmp_path / name, f"prompt{sign}answer\nSay a, b{sign}3\n")
        assert columns(path) == [{"prompt": "Say a, b", "answer": "3"}]


def test_a_json_file_may_hold_json_lines(tmp_path):
    assert columns(written(tmp_path / "a.json", '{"prompt": "a"}\n{"prompt": "b"}\n')) == [
        {"prompt": "a"},
        {"prompt": "b"},
    ]


def test_a_null_is_no_column(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"prompt": "a", "completion": null}')
    assert columns(path) == [{"prompt": "a"}]


def test_parquet_is_read_with_messages_and_nulls(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [
        {"prompt": [{"role": "user", "content": "a"}], "answer": None},
        {"prompt": [{"role": "user", "content": "b"}], "answer": "c"},
    ]
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    assert columns(path) == [{"prompt": rows[0]["prompt"]}, rows[1]]
    assert read_rows(path)[1].place == f"{path}, row 2"
    assert "cannot be read as Parquet" in refused(written(tmp_path / "b.parquet", "no"))


def test_a_small_file_of_parquet_that_unfolds_to_gigabytes_is_refused(tmp_path, monkeypatch):
    """One text of a thousand characters, said in 20,000 rows; the limit is lowered for the sake of time."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"prompt": ["x" * 1000] * 20_000}), path)
    assert len(read_rows(path)) == 20_000
    assert read_rows(path)[19_999].place == f"{path}, row 20000"
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(data_rows, "MOST_UNFOLDED", 10_000_000)
    assert "unfolds to more than 10000000 bytes" in refused(path)


def test_a_saved_folder_has_one_split_or_needs_one_named(tmp_path):
    datasets = pytest.importorskip("datasets")
    table = datasets.Dataset.from_list(ROWS)
    datasets.disable_progress_bars()
    table.save_to_disk(str(tmp_path / "one"))
    datasets.DatasetDict({"train": table}).save_to_disk(str(tmp_path / "named"))
    datasets.DatasetDict({"train": table, "test": table.select([1])}).save_to_disk(str(tmp_path / "two"))
    assert columns(tmp_path / "one") == columns(tmp_path / "named") == columns(tmp_path / "two", "train") == ROWS
    assert columns(tmp_path / "two", "test") == ROWS[1:]
    assert "say which split" in refused(tmp_path / "two") and "it has train, test" in refused(tmp_path / "two")
    assert "it has train, test" in refused(tmp_path / "two", "tests")
    assert "it has none" in refused(tmp_path / "one", "train")
    (tmp_path / "empty").mkdir()
    assert "is not a data set that save_to_disk wrote" in refused(tmp_path / "empty")


@pytest.mark.parametrize("hidden, what", [("pyarrow", "Parquet"), ("datasets", "a saved data set")])
def test_without_the_extra_it_is_named(tmp_path, monkeypatch, hidden, what):
    monkeypatch.setitem(sys.modules, hidden, None)
    path = tmp_path if hidden == "datasets" else written(tmp_path / "a.parquet", "")
    assert f"reading {what} needs the library datasets: pip install 'redqueen[data]'" in refused(path)


def test_a_line_that_is_no_object_is_a_row_with_a_fault(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"prompt": "a"}\n{"prompt"\n["b"]\n')
    faults = [row.fault for row in read_rows(path)]
    assert faults[0] == ""
    assert "this is not JSON" in faults[1] and "write one object a line" in faults[1]
    assert "not an object" in faults[2]
    deep = written(tmp_path / "deep.jsonl", "[" * 9000 + "]" * 9000)
    assert "this is not JSON" in read_rows(deep)[0].fault
    short = written(tmp_path / "a.csv", "prompt,completion\na,b,c\n")
    assert "3 fields under 2 names" in read_rows(short)[0].fault


def test_what_cannot_be_read_is_said_in_one_line(tmp_path):
    assert "there is no file" in refused(tmp_path / "a.jsonl")
    assert "a data set is a file of .jsonl, .json, .csv, .tsv, .parquet with a column question" in refused(
        tmp_path / "a.jsonl"
    )
    assert "name a file of .jsonl, .json, .csv, .tsv, .parquet or a saved folder" in refused(tmp_path / "a.txt")
    assert "has no split 'train'" in refused(written(tmp_path / "b.jsonl", "{}"), "train")
    assert "must hold a list" in refused(written(tmp_path / "b.json", "{}"))
    two = refused(written(tmp_path / "b.json", '{"train": [{"a": 1}], "test": [{"a": 2}]}'))
    assert "or one object with one such list: it has 2; write each to a file of its own" in two
    assert "is not JSON" in refused(written(tmp_path / "c.json", "{"))
    assert "is not JSON" in refused(written(tmp_path / "c.json", "[" * 9000 + "]" * 9000))
    assert "name the columns, each once" in refused(written(tmp_path / "b.csv", "a,a\n1,2\n"))
    assert "this is not CSV" in refused(written(tmp_path / "c.csv", 'a\n"b'))
    (tmp_path / "d.jsonl").write_bytes(b'{"prompt": "\xff"}')
    assert "is not UTF-8 text: byte 12 is wrong; save it as UTF-8 (iconv -f latin1" in refused(tmp_path / "d.jsonl")
    (tmp_path / "e.csv").write_bytes("question,answer\n1+1?,2\n".encode("utf-16"))
    assert "(iconv -f utf-16 -t utf-8)" in refused(tmp_path / "e.csv")
