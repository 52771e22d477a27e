"""`redqueen check`: the contract that fits, in one line, with exit status 0 or 2."""

import json
import re
from pathlib import Path

import pytest

from redqueen.checks.sandbox import jail
from redqueen.cli import checking
from redqueen.cli.main import main

OWN = """
from dataclasses import dataclass

from redqueen.games.talk import ask, forfeit, told
from redqueen.players.scripted import Uniform
from redqueen.questions.small.sums import Sums
from redqueen.types import Outcome, Seat, Task

SEATS = (Seat("left"), Seat("right"))


class Guess:
    name = "guess"
    roles = ("left", "right")

    def tasks(self):
        return [Task("only")]

    def play(self, task, rng):
        for seat in SEATS:
            text = yield from ask(seat, told(f"You are {seat}. Heads or tails?"), ("heads", "tails"))
            if text not in ("heads", "tails"):
                return forfeit(seat, SEATS, 1.0, text)
        return Outcome(dict.fromkeys(SEATS, 0.0))


class Endless(Guess):
    def play(self, task, rng):
        while True:
            yield from ask(SEATS[0], told("Heads or tails?"), ("heads", "tails"))


class Crash(Guess):
    def play(self, task, rng):
        yield from ask(SEATS[0], told("Heads or tails?"), ("heads", "tails"))
        raise KeyError("nobody")


class HalfGame:
    name = "half"
    roles = ("left",)

    def tasks(self):
        return []


class HalfSet:
    name, levels = "half", ("easy",)

    def problems(self, level, count, rng):
        return []


def player():
    return Uniform("mine")


def questions(digits: int = 2):
    return Sums(digits)


def per_token(likelihoods, batch):
    own = batch.loss_weights != 0
    return -(batch.loss_weights * batch.advantages * likelihoods.logprobs.where(own, 0.0)).sum(), {}


class Mean:
    def __call__(self, likelihoods, batch):
        return -(batch.advantages * likelihoods.logprobs).mean(), {}


class Ranks:
    def __call__(self, trajectories):
        return [1.0 for _ in trajectories]


@dataclass
class Nothing:
    colour: str = "red"
"""


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(OWN)
    return path


@pytest.fixture
def line(capsys):
    """The exit status of a check, and its one line."""

    def checked(spec):
        capsys.readouterr()
        status = main(["check", spec])
        out, err = capsys.readouterr()
        assert not (out and err)
        text = out or err
        assert text.endswith("\n")
        assert len(text.splitlines()) == 1, text
        return status, text

    return checked


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Guess", "guess keeps the contract of games: 1 task, played by left, right"),
        ("player", "mine keeps the contract of players: replies for itself"),
        ("questions", "keeps the contract of question sets:"),
        ("questions:digits=1", "keeps the contract of question sets:"),
        ("per_token", "per_token keeps the contract of objectives: additive over rows"),
    ],
)
def test_what_applies_is_found_by_its_shape(name, expected, mine, line):
    status, text = line(f"{mine}:{name}")
    assert status == 0, text
    assert expected in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (":Endless", "endless does not end|guess does not end"),
        (":Crash", "breaks its contract: it raises KeyError"),
        (":HalfGame", "is half a game: HalfGame has no play"),
        (":HalfSet", "is half a question set: HalfSet has no right; a question set has name, levels, problems, right"),
        (":Mean", "the loss of Mean depends on how the batch is cut|loss weight is zero"),
        (
            ":Ranks",
            "is called with one thing, as an estimator is with trajectories, and these have no contract: use it",
        ),
        (":Nothing", "is nothing that has a contract: a game has name, roles, tasks, play"),
        (":Gues", "did you mean Guess"),
        ("", "say what of .*mine.py to check, .*mine.py:Guess; a recipe has Config and train"),
    ],
)
def test_what_is_wrong_is_one_line(name, expected, mine, line):
    status, text = line(f"{mine}{name}")
    assert status == 2
    assert text.startswith("redqueen: ")
    assert re.search(expected, text), text


@pytest.mark.parametrize("name", ["kuhn_poker", "liars_dice:sides=3", "sums", "variants", "uniform", "spiral"])
def test_what_is_shipped_is_checked_by_its_name(name, line):
    status, text = line(name)
    assert status == 0, text
    assert " keeps the contract of " in text


