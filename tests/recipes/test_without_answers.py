"""Recipes whose reward is the verdict on an answer refuse a file without answers, before anything is trained."""

import pytest

from redqueen.cli.main import main

PAID_FOR_RIGHT_ANSWERS = (
    "grpo",
    "retool",
    "rlsp",
    "sage",
    "sar",
    "sws",
    "rise",
    "score",
    "drive",
    "exit",
    "r3",
    "spear",
)


@pytest.mark.parametrize("name", PAID_FOR_RIGHT_ANSWERS)
def test_a_file_without_answers_is_refused_in_one_line(name, tmp_path, capsys):
    file, run = tmp_path / "asked.jsonl", tmp_path / "run"
    file.write_text("".join(f'{{"prompt": "Say what {n} and {n + 2} have in common."}}\n' for n in range(40)))
    assert main(["train", name, "--model", "tiny", "--questions", str(file), "--output", str(run)]) == 2
    refused = capsys.readouterr().err.splitlines()[-1]
    assert "asked.jsonl does not know what is right" in refused and "--columns answer=COL" in refused
    assert not run.exists()
