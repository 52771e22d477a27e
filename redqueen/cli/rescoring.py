"""`rescore`."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import tyro
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from redqueen.catalogue import Catalogue
from redqueen.cli.words import parse
from redqueen.games.single_reply import SingleReply
from redqueen.markup import visible
from redqueen.measures.rescored import (
    OfRole,
    Rescored,
    Scorer,
    agreement,
    by_answers,
    by_check,
    by_reward,
    farthest,
    judged,
    rescored,
)
from redqueen.questions.asked_judges import AskedJudge
from redqueen.questions.catalogue import find_questions
from redqueen.questions.judge_oracles import JudgedScores, Manner
from redqueen.runs.folder import settings, stored_episodes
from redqueen.runs.named_players import find_player
from redqueen.settings.limits import AnyCount, Count, check_settings, unset
from redqueen.settings.oracles import JudgeSettings
from redqueen.trust.no_links import refuse_unwritable, write_whole
from redqueen.types import RedQueenError
from redqueen.user_code import module_from_file
from redqueen.views.terminal import telling

REWARDS: Mapping[str, str] = MappingProxyType(
    {
        "payoff": "redqueen.cli.rescoring:payoff",
        "format": "redqueen.credit.rewards:FormatBonus",
        "length": "redqueen.credit.rewards:LengthPenalty",
        "overlong": "redqueen.credit.rewards:OverlongPenalty",
        "repetition": "redqueen.credit.rewards:RepetitionPrice",
    }
)
_CATALOGUE = Catalogue("reward", REWARDS, "redqueen.rewards")
LOWEST, HIGHEST = 1, 10  # of a judge's score


@dataclass(frozen=True)
class RescoreOptions:
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """the folder of a run, such as outputs/grpo-0"""
    by: Annotated[str, tyro.conf.arg(name="with", metavar="WHAT")]
    """payoff, format, length, overlong, repetition, path/to/file.py:my_reward, check:QUESTIONS, judge:RUN,
    judge:http://HOST/v1#MODEL or reward:MODEL"""
    rubric: Annotated[str | None, unset("FILE")] = None
    """a text file that tells a judge what is better"""
    repeats: Count = 1
    """sampled judgements of each reply, of which the readable ones count alike"""
    write: Annotated[Path | None, unset("FILE.jsonl")] = None
    """a file for the scores, one seat of an episode a line; an existing file is replaced"""
    show: AnyCount = 5
    """how many of the episodes to name whose rank changes most"""
    seed: int = 0
    """of a judge's replies"""


def payoff() -> Any:
    """The final score, as a reward that is found by name."""
    from redqueen.credit.rewards import payoff as of_game

    return of_game


def rescore(words: Sequence[str]) -> None:
    """RUN --with WHAT [flags]: recorded episodes scored by another judge, reward or check, beside what they earned"""
    options = parse(RescoreOptions, words, "redqueen rescore")
    check_settings(options)
    if options.write is not None:
        refuse_unwritable(options.write)
    settings(options.run)
    recorded = [each for each in stored_episodes(options.run) if each[1].turns]
    if not recorded:
        raise RedQueenError(f"{options.run} has no recorded episodes: train with --record-episodes")
    scorer = _scorer(options)
    with telling("scoring"):
        found = rescored(recorded, scorer)
    if all(isnan(each.now) for each in found):
        raise RedQueenError(f"{options.by} says nothing that can be read of any of {len(found)} recorded replies")
    _print(options, found)
    if options.write is not None:
        write_whole(options.write.parent, options.write.name, "".join(f"{json.dumps(_line(each))}\n" for each in found))
        print(f"written to {options.write}")


