import json
import sys

import pytest

from redqueen.curricula.history import TaskHistory, after
from redqueen.curricula.on_disk import export_dataset, read_tasks, write_tasks
from redqueen.types import Message, RedQueenError, Task, Text, ToolCall, ToolResult

FULL = Task("a", "sums", "3 + 4 = ?\u2028Think – 思.", "7", {"digits": 1, "cards": (1, (2.5, None))}, 0.1 + 0.2)


def written(tmp_path, *lines: str):
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def test_what_is_written_reads_back_equal(tmp_path):
    path = tmp_path / "new folder" / "tasks.jsonl"
    tasks = [FULL, Task("b", prompt="q")]
    write_tasks(path, tasks)
    assert read_tasks(path) == tasks
    assert [json.loads(line)["schema"] for line in path.read_text().split("\n") if line] == [1, 1]
    assert [file.name for file in path.parent.iterdir()] == ["tasks.jsonl"]


def test_choices_and_messages_are_fields_and_older_files_hold_them_among_the_facts(tmp_path):
    told = (Message("system", "Be brief."), Message("assistant", [ToolCall("1", "add", {"terms": [1]})]))
    tasks = [Task("a", choices=("x", "y"), messages=(*told, Message("user", [ToolResult("1", "1"), Text("?")])))]
    path = tmp_path / "tasks.jsonl"
    write_tasks(path, tasks)
    assert read_tasks(path) == tasks
    line = '{"id": "1", "prompt": "p", "facts": {"choices": ["x"], "messages": [["user", "Hi"]], "own": 1}}'
    assert read_tasks(written(tmp_path, line)) == [
        Task("1", prompt="p", facts={"own": 1}, choices=("x",), messages=(Message("user", "Hi"),))
    ]


def test_only_id_and_prompt_are_needed(tmp_path):
    path = written(tmp_path, '{"id": "1", "prompt": "What?"}', "", '{"id": "2", "prompt": "Who?", "weight": 2}')
    assert read_tasks(path) == [Task("1", prompt="What?"), Task("2", prompt="Who?", weight=2.0)]
    assert type(read_tasks(path)[1].weight) is float


