"""A training from Python is kept as one from the command line, and goes on as one."""

import dataclasses
import json

import pytest

from redqueen.cli.main import main
from redqueen.contracts.recipes import TINY, shrunk, small, trained
from redqueen.curricula.held_out import held_out
from redqueen.players.language.saying import hearing
from redqueen.questions.catalogue import find_questions
from redqueen.recipes.credit.grpo import recipe as grpo
from redqueen.recipes.games import magnetic
from redqueen.runs import run as run_module
from redqueen.runs.folder import settings, stored_tests
from redqueen.runs.run import Schedule, numbers, read_final, read_metrics
from redqueen.runs.train import measured, train
from redqueen.settings.finding import RECIPES, find_recipe
from redqueen.settings.learner import Learner
from redqueen.settings.speech import Speech
from redqueen.trust.reading import read_json
from redqueen.types import SOLVER, RedQueenError

CONFIG = magnetic.Config(steps=6, matches_per_step=8)
OFTEN = Schedule(checkpoint_every=1)


def without_time(lines):
    return [{name: value for name, value in line.items() if name != "time"} for line in lines]


def test_the_folder_is_the_one_that_the_command_makes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    train("magnetic", CONFIG, tmp_path / "mine", seed=1)
    assert (
        main(["train", "magnetic", "--steps", "6", "--matches-per-step", "8", "--seed", "1", "--output", "theirs"]) == 0
    )
    mine, theirs = settings(tmp_path / "mine"), settings(tmp_path / "theirs")
    assert mine.pop("command")[0] == "python" and theirs.pop("command")[0] == "redqueen"
    assert mine == theirs
    assert without_time(read_metrics(tmp_path / "mine")) == without_time(read_metrics(tmp_path / "theirs"))
    assert read_final(tmp_path / "mine") == read_final(tmp_path / "theirs")
    capsys.readouterr()
    for words in (["report", "mine"], ["evaluate", "mine"], ["watch", "mine", "--once"], ["replay", "mine"]):
        assert main(words) == 0, capsys.readouterr().err


class Killed(Exception):
    pass


class Killer:
    """A watcher that ends a run after its third step."""

    def begin(self, run, start, count):
        pass

    def step(self, line):
        if line["step"] == 2:
            raise Killed

    def end(self, run):
        pass


def test_the_same_call_goes_on_and_returns_the_policy(tmp_path):
    whole = train("magnetic", CONFIG, tmp_path / "whole", schedule=OFTEN)
    with pytest.raises(Killed):
        train("magnetic", CONFIG, tmp_path / "parts", schedule=OFTEN, watchers=[Killer()])
    begun = settings(tmp_path / "parts")
    gone_on = train("magnetic", CONFIG, tmp_path / "parts", schedule=OFTEN)
    again = train("magnetic", CONFIG, tmp_path / "parts", schedule=OFTEN)
    assert without_time(read_metrics(tmp_path / "parts")) == without_time(read_metrics(tmp_path / "whole"))
    assert settings(tmp_path / "parts") == begun
    for one in (gone_on, again):
        one.save(tmp_path / "one")
        whole.save(tmp_path / "other")
        files = sorted(path.name for path in (tmp_path / "one").iterdir())
        assert files and all(
            (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes() for name in files
        )


def test_a_run_that_goes_on_with_another_file_of_questions_says_so(tmp_path):
    def written(name, more):
        rows = [{"question": f"What is {n} + {more}?", "answer": str(n + more)} for n in range(12)]
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(tmp_path / name)

    config = small(grpo, questions=f"dataset:path={written('train.jsonl', 1)},test={written('test.jsonl', 2)}", steps=4)
    run = tmp_path / "run"
    with pytest.raises(Killed):
        train("grpo", config, run, schedule=OFTEN, watchers=[Killer()])
    written("test.jsonl", 3)
    with pytest.warns(
        UserWarning, match="test.jsonl has changed since .*step_000002 was written: the run goes on with"
    ):
        train("grpo", config, run, schedule=OFTEN)
    train("grpo", config, run, schedule=OFTEN)  # its newest checkpoint knows the new one
    assert main(["evaluate", str(run), "--matches", "2"]) == 0
    written("test.jsonl", 4)
    with pytest.warns(UserWarning, match="test.jsonl has changed since .*step_000004 was written, and is measured as"):
        assert main(["evaluate", str(run), "--matches", "2"]) == 0


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"seed": 2}, "another seed"),
        ({"config": magnetic.Config(steps=7, matches_per_step=8)}, "another config"),
        ({"schedule": OFTEN, "seed": 3}, "another seed and schedule"),
        ({"recipe": "spiral"}, "another recipe"),
    ],
)
def test_another_training_is_not_written_over_it(tmp_path, other, named):
    train("magnetic", CONFIG, tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with pytest.raises(RedQueenError, match=f"holds a run of {named}: choose another folder"):
        train(**{"recipe": "magnetic", "config": CONFIG, "folder": tmp_path / "run"} | other)
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(RedQueenError, match="holds something that is no run"):
        train("magnetic", CONFIG, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("recipe", "config", "expected"),
    [
        ("magnetic", magnetic.Config(steps=0), "--steps must be"),
        ("magnetic", magnetic.Config, "config must be a Config() of the recipe magnetic"),
        ("magnetic", {"steps": 6}, "config must be a Config() of the recipe magnetic"),
        ("first_steps", CONFIG, "which redqueen.recipes.games.first_steps does not have"),
        ("magnetik", CONFIG, "did you mean magnetic"),
    ],
)
def test_what_cannot_be_trained_is_one_clear_line_and_leaves_nothing(tmp_path, recipe, config, expected):
    with pytest.raises(RedQueenError) as refused:
        train(recipe, config, tmp_path / "run")
    assert expected in str(refused.value)
    assert not (tmp_path / "run").exists()


def test_every_seed_is_measured_on_problems_of_its_own(tmp_path):
    tiny = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4)
    config = grpo.Config(learner=tiny, steps=1, tasks=1, attempts=2, problems=8)
    held = []
    for seed in (1, 2):
        run = tmp_path / str(seed)
        train("grpo", config, run, seed=seed)
        again = stored_tests(run, find_questions("sums"), 8)
        assert again == held_out(find_questions("sums"), 8, seed=seed)  # what is measured later is what was held out
        held.append({task.id for task in again["4_digits"]})
    assert not held[0] & held[1]


