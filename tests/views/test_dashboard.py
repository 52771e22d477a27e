"""A run in one window: what is shown first, what fits, and what a hostile episode cannot do."""

import io
import json
import math

import pytest
from rich.console import Console

from redqueen.cli.main import main
from redqueen.recipes.games import spiral
from redqueen.records import episode_to_json
from redqueen.runs.run import Run, Schedule, held
from redqueen.types import Ask, Episode, Message, Outcome, Reply, Seat, Task, Turn
from redqueen.views.dashboard import Dashboard, course, last_episode

SEAT = Seat("first")


def shown(board, height=40, width=100):
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=False)
    console.print(board)
    return console.file.getvalue()


def line(step, **figures):
    return {"step": step, "time": {"step": 0.5, "measure": 0.1, "gigabytes": 1.25}, **figures}


def recorded(folder, text="4", game="tic_tac_toe", task="empty"):
    episode = Episode(
        game, Task(task), 0, (Turn(Ask(SEAT, (Message("game", "?"),)), Reply(text)),), Outcome({SEAT: 1.0}), (SEAT,)
    )
    (folder / "episodes").mkdir(exist_ok=True)
    (folder / "episodes" / "step_000003.jsonl").write_text(json.dumps({**episode_to_json(episode), "credit": {}}))


def test_what_is_true_comes_first_with_its_start_its_course_and_the_pace(tmp_path):
    board = Dashboard(tmp_path)
    for step in range(10):
        board.add(line(step, entropy=1.0, exploitability=1.0 / (1 + step), **{"reward/first": step / 10}))
    text = shown(board)
    assert "2.00 steps/s   1.2 GB\n" in text
    assert text.index("exploitability") < text.index("reward/first") < text.index("entropy")
    (row,) = [each for each in text.splitlines() if "exploitability" in each]
    assert row.split()[2:] == ["exploitability", "1", "0.1", "█▄▃▂▁▁▁▁▁▁"]


@pytest.mark.parametrize("width", [40, 60, 72, 100])
def test_a_narrow_window_shows_the_numbers_of_every_figure(width, tmp_path):
    board = Dashboard(tmp_path)
    long = "kuhn_poker/late_average_exploitability"
    board.add(line(0, **{"minimax_regret_reached": 0.5541, long: 0.4583}))
    board.add(line(1, **{"minimax_regret_reached": 0.5516, long: 0.1234}))
    rows = [each.split() for each in shown(board, width=width).splitlines()]
    numbers = [[word for word in row if word.startswith("0.")] for row in rows]
    assert ["0.5541", "0.5516"] in numbers and ["0.4583", "0.1234"] in numbers
    assert any(word.endswith("_reached") for row in rows for word in row)


def test_it_opens_with_what_happened_and_how_far_to_believe_it(tmp_path):
    (tmp_path / "measures.json").write_text(json.dumps({"accuracy": {"count": 64, "of": "held-out problems"}}))
    board = Dashboard(tmp_path, 40)
    board.add(line(0, **{"reward/solver": 0.5}))
    board.add(line(1, **{"reward/solver": 0.75, "accuracy": 0.125}))
    assert board.sentence() == ""  # measured once
    board.add(line(2, **{"reward/solver": 0.75}))
    board.add(line(3, accuracy=0.5))
    text = " ".join(shown(board, width=60).split())
    assert (
        "Held-out accuracy rose from 12.5% at step 1 to 50.0% at step 3 on 64 problems; the change, +37.5 points"
        in text
    )
    assert text.index("Held-out accuracy") < text.index("reward/solver")
    (tmp_path / "measures.json").write_text("{")
    assert "how many problems" in board.sentence()


