"""No link in a run's folder is followed when something is written or deleted: tried for every name that is written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from redqueen.cli.main import main
from redqueen.contracts.recipes import shrunk
from redqueen.play.lockstep import play
from redqueen.players.scripted import Uniform
from redqueen.runs.folder import keep_played, stored_episodes, stored_game
from redqueen.runs.run import Run, Schedule
from redqueen.runs.train import train
from redqueen.settings.finding import find_recipe
from redqueen.trust.no_links import (
    Linked,
    appended,
    make_folder,
    opened,
    refuse_link,
    remove_file,
    remove_tree,
    rename,
    write_new,
    write_whole,
)
from redqueen.types import Match, RedQueenError

OFTEN = Schedule(evaluate_every=1, checkpoint_every=1, keep_checkpoints=2)
HERE = Path(__file__)


def resumed(run: Path) -> int:
    return main(["resume", str(run)])


def reported(run: Path) -> int:
    return main(["report", str(run)])


def met(run: Path) -> int:
    return main(["tournament", str(run), "uniform", "--matches", "2", "--output", str(run)])


def compared(run: Path) -> int:
    return main(["compare", str(run), "uniform", "--matches", "2", "--output", str(run)])


def played(run: Path) -> int:
    try:
        game = stored_game(run)
    except RedQueenError:
        return 2
    (episode,) = play([Match(game, game.tasks()[0], dict.fromkeys(game.roles, Uniform()), 0)], Random(0))
    try:
        keep_played(run, episode)
    except Linked:
        return 2
    return 0


ALL = (resumed, reported, met, compared, played)


def trained(folder: Path) -> Path:
    """A run of three steps that was killed after its checkpoint of the second one."""
    train("league", shrunk(find_recipe("league").Config(), steps=3), folder, schedule=OFTEN)
    shutil.rmtree(folder / "checkpoints" / "step_000003")
    path = folder / "config.json"
    path.write_text(path.read_text().replace('"keep_checkpoints": 2', '"keep_checkpoints": 1'))
    return folder


def names_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


WRITTEN = (  # every name of a run of the league; the test below holds that the list is whole
    ".lock",
    "checkpoints",
    "checkpoints/step_000002",
    "comparison.json",
    "config.json",
    "episodes",
    "episodes/played_000000.json",
    "episodes/step_000000.jsonl",
    "final.json",
    "first_replies.txt",
    "league.json",
    "measures.json",
    "metrics.jsonl",
    "report.html",
    "tournament.json",
)
BESIDE = (
    "checkpoints/.leaving_step_000002",
    "checkpoints/.writing_step_000003",
    "checkpoints/step_000003",
    "episodes/.step_000002.jsonl.writing",
    "episodes/step_000002.jsonl",
    "error.txt",
    *(f".{name}.writing" for name in WRITTEN if "/" not in name and "." in name[1:]),
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture
def run(template: Path, tmp_path: Path) -> Path:
    shutil.copytree(template, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A folder that must stay as it is."""
    folder = tmp_path / "outside"
    (folder / "inner").mkdir(parents=True)
    for name in ("file", "inner/step_000000.jsonl", "inner/step_000002", "inner/.writing_step_000009"):
        (folder / name).write_text("precious")
    before = {path: path.read_text() for path in folder.rglob("*") if path.is_file()}
    yield folder
    assert {path: path.read_text() for path in folder.rglob("*") if path.is_file()} == before


def test_the_list_of_names_is_whole(run: Path) -> None:
    for command in ALL:
        assert command(run) == 0
    inner = {name for name in names_below(run) if name.startswith("checkpoints/step_") and name.count("/") > 1}
    steps = {name for name in names_below(run) if name.startswith(("episodes/step_", "checkpoints/step_"))}
    assert names_below(run) - inner - steps <= set(WRITTEN)


