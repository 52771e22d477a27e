"""Files that a name leads to, which a stranger's folder may hold: none is waited for, none fills the memory."""

from __future__ import annotations

import importlib
import inspect
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from redqueen.catalogue import COUNTS
from redqueen.games.catalogue import ADAPTERS as GAME_ADAPTERS
from redqueen.games.catalogue import GAMES, find_game
from redqueen.players.transformer.loading import refuse_detours
from redqueen.questions.catalogue import QUESTIONS, find_questions
from redqueen.questions.data_rows import read_rows
from redqueen.settings.learner import checked_device
from redqueen.settings.oracles import JudgeSettings
from redqueen.settings.speech import wording
from redqueen.texts import file_text
from redqueen.trust.door import shut
from redqueen.trust.reading import read_bytes
from redqueen.types import Damaged, RedQueenError
from redqueen.worlds.catalogue import ADAPTERS as WORLD_ADAPTERS
from redqueen.worlds.catalogue import WORLDS, find_world

FINDERS = {
    "game": (find_game, {**GAMES, **GAME_ADAPTERS}),
    "questions": (find_questions, QUESTIONS),
    "world": (find_world, {**WORLDS, **WORLD_ADAPTERS}),
}


@pytest.fixture(autouse=True)
def soon() -> Iterator[None]:
    """Waiting for a pipe ends the test, not the suite."""

    def late(number: int, frame: Any) -> None:
        raise AssertionError("it waits for ever")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def parameters(kinds: tuple[Any, ...] = ("str", str)) -> list[tuple[str, str, str]]:
    """Of everything that a name finds, each parameter that is a text: the kind, and what stands before and after it."""
    found = []
    for kind, (_, known) in FINDERS.items():
        for name, place in known.items():
            module, _, member = place.partition(":")
            taken = inspect.signature(getattr(importlib.import_module(module), member)).parameters
            for key, each in taken.items():
                if each.annotation in kinds:
                    others = [other for other, one in taken.items() if one.default is inspect.Parameter.empty]
                    rest = "".join(f",{other}=x" for other in others if other != key)
                    found.append((kind, f"{name}:{key}=", rest))
    return found


@pytest.mark.parametrize(("kind", "head", "rest"), parameters(), ids=[head for _, head, _ in parameters()])
def test_no_parameter_of_a_name_waits_for_a_pipe_or_runs_a_module(
    kind: str, head: str, rest: str, pipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"stranger_{abs(hash(tmp_path))}"
    (tmp_path / f"{module}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "pipe.jsonl").symlink_to(pipe)
    for value in (pipe, tmp_path / "pipe.jsonl", "/dev/zero", f"{module}:X-v0", f"gymnasium:{module}:X-v0"):
        try:
            with shut():
                found: Any = FINDERS[kind][0](f"{head}{value}{rest}")
                if kind == "questions":
                    found.problems(found.levels[0], 2, Random(0))
                else:
                    found.tasks()
        except RedQueenError as error:
            assert "\n" not in str(error)
        assert not (tmp_path / "ran").exists(), value


@pytest.mark.parametrize("read", [lambda path: JudgeSettings(rubric=str(path)).rubric_text(), wording])
def test_a_rubric_and_a_prompt_are_no_pipes(read: Any, pipe: Path) -> None:
    with pytest.raises(RedQueenError, match="no regular file"):
        read(pipe)


def test_a_model_folder_holds_no_pipe(pipe: Path) -> None:
    pipe.rename(pipe.with_name("config.json"))
    with pytest.raises(RedQueenError, match=r"config\.json is no file but a pipe"):
        refuse_detours(pipe.parent)


def test_a_file_of_holes_is_no_data_set(tmp_path: Path) -> None:
    with open(tmp_path / "holes.jsonl", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(RedQueenError, match="all holes"):
        read_rows(tmp_path / "holes.jsonl")


def test_a_file_that_has_more_than_it_says_is_read_no_further(tmp_path: Path) -> None:
    with pytest.raises(Damaged, match="more than 100 bytes"):
        read_bytes(Path("/proc/self/status"), most=100)  # whose size is said to be 0


def test_a_text_is_read_as_python_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("\ufeffone\r\ntwo\rthree\n\u2028four".encode())
    for encoding in ("utf-8", "utf-8-sig"):
        assert file_text(path, encoding) == path.read_text(encoding=encoding)
    with pytest.raises(FileNotFoundError):
        file_text(tmp_path / "missing")


@pytest.mark.parametrize("spec", ["web:count=999999999999999", "site:shop,tests=1000001", "pages:site:count=10000000"])
def test_a_name_asks_for_no_more_tasks_than_memory_holds(spec: str) -> None:
    with pytest.raises(RedQueenError, match="at most 1,000,000"):
        find_world(spec)


@pytest.mark.parametrize(("kind", "head", "rest"), parameters(("int", int)))
def test_no_size_in_a_name_fills_the_memory_or_takes_for_ever(kind: str, head: str, rest: str) -> None:
    """A folder names it, and it is made before anything is shown."""
    for value in (10**15, 10**9, 10_001, -(10**15)):
        key = head.rpartition(":")[2].removesuffix("=")
        if value < 10**6 and key in (*COUNTS, "seed"):
            continue
        try:
            with shut():
                found: Any = FINDERS[kind][0](f"{head}{value}{rest}")
                found.problems(found.levels[0], 2, Random(0)) if kind == "questions" else found.tasks()
        except RedQueenError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize(
    "name", ["cuda:" + "9" * 5000, "cuda:\u0663", "cuda:1\n", "\x1b[31m", "../..", "cuda:-1", "meta"]
)
def test_a_device_is_named_in_few_words(name: str) -> None:
    with pytest.raises(RedQueenError, match="there is no device") as refused:
        checked_device(name)
    assert str(refused.value).isprintable()
