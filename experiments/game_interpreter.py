"""From words to a game: which seeded faults the checks find, by their stages and by how often a writer may mend."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any

from redqueen.games.described import DESCRIPTIONS
from redqueen.games.interpreting import FIRST, INTERPRETER, Interpreting, information_sets
from redqueen.games.tree import walked
from redqueen.play.lockstep import play
from redqueen.trials.experiment import Experiment, Measuring, versus
from redqueen.types import Ask, Match, Metrics, Reply, mean_of

TWO, ALONE, UNMENDED = "two stages, mended twice", "the tree alone, mended twice", "two stages, not mended"
FAULTS = "seen", "sign", "chance", "moves", "seats"


@dataclass(frozen=True)
class Writer:
    """Writes the tree that is meant with one fault, at a place by `seed`, and without it once it is told anything."""

    fault: str
    seed: int
    name: str = "writer"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self._said(ask), self.name) for ask in asks]

    def _said(self, ask: Ask) -> str:
        meant = next(each for each in DESCRIPTIONS.values() if each.text in ask.messages[0].text)
        sets = information_sets(meant.root)
        if FIRST in ask.messages[-1].text:
            return json.dumps({role: sets[role] for role in meant.roles})
        told = ask.messages[-1].text
        if "whole tree" not in told:
            return json.dumps(meant.root)
        return json.dumps(broken(meant.root, self.fault, meant.roles, Random(f"{self.seed} {meant.name}")))


def broken(root: Mapping[str, Any], fault: str, roles: Sequence[str], rng: Random) -> Mapping[str, Any]:
    """The tree with one fault; as it is where it has no place for it."""
    found: dict[str, Any] = deepcopy(dict(root))
    decisions: list[Any] = [node for node in walked(found) if "role" in node]
    shared = [node for node in decisions if sum(each["state"] == node["state"] for each in decisions) > 1]
    ends: list[Any] = [node["scores"] for node in walked(found) if any(node.get("scores", {}).values())]
    if fault == "seen" and shared:
        rng.choice(shared)["state"] += " You know more."
    if fault == "sign":
        scores = rng.choice(ends)
        scores.update({role: -score for role, score in scores.items()})
    if fault == "chance" and "outcomes" in found:
        rng.choice(found["outcomes"])["p"] -= 0.05
    if fault == "moves" and shared:
        choices = rng.choice(shared)["choices"]
        choices["pass"] = choices.pop(rng.choice(sorted(choices)))
    if fault == "seats" and shared and len(roles) > 1:
        node = rng.choice(shared)
        node["role"] = next(role for role in roles if role != node["role"])
    return found


@dataclass(frozen=True)
class Asked:
    """How the interpreter is asked."""

    stages: int = 2
    retries: int = 2


def measured(config: Asked, seed: int) -> Metrics:
    """The share of the descriptions that have a place for a fault whose tree is right in the end, for each fault; and
    for trees without one (`none`)."""
    game = Interpreting(config.retries, config.stages)
    found: dict[str, float] = {}
    for fault in (*FAULTS, "none"):
        tasks = [task for task in game.tasks() if fault == "none" or has_place(task.id, fault, seed)]
        matches = [Match(game, task, {INTERPRETER.role: Writer(fault, seed)}) for task in tasks]
        found[fault] = mean_of(each.outcome.scores[INTERPRETER] for each in play(matches, Random(seed)))
    return dict(found)


def has_place(name: str, fault: str, seed: int) -> bool:
    """Whether a description has a place for a fault."""
    meant = DESCRIPTIONS[name]
    return broken(meant.root, fault, meant.roles, Random(f"{seed} {name}")) != meant.root


MENDED = Experiment(
    title="Seeded faults, a scripted writer",
    asked="Which faults of a tree are found and mended: with information sets first, without, and without mending?",
    trial=Measuring(measured),
    config=Asked(),
    variants={TWO: {}, ALONE: {"stages": 1}, UNMENDED: {"retries": 0}},
    figures=(*FAULTS, "none"),
    compared=versus(TWO, (ALONE, UNMENDED), FAULTS),
    controls=(UNMENDED,),
    seeds=5,
    notes=(
        "Ten descriptions, one fault in the first tree, at a place drawn by the seed: an information set that sees too "
        "much (seen), an end with the other sign, chances that sum to .95, a move of one node of an information set "
        "renamed, a node of one given to another seat. The writer says rightly how many information sets there are, "
        "and writes the right tree once it is told anything. What is shown is what the checks find: "
        "no model wrote these.",
    ),
)
