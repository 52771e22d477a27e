"""What stands on a real terminal: the live view, `watch`, a tournament. Skipped, loudly, where there is no tmux."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

COLUMNS, LINES = 100, 34
REDQUEEN = f"{sys.executable} -m redqueen"


@pytest.fixture
def terminal(tmp_path):
    """Types a command into a terminal of its own, and looks at its screen until all the words stand there."""
    if shutil.which("tmux") is None:
        pytest.skip("NO TMUX: install Debian's tmux to look at what terminals show")
    server = ["tmux", "-L", f"redqueen-{os.getpid()}-{tmp_path.name}", "-f", "/dev/null"]
    known = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    environment = known | {"PYTHONPATH": str(Path(__file__).parent.parent), "LANG": "C.UTF-8"}

    def look(command, *words, seconds=120.0):
        size = ["-x", str(COLUMNS), "-y", str(LINES)]
        shell = f"{command}; echo left with $?; sleep 600"
        session = command.split()[3]
        subprocess.run(
            [*server, "-u", "new-session", "-d", "-s", session, *size, "sh", "-c", shell],
            cwd=tmp_path,
            env=environment,
            check=True,
        )
        until = time.monotonic() + seconds
        screen = ""
        while time.monotonic() < until:
            shown = subprocess.run([*server, "capture-pane", "-p", "-t", session], capture_output=True, text=True)
            screen = shown.stdout
            if all(word in screen for word in words):
                return screen
            time.sleep(0.1)
        raise AssertionError(f"{words} do not all stand on the screen of {command}:\n{screen}")

    yield look
    subprocess.run([*server, "kill-server"], capture_output=True)


def test_a_run_shows_itself_while_it_trains_and_to_another_terminal(terminal, tmp_path):
    flags = "--steps 4000 --matches-per-step 32 --output run"
    words = ("exploitability", "replies", "kuhn_poker", " left", "▁")
    screen = terminal(f"{REDQUEEN} train spiral {flags}", *words)
    lines = screen.splitlines()
    assert lines[0].startswith("run, seed 0, steps 0 to 4000")
    assert lines[1].startswith("step ") and "/4000 ━" in lines[1]
    assert "steps/s" in lines[2]
    groups = [line.split("  ")[0] for line in lines if line.startswith(("how good", "rewards", "policy", "replies"))]
    assert groups == ["how good", "rewards", "policy", "replies"]
    (table,) = [line for line in lines if "reward/first" in line]
    assert len(table.split()) == 5  # the group, the name, the start, now and the course
    assert not any("\x1b" in line or "[bold" in line for line in lines)
    assert lines[-1] == "" or "│" not in lines[-1]

    other = terminal(f"{REDQUEEN} watch run", "exploitability", "kuhn_poker", " left")
    assert int(other.split()[1].partition("/")[0]) > 0


def test_a_tournament_fits_the_screen(terminal):
    screen = terminal(f"{REDQUEEN} tournament honest uniform equilibrium --game kuhn_poker", "left with 0")
    lines = screen.splitlines()
    for name in ("honest", "uniform", "equilibrium"):
        assert sum(line.startswith(name) for line in lines) >= 2  # among the scores and among the ratings
    assert all(len(line) <= COLUMNS for line in lines)
