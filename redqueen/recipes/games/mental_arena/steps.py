"""MentalArena's talks: who sits where, which of them are kept, and which of their turns are learned (2410.06845)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from redqueen.games.catalogue import find_game
from redqueen.games.hidden_state import DECODER, ENOUGH, NO, PATIENT, THERAPIST, YES, HiddenState
from redqueen.games.talk import number_of
from redqueen.players.language.reciter import Reader
from redqueen.players.scripted import Uniform
from redqueen.protocols import Player
from redqueen.types import Ask, Episode, Match, Metrics, RedQueenError, Reply, Task, Trajectory, Turn, mean_of

Keep = Literal["right", "rated", "all"]


@dataclass(frozen=True)
class Honest:
    """A patient that says what it is told of itself. With a `learner` it says so in the learner's own tokens, so that
    the learner can imitate it."""

    game: HiddenState
    learner: Reader | None = None

    @property
    def name(self) -> str:
        return self.learner.name if self.learner else "honest"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self._reply(ask, honest(self.game, ask.messages[0].text)) for ask in asks]

    def _reply(self, ask: Ask, text: str) -> Reply:
        return self.learner.recite(ask, self.learner.in_format(ask, text)) if self.learner else Reply(text, self.name)


def honest(game: HiddenState, question: str) -> str:
    """The true answer to what a patient is asked."""
    profile, asked = question.split(".")[0], question.rpartition(". ")[2]
    if found := re.search(r"Have you (s\d+)\?", asked):
        return YES if re.search(rf"\b{found[1]}\b", profile) else NO
    (own, *_), (named, *_) = re.findall(r"\bc\d+", profile), re.findall(r"\bc\d+", asked)
    return str(game.fit(number_of(named), number_of(own)))


def game_of(spec: str, keep: Keep) -> HiddenState:
    """The game of this spec. Raises RedQueenError for another one, and for talks to be kept by ratings that nobody
    gives."""
    game = find_game(spec)
    if not isinstance(game, HiddenState):
        raise RedQueenError(f"the talks are those of hidden_state, which --game may change: not {spec!r}")
    if keep == "rated" and game.tries == 1:
        raise RedQueenError("--keep rated needs ratings, which are given where several conditions are tried: tries=2")
    return game


class Talks:
    """The talks of a run between the learner and, by rule or by the learner itself, a patient."""

    def __init__(self, game: HiddenState, learner: Player, by_rule: bool, keep: Keep) -> None:
        self.game, self.learner, self.by_rule = game, learner, by_rule
        self._keep = keep

    def matches(self, tasks: Sequence[Task], shown: Reader | None = None, gate: str = "") -> list[Match]:
        """One talk for each task. With `shown` an honest patient shows this learner how to answer, to a therapist that
        asks at random; with another `gate` the talks are played under that."""
        game = replace(self.game, gate=gate) if gate else self.game
        others = Uniform() if shown else self.learner
        patient = Honest(game, shown) if shown or self.by_rule else self.learner
        cast = {THERAPIST.role: others, DECODER.role: others, PATIENT.role: patient}
        return [Match(game, task, cast) for task in tasks]

    def credit(self, trajectories: Sequence[Trajectory], shown: bool) -> list[np.ndarray]:
        """[N] for each trajectory: 1 for the turns that are learned, else 0. Of a talk that is kept these are the
        questions, the answers, and the belief and the condition that it ended with, but nothing that was not legal;
        where a patient was shown, its answers in all talks."""
        return [np.array([float(shown or self._learned(each, turn)) for turn in each.turns]) for each in trajectories]

    def _learned(self, trajectory: Trajectory, turn: Turn) -> bool:
        text, diagnosis = turn.reply.text.strip(), trajectory.episode.outcome.facts["diagnosis"]
        fits = text in turn.ask.choices and (text not in self.game.names() or text == diagnosis)
        return fits and self.kept(trajectory.episode)

    def kept(self, episode: Episode) -> bool:
        """Whether a talk is learned from. One in which a seat broke the rules is not."""
        facts = episode.outcome.facts
        if not facts["diagnosis"]:
            return False
        rated = max(facts["ratings"], default=0) >= ENOUGH
        return {"right": right(episode), "rated": rated, "all": True}[self._keep]

    def metrics(self, episodes: Sequence[Episode]) -> Metrics:
        """The share of the talks that is kept, of these those whose condition is right, and where conditions are rated
        by how much the rating of the one that counts is above what an honest patient would say."""
        kept = [each for each in episodes if self.kept(each)]
        found: Metrics = {"talks_kept": mean_of(map(self.kept, episodes))}
        if kept:
            found["kept_right"] = mean_of(map(right, kept))
        rated = [each for each in episodes if each.outcome.facts["diagnosis"] and each.outcome.facts["ratings"]]
        if rated:
            found["overrated"] = mean_of(self._overrated(each) for each in rated)
        return found

    def _overrated(self, episode: Episode) -> float:
        facts = episode.outcome.facts
        named, true = number_of(facts["diagnosis"]), episode.task.facts["condition"]
        return float(max(facts["ratings"]) - self.game.fit(named, true))


def right(episode: Episode) -> bool:
    """Whether a talk ended with the patient's condition."""
    return max(episode.outcome.scores.values()) > 0


def turns_with(trajectories: Sequence[Trajectory], credit: Sequence[np.ndarray]) -> list[Trajectory]:
    """Each turn whose credit is above 0 and in which something else could have been said, as a trajectory of its
    own."""
    return [
        replace(each, turns=each.turns[at : at + 1], rewards=each.rewards[at : at + 1], parts={})
        for each, own in zip(trajectories, credit, strict=True)
        for at in np.flatnonzero(own > 0)
        if len(each.turns[at].ask.choices) != 1
    ]
