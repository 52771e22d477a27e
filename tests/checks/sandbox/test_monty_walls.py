"""What stands around Monty's workers, tried with a shell in the place of Monty."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from redqueen.checks.sandbox import jail_kernel, monty_walls
from redqueen.checks.sandbox.monty import Monty
from redqueen.checks.sandbox.monty_walls import started_behind
from redqueen.checks.sandbox.runs_of_programs import Kind, Program

BASH = "/bin/bash"


def landlocked():
    return sys.platform == "linux" and jail_kernel.LIBC.syscall(jail_kernel.LANDLOCK_CREATE, None, 0, 1) > 0


@pytest.mark.skipif(not landlocked() or not Path(BASH).exists(), reason="needs Landlock and a shell")
@pytest.mark.parametrize(
    "attack",
    [
        "read line < /etc/passwd",
        "read line < /proc/1/environ",
        "echo x > /tmp/redqueen_walls",
        "echo x > /dev/shm/redqueen_walls",
        "exec 3<>/dev/tcp/127.0.0.1/9",
        "exec 3<>/dev/udp/127.0.0.1/9",
        "/bin/ls",
        "exec /usr/bin/env",
        "kill -0 $PPID",
        "(exit 0)",
        "ulimit -v unlimited",
        '[[ -n "$OPENAI_API_KEY" ]]',
        "ulimit -n 4096",
        "ulimit -f 1",
    ],
)
def test_a_worker_reaches_nothing(attack, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    path, end = started_behind(BASH, 64 << 20)
    try:
        for command, reached in (("true", True), (attack, False)):
            ended = subprocess.run([path, "-c", f"{command} && echo reached"], capture_output=True, timeout=60)
            assert (b"reached" in ended.stdout) is reached
    finally:
        end()
    assert not Path(path).exists()


def test_programs_run_behind_the_walls():
    with Monty(workers=1) as monty:
        (verdict,) = monty.run([Program("def f(x):\n    return sum(range(x))", "f", (10,))])
    assert (verdict.kind, verdict.value) == (Kind.VALUE, "45")


KILLED = """
import os, signal
from redqueen.checks.sandbox.monty import Monty
from redqueen.checks.sandbox.runs_of_programs import Program
monty = Monty(workers=1)
print(monty.run([Program("def f():\\n    return 1", "f")])[0].value, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_a_process_that_is_killed_leaves_no_folder_behind(tmp_path):
    told = {**os.environ, "TMPDIR": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, env=told, text=True, check=False)
    assert (ended.stdout, ended.returncode) == ("1\n", -9), ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_machine_without_files_in_memory_has_the_script_in_a_folder(monkeypatch):
    monkeypatch.setattr(monty_walls, "_in_memory", lambda text: None)
    path, end = started_behind(BASH, 64 << 20)
    assert Path(path).name == "monty"
    end()
    assert not Path(path).parent.exists()