def test_a_run_that_died_is_marked_and_one_that_is_trained_is_not(tmp_path):
    board = Dashboard(tmp_path, 40)
    board.add(line(2, accuracy=0.5))
    with held(tmp_path):
        assert "died" not in shown(board)
    assert "\ndied after 3 of 40 steps: It left no error: it was killed" in shown(board)
    (tmp_path / "error.txt").write_text("step 2: the loss\x1b[2J is nan\n")
    assert "\ndied after 3 of 40 steps: step 2: the loss [2J is nan\n" in shown(board)
    board.finish({"step": 3, "accuracy": 0.5})
    assert "died" not in shown(board)


def test_progress_tells_what_is_left_at_the_pace_of_late_steps(tmp_path):
    board = Dashboard(tmp_path, 40, 10)
    assert shown(board).startswith(f"step 10/40 {'━' * 30} 0:00:00\n")
    for step in range(10, 20):
        board.add(line(step, entropy=1.0))
    assert shown(board).startswith(f"step 20/40 {'━' * 30} 0:00:05, 0:00:09 left\n")  # 20 steps of 0.5 s, less a moment


def test_a_finished_run_shows_what_was_measured_last(tmp_path):
    board = Dashboard(tmp_path, 2)
    for step in range(2):
        board.add(line(step, exploitability=0.5))
    shown(board)
    board.finish({"step": 2, "exploitability": 0.25})
    (row,) = [each for each in shown(board).splitlines() if "exploitability" in each]
    assert row.split()[2:4] == ["exploitability", "0.5"] and "0.25" in row
    assert "step 2/2" in shown(board)


def test_it_is_drawn_anew_only_when_there_is_something_new(tmp_path):
    board = Dashboard(tmp_path)
    board.add(line(0, entropy=1.0))
    first = shown(board)
    recorded(tmp_path)
    assert "tic_tac_toe" not in first and "tic_tac_toe" not in shown(board)
    board.add(line(3, entropy=0.5))
    assert "tic_tac_toe" in shown(board) and "▁" in shown(board)
    assert "tic_tac_toe" in shown(board, width=70)


def test_a_line_that_comes_while_the_board_is_drawn_is_shown_next(tmp_path, monkeypatch):
    board, draw = Dashboard(tmp_path), Dashboard.drawn
    board.add(line(0, entropy=1.0))

    def slowly(self, height, width):
        found = draw(self, height, width)
        monkeypatch.setattr(Dashboard, "drawn", draw)
        board.add(line(1, entropy=0.125))  # as the thread that trains does
        return found

    monkeypatch.setattr(Dashboard, "drawn", slowly)
    assert "0.125" not in shown(board)
    assert "0.125" in shown(board)


def test_alarms_ring_only_while_they_ring(tmp_path):
    board = Dashboard(tmp_path)
    board.add(line(0, **{"alarm/collapse": 1.0, "alarm/leaks": 0.0}))
    assert "alarm: collapse\n" in shown(board)
    board.add(line(1, **{"alarm/collapse": 1.0, "alarms": ["collapse: the entropy is 0.1", "unread: 4 of 4"]}))
    assert "alarm: collapse: the entropy is 0.1\nalarm: unread: 4 of 4\n" in shown(board)
    board.add(line(2, **{"alarm/collapse": 0.0}))
    assert "alarm" not in shown(board)


def test_rewards_are_shown_whichever_learner_tells_them(tmp_path):
    board = Dashboard(tmp_path)
    board.add(line(0, **{"reward/first": 0.1, "solver/reward/solver": 0.2, "accuracy/rewarded": 0.3}))
    rewards = [name for group, name in board.figures() if group == "rewards"]
    assert rewards == ["reward/first", "solver/reward/solver"]


@pytest.mark.parametrize("height", [12, 24, 50])
def test_it_fits_into_the_window(tmp_path, height):
    recorded(tmp_path)
    board = Dashboard(tmp_path)
    board.add(line(0, **{f"reward/seat{number}": 0.5 for number in range(60)}))
    text = shown(board, height, 60)
    assert len(text.splitlines()) <= max(height, 12)
    assert all(len(each) <= 60 for each in text.splitlines())


