"""`evaluate RUN --then RUN2`, from the command to the table."""

import json
import math
import shutil

import pytest

from redqueen.cli import sequences
from redqueen.cli.main import main
from redqueen.games.catalogue import find_game
from redqueen.players.tabular import TabularPolicy
from redqueen.recipes.credit.grpo import recipe as grpo
from redqueen.recipes.games import spiral
from redqueen.runs.train import train
from redqueen.settings.learner import Learner


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sequence")
    for name in ("shop", "mail"):
        game = f"acting:site({name},count=3,tests=3),2"
        config = grpo.Config(learner=Learner(model="tabular"), game=game, steps=1, tasks=1, attempts=2)
        train("grpo", config, folder / name, seed=0)
    train("spiral", spiral.Config(steps=1, matches_per_step=2), folder / "spiral", seed=0)
    return folder


def test_a_sequence_is_shown_task_by_task(runs, capsys):
    assert main(["evaluate", str(runs / "shop"), "--then", str(runs / "mail"), "--matches", "3"]) == 0
    said = capsys.readouterr().out
    assert "maintenance" in said and "shop" in said and "mail" in said
    assert said.count("0.000 0.000") == 2  # nobody does a task of three acts in two


def test_a_run_of_several_games_has_the_mean_of_their_figures(runs, monkeypatch):
    games = [find_game("tic_tac_toe"), find_game("kuhn_poker")]
    figures = {"tic_tac_toe": 0.25, "kuhn_poker": 0.75}
    monkeypatch.setattr(sequences, "stored_games", lambda run: games)
    monkeypatch.setattr(sequences, "usual_measures", lambda game, *_: [lambda: {"success": figures[game.name]}])
    assert sequences.performance(runs / "spiral", TabularPolicy(), 1, 0) == 0.5
    assert sequences._task(runs / "spiral") == "tic_tac_toe, kuhn_poker"


def test_what_was_measured_on_the_way_is_set_beside_experts(runs, capsys, monkeypatch):
    """In twice the episodes, and half as high; the start counts as nothing seen."""
    lines = {
        "shop": [{"episodes": 2.0, "success": 0.0}, {"episodes": 2.0}, {"success": 0.4}],
        "mail": [{"episodes": 2.0, "success": 0.0}, {"success": 0.8}],
        "alone": [{"episodes": 4.0, "success": 0.0}, {"episodes": 4.0, "success": 0.8}, {"success": 0.8}],
    }
    experts = [runs / "shop", runs / "mail"]
    monkeypatch.setattr(sequences, "WINDOW", 1)
    monkeypatch.setattr(sequences, "read_final", lambda run: {})
    monkeypatch.setattr(sequences, "read_metrics", lambda run: lines[run.name])
    monkeypatch.setattr(sequences, "_task", lambda run: "a task")
    found = sequences.beside_experts([runs / "shop", runs / "mail"], [runs / "alone", runs / "mail"])
    assert [row[2:] for row in found] == [("0.500", "0.500"), ("1.000", "1.000")]
    monkeypatch.undo()
    assert main(["evaluate", str(runs / "shop"), "--then", str(runs / "mail"), "--experts", *map(str, experts)]) == 0
    said = capsys.readouterr().out
    assert "beside experts" in said and "sample efficiency" in said


@pytest.mark.parametrize(
    ("figures", "complaint"),
    [
        ({"success": "x"}, "success must be a number from 0 to 1, not 'x'"),
        ({"success": [0.5]}, "success must be a number from 0 to 1, not [0.5]"),
        ({"success": True}, "success must be a number from 0 to 1, not True"),
        ({"success": 10**15}, "success must be a number from 0 to 1, not 1000000000000000"),
        ({"success": -1.0}, "success must be a number from 0 to 1, not -1.0"),
        ({"success": math.inf}, "success must be a number from 0 to 1, not inf"),
        ({"accuracy": "\x1b[31m\n" * 9}, "accuracy must be a number from 0 to 1, not '\\x1b[31m\\n"),
        ({"success": 0.5, "episodes": -3}, "episodes must be a number from 0 to 1,099,511,627,776, not -3"),
        ({"success": 0.5, "episodes": 10**400}, "metrics"),
        ({"success": 0.5, "episodes": {}}, "episodes must be a number from 0 to 1,099,511,627,776, not {}"),
        ({"success": None, "episodes": math.nan}, "was measured less than twice"),
    ],
)
def test_curves_of_a_stranger_are_numbers(runs, tmp_path, figures, complaint, capsys):
    """Of a run in the sequence, and of an expert."""
    shutil.copytree(runs / "shop", tmp_path / "shop")
    (tmp_path / "shop" / "final.json").unlink()
    (tmp_path / "shop" / "metrics.jsonl").write_text(json.dumps({"step": 0, **figures}) + "\n" + '{"step": 1}\n')
    sound, theirs, mail = map(str, (runs / "shop", tmp_path / "shop", runs / "mail"))
    for run, expert in ((theirs, sound), (sound, theirs)):
        assert main(["evaluate", run, "--then", mail, "--experts", expert, mail, "--matches", "1"]) == 2
        said = capsys.readouterr().err
        assert complaint in said and said.count("\n") == 1 and "\x1b" not in said


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["shop", "--then", "spiral"], "spiral learned has no figure from 0 to 1"),
        (["shop", "--then", "mail", "--step", "1"], "--step has no effect with --then"),
        (["shop", "--then", "mail", "--suite-limit", "1"], "--suite-limit has no effect with --then"),
        (["shop", "--then", "nowhere"], "nowhere"),
        (["shop", "--then", "mail", "--experts", "shop"], "--experts names one run for each of the sequence, 2, not 1"),
        (["shop", "--then", "mail", "--experts", "shop", "shop"], "mail learned acting"),
        (["shop", "--experts", "shop"], "--experts has no effect without --then"),
    ],
)
def test_what_is_no_sequence_is_one_line(runs, words, complaint, capsys):
    named = [word if word.startswith("-") or word == "1" else str(runs / word) for word in words]
    assert main(["evaluate", *named]) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert complaint in said.replace(str(runs) + "/", "")