@pytest.fixture
def read_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the door that refuses to read a run whose links lead out: what writes refuses them by itself."""
    monkeypatch.setattr("redqueen.runs.folder.refuse_foreign", lambda folder: None)


@pytest.mark.slow
@pytest.mark.usefixtures("read_all_the_same")
@pytest.mark.parametrize("there", [True, False], ids=["there", "missing"])
@pytest.mark.parametrize("name", [*WRITTEN, *BESIDE])
def test_nothing_outside_is_written_or_deleted(name: str, there: bool, run: Path, outside: Path) -> None:
    kind = "missing" if not there else "file" if "." in name.rpartition("/")[2][1:] or name == ".lock" else "inner"
    commands = [resumed, reported, played, *([met] if "tournament" in name else [])]
    commands += [compared] if "comparison" in name else []
    place = run / name
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(outside / kind)
    before = place.lstat().st_ino
    for command in commands:
        assert command(run) in (0, 2)
    assert not (outside / "missing").exists()
    if name not in (".lock", "checkpoints", "episodes") and place.is_symlink():
        assert place.lstat().st_ino == before  # it was refused, or nothing was written there


REFUSED = {
    "report.html": reported,
    ".report.html.writing": reported,
    "tournament.json": met,
    "comparison.json": compared,
    "episodes": resumed,
    "checkpoints": resumed,
    "metrics.jsonl": resumed,
    ".metrics.jsonl.writing": resumed,
    ".lock": resumed,
    "measures.json": resumed,
    "config.json": resumed,
    "checkpoints/.writing_step_000003": resumed,
}


@pytest.mark.usefixtures("read_all_the_same")
@pytest.mark.parametrize("name", REFUSED)
def test_a_link_is_refused_in_one_line(name: str, run: Path, outside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = REFUSED[name]
    place, kept = run / name, outside.parent / "kept"
    if place.exists():
        place.rename(kept)  # so that what is read through the link is what was there
    else:
        kept = outside / "file"
    place.symlink_to(kept)
    capsys.readouterr()
    assert command(run) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{name.rpartition('/')[2]} is a link, which is not followed" in said


def test_the_folder_that_the_user_names_may_be_a_link(run: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(run)
    for command in ALL:
        assert command(tmp_path / "link") == 0


def test_a_hard_link_and_a_pipe_are_refused(run: Path, outside: Path) -> None:
    (run / "metrics.jsonl").unlink()
    os.link(outside / "file", run / "metrics.jsonl")
    with pytest.raises(Linked, match="a second name elsewhere"):
        appended(run, "metrics.jsonl")
    os.mkfifo(run / "pipe")
    with pytest.raises(Linked, match="is no regular file"):
        appended(run, "pipe")
    with pytest.raises(Linked, match="is no regular file"):
        write_whole(run, "pipe", "text")


def test_each_door_refuses_a_link_on_the_way_and_in_its_place(tmp_path: Path, outside: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "way").symlink_to(outside)
    (folder / "place").symlink_to(outside / "file")
    (folder / "tree").symlink_to(outside / "inner")
    for call in (
        lambda: write_whole(folder, "way/file", "new"),
        lambda: write_whole(folder, "place", "new"),
        lambda: write_new(folder, "way/new"),
        lambda: appended(folder, "way/file"),
        lambda: appended(folder, "place"),
        lambda: remove_file(folder, "way/file"),
        lambda: remove_tree(folder, "way/inner"),
        lambda: remove_tree(folder, "tree"),
        lambda: rename(folder, "way/inner", "way/other"),
        lambda: rename(folder, "tree", "other"),
        lambda: make_folder(folder, "way/new"),
        lambda: refuse_link(folder, "tree"),
    ):
        with pytest.raises(Linked):
            call()
    with pytest.raises(Linked), opened(folder, "way", "inner"):
        pass
    with pytest.raises(FileExistsError):
        write_new(folder, "place")
    remove_file(folder, "place")  # the link itself
    assert not (folder / "place").is_symlink()


def test_a_tree_is_removed_without_what_its_links_lead_to(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "run" / "tree" / "inner").mkdir(parents=True)
    (tmp_path / "run" / "tree" / "link").symlink_to(outside)
    remove_tree(tmp_path / "run", "tree")
    assert not (tmp_path / "run" / "tree").exists()


def test_a_file_is_whole_or_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_whole(tmp_path, "a/file", "old")
    assert (tmp_path / "a" / "file").read_text() == "old"

    def fails(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("redqueen.trust.no_links.os.replace", fails)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path, "a/file", "new")
    assert (tmp_path / "a" / "file").read_text() == "old"
    assert names_below(tmp_path) == {"a", "a/file"}


def test_files_of_a_run_are_written_through_one_module() -> None:
    """In the rooms that write into runs, nothing else opens a file for writing or deletes."""
    package = HERE.parents[2] / "redqueen"
    words = ("write_text(", "write_bytes(", "os.replace(", "rmtree(", ".unlink(", ".touch(", 'open("a")', 'open("w')
    found = {
        f"{path.relative_to(package)}: {word}"
        for room in ("runs", "views", "cli")
        for path in (package / room).rglob("*.py")
        for word in words
        if word in path.read_text(encoding="utf-8")
    }
    assert found == {"views/report/page.py: write_bytes("}  # to --output, which the user names


def test_a_league_is_a_run(template: Path) -> None:
    assert stored_episodes(template)
    assert isinstance(Run(template).folder, Path)


COMMANDS = (
    *(["report"], ["resume"], ["replay"], ["tasks"], ["watch", "--once"], ["evaluate"], ["merge", "NEW"]),
    *(["rescore", "--with", "payoff"], ["compare", "uniform"], ["tournament", "uniform"], ["serve"]),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_run_whose_links_lead_out_is_not_read(
    command: list[str], run: Path, outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A report would show the first lines of a secret as the error that ended the run."""
    (run / "error.txt").unlink(missing_ok=True)
    (run / "error.txt").symlink_to(outside / "precious.txt")
    assert main([command[0], str(run), *(each.replace("NEW", f"{run}-new") for each in command[1:])]) == 2
    said = capsys.readouterr().err
    assert "error.txt is a link that leads out of the run" in said and said.count("\n") == 1


