"""What is right of a query, in six parts, and what they come to (Reasoning-SQL, 2503.23157)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import numpy as np

from redqueen.checks.queries import bigrams_of, schema_of, used
from redqueen.credit.group_rewards import OfGroup, for_its_seat
from redqueen.credit.novelty import jaccard
from redqueen.credit.outcomes import number
from redqueen.games.catalogue import find_game
from redqueen.play.groups import episodes_of, with_facts
from redqueen.protocols import Policy
from redqueen.questions.asked_judges import AskedJudge
from redqueen.questions.judge_oracles import JudgedScores
from redqueen.runs.sources import Dealt
from redqueen.settings.limits import refuse_unused
from redqueen.settings.roles import Cast
from redqueen.types import Episode, Group, Metrics, RedQueenError, Task, mean_of

PARTIAL = ("syntax", "schema", "ngram", "judged", "form")  # what a wrong query is paid for
LOWEST, HIGHEST = 0, 10  # of a judge's score


def of_queries(config: Any, learner: Policy, seed: int) -> Dealt:
    """The tasks of the game that the settings name, those that measure dealt by `seed`. Raises RedQueenError for one
    whose tasks are not answered by queries."""
    game = find_game(config.game)
    missing = [name for name in ("tables", "query") if any(name not in task.facts for task in game.tasks())]
    if missing:
        raise RedQueenError(
            f"the tasks of {game.name} have no facts {' and '.join(missing)}: queries are compared in a game such as "
            "working:sql or working:sql(file=train.jsonl)"
        )
    return Dealt(game, learner, config.problems, seed)


def parts_of(episode: Episode) -> dict[str, float]:
    """What is right of the query that an episode ends with, by name, 0 to 1 each; all from the record."""
    facts, known, last = episode.outcome.facts, episode.task.facts, episode.turns[-1].reply
    said, query, tables = str(facts.get("reply", "")), str(known["query"]), known["tables"]
    return {
        "execution": float(max(episode.outcome.scores.values()) == 1.0),
        "syntax": float(facts.get("parts", {}).get("runs", 0.0)),
        "schema": jaccard(used(said, tables), used(query, tables)),
        "ngram": jaccard(bigrams_of(said), bigrams_of(query)),
        "judged": float(np.nan_to_num(number(facts.get("opinion")))),
        "form": float(bool(said) and not last.malformed and not last.truncated),
    }


class Composite:
    """The reward that a config names, of a group: its parts by name, which add up to what an attempt earns."""

    def __init__(self, config: Any) -> None:
        self._reward, self._gate = config.reward, config.gate
        weights = {name: getattr(config, name) for name in ("execution", *PARTIAL)}
        if config.judge.player == "none":
            del weights["judged"]
        self._weights = {name: weight for name, weight in weights.items() if weight}
        self._partial = sum(weight for name, weight in self._weights.items() if name in PARTIAL)
        if self._reward in ("gated", "summed") and not self._partial:
            raise RedQueenError("all parts of a wrong query have the weight 0: that is --reward execution")

    def of_group(self, group: Group) -> OfGroup:
        earned = [self.earned(parts_of(episode)) for episode in group.attempts]
        return for_its_seat(group, {name: [each[name] for each in earned] for name in earned[0]})

    def earned(self, parts: Mapping[str, float]) -> dict[str, float]:
        """What an attempt with these parts earns, by part."""
        if self._reward in ("execution", "ngram"):
            return {self._reward: parts[self._reward]}
        weighed = {name: weight * parts[name] for name, weight in self._weights.items()}
        if self._reward == "summed":
            return weighed
        share = self._gate / self._partial * (1.0 - parts["execution"])
        partial = {name: share * value for name, value in weighed.items() if name in PARTIAL}
        return {"execution": parts["execution"], **partial}


class Judged:
    """Gives each wrong attempt the fact `opinion`, the judge's score from 0 to 1 (None where it cannot be read).
    Without a judge the groups stay as they are."""

    def __init__(self, config: Any, cast: Cast) -> None:
        self._judge: JudgedScores | None = None
        if config.judge.player == "none":
            refuse_unused(config, ["judged"], "--judge none")
        elif not config.judged or config.reward not in ("gated", "summed"):
            raise RedQueenError("--judge has no effect: it takes --judged above 0, and --reward gated or summed")
        else:
            asked = AskedJudge(cast["judge"], f"the judge {cast['judge'].name}")
            self._judge = JudgedScores(asked, LOWEST, HIGHEST)

    def __call__(self, groups: Sequence[Group], rng: Random) -> list[Group]:
        if self._judge is None:
            return list(groups)
        episodes = episodes_of(groups)
        wrong = [each for each in episodes if max(each.outcome.scores.values()) < 1.0]
        scores = self._judge.scores(
            [_shown(each.task) for each in wrong], [str(each.outcome.facts.get("reply", "")) for each in wrong], rng
        )
        told = ((scores - LOWEST) / (HIGHEST - LOWEST)).tolist()
        facts = [{"opinion": None if np.isnan(each) else each} for each in told]
        known = dict(zip(map(id, wrong), facts, strict=True))
        return with_facts(groups, [known.get(id(each), {}) for each in episodes])


def _shown(task: Task) -> Task:
    """The question as a judge is asked it, with the schema."""
    return Task(task.id, task.kind, f"{schema_of(task.facts['tables'])}\n{task.prompt}")


def figures(groups: Sequence[Group]) -> Metrics:
    """The mean of each part, and of the opinions the share that could not be read, where a judge was asked."""
    episodes = episodes_of(groups)
    parts = [parts_of(each) for each in episodes]
    found: Metrics = {f"sql/{name}": mean_of([each[name] for each in parts]) for name in parts[0]}
    opinions = [each.outcome.facts["opinion"] for each in episodes if "opinion" in each.outcome.facts]
    if not opinions:
        del found["sql/judged"]
        return found
    return found | {"sql/unread": mean_of([each is None for each in opinions])}
