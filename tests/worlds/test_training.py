"""A run in a world: it imitates the expert, learns by attempts, and is measured on what it has not seen."""

from random import Random

import pytest

from redqueen.cli.main import main
from redqueen.games.catalogue import find_game
from redqueen.measures.of_games import Success, usual_measures
from redqueen.players.scripted import Constant, Uniform
from redqueen.runs.run import read_final, read_metrics
from redqueen.types import Basis, Reply

TINY = ["--model", "tiny:hidden=16,heads=2", "--lora-rank", "0", "--max-completion-length", "4"]


class Expert:
    """Does what the world itself would do, for tasks known by their first view."""

    name = "expert"

    def __init__(self, game):
        tasks = (*game.tasks(), *game.held_out())
        views = [next(game.play(task, Random(0)))[0].messages[0].text for task in tasks]
        self.known = dict(zip(views, map(game.expert, tasks), strict=True))

    def reply(self, asks):
        return [Reply(self.known[ask.messages[0].text][len(ask.past)]) for ask in asks]


@pytest.mark.slow
def test_success_is_measured_on_held_out_tasks():
    game = find_game("acting:site(mail,8,8)")
    wilson = 8 / (8 + 1.959964**2)
    shown = {"success": 1.0, "held_out_score": 1.0, "held_out_score_low": wilson, "held_out_score_high": 1.0}
    assert Success(game, Expert(game), 8, 0)() == pytest.approx(shown)
    other = find_game("working:sql:join")
    shown = {"success": 0.0, "held_out_score": 0.0, "held_out_score_low": 0.0, "held_out_score_high": 1 - wilson}
    assert Success(other, Constant("select 1"), 8, 0)() == pytest.approx(shown)
    (measure,) = usual_measures(game, Uniform(), 0)
    assert measure.basis()["success"] == Basis(count=8, of="tasks", attempts=1)


def test_a_model_imitates_and_goes_on_by_attempts(tmp_path, capsys):
    first, second = tmp_path / "first", tmp_path / "second"
    of, few = ["--game", "acting:site(shop,12,4)"], ["--steps", "2", "--output"]
    shown = ["train", "cold_start", *of, "--demonstrations-per-step", "4", "--rest", "1"]
    assert main([*shown, *TINY, *few, str(first)]) == 0
    start = str(first / "checkpoints" / "step_000002" / "learner")
    tried = ["train", "grpo", *of, "--tasks", "2", "--attempts", "2", "--model", start]
    assert main([*tried, *TINY[2:], *few, str(second)]) == 0
    assert {"success", "held_out_score"} <= set(read_final(second))
    assert len(read_metrics(second)) == 2
    capsys.readouterr()
    assert main(["evaluate", str(second)]) == 0
    assert "success" in capsys.readouterr().out
    assert main(["evaluate", str(second), "--against", "minimax"]) == 2
    assert "is played alone, so --against has no effect" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("cold_start --game kuhn_poker", "shows nobody how it is played"),
        ("cold_start --game acting:sights", "did you mean site"),
        ("cold_start --game acting:site --questions digits", "--questions has no effect"),
        ("grpo --game acting:site,0", "at least one act"),
    ],
)
def test_what_cannot_be_is_one_line(words, said, tmp_path, capsys):
    assert main(["train", *words.split(), *TINY, "--output", str(tmp_path / "run")]) == 2
    assert said in capsys.readouterr().err
