"""A run folder runs no code: a canary in every field that holds a name, under every command that reads a folder."""

from __future__ import annotations

import ast
import dataclasses
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from redqueen.catalogue import Catalogue
from redqueen.cli import main as commands
from redqueen.cli.main import ONES_OWN, main
from redqueen.contracts.recipes import shrunk
from redqueen.games.catalogue import find_game
from redqueen.players.endpoint import Server
from redqueen.runs.folder import stored_game
from redqueen.runs.run import Schedule
from redqueen.runs.train import train
from redqueen.settings.finding import RECIPES, find_recipe
from redqueen.settings.learner import Learner
from redqueen.trust.door import Untrusted, enter, places, shut, shut_command, trust_list, trusted
from redqueen.types import RedQueenError

PACKAGE = Path(commands.__file__).parents[1]
CANARY = """
from pathlib import Path
Path({mark!r}).touch()
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.questions.small.sums import Sums
from redqueen.recipes.games.magnetic import Config, train
class Game(KuhnPoker):
    pass
class Questions(Sums):
    pass
def same(task, reply):
    return True
"""
FORMS = ("file", "module", "stdlib")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run of magnetic with a table."""
    folder = tmp_path_factory.mktemp("runs") / "shipped"
    config = shrunk(find_recipe("magnetic").Config())
    train("magnetic", config, folder, schedule=Schedule(evaluate_every=2, checkpoint_every=1))
    return folder


@dataclasses.dataclass
class Stranger:
    """Somebody's run in somebody's folder; `mark` exists once any of his code has run."""

    run: Path
    file: Path
    mark: Path

    def names(self, form: str, member: str = "Game") -> str:
        if form == "module":
            return f"stranger_{self.run.parent.name}:{member}".replace("-", "_")
        return f"{self.file}:{member}" if form == "file" else f"os:mkdir:{self.mark}"

    def say(self, *path: str, value: Any) -> None:
        self._change(path, lambda place, name: place.update({name: value}))

    def forget(self, *path: str) -> None:
        self._change(path, lambda place, name: place.pop(name))

    def _change(self, path: Sequence[str], change: Callable[[dict[str, Any], str], object]) -> None:
        file = self.run / "config.json"
        found = json.loads(file.read_text())
        place = found
        for name in path[:-1]:
            place = place[name]
        change(place, path[-1])
        file.write_text(json.dumps(found))


@pytest.fixture
def stranger(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Stranger]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    run = tmp_path / "run"
    shutil.copytree(template, run)
    found = Stranger(run, tmp_path / "stranger.py", tmp_path / "ran")
    found.file.write_text(CANARY.format(mark=str(found.mark)))
    module = tmp_path / f"{found.names('module').partition(':')[0]}.py"
    module.write_text(found.file.read_text())
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield found
    sys.modules.pop(module.stem, None)


COMMANDS: dict[str, Callable[[Path], Sequence[str]]] = {
    "resume": lambda run: ["resume", str(run), "--steps", "9"],
    "watch": lambda run: ["watch", str(run), "--once"],
    "evaluate": lambda run: ["evaluate", str(run), "--matches", "2"],
    "tournament": lambda run: ["tournament", str(run), "uniform", "--matches", "2"],
    "compare": lambda run: ["compare", str(run), "uniform", "--matches", "2"],
    "play": lambda run: ["play", "no_such_game", "--against", str(run)],  # a person would be asked otherwise
    "serve": lambda run: ["serve", str(run), "--port", "70000"],  # stops where it would listen
    "replay": lambda run: ["replay", str(run)],
    "replay one": lambda run: ["replay", str(run), "0.0"],
    "record": lambda run: ["record", str(run), "--game", "kuhn_poker", "--matches", "1"],
    "rescore": lambda run: ["rescore", str(run), "--with", "payoff"],
    "exploitability": lambda run: ["exploitability", "kuhn_poker", "--model", str(run)],
    "success": lambda run: ["success", "acting:site", "--model", str(run)],
    "tasks": lambda run: ["tasks", str(run)],
    "report": lambda run: ["report", str(run)],
    "merge": lambda run: ["merge", str(run), str(run.parent / "merged")],
    "like": lambda run: ["train", "--like", str(run), "--output", str(run.parent / "next")],
    "like, named": lambda run: ["train", "magnetic", "--like", str(run), "--output", str(run.parent / "next")],
}


def test_every_command_that_reads_a_folder_is_tried() -> None:
    assert {call(Path("run"))[0] for call in COMMANDS.values()} == {*commands.COMMANDS} - {*ONES_OWN} | {"train"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the table of")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("field", ["recipe", "game", "games", "questions", "learner", "episodes"])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_runs_what_a_folder_names(command: str, field: str, form: str, stranger: Stranger) -> None:
    if field == "recipe":
        stranger.say("recipe", value=stranger.names(form).partition(":")[0])
    elif field == "games":
        stranger.say("config", "game", value="")
        stranger.say("config", "games", value=[stranger.names(form)])
    elif field == "questions":
        stranger.say("config", "questions", value=stranger.names(form, "Questions"))
    elif field == "learner":
        stranger.say("config", "learner", "model", value=stranger.names(form))
    elif field == "episodes":
        for path in (stranger.run / "episodes").iterdir():
            lines = [json.loads(line) | {"game": stranger.names(form)} for line in path.read_text().splitlines()]
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    else:
        stranger.say("config", field, value=stranger.names(form))
    main(COMMANDS[command](stranger.run))
    assert not stranger.mark.exists()


# every field of a shipped recipe that holds a name, on its own or within another
FIELDS = [
    ("grpo", "questions", "{}"),
    ("grpo", "questions", "dataset:path={data},compare={}"),
    ("grpo", "questions", "verified:inner={}"),
    ("grpo", "questions", "judged:inner={}"),
    ("grpo", "questions", "roled:inner={}"),
    ("grpo", "questions", "paired:inner={}"),
    ("grpo", "game", "{}"),
    ("mars", "games", "{}"),
    ("spiral", "also", "{}"),
    ("self_redteam", "prompts", "{}"),
    ("self_redteam", "judge", "{}"),
    ("iterative_dpo", "oracle", "{}"),
    ("eva", "reward", "{}"),
    ("agent0", "tool", "{}"),
    ("search_self_play", "corpus", "{}"),
    ("search_self_play", "answers", "{}"),
    ("search_self_play", "tests", "{}"),
    ("eva", "levels", "{}"),
    ("league", "fixed", "{}"),
    ("ssr_zero", "metric", "{}"),
    ("rlccf", "others", "{}"),
    ("comas", "others", "{}"),
    ("ditto_roleplay", "characters", "{}"),
    ("spin", "weaker", "{}"),
]
WITH = {"spin": {"chosen": "learner"}}  # without which the field is refused


def names_of(recipe: str) -> set[str]:
    """The fields of a recipe that hold texts."""
    hints = get_type_hints(find_recipe(recipe).Config)
    return {name for name, hint in hints.items() if hint in (str, tuple[str, ...])}


def test_every_field_that_holds_a_name_is_tried() -> None:
    known = {field for _, field, _ in FIELDS}
    assert set().union(*map(names_of, RECIPES)) <= known


@pytest.mark.filterwarnings("ignore:--steps 1 ends before")
@pytest.mark.parametrize("form", ["file", "module"])
@pytest.mark.parametrize(("recipe", "field", "shape"), FIELDS, ids=[f"{r}.{f}={s}" for r, f, s in FIELDS])
def test_resume_runs_nothing_that_a_field_names(
    recipe: str, field: str, shape: str, form: str, stranger: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = stranger.run.parent / "data.jsonl"
    data.write_text('{"question": "1+1", "answer": "2"}\n{"question": "1+2", "answer": "3"}\n')
    default = find_recipe(recipe).Config()
    name = shape.format(stranger.names(form, "same"), data=data)
    named = {field: (name,) if isinstance(getattr(default, field), tuple) else name}
    config = shrunk(default, **named, **WITH.get(recipe, {}))
    found = json.loads((stranger.run / "config.json").read_text())
    found |= {"recipe": recipe, "config": dataclasses.asdict(config) | {"steps": 1}}
    found["config"]["learner"]["model"] = "tabular" if recipe in ("mars", "league") else "tiny"
    (stranger.run / "config.json").write_text(json.dumps(found))
    shutil.rmtree(stranger.run / "checkpoints")
    try:
        main(["resume", str(stranger.run)])
    except Exception as error:  # a field that is no name at all is another test's matter
        pytest.fail(f"{type(error).__name__}: {error}")
    assert not stranger.mark.exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [("model", "tinker:base@{}"), ("fixed", "{}/v1#model")],
)
def test_a_folder_sends_nothing_to_an_endpoint_that_it_names(
    field: str, value: str, stranger: Stranger, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tinker")
    with open_port() as (url, asked):
        named = value.format(url)
        if field == "model":
            stranger.say("config", "learner", "model", value=named)
        else:
            config = dataclasses.asdict(shrunk(find_recipe("league").Config())) | {"fixed": [named], "steps": 9}
            found = json.loads((stranger.run / "config.json").read_text())
            (stranger.run / "config.json").write_text(json.dumps(found | {"recipe": "league", "config": config}))
        shutil.rmtree(stranger.run / "checkpoints")
        assert main(["resume", str(stranger.run)]) == 2
        assert "would be sent" in capsys.readouterr().err
        assert asked == []


@pytest.mark.parametrize("world", ["gymnasium({}:X-v0)", "gymnasium:{}:X-v0", "gym:{}:X-v0"])
@pytest.mark.parametrize("command", ["evaluate", "report", "tournament", "serve", "replay one"])
def test_no_command_imports_the_module_of_an_environment(command: str, world: str, stranger: Stranger) -> None:
    pytest.importorskip("gymnasium")
    stranger.say("config", "game", value=f"acting:{world.format(stranger.names('module').partition(':')[0])}")
    main(COMMANDS[command](stranger.run))
    assert not stranger.mark.exists()


@pytest.mark.parametrize("game", ["acting:gym({})", "acting:gym:{}", "pettingzoo:{}"])
def test_no_command_runs_the_file_of_an_environment(game: str, stranger: Stranger) -> None:
    pytest.importorskip("gymnasium")
    stranger.say("config", "game", value=game.format(stranger.names("file")))
    main(COMMANDS["evaluate"](stranger.run))
    assert not stranger.mark.exists()


def test_a_folder_has_no_judgements_kept_elsewhere(stranger: Stranger, capsys: pytest.CaptureFixture[str]) -> None:
    config = dataclasses.asdict(shrunk(find_recipe("iterative_dpo").Config(), oracle="judge:frozen"))
    outside = stranger.run.parent / "outside"
    config["judge"]["cache"], config["learner"]["model"] = str(outside), "tiny"
    found = json.loads((stranger.run / "config.json").read_text())
    (stranger.run / "config.json").write_text(json.dumps(found | {"recipe": "iterative_dpo", "config": config}))
    shutil.rmtree(stranger.run / "checkpoints")
    resume = ["resume", str(stranger.run)]
    assert main(resume) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"files in {outside} would be written" in said
    assert said.endswith(f"add --trust {outside}\n")
    assert not outside.exists()
    assert main([*resume, "--trust", str(outside)]) == 0
    assert (outside / "judgements.jsonl").stat().st_size
    shutil.rmtree(stranger.run / "checkpoints")
    assert main(resume) == 2, "--trust is for one command"
    assert "would be written" in capsys.readouterr().err


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs that learned one task each, measured twice."""
    folder = tmp_path_factory.mktemp("sequence")
    for name in ("shop", "mail"):
        named = {"game": f"acting:site({name},count=3,tests=3),2", "learner": Learner(), "tasks": 1, "attempts": 2}
        config = dataclasses.replace(find_recipe("grpo").Config(), steps=2, **named)
        train("grpo", config, folder / name, schedule=Schedule(evaluate_every=1))
    return folder


