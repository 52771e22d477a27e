"""Which columns are found by their usual names, and what is said where none is."""

import pytest

from redqueen.questions.columns import layout_of, value_at
from redqueen.questions.data_rows import Row
from redqueen.types import RedQueenError


def found(*rows, named=None, ignore=()):
    return layout_of([Row(f"a, line {n}", row) for n, row in enumerate(rows, 1)], named or {}, "a", ignore)


@pytest.mark.parametrize(
    ("columns", "roles", "unused"),
    [
        ("problem solution", {"question": "problem", "completion": "solution"}, ""),
        (
            "problem solution answer level type",
            {"question": "problem", "answer": "answer", "completion": "solution"},
            "level type",
        ),
        ("question answer", {"question": "question", "answer": "answer"}, ""),
        ("Question Answer ID", {"question": "Question", "answer": "Answer"}, "ID"),
        ("input target", {"question": "input", "answer": "target"}, ""),
        ("text label", {"question": "text", "answer": "label"}, ""),
        ("instruction input output", {"question": "instruction", "completion": "output"}, ""),
        (
            "prompt chosen rejected completion",
            {"question": "prompt", "chosen": "chosen", "rejected": "rejected"},
            "completion",
        ),
        ("chosen rejected", {"chosen": "chosen", "rejected": "rejected"}, ""),
        ("question choices answerKey", {"question": "question", "answer": "answerKey", "choices": "choices"}, ""),
        ("context question answers", {"question": "question", "answer": "answers", "context": "context"}, ""),
        ("text code test_list", {"question": "text", "completion": "code", "tests": "test_list"}, ""),
    ],
)
def test_usual_names_are_found(columns, roles, unused):
    layout = found(dict.fromkeys(columns.split(), "x"))
    assert dict(layout.roles) == roles
    assert layout.unused == tuple(unused.split())


def test_a_named_column_comes_before_a_usual_one_and_may_lie_within_an_object():
    layout = found(
        {"problem": "a", "text": "b", "meta": {"result": 3}}, named={"question": "text", "answer": "meta.result"}
    )
    assert dict(layout.roles) == {"question": "text", "answer": "meta.result"} and layout.unused == ("problem",)
    assert value_at({"meta": {"result": 3}}, "meta.result") == 3 and value_at({}, "meta.result") is None


def test_a_label_that_says_whether_a_reply_is_good_is_no_answer():
    assert "answer" not in found({"prompt": "a", "completion": "b", "label": True}).roles
    assert found({"prompt": "a", "label": 1}).roles["answer"] == "label"
    for label in ("True", "false", 1, 0.0, "good", "undesirable"):  # as a CSV has them
        roles = found({"prompt": "a", "completion": "b", "label": label}).roles
        assert roles["label"] == "label" and "answer" not in roles
    assert found({"prompt": "a", "completion": "b", "label": "seven"}).roles["answer"] == "label"
    assert found({"prompt": "a", "solution": "b", "choices": ["x", "y"], "label": 1}).roles["answer"] == "label"


def test_a_column_split_counts_where_it_says_train_and_test():
    assert found({"problem": "a", "split": "train"}, {"problem": "b", "split": "test"}).roles["split"] == "split"
    assert "split" not in found({"problem": "a", "split": "north"}).roles


def test_a_few_rows_of_another_format_are_for_others_to_refuse_and_many_are_two_formats():
    many = [{"problem": "a"}] * 18
    assert found(*many, {"prompt": "b"}).roles["question"] == "problem"
    with pytest.raises(RedQueenError, match="a holds two formats: 18 rows have 'problem' and 4 have 'prompt'"):
        found(*many, *[{"prompt": "b"}] * 4)
