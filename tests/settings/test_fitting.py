"""Questions that are too long for the model: found by its own tokens before the first step, and left out."""

import json
from dataclasses import dataclass

import pytest

from redqueen.questions.catalogue import find_questions
from redqueen.settings.fitting import _asked, fitting, fitting_file
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError

TINY = Learner(model="tiny")


@dataclass(frozen=True)
class Config:
    learner: Learner = TINY
    questions: str = "sums"


def of_lengths(path, *lengths):
    rows = [{"problem": f"{'x' * count}{n}?", "answer": n} for n, count in enumerate(lengths)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_too_long_rows_are_named_with_their_length_and_left_out(tmp_path):
    path = of_lengths(tmp_path / "a.jsonl", 3, 5000, 4, 9000, 5, 6)
    spec, said = fitting_file(path, TINY)
    assert said.startswith(f"too long: {path}, line 2 has ")
    assert "and tiny reads 4,096 with its reply, as 1 more have" in said
    assert spec == f"dataset:path={path},longest=5001"
    with pytest.warns(match="left out 2 of 6 rows"):
        kept = find_questions(spec)
    assert sorted(task.answer for task in kept.all_tasks()) == ["0", "2", "4", "5"]
    assert fitting_file(spec, TINY) == (spec, "")  # nothing more is left out the next time


def test_a_prompt_of_as_many_tokens_as_are_allowed_fits_and_one_more_does_not(tmp_path):
    path = of_lengths(tmp_path / "a.jsonl", 3, 4, 40)
    chat, _ = TINY.as_solver()
    longest = max(len(chat.prompt(_asked(task))) for task in find_questions(path).all_tasks())
    assert fitting_file(path, Learner(model="tiny", max_prompt_length=longest)) == (path, "")
    _, said = fitting_file(path, Learner(model="tiny", max_prompt_length=longest - 1))
    assert f"has {longest} tokens, and --max-prompt-length allows {longest - 1}" in said


def test_where_all_are_too_long_it_is_refused_and_what_has_no_limit_is_left_alone(tmp_path):
    path = of_lengths(tmp_path / "a.jsonl", 5000, 6000)
    with pytest.raises(RedQueenError, match=r"all 2 questions of .* are too long: the shortest, .*line 1, has"):
        fitting(Config(questions=path))
    for learner in (Learner(), Learner(model="tinker:base@http://localhost:1")):  # a table; a model on a server
        assert fitting_file(path, learner) == (path, "")
    assert fitting(Config()) == (Config(), "")  # no file
    fits = Config(questions=of_lengths(tmp_path / "b.jsonl", 1, 2))
    assert fitting(fits) == (fits, "")


def test_what_stands_around_a_question_counts(tmp_path):
    path = of_lengths(tmp_path / "a.jsonl", 3, 4, 5)
    short = Learner(model="tiny", max_prompt_length=60)
    assert fitting_file(path, short)[1] == ""
    with pytest.raises(RedQueenError, match="all 3 questions"):
        fitting_file(path, Learner(model="tiny", max_prompt_length=60, system_prompt="words " * 60))