def _scorer(options: RescoreOptions) -> Scorer:
    word, _, who = options.by.partition(":")
    if word != "judge" and (options.rubric is not None or options.repeats > 1 or options.seed):
        raise RedQueenError("--rubric, --repeats and --seed are of a judge: --with judge:WHO")
    if word in ("judge", "reward", "check") and not who:
        named = {"judge": "RUN or http://HOST/v1#MODEL", "reward": "MODEL", "check": "QUESTIONS"}[word]
        raise RedQueenError(f"say which: --with {word}:{named}")
    if word == "judge":
        judge = AskedJudge(find_player(who, SingleReply("judge")), options.by)
        manner = Manner(JudgeSettings(rubric=options.rubric).rubric_text(), options.repeats)
        return judged(JudgedScores(judge, LOWEST, HIGHEST, manner), options.seed)
    if word == "check":
        return by_check(find_questions(who))
    if word == "reward":
        from redqueen.players.transformer.scorer import RewardScorer

        return by_answers(RewardScorer(who))
    return by_reward(found_reward(options.by), options.by)


def found_reward(spec: str) -> Any:
    """The reward that `spec` names: a shipped one, or a function or class in a file or module of the user's."""
    place, _, name = spec.partition(":")
    if place.endswith(".py") and name.isidentifier():
        found = vars(module_from_file(Path(place), name, f"the reward {spec!r}")).get(name)
        if inspect.isfunction(found):
            taken = inspect.signature(found).parameters.values()
            if len(taken) == 1:
                return found
            needed = [each.name for each in taken if each.default is each.empty]
            if len(needed) > 1:
                raise RedQueenError(
                    f"{spec!r} takes {', '.join(needed)}: a reward is a function of one episode, which gives "
                    "{seat: a number for each of its turns}"
                )
    reward = _CATALOGUE.find(spec)
    if not callable(reward) and not hasattr(reward, "of_group"):
        raise RedQueenError(f"{spec!r} is no reward: it cannot be called with an episode")
    return reward


def _print(options: RescoreOptions, found: Sequence[Rescored]) -> None:
    console = Console()
    title = f"{options.run}: {len(found)} recorded, by {options.by}"
    console.print(visible(title), markup=False, highlight=False, soft_wrap=True)
    roles = agreement(found)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for heading in ("", *(each.role for each in roles)):
        table.add_column(escape(heading), justify="right" if heading else "left", overflow="fold")
    for cells in zip(_NAMES, *map(_cells, roles), strict=True):
        table.add_row(*cells)
    console.print(table)
    for one in farthest(found, options.show):
        own = [turn.reply.text for turn in one.episode.turns if turn.ask.seat == one.seat]
        said = visible(" ".join(str(one.episode.outcome.facts.get("reply", own[-1])).split()))
        line = f"{one.name}  {one.seat}  {one.then:+.3f} then, {one.now:+.3f} now  {said[:60]}"
        console.print(line, markup=False, highlight=False)
    if options.show and farthest(found, 1):
        console.print(f"all of one of them: redqueen replay {options.run} STEP.NUMBER", style="dim", highlight=False)


_NAMES = (
    *("scored", "without a score", "what was learned from", "the same now", "difference", "rank correlation"),
    *("pairs in the same order", "told apart then alone", "told apart now alone"),
)


def _cells(each: OfRole) -> list[str]:
    """The figures of a role; pairs are of attempts at one task in one step."""
    compared = each.same + each.opposite
    means = ["unknown" if isnan(value) else f"{value:.3f}" for value in (each.then, each.now)]
    difference = "unknown" if each.difference is None else str(each.difference)
    correlation = "none" if isnan(each.correlation) else f"{each.correlation:+.2f}"
    counts = (f"{each.same} of {compared}", str(each.only_then), str(each.only_now))
    return [str(each.scored), str(each.unknown), *means, escape(difference), correlation, *counts]


def _line(each: Rescored) -> dict[str, Any]:
    known = {"then": each.then, "now": each.now}
    numbers = {name: None if isnan(value) else value for name, value in known.items()}
    return {"episode": each.name, "task": each.episode.task.id, "seat": str(each.seat), **numbers}
