"""`evaluate RUN --suite`, from the command to the report."""

import json

import pytest

from redqueen.cli.main import main

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]  # the libraries' own warnings
TRAIN = ["train", "spiral", "--game", "kuhn_poker", "--model", "tiny", "--matches-per-step", "8", "--steps", "1"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suites")
    assert main([*TRAIN, "--learning-rate", "0.01", "--output", str(folder / "run")]) == 0
    return folder / "run"


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    folder = tmp_path_factory.mktemp("task")
    rows = [{"question": f"{n} + 1 =", "choices": [str(n), str(n + 1)], "answer": 1} for n in range(6)]
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "task.yaml").write_text(
        f"""task: next
dataset_path: json
dataset_kwargs: {{data_files: {{test: "{folder}/test.jsonl"}}}}
test_split: test
output_type: multiple_choice
doc_to_text: question
doc_to_choice: choices
doc_to_target: answer
metric_list: [{{metric: acc}}]
"""
    )
    return f"lm-eval:{folder}/task.yaml"


def test_a_suite_is_asked_before_and_after_and_stands_in_the_report(run, task, capsys):
    pytest.importorskip("lm_eval")
    assert main(["evaluate", str(run), "--suite", task, "--suite-limit", "5"]) == 0
    assert "before and after 1 updates" in " ".join(capsys.readouterr().out.split())
    (kept,) = json.loads((run / "suites.json").read_text())["suites"]
    assert (kept["of"], kept["settings"], kept["updates"]) == (task, "most=5", 1)
    assert kept["headings"] == ["task", "figure", "of", "before", "after", "after - before", "shows"]
    (row,) = kept["rows"]
    assert row[:3] == ["next", "acc", "5"]
    assert row[-1] in ("gained", "forgotten", "unchanged", "not shown")
    assert main(["evaluate", str(run), "--suite", task, "--suite-limit", "5"]) == 0  # the same again takes its place
    assert main(["evaluate", str(run), "--suite", task, "--suite-limit", "6"]) == 0
    found = json.loads((run / "suites.json").read_text())["suites"]
    assert [each["settings"] for each in found] == ["most=5", "most=6"]
    assert main(["report", str(run)]) == 0
    assert "Gained and forgotten in others" in (run / "report.html").read_text()
    assert '"suites":[[0,{' in (run / "report.html").read_text().replace(" ", "")


def test_before_is_the_model_as_it_was_before_the_run(run):
    import torch

    from redqueen.chance import derive
    from redqueen.players.transformer.loading import tiny_model
    from redqueen.players.transformer.policy import TransformerPolicy
    from redqueen.runs.folder import settings, stored_policy

    row = [((5, 6, 7, 8), 1)]
    fresh = TransformerPolicy(tiny_model(derive(int(settings(run)["seed"]), "learner")), learns=False)
    start, end = (stored_policy(run, step).verbatim().rate(row)[0][0] for step in ("start", None))
    assert start == pytest.approx(fresh.verbatim().rate(row)[0][0], abs=1e-5)
    assert abs(end - start) > 1e-3
    assert torch.is_grad_enabled()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--suite", "helm:x"], "--suite says who asks what"),
        (["--suite", "lm-eval:"], "--suite says who asks what"),
        (["--suite", "lm-eval:x", "--game", "kuhn_poker"], "leave out --game"),
        (["--suite-limit", "4"], "are of a suite"),
        (["--suite", "lm-eval:x", "--matches", "4"], "--matches has no effect on a suite"),
    ],
)
def test_what_is_no_suite_is_one_line(run, words, said, capsys):
    assert main(["evaluate", str(run), *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_a_table_cannot_be_asked(tmp_path, capsys):
    run = tmp_path / "table"
    assert main(["train", "first_steps", "--steps", "1", "--output", str(run)]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(run), "--suite", "lm-eval:x"]) == 2
    assert "is no language model on this machine" in capsys.readouterr().err


def test_a_damaged_file_of_suites_is_named(run, tmp_path, capsys):
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    (copy / "suites.json").write_text('{"suites": [{"of": 3}]}')
    assert main(["report", str(copy)]) == 2
    assert "suites.json is cut short or was changed" in capsys.readouterr().err
