"""`evaluate RUN --then RUN2`, from the command to the table."""

import pytest

from redqueen.cli.main import main
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


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["shop", "--then", "spiral"], "spiral learned has no figure from 0 to 1"),
        (["shop", "--then", "mail", "--step", "1"], "--step has no effect with --then"),
        (["shop", "--then", "nowhere"], "nowhere"),
    ],
)
def test_what_is_no_sequence_is_one_line(runs, words, complaint, capsys):
    named = [word if word.startswith("-") or word == "1" else str(runs / word) for word in words]
    assert main(["evaluate", *named]) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert complaint in said.replace(str(runs) + "/", "")
