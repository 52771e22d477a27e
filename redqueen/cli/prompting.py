"""`prompts`: what each role of a recipe is shown."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from redqueen.cli.training import training_options
from redqueen.cli.words import parse
from redqueen.contracts.recipes import roles_of, shrunk
from redqueen.markup import visible
from redqueen.players.language.saying import Speaker, hearing
from redqueen.runs.run import Run, Schedule
from redqueen.settings.finding import RECIPES, find_recipe
from redqueen.settings.limits import check_settings
from redqueen.settings.roles import seat_of
from redqueen.types import SOLVER, Ask, RedQueenError


def prompts(words: Sequence[str]) -> None:
    """RECIPE [flags of train]: the prompt of each role as its model is shown it, from two small steps"""
    if not words or words[0].startswith("-"):
        raise RedQueenError(f"name a recipe: redqueen prompts RECIPE, one of {', '.join(RECIPES)}")
    recipe = find_recipe(words[0])
    config = parse(training_options(recipe.Config), words[1:], f"redqueen prompts {words[0]}").config
    check_settings(config)
    heard: dict[str, tuple[Speaker, Ask]] = {}

    def listen(speaker: Speaker, asks: Sequence[Ask]) -> None:
        for ask in asks:
            heard.setdefault(ask.seat.role, (speaker, ask))

    # a run records what is learned from; here every ask counts, also those of labellers and measures
    with tempfile.TemporaryDirectory() as folder, hearing(listen):
        recipe.train(shrunk(config), Run(Path(folder), schedule=Schedule(test_replies=8, record_episodes=0)))
    for seat, (speaker, ask) in heard.items():
        print(f"--- {seat} ({speaker.name}) ---\n{visible(shown(speaker, ask))}\n")
    roles = roles_of(type(config))
    unasked = [name for name in roles if seat_of(type(config), name) not in heard]
    if unasked:
        print(f"not asked in two small steps of this model: {', '.join(unasked)}")
    if not heard:
        print("no language model was asked, and a table is shown no prompt: name one, --model MODEL")
    if name := roles[-1] if roles else SOLVER if SOLVER in heard else "":
        print(f"--{name}.prompt FILE puts a prompt of your own around one, in a text with {{prompt}} in its place")


def shown(speaker: Speaker, ask: Ask) -> str:
    """The prompt of an ask as its tokens read."""
    return str(speaker.format.tokenizer.decode(speaker.prompt(ask).tolist()))
