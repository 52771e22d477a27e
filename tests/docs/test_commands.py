"""Every command and every flag that a document names is one that the command line takes; nothing is run."""

import re
import shlex
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from redqueen.cli import main
from redqueen.cli.training import training_options
from redqueen.cli.words import flags_of, parse
from redqueen.questions.catalogue import is_data
from redqueen.settings.finding import RECIPES, find_recipe
from redqueen.trials.shipped import shipped

ROOT = Path(__file__).parents[2]
PAGES = [*(ROOT / name for name in ("README.md", "AGENTS.md", "SECURITY.md")), *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = re.compile(r"^(?:[A-Z_]+=\S+ )*(?:\S*/)?redqueen (.+)$")  # what is set before it, the folder it lies in
FOREIGN = {"--checkpoints-base", "--logdir", "--no-deps", "--session-timeout-sec"}  # flags of other programs
# of Red Queen: those that are read before a command's own, and an old one whose answer README quotes
EXTRA = {"--as", "--with", "--domain", "--gpu", "--help", "--trust", "--version"}


def lines(text):
    """What stands on a page as code without a language: lines of blocks, indented lines, spans within a paragraph."""
    blocks = re.findall(r"^ *```\n(.*?)^ *```", text, re.M | re.S)
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    indented = re.findall(r"^    (\S.*(?:\\\n.*)*)$", prose, re.M)
    code = "\n".join([*blocks, *indented]).replace("\\\n", " ").splitlines()
    return [" ".join(line.split()) for line in [*code, *re.findall(r"`([^`]+)`", prose)]]


def commands(text):
    """The commands of a page as lists of words without `redqueen`, with something in the place of each stand-in."""
    found = [shlex.split(match[1], comments=True) for line in lines(text) if (match := COMMAND.match(line))]
    return [[{"N": "3", "S": "3", "...": "GAME"}.get(word, word) for word in words] for words in found if words]


class Read(BaseException):
    """The flags of a command have been read: it goes no further."""


def take(words, monkeypatch):
    """Follows a command to where its flags are read. What it refuses is printed, and no `Read` is raised."""

    def stop(kind, words, program):
        raise Read(parse(kind, words, program))

    module = import_module("redqueen.cli." + main.COMMANDS[words[0]][0].partition(":")[0])
    monkeypatch.setattr(module, "parse", stop)
    with pytest.raises(Read):
        main.main(words)


@cache
def flags_of_recipe(name):
    return {*flags_of(training_options(find_recipe(name).Config))}


@cache
def all_flags():
    """The flags of every recipe and every other command."""
    found = set(EXTRA)
    for name in RECIPES:
        found |= flags_of_recipe(name)
    for place, _ in main.COMMANDS.values():
        module = import_module("redqueen.cli." + place.partition(":")[0])
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == module.__name__ and hasattr(kind, "__dataclass_fields__"):
                found |= {*flags_of(kind)}
    return found


def test_the_commands_of_a_page_are_found():
    page = """
Say `redqueen check FILE` or `redqueen play ...
--seed S`, and no `flag`.

```
.venv/bin/redqueen train spiral \\
    --steps 3  # some
```

    A=b redqueen doctor

```python
redqueen = 3
```
"""
    assert commands(page) == [
        ["train", "spiral", "--steps", "3"],
        ["doctor"],
        ["check", "FILE"],
        ["play", "GAME", "--seed", "3"],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_command_line_takes_every_command(page, monkeypatch):
    for words in commands(page.read_text()):
        print("redqueen", *words)
        name, thing = words[0], words[1] if len(words) > 1 else ""
        if not thing or name == "help":
            assert name in {*main.COMMANDS, "help"}
        elif name == "list":
            assert main.main(words) == 0
        elif name == "guest":
            assert thing == "list" or (thing in ("add", "remove") and len(words) > 2)
        elif name == "train" and len(words) == 2:
            assert thing in {*RECIPES, "RECIPE"} or thing.endswith(".py")
        elif thing.endswith(".py") or thing in ("RECIPE", "NAME"):  # of the reader's own, or any
            assert name in ("check", "train", "trial", "prompts")
        elif name == "check" and not is_data(thing):
            assert len(words) == 2
        elif "--like" not in words and "RUN..." not in words:
            take(words, monkeypatch)


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "recipes.md"], ids=lambda page: page.name)
def test_there_is_every_flag(page):
    named = set()
    for line in lines(page.read_text()):
        if match := COMMAND.match(line) or re.match("(--.*)", line):
            named |= set(re.findall(r"(?<![\w-])--[a-z][\w.-]*(?<![.])", match[1]))
    assert {flag for flag in named if flag.islower()} - all_flags() - FOREIGN == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_there_is_every_target_experiment_and_script(page):
    text = page.read_text()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert {line.split()[1] for line in lines(text) if line.startswith("make ")} <= targets
    assert set(re.findall(r"NAME=([a-z_/\d]+)", text)) <= set(shipped())
    assert all((ROOT / script).exists() for script in re.findall(r"python ((?:docs|tests)/\S+\.py)", text))
