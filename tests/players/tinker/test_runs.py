"""A recipe's file is the same: only `--model` says that the policy is on a server."""

import json

import pytest

import redqueen.settings.learner
from redqueen.cli.main import main
from redqueen.players.tinker.policy import TinkerPolicy
from redqueen.settings.learner import Learner
from redqueen.settings.roles import bind, learning
from redqueen.types import RedQueenError

MODEL = "tinker:tiny/base@http://here"


@pytest.fixture
def reached(monkeypatch, connect, service):
    """Every connection that is made leads to the service."""
    monkeypatch.setattr(redqueen.settings.learner, "connect", lambda base, url: connect(service))
    return service


def figures(folder):
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "time"} for line in lines]


def train(recipe, folder, steps, *more):
    words = ["train", recipe, "--model", MODEL, "--lora-rank", "4", "--learning-rate", "1e-2", "--steps", str(steps)]
    assert main([*words, "--checkpoint-every", "2", "--output", str(folder), *more]) == 0


@pytest.mark.slow
def test_spiral_learns_and_resumes_to_the_bit(reached, tmp_path, capsys):
    more = ("--matches-per-step", "32", "--evaluate-every", "2")
    train("spiral", tmp_path / "whole", 4, *more)
    lines = figures(tmp_path / "whole")
    assert len(lines) == 4
    assert lines[0]["exploitability"] != lines[2]["exploitability"]
    whole = tmp_path / "whole"
    half = tmp_path / "half"
    half.mkdir()
    (half / "config.json").write_text((whole / "config.json").read_text())
    (half / "metrics.jsonl").write_text("".join((whole / "metrics.jsonl").read_text().splitlines(True)[:3]))
    (half / "checkpoints").mkdir()
    (whole / "checkpoints" / "step_000002").rename(half / "checkpoints" / "step_000002")
    assert main(["resume", str(half)]) == 0
    assert figures(half) == lines


@pytest.mark.slow
def test_past_selves_play_and_are_pairs_partners(reached, tmp_path, capsys):
    train("fictitious_self_play", tmp_path / "fsp", 3, "--matches-per-step", "8", "--snapshot-every", "1")
    records = "".join(path.read_text() for path in (tmp_path / "fsp" / "episodes").glob("*.jsonl"))
    assert "learner@1" in records
    spin = ("--questions", "sums", "--updates", "2", "--tasks", "4", "--pairs-per-update", "4", "--problems", "1")
    train("spin", tmp_path / "spin", 3, *spin, "--max-completion-length", "6")
    lines = figures(tmp_path / "spin")
    assert lines[0]["loss"] == pytest.approx(0.6931, abs=1e-3)
    assert lines[1]["loss"] < lines[0]["loss"]


@pytest.mark.slow
def test_a_stored_run_is_evaluated_where_its_weights_lie(reached, tmp_path, capsys):
    train("spiral", tmp_path / "run", 2, "--matches-per-step", "8")
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path / "run")]) == 0
    assert "exploitability" in capsys.readouterr().out


def test_settings_that_a_server_does_not_take_are_refused(reached):
    assert isinstance(Learner(model=MODEL, lora_rank=4).build(0), TinkerPolicy)
    with pytest.raises(RedQueenError, match="--dtype has no effect on a model on a server"):
        Learner(model=MODEL, dtype="bfloat16").build(0)
    with pytest.raises(RedQueenError, match="set --lora-rank to 1 or more"):
        Learner(model=MODEL, lora_rank=0).build(0)
    with pytest.raises(RedQueenError, match="a server rates free text at temperature 1"):
        Learner(model=MODEL, lora_rank=4, answer="boxed", temperature=0.7).build(0)


def test_roles_are_bound_on_the_server_or_to_an_endpoint(reached):
    config = Learner(model=MODEL, lora_rank=4)
    learner = config.build_model(0)
    assert bind("judge", "shared", config, learner, 0) is learner
    adapter, separate = (bind("judge", how, config, learner, 0) for how in ("adapter", "separate"))
    assert learning([learner, adapter, separate, bind("judge", "frozen", config, learner, 0)]) == [
        learner,
        adapter,
        separate,
    ]
    assert not bind("judge", MODEL, config, learner, 0).learns
    with pytest.raises(RedQueenError, match="judge and the learner are both on this machine or both on a server"):
        bind("judge", "tiny", Learner(), learner, 0)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["absolute_zero", "eva", "self_rewarding"])
def test_recipes_of_questions_run_on_a_server(reached, tmp_path, capsys, recipe):
    few = {
        "absolute_zero": "--proposals 2 --tasks 2 --attempts 2 --problems 1",
        "eva": "--tasks 2 --attempts 2 --seeds 2 --problems 1",
        "self_rewarding": "--tasks 2 --problems 1",
    }
    train(recipe, tmp_path / "run", 2, "--max-completion-length", "4", *few[recipe].split())
    assert len(figures(tmp_path / "run")) == 2


def test_a_critic_on_hidden_states_wants_a_model_here(reached, tmp_path, capsys):
    assert main(["train", "rise", "--model", MODEL, "--lora-rank", "4", "--output", str(tmp_path / "run")]) == 2
    assert "learner must be a model on this machine, not on a server: the critic" in capsys.readouterr().err


def test_the_doctor_prints_what_is_known_and_tries_a_server(monkeypatch, connect, service, capsys):
    import redqueen.cli.doctor

    assert main(["doctor", "--backend", "tinker"]) == 0
    assert "| listed replies |" in capsys.readouterr().out
    monkeypatch.setattr(redqueen.cli.doctor, "connect", lambda base, url: connect(service))
    assert main(["doctor", "--backend", "tinker", "--url", "http://here"]) == 0
    assert "named sampler weights" in capsys.readouterr().out
    assert main(["doctor", "--url", "http://here"]) == 2
    assert "have no effect without --backend tinker" in capsys.readouterr().err