@pytest.mark.parametrize("place", ["first", "then", "expert"])
def test_no_run_of_a_sequence_is_read_whose_links_lead_out(
    place: str, template: Path, run: Path, outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "error.txt").unlink(missing_ok=True)
    (run / "error.txt").symlink_to(outside / "precious.txt")
    first, then, expert = (str(run if each == place else template) for each in ("first", "then", "expert"))
    experts = ["--experts", expert, str(template)] if place == "expert" else []
    assert main(["evaluate", first, "--then", then, *experts]) == 2
    said = capsys.readouterr().err
    assert "error.txt is a link that leads out of the run" in said and said.count("\n") == 1


def test_a_run_named_as_a_model_is_not_read_either(
    run: Path, outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "error.txt").unlink(missing_ok=True)
    (run / "error.txt").symlink_to(outside / "precious.txt")
    for command in (["exploitability", "kuhn_poker"], ["success", "acting:site"]):
        assert main([*command, "--model", str(run)]) == 2
        assert "error.txt is a link that leads out of the run" in capsys.readouterr().err


def test_links_within_a_run_are_read_and_a_pipe_is_refused(run: Path) -> None:
    (run / "newest").symlink_to("checkpoints")
    (run / "nowhere").symlink_to("nothing")
    (run / "wandb").mkdir()
    (run / "wandb" / "debug.log").symlink_to("/var/log/none")  # wandb links to its own logs, which nothing here reads
    assert reported(run) == 0
    os.mkfifo(run / "error.fifo")
    assert reported(run) == 2
