"""`redqueen serve`: what it says before it listens."""

import json
import logging
import socket

import pytest

from redqueen.cli.main import main
from redqueen.recipes.games import spiral
from redqueen.runs.run import Run, Schedule, SettingsFile


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("served") / "run"
    settings = {"recipe": "spiral", "config": {"game": "kuhn_poker"}, "seed": 0, "schedule": {}, "versions": {}}
    spiral.train(spiral.Config(steps=2, matches_per_step=2), Run(place, 0, Schedule(), [SettingsFile(settings)]))
    return place


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["{folder}/nowhere"], "is not a run"),
        (["{folder}", "--game", "chess"], "there is no game 'chess'"),
        (["{folder}", "--also", "nobody"], "there is no player 'nobody'"),
        (["{folder}", "--port", "70000"], "--port must be from 0 to 65535, not 70000"),
        (["{folder}", "--prot", "1"], "unknown argument '--prot': did you mean --port?"),
        ([], "RUN is missing"),
    ],
)
def test_what_cannot_be_served_is_one_clear_line(words, expected, folder, capsys):
    assert main(["serve", *(word.format(folder=folder) for word in words)]) == 2
    shown = capsys.readouterr()
    assert expected in shown.err and shown.err.count("\n") == 1 and shown.out == ""


def test_a_port_that_is_taken_is_one_clear_line(folder, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["serve", str(folder), "--port", str(taken.getsockname()[1])]) == 2
    assert "choose another --host or --port" in capsys.readouterr().err


def test_it_says_where_it_is_and_stops_when_told(folder, capsys, monkeypatch):
    uvicorn = pytest.importorskip("uvicorn")

    def stopped(self, sockets):
        raise KeyboardInterrupt

    monkeypatch.setattr(uvicorn.Server, "run", stopped)
    assert main(["serve", str(folder), "--port", "0"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith(f"play against {folder} at http://127.0.0.1:") and said[1] == "the page is closed"
    assert json.loads((folder / "config.json").read_text())["recipe"] == "spiral"


def test_the_log_handlers_of_others_stay_open(folder, monkeypatch):
    uvicorn = pytest.importorskip("uvicorn")
    closed = []

    class Theirs(logging.NullHandler):
        def close(self):
            closed.append(self)

    theirs = Theirs()
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: None)
    assert main(["serve", str(folder), "--port", "0"]) == 0
    assert closed == []
    theirs.close()
    assert closed == [theirs]