BOXED = Learner(model="tiny:hidden=16,heads=2", solver=Speech(answer="boxed"))


@pytest.mark.parametrize(
    ("recipe", "flags", "why"),
    [
        ("magnetic", ["--game", "kuhn_poker"], "the roles are first, second"),
        ("spiral", [], "the roles are first, second"),
        ("grpo", ["--game", "kuhn_poker"], "the roles are first, second"),
        ("spc", [], "nobody solves a task in this recipe"),
        ("self_redteam", [], "nobody solves a task in this recipe"),
    ],
)
def test_settings_of_a_solver_are_refused_where_nobody_is_one(tmp_path, capsys, recipe, flags, why):
    words = ["train", recipe, "--model", BOXED.model, *flags, "--solver.answer", "boxed"]
    assert main([*words, "--output", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert f"--solver.answer has no effect: {why}; leave it out" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_game_of_ones_own_may_have_a_solver(tmp_path):
    (tmp_path / "guess.py").write_text(
        "from redqueen.games.single_reply import SingleReply\n"
        "from redqueen.types import Task\n\n\n"
        "def Guess():\n    return SingleReply(dealt=(Task('t', prompt='Guess.'),))\n"
    )
    config = grpo.Config(learner=BOXED, game=f"{tmp_path / 'guess.py'}:Guess", steps=1, tasks=1, attempts=2)
    train("grpo", config, tmp_path / "run")
    assert len(read_metrics(tmp_path / "run")) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in RECIPES if name != "first_steps"])
def test_a_recipe_takes_settings_of_a_solver_if_it_has_one(tmp_path, name):
    """Who is asked in two small steps is what the refusal goes by."""
    recipe, roles = find_recipe(name), set()
    with hearing(lambda speaker, asks: roles.update(ask.seat.role for ask in asks)):
        trained(recipe, shrunk(recipe.Config(), learner=TINY), tmp_path / "plain")
    config = shrunk(recipe.Config(), learner=dataclasses.replace(TINY, solver=Speech(answer="boxed")))
    if SOLVER not in roles:
        with pytest.raises(RedQueenError, match=r"--solver\.answer has no effect: "):
            train(name, config, tmp_path / "boxed")


def test_a_training_that_was_killed_before_it_began_is_begun_anew(tmp_path):
    """The kill came while `config.json` was written, which is the first file of a run after its lock."""
    (tmp_path / ".lock").touch()
    (tmp_path / ".config.json.writing").write_text("{")
    train("magnetic", dataclasses.replace(CONFIG, steps=1), tmp_path)
    assert read_final(tmp_path)


def test_config_is_written_first(tmp_path, monkeypatch):
    written, write = [], run_module.write_whole

    def noting(folder, name, *rest, **more):
        written.append(name)
        write(folder, name, *rest, **more)

    monkeypatch.setattr(run_module, "write_whole", noting)
    train("magnetic", dataclasses.replace(CONFIG, steps=1), tmp_path)
    assert written[0] == "config.json"
    assert "measures.json" in written


@pytest.mark.parametrize("name", ["epo", "self_redteam"])
def test_a_run_is_measured_again_as_it_measured_itself(tmp_path, name):
    """Others meet its policy in no game of two seats; what its recipe measures can be had all the same."""
    train(name, small(find_recipe(name), steps=1), tmp_path, schedule=Schedule(checkpoint_every=1))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    steps, figures, bases = measured(tmp_path)
    assert (steps, figures) == (1, numbers(read_final(tmp_path)))
    assert {name: dataclasses.asdict(each) for name, each in bases.items()} == read_json(tmp_path / "measures.json")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
