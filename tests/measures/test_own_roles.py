"""Roles that a model writes itself: which is kept, what it gains, and the file that `roled:` reads."""

import json
import re
from random import Random

import numpy as np
import pytest

from redqueen.cli import role_writing
from redqueen.cli.main import main
from redqueen.measures import own_roles as module
from redqueen.measures.own_roles import as_said_in, own_roles, role_in
from redqueen.measures.recitations import recited, reference_logprobs
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.questions.catalogue import find_questions
from redqueen.questions.small.cued import Cued
from redqueen.settings.learner import Learner
from redqueen.types import SOLVER, Demonstration

TASKS = [Cued().task("adder", 7, 3), Cued().task("taker", 7, 3)]
SHOWN = [Demonstration(SOLVER, task, task.answer) for task in TASKS]


@pytest.fixture
def model():
    return Learner(model="tiny:hidden=16,heads=2", max_completion_length=8).build_model(0)


@pytest.fixture
def writes(monkeypatch):
    """The model writes these roles in turn."""
    told = []

    def write(policy, asks):
        replies = []
        for ask in asks:
            voice, text = policy._voice(ask), told.pop(0)
            tokens = [*voice.chat.tokenizer.encode(text), voice.chat.end]
            replies.append(voice.say(ask, policy.prompt(ask), tokens, [-1.0] * len(tokens), truncated=False))
        return replies

    monkeypatch.setattr(TransformerPolicy, "_write", write)
    return told


def mean_logprob(model, one):
    ((row,),) = reference_logprobs(model, recited([one], model))
    return float(np.mean(row))


def test_the_role_that_makes_the_known_answer_likeliest_is_kept(model, writes):
    names = ["an adder", "a taker", "a cook", "an adder"]
    writes += [*names, "", " \n", "x" * 200, "a cook\n4"]
    first, second = own_roles(model, SHOWN, 4, Random(0))
    gains = {name: mean_logprob(model, as_said_in(SHOWN[0], name)) - mean_logprob(model, SHOWN[0]) for name in names}
    assert first.role == max(gains, key=gains.get) and first.written == 3
    assert first.gain == pytest.approx(gains[first.role], abs=1e-5)
    assert second.role == "a cook" and second.written == 1


def test_a_role_that_says_the_answer_is_none(model, writes):
    writes += ["I know that it is 10", "an adder of 100", "10", "an adder of 100"]
    (one,) = own_roles(model, SHOWN[:1], 4, Random(0))
    assert (one.role, one.written) == ("an adder of 100", 1)


def test_where_nothing_is_written_there_is_no_role(model, writes):
    writes += ["", "\n", "an adder", "an adder"]
    none, one = own_roles(model, SHOWN, 2, Random(0))
    assert none is None and one.role == "an adder"


@pytest.mark.parametrize(
    "reply, role", [("An adder.", "An adder."), ("\n An adder. \n10", "An adder."), ("", ""), ("a" * 121, "")]
)
def test_a_role_is_a_short_first_line(reply, role):
    assert role_in(reply) == role


def test_the_file_is_one_of_roles(tmp_path, capsys, monkeypatch):
    rows = [{"question": f"What is {n}+1?", "answer": str(n + 1)} for n in range(12)]
    (tmp_path / "train.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    monkeypatch.setattr(module, "role_in", lambda reply: "You add." if len(reply) % 2 else "You take.")
    file = tmp_path / "roles.jsonl"
    flags = ("--model", "tiny:hidden=16,heads=2", "--max-completion-length", "6", "--count", "2")
    assert main(["roles", "--questions", str(tmp_path / "train.jsonl"), "--write", str(file), *flags]) == 0
    assert "questions have a role" in capsys.readouterr().out
    found = find_questions(f"roled:inner={tmp_path / 'train.jsonl'},roles={file}")
    shown = found.demonstrations(40, Random(0))
    assert {one.text.partition("\n")[0] for one in shown} <= {"You add.", "You take."}


def test_questions_without_answers_have_no_roles(tmp_path, capsys):
    (tmp_path / "train.jsonl").write_text("".join(f'{{"question": "What is {n}?"}}\n' for n in range(9)))
    assert main(["roles", "--questions", str(tmp_path / "train.jsonl"), "--write", str(tmp_path / "r.jsonl")]) == 2
    assert "holds questions alone" in capsys.readouterr().err


def test_where_no_file_can_be_written_no_role_is(tmp_path, capsys, monkeypatch):
    (tmp_path / "train.jsonl").write_text("".join(f'{{"question": "{n}?", "answer": "{n}"}}\n' for n in range(9)))
    monkeypatch.setattr(role_writing, "own_roles", lambda *given: pytest.fail("roles are written first"))
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "folder.jsonl").mkdir()
    for name, said in (
        ("link.jsonl", "link.jsonl is a link, which is not followed"),
        ("folder.jsonl", "it is no regular file; move it away"),
        ("none/roles.jsonl", "cannot write .*roles.jsonl: No such file or directory"),
        ("..", "names no file to write"),
    ):
        flags = ("--write", str(tmp_path / name), "--model", "tiny:hidden=16,heads=2")
        assert main(["roles", "--questions", str(tmp_path / "train.jsonl"), *flags]) == 2
        told = capsys.readouterr().err
        assert re.search(said, told) and told.count("\n") == 1