def test_the_last_episode_is_drawn_as_its_game_draws_itself(tmp_path):
    recorded(tmp_path)
    text = shown(Dashboard(tmp_path))
    assert "tic_tac_toe, empty: first +1" in text
    assert "X 5 6" in text and "first: 4" in text


def test_a_talk_says_who_speaks_to_whom(tmp_path):
    adviser, buyer = Seat("adviser"), Seat("buyer")
    shown_to_both = (Message("game", "Bargain."),)
    turns = (
        Turn(Ask(adviser, shown_to_both, ("firm", "soft")), Reply("firm")),
        Turn(Ask(buyer, shown_to_both), Reply("I offer 3.")),
    )
    scores = Outcome({adviser: 1.0, buyer: 1.0, Seat("seller"): -1.0})
    episode = Episode("price_talk", Task("t"), 0, turns, scores, tuple(scores.scores))
    (tmp_path / "episodes").mkdir()
    (tmp_path / "episodes" / "step_000003.jsonl").write_text(json.dumps({**episode_to_json(episode), "credit": {}}))
    text = shown(Dashboard(tmp_path))
    assert "adviser to buyer alone: firm" in text and "buyer to all: I offer 3." in text


def test_hostile_words_are_one_line_of_text(tmp_path):
    recorded(tmp_path, "[bold]mine[/bold]\x1b[2J\n\n" + "w" * 500, task="[red]task\n")
    text = shown(Dashboard(tmp_path))
    assert "[bold]mine[/bold] [2Jwww" in text.replace(" w", "w") or "[bold]mine[/bold]" in text
    assert "\x1b" not in text and "[red]task" in text
    assert all(len(each) <= 100 for each in text.splitlines())


def test_a_half_written_record_is_passed_over(tmp_path):
    recorded(tmp_path)
    (tmp_path / "episodes" / "step_000009.jsonl").write_text('{"game": "tic')
    assert last_episode(tmp_path) is None
    assert last_episode(tmp_path / "nothing") is None


def test_the_episode_of_the_newest_step_is_found_by_its_name(tmp_path):
    recorded(tmp_path)
    for step in (3, 7, None):  # nothing was recorded in step 7
        assert last_episode(tmp_path, step).game == "tic_tac_toe"


def test_a_course_goes_from_its_lowest_to_its_highest():
    assert course([0.0, 1.0, 2.0]) == "▁▅█"
    assert course([3.0, 3.0]) == "▁▁"
    assert course([]) == ""
    assert len(course(list(range(1000)))) == 16


def test_a_figure_that_is_not_finite_is_shown_and_left_out_of_its_course(tmp_path):
    assert course([0.0, math.nan, 1.0, math.inf, 2.0, -math.inf]) == "▁▅█"
    assert course([math.nan]) == ""
    board = Dashboard(tmp_path)
    for step, loss in enumerate((1.0, 2.0, math.nan)):
        board.add(line(step, loss=loss, entropy=math.inf))
    rows = {each.split()[-4]: each for each in shown(board).splitlines() if "loss" in each}
    assert rows["loss"].split()[1:] == ["1", "nan", "▁█"]


def test_a_run_is_watched_from_another_terminal(tmp_path, capsys):
    spiral.train(spiral.Config(steps=3, matches_per_step=4), Run(tmp_path, schedule=Schedule()))
    settings = {"recipe": "spiral", "config": {"steps": 3}, "seed": 0, "schedule": {}, "versions": {}}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    assert main(["watch", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert text.endswith("\n") and not text.endswith("\n\n")
    assert "3 of 3 steps" in text and "exploitability" in text and "kuhn_poker" in text
    last = json.loads((tmp_path / "final.json").read_text())["exploitability"]
    assert f"{last:.4g}" in next(row for row in text.splitlines() if "exploitability" in row)
    assert main(["watch", str(tmp_path / "nothing")]) == 2
    assert "is not a run" in capsys.readouterr().err
