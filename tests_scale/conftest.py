"""The real server, started for the session and killed with all its children."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

HERE = Path(__file__).parent


def pytest_configure(config):
    # the client's loop and its sockets are still open when a session ends
    config.addinivalue_line("filterwarnings", "ignore::pytest.PytestUnraisableExceptionWarning")


class Server:
    """SkyRL on loopback; what it knows outlives it."""

    def __init__(self, folder):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None

    @property
    def base(self):
        return str(self.folder / "model")

    @property
    def model(self):
        return f"tinker:{self.base}@{self.url}"

    def start(self):
        command = [sys.executable, str(HERE / "serve.py"), str(self.folder), str(self.port)]
        with (self.folder / "server.log").open("a") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        for _ in range(240):
            assert self.process.poll() is None, f"the server ended: see {self.folder / 'server.log'}"
            try:
                httpx.get(f"{self.url}/api/v1/healthz", timeout=2.0)
                return
            except httpx.HTTPError:
                time.sleep(0.5)
        raise AssertionError("the server did not start within two minutes")

    def kill(self):
        """Without warning, with its engine."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    made = Server(tmp_path_factory.mktemp("skyrl"))
    made.start()
    yield made
    made.kill()


@pytest.fixture
def redqueen():
    """A function that starts `redqueen ...` as a process."""

    def start(*words):
        program = [str(Path(sys.executable).parent / "redqueen"), *map(str, words)]
        return subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start
