"""`plan`."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from redqueen.cli import words as command_line
from redqueen.cli.own_files import field_of_questions, with_file
from redqueen.cli.training import training_options
from redqueen.cli.words import parse
from redqueen.players.tinker.connection import is_on_server
from redqueen.players.transformer.loading import EMBEDDED, TINY, is_tiny, shape_of
from redqueen.players.transformer.machine import available
from redqueen.runs.plan import GPUS, Measured, Sizes, lowered, measured, memory, needed, on_gpu
from redqueen.runs.run import Schedule
from redqueen.settings.finding import RECIPES, find_recipe
from redqueen.settings.learner import LONGEST_REPLY, TABULAR, Learner, usual_cache, usual_dtype
from redqueen.settings.limits import check_settings
from redqueen.settings.placement import PlayedAhead
from redqueen.settings.profiles import profiled
from redqueen.settings.roles import ADAPTER, FROZEN, SEPARATE, SHARED, Role
from redqueen.types import RedQueenError

MEASURED = 2  # steps


def plan(words: Sequence[str]) -> None:
    """RECIPE [flags of train] [--gpu NAME]: what a run will need, before anything is trained"""
    gpu, rest = _gpu(words)
    if not rest or rest[0].startswith("-"):
        raise RedQueenError(f"name a recipe: redqueen plan RECIPE, one of {', '.join(RECIPES)}")
    recipe = find_recipe(rest[0])
    kind = training_options(recipe.Config)
    flags, profile = profiled(rest[1:], recipe.Config, gpu=bool(gpu))
    options = parse(kind, flags, f"redqueen plan {rest[0]}")
    config = with_file(options.config, options.file) if field_of_questions(recipe.Config) else options.config
    check_settings(config)
    steps = getattr(config, "steps", 0)
    if steps < MEASURED:
        raise RedQueenError(f"a plan measures {MEASURED} steps, and {rest[0]} is to take {steps}: just train it")
    sizes = _sizes(config, recipe, gpu)
    here = GPUS[gpu].gigabytes * 1e9 if gpu else available()
    where = gpu or "this machine"
    if profile:
        print(profile)
    if sizes is not None:
        _say_memory(sizes, here, where)
        if needed(sizes) > here:
            raise RedQueenError(f"it does not fit on {where}: set {', then '.join(lowered(sizes, here))}")
    tried = _without_servers(_stood_in(config) if gpu else config)
    now = time.perf_counter()
    imports = now - (command_line.began or now)  # of libraries above all, as `train` does
    with tempfile.TemporaryDirectory() as folder:
        place, schedule = Path(folder) / "run", options.schedule
        found = measured(lambda run: recipe.train(tried, run), place, options.seed, MEASURED, schedule)
    found.loading += imports
    if found.goes_on:  # until an iteration is over, or to the end of the run with the data of a file
        found.every = getattr(config, "updates", steps)
    for line in _needs(found, steps, options.schedule, _comparing(config)):
        print(line)
    if gpu and sizes is not None:
        longest = config.learner.max_completion_length or LONGEST_REPLY
        seconds = on_gpu(sizes, GPUS[gpu], found, longest)
        print(
            f"time on one {gpu}: about {_lasting(seconds)} a step, {_lasting(seconds * steps)} in all; an estimate by "
            f"operations and bytes, for replies of {longest} tokens each, counted with a tiny model in its place"
        )
        return
    lasts = found.lasts(steps, options.schedule.evaluate_every)
    where = " in the process that learns, without the one that samples" if _is_placed(config) else ""
    print(f"memory: {found.gigabytes:.2f} GB{where}, measured over the first {MEASURED} steps")
    print(
        f"time: {_lasting(lasts)} in all: {found.loading:.0f} s to begin, {_lasting(found.seconds[-1])} a step, "
        f"{_first(found, steps)}{_lasting(found.measuring)} a measurement; measured on this machine, as busy as it is "
        "now"
    )


def _gpu(words: Sequence[str]) -> tuple[str, list[str]]:
    """The GPU that --gpu names, "" without it, and the other words."""
    rest = list(words)
    for place, word in enumerate(rest):
        flag, equals, name = word.partition("=")
        if flag == "--gpu":
            name = name if equals else "".join(rest[place + 1 : place + 2])
            if name.lower() not in GPUS:
                raise RedQueenError(f"no GPU {name!r} is known: name one of {', '.join(GPUS)}")
            return name.lower(), rest[:place] + rest[place + (1 if equals else 2) :]
    return "", rest


def _sizes(config: Any, recipe: ModuleType, gpu: str) -> Sizes | None:
    """The sizes of the learner; None for a table and for a model on a server."""
    learner = getattr(config, "learner", None)
    if not isinstance(learner, Learner) or learner.model == TABULAR or is_on_server(learner.model):
        return None
    shape, tuned = shape_of(learner.model), learner.optimization
    rank = learner.lora_rank if learner.lora_rank is not None else 0 if is_tiny(learner.model) else 16
    device = "cuda" if gpu or (torch.cuda.device_count() and learner.device != "cpu") else "cpu"
    bytes_each = 2 if (learner.dtype or usual_dtype(device)) == "bfloat16" else 4
    known = {SHARED, ADAPTER, SEPARATE, FROZEN}
    roles = [each.player for each in vars(config).values() if isinstance(each, Role)]
    word, _, who = _comparing(config).partition(":")
    roles += [who] if word in ("judge", "reward", "pairs") else []
    others = [name for name in roles if name not in known and (name == EMBEDDED or Path(name).expanduser().is_dir())]
    compared = float(getattr(config, "kl", 0.0) or 0.0) > 0 or "Reference(" in Path(str(recipe.__file__)).read_text()
    return Sizes(
        parameters=shape.parameters,
        trained=shape.adapter(rank, tuned.lora_targets, tuned.lora_layers) if rank else shape.parameters,
        width=shape.width,
        layers=shape.layers,
        weight_bytes=bytes_each,
        micro_batch=tuned.tokens_of_a_pass(device),
        recompute=tuned.gradient_checkpointing,
        eight_bit=tuned.optimizer == "adamw-8bit",
        copies=int(compared) + roles.count(FROZEN),
        others=sum(shape_of(name).parameters for name in others) + roles.count(SEPARATE) * shape.parameters,
        cached=shape.cached * bytes_each,
        cache_gigabytes=learner.cache_gigabytes or usual_cache(device, GPUS[gpu].gigabytes if gpu else None),
        there=device == "cuda",
        second=_is_placed(config) and config.ahead.sampler_device in (None, learner.device),
    )


def _is_placed(config: Any) -> bool:
    """Whether a process of its own samples."""
    return bool(vars(config).get("ahead", PlayedAhead()).placement == "process")


def _comparing(config: Any) -> str:
    """Who compares answers, by `--oracle` or `--answers`."""
    return str(getattr(config, "oracle", "") or getattr(config, "answers", ""))


def _without_servers(config: Any) -> Any:
    """The config with the learner as it begins in place of each endpoint that has a role: it is not asked, only
    counted. An oracle must have verdicts, so it stays."""
    changes: dict[str, Any] = {}
    for each in fields(config):
        value = getattr(config, each.name)
        if isinstance(value, Role) and value.player.startswith(("http://", "https://")):
            changes[each.name] = replace(value, player=FROZEN)
    return replace(config, **changes)


def _stood_in(config: Any) -> Any:
    """The config with a tiny model, which says little, in place of each model."""
    learner = config.learner
    if learner.model == TABULAR:
        return config
    tiny = replace(learner, model=TINY, device="cpu", dtype=None, max_completion_length=8, template=(), history=None)
    known = {SHARED, ADAPTER, SEPARATE, FROZEN}
    roles = {name: each for name, each in vars(config).items() if isinstance(each, Role)}
    stands: dict[str, Any] = {
        name: replace(each, player=FROZEN) for name, each in roles.items() if each.player not in known
    }
    if "ahead" in vars(config):
        stands["ahead"] = replace(config.ahead, sampler_device=None)  # that of the GPU, which need not be here
    return replace(config, learner=tiny, **stands)


def _needs(found: Measured, steps: int, schedule: Schedule, oracle: str) -> Iterator[str]:
    """What a run needs but for memory and time, a line each."""
    updates, plays = found.updates[-1], found.plays(steps)
    when = "a step" if found.every == 1 else f"the first of each {min(found.every, steps)} steps"
    few = found.learns(found.every) < min(found.every, steps)
    yield (
        f"{when}: {found.replies} replies, {found.reply_tokens:,} tokens in all, to prompts of "
        f"{found.prompt_tokens:,} tokens in all; {updates} updates{'' if found.every == 1 else ' a step'}"
        + (f" in {found.learns(found.every)} of them: then their data are used up" if few else "")
    )
    yield (
        f"a run of {steps} steps: about {found.replies * plays:,} replies, "
        f"{(found.reply_tokens + found.prompt_tokens) * plays:,} tokens, {updates * found.learns(steps):,} updates"
    )
    asked = found.asks[found.playing]
    judging = {role: count for role, count in asked.items() if "judge" in role or "verifier" in role}
    for role, count in judging.items():
        yield f"{role}: {count} calls {when}, {count * plays:,} in all, without those of measurements"
    if not judging and oracle.startswith("judge:http"):
        yield f"{oracle} was asked in these {MEASURED} steps; its calls are not counted"
    kept = (schedule.keep_checkpoints + 1) * found.checkpoint_bytes
    episodes = plays * min(schedule.record_episodes, found.replies) * found.episode_bytes
    yield f"disk: {(kept + episodes) / 1e9:.2f} GB, of which {kept / 1e9:.2f} GB are checkpoints"


def _say_memory(sizes: Sizes, available: float, where: str) -> None:
    parts = ", ".join(f"{name} {size / 1e9:.2f}" for name, size in memory(sizes).items() if size)
    print(f"{sizes.parameters:,} parameters, {sizes.trained:,} trained{'' if sizes.full else ' (LoRA)'}")
    print(f"memory by its numbers, at most: {needed(sizes) / 1e9:.2f} GB ({parts})")
    print(f"{where} has {available / 1e9:.1f} GB")


def _first(found: Measured, steps: int) -> str:
    """What a step takes that plays, where only some do."""
    if found.every == 1:
        return ""
    return f"{_lasting(found.seconds[0])} the first of each {min(found.every, steps)}, "


def _lasting(seconds: float) -> str:
    """A time in the unit that suits it, to a twentieth or better from a tenth of a second on."""
    if seconds < 120:
        return f"{seconds:.{1 if seconds >= 10 else 2}f} s"
    return f"{seconds / 60:.{1 if seconds < 1200 else 0}f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