@pytest.mark.parametrize("field", ["recipe", "game", "questions", "learner"])
@pytest.mark.parametrize("place", ["first", "then", "expert"])
def test_no_run_of_a_sequence_runs_what_it_names(
    place: str, field: str, sites: Path, stranger: Stranger, capsys: pytest.CaptureFixture[str]
) -> None:
    shop, mail = str(sites / "shop"), str(sites / "mail")
    assert main(["evaluate", shop, "--then", mail, "--experts", shop, mail, "--matches", "1"]) == 0
    theirs = dataclasses.replace(stranger, run=stranger.run.with_name(f"{place} {field}"))
    for form in FORMS:
        shutil.rmtree(theirs.run, ignore_errors=True)
        shutil.copytree(shop, theirs.run)
        if field == "learner":
            theirs.say("config", "learner", "model", value=theirs.names(form))
        else:
            theirs.say("config", "game", value="")
            name = theirs.names(form, "Questions" if field == "questions" else "Game")
            if field == "recipe":
                theirs.say("recipe", value=name.partition(":")[0])
                theirs.forget("config", "questions")  # so that the recipe is asked
            else:
                theirs.say("config", field, value=name)
        first, expert = (str(theirs.run) if place == each else shop for each in ("first", "expert"))
        then = str(theirs.run) if place == "then" else mail
        capsys.readouterr()
        status = main(["evaluate", first, "--then", then, "--experts", expert, mail, "--matches", "1"])
        assert status in (0, 2) and capsys.readouterr().err.count("\n") == status // 2
        assert not theirs.mark.exists()


