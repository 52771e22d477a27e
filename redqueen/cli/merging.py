"""`merge`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from redqueen.cli.words import parse
from redqueen.players.transformer.loading import HUB_NAMES
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.runs.checkpoints import facts_of, saving
from redqueen.runs.folder import Saved, chosen_checkpoint, settings, stored_policy
from redqueen.runs.run import numbers, read_final, read_metrics
from redqueen.settings.limits import unset
from redqueen.trust.no_links import write_whole
from redqueen.types import Metrics, RedQueenError
from redqueen.views.headline import bases_of

ROUNDING = 0.1  # nats a token; more is lost by a merge than by another engine


@dataclass(frozen=True)
class MergeOptions:
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """the folder of a run whose learner is a language model"""
    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER")]
    """a new or empty folder for the model"""
    step: Annotated[Saved, unset("{INT,best}")] = None
    """the checkpoint after this many steps, or the one that --keep-best kept; the newest by default"""


def merge(words: Sequence[str]) -> None:
    """RUN FOLDER [--step N|best]: writes its model whole, the adapter merged in, as transformers and vLLM load it"""
    options = parse(MergeOptions, words, "redqueen merge")
    if options.folder.exists() and (not options.folder.is_dir() or any(options.folder.iterdir())):
        raise RedQueenError(f"{options.folder} is there already: name a new or an empty folder")
    found = settings(options.run)
    steps = int(facts_of(chosen_checkpoint(options.run, options.step))["step"])
    policy = stored_policy(options.run, options.step or steps)  # not a newer one, which a run may write meanwhile
    if not isinstance(policy, TransformerPolicy):
        raise RedQueenError(
            f"the learner of {options.run} is no language model on this machine: there is nothing to merge"
        )
    with saving(options.folder):
        options.folder.mkdir(parents=True, exist_ok=True)
        gap = policy.save_merged(options.folder)
        write_whole(options.folder, "README.md", _card(options.run, found, policy.version, steps))
    print(f"{options.run}, after {policy.version} updates: written to {options.folder}")
    said = f"read again by transformers it rates a token {gap:.1e} nats otherwise than the run's policy, at most"
    if gap > ROUNDING:
        raise RedQueenError(f"{said}: merging rounded the weights; train with --dtype float32 to lose less")
    print(said)


def _card(run: Path, found: Mapping[str, Any], updates: int, steps: int) -> str:
    """The model card: what the model was, how it was trained, and what was measured of it after so many steps."""
    name = found["config"]["learner"]["model"]
    base = HUB_NAMES.get(name, name)
    head = ["library_name: transformers", "tags: [redqueen, self-play]", "pipeline_tag: text-generation"]
    if base.count("/") == 1 and not base.startswith("."):  # a name on the hub
        head.insert(0, f"base_model: {base}")
    start, here = _measured(run, steps)
    rows = [f"| {name} | {start[name]:.4g} | {here[name]:.4g} |" for name in start if name in here]
    if rows:
        rows = [f"| figure | start | after {steps} steps |", "|---|---|---|", *rows]
    none = f"Nothing was measured after {steps} steps."
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    lines = [
        "---",
        *head,
        "---",
        f"# {run.name}",
        "",
        f"{base}, trained with the recipe `{found['recipe']}` of Red Queen for {updates} updates "
        f"(seed {found['seed']}).",
        "Its licence is that of the model it was trained from.",
        "",
        "```",
        " ".join(map(str, found.get("command", ["redqueen", "train", found["recipe"]]))),
        "```",
        "",
        *([*rows, ""] if rows else [none, ""]),
        f"Made with {versions}.",
        "",
        "<details><summary>Settings</summary>",
        "",
        "```json",
        json.dumps(found["config"], indent=1),
        "```",
        "",
        "</details>",
    ]
    return "\n".join(lines) + "\n"


def _measured(run: Path, steps: int) -> tuple[Metrics, Metrics]:
    """What a run measured before its first step, and after so many; nothing where it did not measure then."""
    final = read_final(run)
    names = bases_of(run).keys() | numbers(final).keys()
    lines = {line["step"]: numbers(line) for line in (*read_metrics(run), *filter(None, [final]))}
    start, here = (lines.get(step, {}) for step in (0, steps))
    return {name: value for name, value in start.items() if name in names}, here
