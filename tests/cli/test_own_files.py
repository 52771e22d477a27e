"""A file of questions on the command line: recognised, its settings part of its name, its faults one line."""

import dataclasses
import json
import re
from pathlib import Path

import pytest

from redqueen.cli.main import main
from redqueen.cli.own_files import FileOptions, with_file
from redqueen.types import RedQueenError

TINY = ["--model", "tiny:hidden=16,heads=2", "--max-completion-length", "4"]


@dataclasses.dataclass(frozen=True)
class Config:
    questions: str = "sums"


@dataclasses.dataclass(frozen=True)
class OwnConfig:
    questions: str = "sums"
    test: str = "its own"


def written(path, count=12, **more):
    rows = [{"frage": f"{n} + 1?", "antwort": str(n + 1), **more} for n in range(count)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_flags_become_part_of_the_name():
    options = FileOptions("question=frage, answer=antwort", "number", "test.jsonl", 0.2)
    assert with_file(Config("a.csv"), options).questions == (
        "dataset:path=a.csv,question=frage,answer=antwort,compare=number,test=test.jsonl,held_out=0.2"
    )
    assert with_file(Config("a.csv"), FileOptions()).questions == "dataset:path=a.csv"
    assert with_file(Config("dataset:path=a.csv"), FileOptions(held_out=0.2)).questions == (
        "dataset:path=a.csv,held_out=0.2"
    )
    assert with_file(Config("dataset:path=a.csv,held_out=0.2"), FileOptions(compare="number")).questions == (
        "dataset:path=a.csv,held_out=0.2,compare=number"
    )
    assert with_file(Config(), FileOptions()).questions == "sums"


@pytest.mark.parametrize(
    ("spec", "options", "wanted"),
    [
        ("sums", FileOptions(compare="number"), "--compare is for a file of questions .* and sums is none"),
        ("sums", FileOptions(held_out=0.2), "--held-out is for a file of questions"),
        ("a.csv", FileOptions("question"), "--columns says which column has which role"),
        ("a.csv", FileOptions("color=a"), "the roles are question, answer"),
        ("a,b.csv", FileOptions(), "must have no comma"),
        ("a.csv", FileOptions(held_out=1.5), "--held-out"),
    ],
)
def test_flags_that_will_not_do_are_refused_in_one_line(spec, options, wanted):
    with pytest.raises(RedQueenError, match=wanted):
        with_file(Config(spec), options)


def test_a_recipe_is_trained_on_a_file_and_its_folder_says_how(tmp_path, capsys):
    file = written(tmp_path / "a.jsonl", id="x")
    run = tmp_path / "run"
    words = ["--questions", file, "--columns", "question=frage,answer=antwort", "--held-out", "0.25", "--problems", "2"]
    sizes = ["--steps", "1", "--attempts", "2", "--tasks", "2"]
    assert main(["train", "svs", *TINY, *words, *sizes, "--output", str(run)]) == 0
    said = capsys.readouterr().out
    assert "9 problems to train on, 3 held out (a share of 0.25)" in said
    assert "question = frage, answer = antwort; not used: id" in said
    spec = json.loads((run / "config.json").read_text())["config"]["questions"]
    assert spec == f"dataset:path={file},question=frage,answer=antwort,held_out=0.25"
    assert main(["evaluate", str(run), "--matches", "2"]) == 0
    assert "accuracy/held_out" in capsys.readouterr().out
    Path(file).unlink()
    assert main(["evaluate", str(run)]) == 2
    assert f"{run} was trained on {spec!r}: there is no file {file}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "wanted"),
    [
        ("a.jsonl", '{"a": 1}\n', "has no column that looks like a question: its columns are a"),
        ("a.jsonl", "", "is empty"),
        ("a.jsonl", '{"problem": "1"}\n', "holds nothing to train on"),
        ("a.csv", "problem,answer\n1,2\n3\n4\n5\n", "3 of 4 rows .* cannot be used"),
        ("nosuch.jsonl", None, "there is no file"),
    ],
)
def test_a_file_that_will_not_do_is_one_line_before_anything_is_loaded(tmp_path, capsys, name, content, wanted):
    if content is not None:
        (tmp_path / name).write_text(content)
    words = [
        "train",
        "svs",
        "--model",
        "nosuch",
        "--questions",
        str(tmp_path / name),
        "--output",
        str(tmp_path / "run"),
    ]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert re.search(wanted, error)
    assert not Path(tmp_path / "run").exists()


def test_a_hub_name_without_a_network_is_one_line_at_once(tmp_path, capsys, monkeypatch):
    pytest.importorskip("datasets")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert main(["train", "svs", *TINY, "--questions", "nobody/nothing", "--output", str(tmp_path / "run")]) == 2
    assert "the Hugging Face hub cannot be reached" in capsys.readouterr().err


def test_what_a_recipe_needs_of_a_file_is_said_by_the_column(tmp_path, capsys):
    file = written(tmp_path / "a.jsonl")
    named = ["--questions", file, "--columns", "question=frage,answer=antwort"]
    for recipe, column in (("pasodoble", "context"), ("spell", "context"), ("promptcot2", "concepts")):
        assert main(["train", recipe, *TINY, *named, "--output", str(tmp_path / recipe)]) == 2
        assert f"need a column {column} (--columns {column}=COL)" in capsys.readouterr().err


def test_check_shows_what_is_expected_and_with_a_model_what_is_replied(tmp_path, capsys):
    file = written(tmp_path / "a.jsonl")
    words = ["check", file, "--columns", "question=frage,answer=antwort"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert said.count("asked") == 10 and 'expected  "' in said and "keeps the contract of question sets" in said
    assert "answers: 12 numbers, such as" in said
    assert main([*words, *TINY]) == 0
    said = capsys.readouterr().out
    assert said.count("replied") == 10 and "of 10 replies" in said


def test_check_of_questions_alone_says_that_nobody_knows(tmp_path, capsys):
    file = tmp_path / "a.jsonl"
    file.write_text("".join(json.dumps({"prompt": f"{n} + 1?"}) + "\n" for n in range(12)))
    assert main(["check", str(file)]) == 0
    said = capsys.readouterr().out
    assert "no answers: verdicts on replies are unknown" in said and said.count("expected  unknown") == 10


def test_a_row_that_the_model_cannot_read_is_left_out_before_the_first_step(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = Path(written(tmp_path / "a.jsonl"))
    path.write_text(path.read_text() + json.dumps({"frage": "word " * 5000, "antwort": "1"}) + "\n")
    flags = ["--columns", "question=frage,answer=antwort", *TINY]
    small = ["--steps", "1", "--tasks", "1", "--attempts", "2", "--output", "run"]
    with pytest.warns(match="left out 1 of 13 rows"):
        assert main(["train", "grpo", "--questions", "a.jsonl", *flags, *small]) == 0
    out = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert re.search(r"too long: a\.jsonl, line 13 has [\d,]+ tokens, and tiny\S* reads 4,096 with its reply", out)
    assert "longest=" in json.loads(Path("run/config.json").read_text())["config"]["questions"]
    with pytest.warns(match="left out 1 of 13 rows"):
        assert main(["check", "a.jsonl", *flags[:2], "--held-out", "0.2", "--model", "tiny:hidden=16,heads=2"]) == 0
    assert "too long: a.jsonl, line 13 has" in capsys.readouterr().out