def open_port() -> Any:
    """A port of this machine on which nobody speaks, and who has called."""
    import contextlib
    import socket
    import threading

    @contextlib.contextmanager
    def opened() -> Iterator[tuple[str, list[str]]]:
        asked: list[str] = []
        server = socket.create_server(("127.0.0.1", 0))

        def listen() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    asked.append("called")
                    connection.close()

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}", asked
        finally:
            server.shutdown(socket.SHUT_RDWR)
            server.close()
            thread.join()

    return opened()


def test_trust_lets_one_name_pass_for_one_command(stranger: Stranger, capsys: pytest.CaptureFixture[str]) -> None:
    stranger.say("config", "game", value="stranger.py:Game")
    evaluate = ["evaluate", str(stranger.run), "--matches", "2"]
    assert main(evaluate) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "the game 'stranger.py:Game' is named by a folder" in said
    assert f"{stranger.file} would be run" in said
    assert said.endswith("then add --trust stranger.py:Game\n")
    assert main([*evaluate, "--trust", "stranger.py:Game"]) == 0
    assert stranger.mark.exists()
    assert main([*evaluate, "--trust=stranger.py:Game"]) == 0
    assert main(evaluate) == 2
    assert main([*evaluate, "--trust", "stranger.py:Other"]) == 2
    assert main([*evaluate, "--trust"]) == 2