def test_a_recipe_is_checked_by_its_file_or_folder(tmp_path, line, monkeypatch):
    monkeypatch.setattr(checking, "check_recipe", lambda recipe: f"{recipe.__name__.split('.')[-1]} was read")
    text = (
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Config: pass\ndef train(config, run): pass\n"
    )
    (tmp_path / "method").mkdir()
    (tmp_path / "method" / "recipe.py").write_text(text)
    (tmp_path / "alone.py").write_text(text)
    assert line(str(tmp_path / "alone.py")) == (0, "alone was read\n")
    assert line(str(tmp_path / "method")) == (0, "recipe was read\n")
    assert line("redqueen.recipes.games.spiral") == (0, "spiral was read\n")
    status, text = line(str(tmp_path))
    assert status == 2
    assert "has no recipe.py" in text


def test_a_folder_of_a_recipe_is_one_under_any_path_and_that_of_a_run_is_named(tmp_path, line, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(checking, "check_recipe", lambda recipe: "the recipe was read")
    folder, run = Path("recipes/mine"), Path("outputs/mine-0")  # as names on the hub are
    for each in (folder, run):
        each.mkdir(parents=True)
    (folder / "recipe.py").write_text("Config = train = print\n")
    (run / "metrics.jsonl").write_text("")
    assert line("recipes/mine") == (0, "the recipe was read\n")
    assert line("outputs/mine-0") == (
        2,
        "redqueen: outputs/mine-0 is the folder of a run: redqueen report outputs/mine-0 shows it, "
        "redqueen resume outputs/mine-0 goes on\n",
    )


def test_what_is_not_there_is_answered_with_what_is_near(line):
    assert line("kuhn_pocker") == (2, "redqueen: there is no 'kuhn_pocker' to check: did you mean kuhn_poker?\n")
    assert "usage: redqueen check NAME" in line("zzzzzz")[1]


def test_code_that_ends_the_process_is_named(tmp_path, capsys):
    file = tmp_path / "quits.py"
    file.write_text(
        "import sys\nfrom redqueen.types import Task\n\n\nclass Quits:\n    name = 'quits'\n    repeatable = True\n\n"
        "    def tasks(self):\n        return [Task('a', prompt='x')]\n\n    def held_out(self):\n"
        "        return [Task('b', prompt='y')]\n\n    def open(self, task, seed):\n        sys.exit(3)\n"
    )
    assert main(["check", f"{file}:Quits"]) == 2
    assert f"{file}, line 16, has ended the command by sys.exit(3)" in capsys.readouterr().err
    assert main(["check", "--help"]) == 0


@pytest.mark.skipif(bool(jail.why_not()), reason="this machine has no jail")
def test_a_seed_is_of_the_replies_of_a_model(tmp_path, capsys):
    (tmp_path / "mine.jsonl").write_text('{"question": "1+1", "answer": "2"}\n{"question": "2+1", "answer": "3"}\n')
    assert main(["check", str(tmp_path / "mine.jsonl"), "--seed", "1"]) == 2
    assert "--seed has no effect without a model" in capsys.readouterr().err


def test_a_file_with_a_reference_that_fails_its_tests_is_checked_and_says_so(tmp_path, capsys):
    path = tmp_path / "programs.jsonl"
    rows = [
        {
            "text": f"Add {n}.",
            "code": f"def f(x):\n    return x + {0 if n == 3 else n}",
            "test_list": [f"assert f(1) == {1 + n}"],
        }
        for n in range(1, 13)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    main(["check", str(path)])
    said = capsys.readouterr().out
    assert "1 of 12 reference answers fails its own tests, so that right replies may count as wrong: " in said
    assert f"{path}, line 3 (assert f(1)" in said
    assert "assert f(1) == 4: gives 1)" in said


def test_all_rows_that_cannot_be_used_are_listed_up_to_ten(tmp_path, capsys):
    path = tmp_path / "rows.jsonl"
    good = [f'{{"question": "1+{n}", "answer": "{1 + n}"}}' for n in range(20)]
    path.write_text("\n".join([*good, '{"question": "1+', '["1+1"]', '{"question": "2+2"}']), encoding="utf-8")
    with pytest.warns(UserWarning, match="left out 3 of 23 rows"):
        assert main(["check", str(path)]) == 0
    faults = [each for each in capsys.readouterr().out.splitlines() if each.startswith(f"{path}, line ")]
    assert [each.partition(": ")[0] for each in faults] == [f"{path}, line {n}" for n in (21, 22, 23)]
    path.write_text("\n".join([good[0], *('{"question": "2+2"}',) * 13]), encoding="utf-8")
    assert main(["check", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        *(f"{path}, line {n}: it has no answer" for n in range(2, 12)),
        "and 3 more rows that cannot be used",
    ]
    assert err.count("\n") == 1
    path.write_text("x\ny\n", encoding="utf-8")
    assert main(["check", str(path)]) == 2
    assert [each.partition(": ")[0] for each in capsys.readouterr().out.splitlines()] == [
        f"{path}, line 1",
        f"{path}, line 2",
    ]
