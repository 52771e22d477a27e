"""`roles`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated

import tyro

from redqueen.chance import derive
from redqueen.cli.words import parse
from redqueen.markup import visible
from redqueen.measures.own_roles import own_roles
from redqueen.players.language.writing import language_model
from redqueen.protocols import Demonstrator
from redqueen.questions.catalogue import find_questions_with
from redqueen.settings.learner import Flat, Learner
from redqueen.settings.limits import Count, check_settings
from redqueen.trust.no_links import refuse_unwritable, write_whole
from redqueen.types import SOLVER, RedQueenError
from redqueen.views.terminal import telling


@dataclass(frozen=True)
class RolesOptions:
    questions: str
    """a file with answers, or a question set with demonstrations"""
    write: Annotated[Path, tyro.conf.arg(metavar="FILE.jsonl")]
    """a file for the roles, one question a line; an existing file is replaced"""
    learner: Flat = Learner(model="smollm2-135m", max_completion_length=32)
    count: Count = 4
    """roles that are written for a question, of which the one is kept that makes the known answer likeliest"""
    most: Count = 1000
    """questions at most; of a file all rows that are trained on, where they are fewer"""
    seed: int = 0


def roles(words: Sequence[str]) -> None:
    """--questions FILE --write FILE.jsonl [flags]: roles that a model writes itself, for `roled:` and cold_start"""
    options = parse(RolesOptions, words, "redqueen roles")
    check_settings(options)
    refuse_unwritable(options.write)
    questions = find_questions_with(options.questions, Demonstrator)
    drawn = questions.demonstrations(options.most, Random(derive(options.seed, "questions")))
    shown = list({one.task.prompt: one for one in drawn if one.role == SOLVER}.values())
    if not shown:
        raise RedQueenError(f"{options.questions} demonstrates no answers to questions that could have roles")
    model = language_model(options.learner.build_model(derive(options.seed, "learner")))
    with telling(f"{options.count} roles for each of {len(shown)} questions"):
        found = own_roles(model, shown, options.count, Random(derive(options.seed, "roles")))
    kept = [each for each in found if each is not None]
    if not kept:
        raise RedQueenError(f"{model.name} wrote no role for any of {len(shown)} questions: take another --model")
    lines = [json.dumps({"prompt": each.task.prompt, "role": each.role, "gain": round(each.gain, 4)}) for each in kept]
    write_whole(options.write.parent, options.write.name, "".join(f"{line}\n" for line in lines))
    best = max(kept, key=lambda each: each.gain)
    gains, different = [each.gain for each in kept], len({each.role for each in kept})
    print(f"{len(kept)} of {len(shown)} questions have a role, {different} different ones; written to {options.write}")
    print(f"known answers are likelier in it by {sum(gains) / len(gains):+.3f} nats a token on average")
    print(f"{sum(gain > 0.0 for gain in gains)} gain, most {best.gain:+.3f}: {visible(best.role)}")
    if len(kept) < len(shown):
        print(f"{len(shown) - len(kept)} have none, and roled: refuses them: write theirs by hand, or a larger --count")
    print(f"redqueen train cold_start --questions roled:inner={options.questions},roles={options.write}")
