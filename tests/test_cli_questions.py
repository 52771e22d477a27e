"""The command line on runs of questions: train, list, replay, evaluate."""

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

from redqueen.cli.main import main
from redqueen.credit.rewards import payoff, score
from redqueen.curricula.held_out import held_out
from redqueen.games.catalogue import find_game
from redqueen.games.tools import Searching, ToolReply
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant
from redqueen.questions.catalogue import find_questions
from redqueen.runs.folder import stored_episodes, stored_tests
from redqueen.runs.run import Run
from redqueen.types import Match, Task

TINY = ["--model", "tiny:hidden=16,heads=2", "--max-completion-length", "4"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "zero"
    sizes = ["--steps", "2", "--proposals", "2", "--tasks", "2", "--attempts", "2", "--problems", "2"]
    assert main(["train", "absolute_zero", *TINY, "--questions", "sums", *sizes, "--output", str(folder)]) == 0
    return str(folder)


def test_the_question_sets_are_listed_with_a_line_each(capsys):
    assert main(["list", "questions"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("sums ") and "Sums of two numbers" in line for line in lines)


def test_a_recorded_proposal_is_shown_and_replayed(run, capsys):
    assert main(["replay", run]) == 0
    assert "single_reply:proposer" in capsys.readouterr().out
    assert main(["replay", run, "0.0"]) == 0
    assert "every ask and the outcome are the same" in (shown := capsys.readouterr().out)
    assert shown.endswith("; given afterwards: the reward\n")


def test_the_verdict_on_a_recorded_answer_is_said_to_be_no_part_of_its_game(run, capsys):
    name = next(name for name, episode, _ in stored_episodes(Path(run)) if episode.game == "single_reply:solver")
    assert main(["replay", run, name]) == 0
    assert capsys.readouterr().out.endswith("; given afterwards: right, the reward\n")


def test_a_run_of_questions_is_evaluated_on_held_out_problems(run, capsys):
    assert main(["evaluate", run, "--matches", "2"]) == 0
    shown = capsys.readouterr().out
    assert "on sums, after 2 updates" in shown and "accuracy/2_digits" in shown and "pass@8" in shown


def test_questions_are_answered_alone(run, capsys):
    assert main(["evaluate", run, "--against", "nobody"]) == 2
    assert "answers questions of sums alone, so --against has no effect" in capsys.readouterr().err


def test_no_more_problems_are_measured_than_the_run_kept_from_its_training(run):
    domain = find_questions("sums")
    kept = held_out(domain, 2)
    assert stored_tests(Path(run), domain, 200) == kept
    assert stored_tests(Path(run), domain, 1) == {level: tasks[:1] for level, tasks in kept.items()}


def test_a_run_of_questions_has_a_report(run, capsys):
    assert main(["report", run]) == 0
    assert "Write a sum." in Path(capsys.readouterr().out.strip()).read_text()


GRPO = ["train", "grpo", *TINY, "--steps", "1", "--tasks", "2", "--attempts", "2", "--problems", "2"]


def test_an_answer_that_was_cut_off_has_the_verdict_of_the_run_in_what_is_measured_later(tmp_path, capsys):
    unsure, same = str(tmp_path / "unsure"), str(tmp_path / "same")
    for folder in (unsure, same):
        words = ["--questions", "sums", "--truncated-score", "unknown", "--output", folder]
        assert main([*GRPO, *words, "--max-completion-length", "1"]) == 0
    final = json.loads((tmp_path / "unsure" / "final.json").read_text())
    assert final["accuracy_unknown"] > 0.9
    capsys.readouterr()
    assert main(["evaluate", unsure]) == 0
    told = {line.split()[0]: line.split()[1] for line in capsys.readouterr().out.splitlines() if line.split()[1:]}
    assert float(told["accuracy_unknown"]) > 0.9
    assert main(["compare", unsure, same]) == 0
    shown = capsys.readouterr()
    assert "unknown unknown" in " ".join(shown.out.split())
    assert "may have been trained" not in shown.err


@pytest.mark.parametrize(("changed", "to"), [("--questions", "tool_sums"), ("--problems", "1")])
def test_problems_that_another_run_may_have_learned_are_said(changed, to, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    other = [*GRPO, "--questions", "sums"]
    other[other.index(changed) + 1] = to
    assert main([*GRPO, "--questions", "sums", "--output", str(first)]) == 0
    assert main([*other, "--output", str(second)]) == 0
    with pytest.warns(UserWarning, match=f"those that {first} held out: {second} may have been trained on some"):
        main(["compare", str(first), str(second), "--matches", "1"])


def test_a_domain_that_is_not_there_gets_one_clear_line(capsys):
    assert main(["train", "absolute_zero", *TINY, "--questions", "summs"]) == 2
    assert "there is no question set 'summs'; did you mean sums" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the problems are those that")  # two seeds hold out different ones
def test_what_may_use_a_tool_is_compared_with_it(tmp_path, capsys):
    sizes = ["--steps", "2", "--proposer-steps", "1", "--solver-steps", "1", "--pool", "2"]
    for seed in ("0", "1"):
        words = ["train", "agent0", *TINY, *sizes, "--seed", seed, "--output", str(tmp_path / seed)]
        assert main(words) == 0
    assert main(["compare", str(tmp_path / "0"), str(tmp_path / "1"), "--matches", "2", "--show", "1"]) == 0
    shown = capsys.readouterr().out
    assert "tool_reply(solver)" in shown and "<calculate>" in shown


@pytest.mark.slow
def test_an_episode_with_tools_is_replayed_from_what_they_said(tmp_path, capsys):
    sizes = ["--steps", "2", "--proposer-steps", "1", "--solver-steps", "1", "--pool", "2"]
    assert main(["train", "agent0", *TINY, *sizes, "--output", str(tmp_path)]) == 0
    search = Searching(lambda words: [f"a document about {words}"])
    match = Match(ToolReply(tools=(search,)), Task("t", prompt="Who?"), {"solver": Constant("<search>whom</search>")})
    trajectories = score(play([match], Random(0)), payoff)
    Run(tmp_path).report(Constant(""), trajectories, [np.zeros(len(each.turns)) for each in trajectories], {})
    assert main(["replay", str(tmp_path)]) == 0
    (name,) = [line.split("\t")[0] for line in capsys.readouterr().out.splitlines() if "\ttool_reply(solver)" in line]
    assert main(["replay", str(tmp_path), name]) == 0
    shown = capsys.readouterr().out
    assert "a document about whom" in shown
    assert 'solver (call_1: search {"text": "whom"}): <search>whom</search>' in shown
    assert "tool (result of call_1): <information>a document about whom</information>" in shown
    assert "replayed, with what its tools said then: every ask and the outcome are the same" in shown


@pytest.mark.parametrize(
    "said", ["I do not know.", '<tool_call>{"name": "sql", "arguments": {"text": "x"}}</tool_call>']
)
def test_an_episode_with_calls_by_json_is_replayed_in_its_own_world(tmp_path, capsys, said):
    game = find_game(game_name := "working:sql,functions=true")
    (trajectory,) = score(play([Match(game, game.tasks()[0], {"agent": Constant(said)})], Random(0)), payoff)
    Run(tmp_path).report(Constant(""), [trajectory], [np.zeros(len(trajectory.turns))], {})
    settings = {"recipe": "grpo", "config": {"game": game_name}, "seed": 0, "schedule": {}, "versions": {}}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    assert main(["replay", str(tmp_path), "0.0"]) == 0
    assert "replayed: every ask and the outcome are the same" in capsys.readouterr().out


@pytest.mark.slow
def test_rows_that_are_left_out_are_one_line_and_so_is_what_stops_the_run(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"prompt": text, "answer": "1"}) + "\n" for text in ("a", "b", " ", "c")))
    words = ["train", "sec", *TINY, "--questions", f"dataset:path={path}", "--output", str(tmp_path / "run")]
    done = subprocess.run([sys.executable, "-m", "redqueen", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    skipped, stopped = done.stderr.splitlines()
    assert skipped.startswith(f"redqueen: {path}: left out 1 of 4 rows, the first: {path}, line 3: prompt is empty")
    assert stopped.startswith("redqueen: a bandit needs at least two arms, and there is train: take a question set")
