"""The command line: `redqueen COMMAND ...`. Every flag is made from a dataclass; bad input is one line
on standard error and exit status 2."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from traceback import walk_tb

from redqueen.cli import words as command_line
from redqueen.cli.words import closest, only_word
from redqueen.markup import visible
from redqueen.trust.disks import told
from redqueen.trust.door import FLAG, shut_command
from redqueen.types import RedQueenError

# where a command is found, and what it does; a command imports what it needs, when it is called
COMMANDS: Mapping[str, tuple[str, str]] = {
    "train": (
        "training:train",
        "RECIPE [flags] or --like RUN [flags]: trains; `redqueen train RECIPE --help` lists the flags",
    ),
    "resume": (
        "training:resume",
        "RUN [--steps N]: goes on from the newest checkpoint as if it had never stopped, or up to N steps",
    ),
    "plan": (
        "planning:plan",
        "RECIPE [flags of train] [--gpu NAME]: tokens, memory, time and disk of a run, before anything is trained",
    ),
    "prompts": ("prompting:prompts", "RECIPE [flags of train]: the prompt of each role, as its model is shown it"),
    "watch": ("training:watch", "RUN: the dashboard of a run that is trained in another terminal"),
    "evaluate": (
        "measuring:evaluate",
        "RUN [flags]: measures a policy, exactly where that can be done",
    ),
    "tournament": (
        "measuring:run_tournament",
        "PLAYER PLAYER...: runs, bots and servers meet and are rated",
    ),
    "compare": ("comparing:compare", "FIRST SECOND: two checkpoints on the same tasks and seeds, and where they part"),
    "play": ("playing:play", "GAME --against RUN: a person at the keyboard against a policy or a bot"),
    "record": (
        "recording:record",
        "RUN --game agent:FILE.py:NAME: agents of others play with its model, every token kept (docs/agents.md)",
    ),
    "serve": ("serving:serve", "RUN: a local web page on which people play against a run, any seat, any checkpoint"),
    "replay": (
        "playing:replay",
        "RUN [STEP.NUMBER]: a recorded episode, checked by playing it again; or a list",
    ),
    "rescore": (
        "rescoring:rescore",
        "RUN --with WHAT: recorded episodes scored by another judge, reward or check, beside what they earned",
    ),
    "tasks": (
        "exporting:tasks",
        "RUN [--write FILE.jsonl]: counts the tasks that a run keeps, and writes them, also as a data set",
    ),
    "merge": (
        "merging:merge",
        "RUN FOLDER [--step N]: writes its model whole, the adapter merged in, as transformers and vLLM load it",
    ),
    "roles": (
        "role_writing:roles",
        "--questions FILE --write FILE.jsonl: roles that a model writes itself before its answers, for cold_start",
    ),
    "report": ("reporting:report", "RUN...: writes report.html, one file that needs no network, and prints where"),
    "check": (
        "checking:check",
        "NAME or FILE.py[:NAME]: whether a game, question set, player, objective or recipe keeps its contract",
    ),
    "audit": (
        "auditing:audit_environment",
        "ENV: leaks of seeds and seats, forged rewards, clocks, shared state, memory, ends, each with a program",
    ),
    "export": (
        "packaging:export",
        "GAME --as {gymnasium,trl,openenv,verifiers}: a package with which another's trainer runs the game",
    ),
    "exploitability": (
        "packaging:exploitability",
        "GAME --model http://HOST/v1#MODEL: how exploitable an endpoint is, from its log-probabilities",
    ),
    "success": (
        "packaging:success",
        "GAME --model http://HOST/v1#MODEL: the share of a world's held-out tasks that an endpoint or a run does",
    ),
    "guest": (
        "guesting:guest",
        "add NAME PACKAGE..., list, remove NAME: environments of their own for worlds that other packages bring",
    ),
    "list": ("listing:list_things", "{recipes,games,questions,worlds,models,players,presets}: what can be named"),
    "doctor": (
        "doctor:doctor",
        "[--backend tinker --url URL]: what is installed, what is missing; or what a server can do",
    ),
    "trial": (
        "trying:trial",
        "FILE.py: runs experiments of your own over seeds and says what they show and do not show",
    ),
}
# commands that have moved, and what is said instead
MOVED: Mapping[str, str] = {
    "bench": "`redqueen bench` has moved: in a checkout of the repository `make experiments NAME=magnetic` runs a "
    "shipped experiment, and `redqueen trial FILE.py` one of your own",
}
# they are given the user's own names; all others read a folder, in which names may be a stranger's
ONES_OWN = ("train", "plan", "prompts", "roles", "list", "check", "audit", "export", "guest", "doctor", "trial")
WITHOUT_FLAGS = ("train", "plan", "prompts", "list", "check", "guest")  # of their own; `train` has its recipe's
_PACKAGE = Path(__file__).parents[1]
_SHOWN_BY_PYTHON = warnings.formatwarning


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status: 0, 2 for bad input or a full disk, 130 for Ctrl-C."""
    status = 0
    command_line.began = time.perf_counter()
    warnings.formatwarning = _warned
    try:
        status = _done(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has closed it
        _hush()
    except Exception as error:
        if isinstance(error, OSError) and not _can_print():
            _hush()
            print(f"redqueen: cannot print: {error.strerror}", file=sys.stderr)
            return 2
        if not (reason := told(error)):
            raise
        print(
            f"redqueen: cannot use {visible(str(getattr(error, 'filename', None) or 'a file'))}: {reason}",
            file=sys.stderr,
        )
        status = 2
    return status


def _can_print() -> bool:
    try:
        print(flush=True)
    except OSError:
        return False
    return True


def _done(words: Sequence[str]) -> int:
    """Runs one command and prints in one line what stopped it; returns the exit status."""
    try:
        if not words or words in (["-h"], ["--help"], ["help"]):
            print(_help())
        elif words == ["--version"]:
            from redqueen.cli.listing import versions

            print(versions())
        elif words[0] == "help":
            _explain(only_word(words[1:], "redqueen help [COMMAND]"))
        elif words[1:] in (["-h"], ["--help"]):
            _explain(words[0])
        else:
            with _door(words[0], words[1:]) as rest:
                _command(words[0])(rest)
    except RedQueenError as error:
        print(f"redqueen: {visible(' '.join(str(error).splitlines()))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:  # a training says how to go on
        print("; ".join(["redqueen: stopped", *map(str, stop.args)]), file=sys.stderr)
        return 130
    except SystemExit as stop:  # tyro has printed its help, or rich has found that nobody reads
        if place := _of_the_user(stop):
            print(f"redqueen: {visible(place)} has ended the command by sys.exit({stop.code!r:.40})", file=sys.stderr)
            return 2
        return 0 if isinstance(stop.__context__, BrokenPipeError) else int(stop.code or 0)
    return 0


def _of_the_user(stop: SystemExit) -> str:
    """The file and line of an exit that code of the user's has called, such as a world; "" for one of a library's."""
    *_, (frame, line) = walk_tb(stop.__traceback__)
    file = Path(frame.f_code.co_filename)
    ours = Path(__file__).resolve().parents[1]
    known = ours in file.resolve().parents or {"site-packages", "argparse.py"} & set(file.parts)
    return "" if known or not file.is_file() else f"{file}, line {line},"


def _command(name: str) -> Callable[[Sequence[str]], None]:
    if name in MOVED:
        raise RedQueenError(MOVED[name])
    if name not in COMMANDS:
        raise RedQueenError(f"there is no command {name!r}: {closest(name, [*COMMANDS, 'help', '--version'])}")
    module, _, function = COMMANDS[name][0].partition(":")
    found: Callable[[Sequence[str]], None] = getattr(import_module(f"redqueen.cli.{module}"), function)
    return found


@contextmanager
def _door(name: str, words: Sequence[str]) -> Iterator[Sequence[str]]:
    """The arguments without --trust. Where a command reads what is in a folder, only what these or the user's trust
    list name is run because the folder names it."""
    like = any(word.partition("=")[0] == "--like" for word in words)
    if name in ONES_OWN and not like:
        yield words
        return
    rest, trusted = _apart(words)
    recipe = rest[0] if like and rest and not rest[0].startswith("-") else ""
    with shut_command(rest, trusted, recipe):
        yield rest


def _apart(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words without --trust NAME, and these names."""
    rest, names, pending = [], [], False
    for word in words:
        flag, equals, name = word.partition("=")
        if pending or (flag == FLAG and equals):
            names.append(word if pending else name)
            pending = False
        elif word == FLAG:
            pending = True
        else:
            rest.append(word)
    if pending or "" in names:
        raise RedQueenError(f"{FLAG} needs the name that a folder holds, as {FLAG} own.py:MyGame")
    return rest, names


def _explain(name: str) -> None:
    """Prints the help of a command: its flags, or one line if it has none of its own."""
    if name == "help":
        print(_help())
    elif name in WITHOUT_FLAGS:
        print(f"usage: redqueen {name} {COMMANDS[name][1]}")
    else:
        _command(name)(["--help"])


def _warned(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """The text of a warning: Red Queen's own in one line, others as Python shows them."""
    if Path(filename).is_relative_to(_PACKAGE):
        return f"redqueen: {visible(' '.join(str(message).split()))}\n"
    return _SHOWN_BY_PYTHON(message, category, filename, lineno, line)


def _hush() -> None:
    """Discards output that is not yet printed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _help() -> str:
    lines = [f"  {name:11} {line}" for name, (_, line) in COMMANDS.items()]
    lines += [
        f"  {'help':11} [COMMAND]: this list, or what a command takes",
        f"  {'--version':11} of redqueen, torch and python",
        f"  {FLAG:11} NAME, where a run is read: what of your own it names and may run (docs/security.md)",
    ]
    return "\n".join(["usage: redqueen COMMAND ...", "", *lines])