def test_files_of_other_systems_are_read(tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": "1", "prompt": "a"}\r\n{"id": "2", "prompt": "b"}')
    assert [task.prompt for task in read_tasks(path)] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ('{"id": "2"}', "the task has no prompt: it needs id and prompt"),
        ("{}", "the task has no id and no prompt"),
        ('{"id": 2, "prompt": "x"}', "id must be a string, not 2"),
        ('{"id": "", "prompt": "x"}', "id must not be empty"),
        ('{"id": "2", "prompt": ["x"]}', r'prompt must be a string, not \["x"\]'),
        ('{"id": "2", "prompt": "x", "answer": 7}', "answer must be a string, not 7"),
        ('{"id": "2", "prompt": "x", "facts": [1]}', "facts must be an object"),
        ('{"id": "2", "prompt": "x", "weight": true}', "weight must be a number, not true"),
        ('{"id": "2", "prompt": "x", "weight": -1}', "weight must be a finite number of at least 0, not -1"),
        ('{"id": "2", "prompt": "x", "weight": NaN}', "NaN is no number"),
        ('{"id": "2", "prompt": "x", "facts": {"a": -Infinity}}', "-Infinity is no number"),
        ('{"id": "2", "prompt": "x", "prompt": "y"}', "'prompt' stands there 2 times"),
        (f'{{"id": "2", "prompt": "x", "weight": 1{"0" * 400}}}', "weight must be a finite number .*, not 10{39}$"),
        (f'{{"id": "2", "prompt": "x", "facts": {{"a": {"[" * 9999}{"]" * 9999}}}}}', "nested too deeply"),
        (f'{{"id": "2", "prompt": "x", "facts": {{"a": {"[" * 600}{"]" * 600}}}}}', "nested too deeply"),
        ('{"id": "2", "prompt": "x", "question": "y"}', "'question' is no field of a task: .* under facts"),
        ('{"id": "2", "prompt": "x", "choices": "ab"}', 'choices must be a list of strings, not "ab"'),
        ('{"id": "2", "prompt": "x", "choices": [1]}', r"choices must be a list of strings, not \[1\]"),
        ('{"id": "2", "prompt": "x", "facts": {"choices": 1}}', "choices must be a list of strings, not 1"),
        ('{"id": "2", "prompt": "x", "choices": [], "facts": {"choices": []}}', "choices stand there twice"),
        ('{"id": "2", "prompt": "x", "messages": [["tool", "a"]]}', r'a message must be .*, not \["tool", "a"\]'),
        ('{"id": "2", "prompt": "x", "messages": [["user"]]}', r'a message must be .*, not \["user"\]'),
        ('{"id": "2", "prompt": "x", "messages": [["user", [{}]]]}', "a part of a message is"),
        ('{"id": "2", "prompt": "x", "schema": 2}', "version 2 of the format, and this redqueen reads version 1"),
        ('{"id": "1", "prompt": "x"}', "the id '1' is that of line 1"),
        ('{"id": "2", "prompt": "x"', "this is not JSON"),
        ('["id", "prompt"]', "this is not an object"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, line, wrong):
    path = written(tmp_path, '{"id": "1", "prompt": "x"}', "", line)
    with pytest.raises(RedQueenError, match=wrong) as caught:
        read_tasks(path)
    assert str(caught.value).startswith(f"{path}:3: ")
    assert "\n" not in str(caught.value)


def test_files_that_hold_nothing_to_read_are_refused(tmp_path):
    with pytest.raises(RedQueenError, match=r"cannot read .*: No such file"):
        read_tasks(tmp_path / "none.jsonl")
    with pytest.raises(RedQueenError, match="holds no task"):
        read_tasks(written(tmp_path, "", "  "))
    (tmp_path / "latin.jsonl").write_bytes(b'{"id": "1", "prompt": "\xe9"}')
    with pytest.raises(RedQueenError, match="is not UTF-8 text: byte 23"):
        read_tasks(tmp_path / "latin.jsonl")


def test_what_cannot_be_written_leaves_the_file_as_it_was(tmp_path):
    path = written(tmp_path, '{"id": "1", "prompt": "x"}')
    before = path.read_bytes()
    for tasks, line in [
        ([Task("a"), Task("b"), Task("a")], "2 tasks have the id 'a'"),
        ([Task("a", facts={"x": {1, 2}})], "facts of task 'a'"),
        ([Task("a", prompt="\ud800")], "half a character"),
    ]:
        with pytest.raises(RedQueenError, match=line):
            write_tasks(path, tasks)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["tasks.jsonl"]
    with pytest.raises(RedQueenError, match="cannot write"):
        write_tasks(path / "below.jsonl", [FULL])


def test_a_data_set_holds_every_task_with_its_history(tmp_path):
    datasets = pytest.importorskip("datasets")
    tried = after(TaskHistory(FULL, "proposer", ("x",), ("ran twice",), 3, 4, 1), [1.0, 0.0], 5, 6, 0.5, 16)
    new = TaskHistory(Task("b", prompt="q"))
    folder = tmp_path / "export"
    export_dataset([tried, new], folder)
    loaded = datasets.load_from_disk(str(folder / "dataset"))
    table = datasets.Dataset.from_parquet(str(folder / "tasks.parquet"), cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == list(table)
    first, second = loaded
    assert (first["id"], first["prompt"], first["weight"]) == ("a", FULL.prompt, 0.1 + 0.2)
    assert json.loads(first["facts"]) == {"digits": 1, "cards": [1, [2.5, None]]}
    assert (first["origin"], first["parents"], first["gates"]) == ("proposer", ["x"], ["ran twice"])
    assert (first["tries"], first["solve_rate"], first["mean_result"], first["solver_version"]) == (2, 0.5, 0.5, 6)
    assert (second["parents"], second["solve_rate"], second["last_seen"]) == ([], None, None)
    assert sorted(file.name for file in folder.iterdir()) == ["dataset", "tasks.parquet"]
    with pytest.raises(RedQueenError, match="exists already"):
        export_dataset([new], folder)


def test_choices_and_messages_are_columns_of_an_export(tmp_path):
    datasets = pytest.importorskip("datasets")
    task = Task("b", choices=("x", "y"), messages=(Message("user", "Hi"),))
    export_dataset([TaskHistory(task), TaskHistory(Task("c"))], tmp_path / "export")
    first, second = datasets.load_from_disk(str(tmp_path / "export" / "dataset"))
    assert (first["choices"], json.loads(first["messages"])) == (["x", "y"], [["user", "Hi"]])
    assert (second["choices"], json.loads(second["messages"])) == ([], [])


def test_columns_have_a_type_where_nothing_is_known(tmp_path):
    datasets = pytest.importorskip("datasets")
    export_dataset([TaskHistory(Task("b", prompt="q"))], tmp_path / "export")
    types = datasets.load_from_disk(str(tmp_path / "export" / "dataset")).features
    assert types["solve_rate"].dtype == "float64" and types["parents"].feature.dtype == "string"


def test_an_export_needs_the_extra_and_something_to_export(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(RedQueenError, match=r"pip install 'redqueen\[hub\]'"):
        export_dataset([TaskHistory(FULL)], tmp_path / "export")


@pytest.mark.parametrize("wrong", [Task("b", prompt="q\ud800"), Task("b\ud800"), Task("b", facts={"x": "\ud800"})])
def test_an_export_of_half_a_character_leaves_nothing_behind(tmp_path, wrong):
    pytest.importorskip("datasets")
    with pytest.raises(RedQueenError, match="half a character"):
        export_dataset([TaskHistory(FULL), TaskHistory(wrong)], tmp_path / "export")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_export_is_refused(tmp_path):
    pytest.importorskip("datasets")
    with pytest.raises(RedQueenError, match="no task to export"):
        export_dataset([], tmp_path / "export")


def test_a_fact_that_json_has_no_word_for_is_not_written(tmp_path):
    with pytest.raises(RedQueenError, match="a fact is not a finite number"):
        write_tasks(tmp_path / "tasks.jsonl", [Task("1", prompt="x", facts={"a": float("nan")})])
    assert not (tmp_path / "tasks.jsonl").exists()