def test_trust_lets_a_recipe_pass(stranger: Stranger) -> None:
    stranger.say("recipe", value="stranger.py")
    shutil.rmtree(stranger.run / "checkpoints")  # which are those of another recipe
    resume = ["resume", str(stranger.run)]
    assert main(resume) == 2
    assert main([*resume, "--trust", "stranger.py"]) == 0
    assert stranger.mark.exists()


def test_what_the_command_names_passes(stranger: Stranger) -> None:
    assert main(["evaluate", str(stranger.run), "--game", "stranger.py:Game", "--matches", "2"]) == 0
    assert stranger.mark.exists()


@pytest.mark.filterwarnings("ignore:the table of")
def test_the_folder_of_a_run_is_no_recipe_that_the_command_names(stranger: Stranger) -> None:
    shutil.copy(stranger.file, stranger.run / "recipe.py")
    stranger.say("recipe", value=str(stranger.run))
    for command in COMMANDS.values():
        main(command(stranger.run))
    assert not stranger.mark.exists()


def test_what_a_training_was_given_is_remembered_with_its_content(
    stranger: Stranger, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(stranger.run.parent / "mine")
    flags = ["--matches-per-step", "4", "--checkpoint-every", "1", "--output", run]
    assert main(["train", "magnetic", "--game", "stranger.py:Game", "--steps", "2", *flags]) == 0
    assert trusted()[f"{stranger.file}:Game"].startswith("sha256:")
    assert main(["evaluate", run, "--matches", "2"]) == 0
    assert main(["resume", run]) == 0
    stranger.file.write_text(stranger.file.read_text() + "# changed\n")
    capsys.readouterr()
    assert main(["evaluate", run, "--matches", "2"]) == 2
    assert "has changed since it was trusted" in capsys.readouterr().err
    assert main(["train", "--like", run, "--output", f"{run}-2"]) == 2
    again = ["train", "magnetic", "--like", run, "--game", "stranger.py:Game", "--output", f"{run}-2"]
    assert main(again) == 0


def test_a_line_of_the_trust_list_without_a_hash_trusts_any_content(stranger: Stranger) -> None:
    trust_list().parent.mkdir(parents=True)
    trust_list().write_text(f"# my own\n{stranger.file}:Game\n\n")
    with shut():
        assert find_game("stranger.py:Game").__class__.__name__ == "Game"


def test_another_member_of_a_trusted_file_does_not_pass(stranger: Stranger) -> None:
    stranger.file.write_text("from os import mkdir\n" + stranger.file.read_text())
    with shut("stranger.py:Game"):
        assert find_game("stranger.py:Game").__class__.__name__ == "Game"
        with pytest.raises(Untrusted, match=r"the game 'stranger\.py:mkdir:x' is named"):
            find_game("stranger.py:mkdir:x")


def test_from_python_a_stored_name_needs_trust_and_a_name_of_ones_own_does_not(stranger: Stranger) -> None:
    stranger.say("config", "game", value="stranger.py:Game")
    with pytest.raises(Untrusted):
        stored_game(stranger.run)
    assert not stranger.mark.exists()
    with shut("stranger.py:Game"):
        assert stored_game(stranger.run).__class__.__name__ == "Game"
    assert find_game("stranger.py:Game").__class__.__name__ == "Game"


def test_a_name_is_vouched_for_as_it_is_and_within_its_parameters(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "own.py"
    assert f"{own}:G" in places(["own.py:G"]) and str(own) not in places(["own.py:G"])
    assert str(own) in places(["own.py"])
    assert "a.b:G" in places(["a.b:G:4,x=2"]) and "a.b" not in places(["a.b:G:4,x=2"])
    assert f"{own}:same" in places(["dataset:path=sums.csv,compare=own.py:same"])
    assert f"{own}:Q" in places(["verified:inner=own.py:Q"])
    for spec in ("acting:own.py:Q", "acting:own.py:Q,8", "hosted:own.py:Q", "agent:own.py:Q,questions=sums"):
        assert f"{own}:Q" in places([spec]), spec
    assert f"{own}:Q" in places(["threaded:acting:own.py:Q"]) and f"{own}:R" not in places(["acting:own.py:Q"])
    for spec in ("acting:gym:CartPole-v1", "acting:gym(CartPole-v1,left/right)", "gym:CartPole-v1"):
        assert "gym:CartPole-v1" in places([spec])
    assert f"files in {tmp_path}/judged" in places(["judged"])
    assert "http://host/v1" in places(["http://host/v1#model"])
    assert "http://host/v1" in places(["http://me:key@host/v1/#model"])
    assert "tinker" not in places(["tinker:base@http://host"])
    assert "http://host" in places(["tinker:base@http://host"])


def test_the_door_of_a_command_is_shut_in_its_threads_and_open_after_it(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    own = tmp_path / "own.py"
    own.write_text("")
    with shut_command([], []), ThreadPoolExecutor(1) as pool, pytest.raises(Untrusted):
        pool.submit(enter, own, "", "a name").result()
    enter(own, "", "a name")


def test_an_entry_point_and_an_endpoint_need_trust_too(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.metadata

    point = importlib.metadata.EntryPoint("theirs", "redqueen.games.kuhn_poker:KuhnPoker", "some.games")
    monkeypatch.setattr("redqueen.catalogue.entry_points", lambda group: [point] if group == "some.games" else [])
    catalogue = Catalogue("game", {}, "some.games")
    assert catalogue.find("theirs").name == "kuhn_poker"
    with shut(), pytest.raises(Untrusted):
        catalogue.find("theirs")
    with shut("theirs"):
        assert catalogue.find("theirs").name == "kuhn_poker"
    url = "http://127.0.0.1:1/door/v1"  # that no other test of this process trusts
    with shut(), pytest.raises(Untrusted, match="would be sent"):
        Server("model", url)
    with shut(f"{url}#other"):
        assert Server("model", f"{url}/").name == "model"


def test_a_trust_list_that_cannot_be_written_is_said_and_the_training_goes_on(
    stranger: Stranger, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (stranger.run.parent / "taken").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(stranger.run.parent / "taken"))
    flags = ["--matches-per-step", "4", "--output", str(stranger.run.parent / "mine")]
    with pytest.warns(UserWarning, match="cannot write .*trusted.txt"):
        assert main(["train", "magnetic", "--game", "stranger.py:Game", "--steps", "1", *flags]) == 0


LOADERS = {  # who may turn a name into code, and why it is not a stranger's name
    "catalogue.py": "asks the door",
    "user_code.py": "asks the door",
    "settings/finding.py": "asks the door",
    "questions/catalogue.py": "names of shipped sets",
    "cli/main.py": "names of commands",
    "cli/suites.py": "names of two suites",
    "views/trackers.py": "names of four trackers",
    "measures/ratings.py": "names of two libraries",
    "checks/worker.py": "modules of this package",
    "checks/sandbox/jail_server.py": "the modules offered in the jail",
    "checks/sandbox/jail_program.py": "in the jail",
    "checks/repository/inside.py": "in the jail",
    "trials/shipped.py": "the file that `redqueen trial` is given",
    "guests/guest_process.py": "in a guest, which was let in by the door",
    "adapters/guests/pettingzoo_driver.py": "in a guest, which was let in by the door",
}


def test_names_become_code_in_few_places() -> None:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
            if name in ("import_module", "exec_module", "spec_from_file_location", "__import__", "runpy", "run_path"):
                found.add(str(path.relative_to(PACKAGE)))
    assert found == set(LOADERS)


def test_bad_names_are_told_in_one_line(stranger: Stranger, capsys: pytest.CaptureFixture[str]) -> None:
    stranger.say("config", "game", value="\x1b[31mred.py:Game\n")
    assert main(["evaluate", str(stranger.run)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "\x1b" not in said


def test_untrusted_is_an_error_of_the_users(tmp_path: Path) -> None:
    assert issubclass(Untrusted, RedQueenError)
    assert Learner().model == "tabular"
