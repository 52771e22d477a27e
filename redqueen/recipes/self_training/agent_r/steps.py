"""Agent-R's paths: bad ones cut at their first error, a revision, the way back, and a good one from there (2501.11425).

bad      east east south                the first error that the actor sees is its first act; good: west west
spliced  east | REVISE west west west   what stands before the bar is not learned
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from random import Random
from typing import Any, NamedTuple

import numpy as np

from redqueen.chance import derive
from redqueen.checks.judge import Label
from redqueen.credit.outcomes import unknown, whole_reply
from redqueen.demonstrations.rehearsal import Playing
from redqueen.games.acting import AGENT, Acting
from redqueen.games.single_reply import SingleReply
from redqueen.measures.alarms import Alarm, Alarms, Ringing
from redqueen.play.groups import attempts, episodes_of
from redqueen.play.lockstep import play
from redqueen.players.language.reciter import reader
from redqueen.protocols import Policy, Visit
from redqueen.recipes.self_training.agent_r.world import REVISE
from redqueen.types import Ask, Episode, Group, Match, Metrics, Reply, Task, Trajectory, mean_of

VERIFY = SingleReply("verifier")
GOOD, UNCERTAIN, BAD = "good", "uncertain", "bad"
SEEN = Alarm(
    "no_error_seen",
    "no_error",
    "in {value:.0%} of the bad paths the actor sees no error: they are cut as late as the acts of the game allow "
    "(--cut fork cuts where good and bad part)",
    limit=0.5,
    steps=5,
)
UNREAD = Alarm(
    "unread_verdicts",
    "unread",
    "{value:.0%} of what the actor says of acts is none of good, uncertain and bad: the first such place counts as its "
    "error (--cut fork asks nobody)",
    limit=0.5,
    steps=5,
)


class Pair(NamedTuple):
    """A bad and a good attempt at one task, and the first act in which they differ, from 0."""

    bad: Episode
    good: Episode
    fork: int


class Path(NamedTuple):
    """An episode that is learned from its turn `begin` on."""

    episode: Episode
    begin: int = 0

    def credit(self) -> np.ndarray:
        """[N] 0 for the turns before `begin`, else 1."""
        return (np.arange(len(self.episode.turns)) >= self.begin).astype(np.float64)


class Graft(NamedTuple):
    """The acts of a spliced path, of which the first `wrong` are the bad one's."""

    bad: Episode
    acts: tuple[str, ...]
    wrong: int


@dataclass(frozen=True)
class Begun:
    """A learner whose first `acts` are given, and who then goes on by itself; `number` tells apart what it says in
    matches of one seed."""

    learner: Policy
    acts: tuple[str, ...]
    number: int = 0

    @property
    def name(self) -> str:
        return self.learner.name

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [self._given([ask])[0] if len(ask.past) < len(self.acts) else self._own(ask) for ask in asks]

    def _given(self, asks: Sequence[Ask]) -> list[Reply]:
        return Playing(reader(self.learner), self.acts).reply(asks)

    def _own(self, ask: Ask) -> Reply:
        return self.learner.reply([replace(ask, seed=derive(ask.seed, self.number))])[0]


def begun(game: Acting, task: Task, acts: Sequence[str], learner: Policy, seed: int, number: int = 0) -> Match:
    """A match that begins with these acts, after which the learner goes on; the seed is that of an episode in which
    they were said."""
    return Match(game, task, {AGENT: Begun(learner, tuple(acts), number)}, seed)


def acts_of(episode: Episode) -> tuple[str, ...]:
    return tuple(episode.outcome.facts["acts"])


def value(episode: Episode) -> float:
    """The score of the agent."""
    return float(next(iter(episode.outcome.scores.values())))


def pairs_of(group: Group, alpha: float, beta: float) -> list[Pair]:
    """Bad and good attempts at the group's task, each bad path once, with the good one that it leaves latest: the good
    score is above `alpha`, and by more than `beta` above the bad one."""
    known = [each for each in group.attempts if not unknown(each)]
    good = {acts_of(each): each for each in known if value(each) > alpha}
    bad = {acts_of(each): each for each in known if acts_of(each) not in good}
    found = []
    for acts, one in bad.items():
        above = [each for each in good.values() if value(each) - value(one) > beta]
        if above:
            best = max(above, key=lambda each: (fork(acts, acts_of(each)), -len(acts_of(each))))
            place = fork(acts, acts_of(best))
            found += [Pair(one, best, place)] if place < len(acts) else []
    return found


def fork(one: Sequence[str], other: Sequence[str]) -> int:
    """The first place at which two paths differ."""
    return next((place for place, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))  # noqa: B905


def about(bad: Episode, place: int) -> Task:
    """The verifier's question about one act of a path: what came before it, and what came of it."""
    acts, shown = acts_of(bad), bad.outcome.facts["shown"]
    before = "\n".join(f"{view}\n> {act}" for view, act in zip(shown[: place + 1], acts[: place + 1], strict=True))
    prompt = (
        f"{bad.task.prompt}\n{before}\n{shown[place + 1]}\n\nThe last act, {acts[place]}: does it lead towards the "
        f"task? {GOOD}, {UNCERTAIN} or {BAD}"
    )
    return Task(f"act {place} of {bad.task.id}", "act", prompt, choices=(GOOD, UNCERTAIN, BAD))


def first_bad(verdicts: Sequence[str | None]) -> int | None:
    """The place of the first act that is called neither good nor uncertain, whatever else is said of it (as in the
    released code, which however takes "not good" for good); None where all are."""
    return next((place for place, each in enumerate(verdicts) if each not in (GOOD, UNCERTAIN)), None)


class Splices(Ringing):
    """Good paths, and bad ones that turn to good ones, each played in the game: only what reaches the goal there is
    kept. Figures and an alarm tell of the last call."""

    def __init__(self, config: Any, game: Acting) -> None:
        self._config, self._game = config, game
        self._figures: Metrics = {}
        self._alarms = Alarms([SEEN, UNREAD], quiet=True)

    def branched(self, groups: Sequence[Group], learner: Policy, rng: Random) -> list[Group]:
        """The groups, each with `config.branches` further attempts that begin as one of its attempts did and leave it
        at a place drawn at random."""
        matches = [
            begun(
                self._game, each.task, acts_of(each)[: rng.randrange(len(each.turns) or 1)], learner, each.seed, number
            )
            for group in groups
            for number, each in enumerate(rng.choices(group.attempts, k=self._config.branches), 1)
        ]
        more = iter(play(matches, rng))
        grown = [[*group.attempts, *(next(more) for _ in range(self._config.branches))] for group in groups]
        return [
            Group(group.number, group.task, tuple(own), group.parent) for group, own in zip(groups, grown, strict=True)
        ]

    def __call__(self, groups: Sequence[Group], learner: Policy, rng: Random) -> list[Path]:
        """What is learned: of each task at most `config.grafts` good paths, and as many spliced ones."""
        paths, pairs = list[Path](), list[Pair]()
        for group in groups:
            good = {
                acts_of(each): each for each in group.attempts if not unknown(each) and value(each) > self._config.alpha
            }
            found = pairs_of(group, self._config.alpha, self._config.beta)
            paths += [Path(each) for each in sample(list(good.values()), self._config.grafts, rng)]
            pairs += sample(found, self._config.grafts, rng)
        self._figures = {"buffer/good": float(len(paths))}
        if self._config.cut == "none":
            return paths
        cuts = zip(pairs, self._cuts(pairs, learner, rng), strict=True)
        grafts = [grafted(self._game, pair, places, self._config.back) for pair, places in cuts]
        kept = [each for each in grafts if each is not None]
        matches = [
            Match(self._game, each.bad.task, {AGENT: Playing(reader(learner), each.acts)}, each.bad.seed)
            for each in kept
        ]
        spliced = [Path(each, of.wrong) for each, of in zip(play(matches, rng), kept, strict=True)]
        reached = [each for each in spliced if value(each.episode) > self._config.alpha]
        if pairs:
            self._figures["grafted"] = mean_of([1.0] * len(reached) + [0.0] * (len(pairs) - len(reached)))
        return paths + reached

    def _cuts(self, pairs: Sequence[Pair], learner: Policy, rng: Random) -> list[Sequence[int]]:
        """The place of the first error of each bad path, from where it leaves the good one on; where none is seen, or
        asked for, all places from the last back, of which that counts at which a graft ends well."""
        places = [range(pair.fork, len(acts_of(pair.bad))) for pair in pairs]
        match self._config.cut:
            case "fork":
                return [own[:1] for own in places]
            case "random":
                return [(rng.choice(own),) for own in places]
            case "end":
                return [own[::-1] for own in places]
        asked = [about(pair.bad, place) for pair, own in zip(pairs, places, strict=True) for place in own]
        label = Label((GOOD, UNCERTAIN, BAD))
        said = iter([label.read(whole_reply(each)) for each in episodes_of(attempts(VERIFY, asked, learner, 1, rng))])
        verdicts = [[next(said) for _ in own] for own in places]
        found = [first_bad(each) for each in verdicts]
        if pairs:
            self._figures["unread"] = mean_of(each is None for own in verdicts for each in own)
            self._figures["no_error"] = mean_of(each is None for each in found)
        return [
            own[::-1] if place is None else own[place : place + 1] for own, place in zip(places, found, strict=True)
        ]

    def learned(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        """[N] each: 1 for attempts that are good enough to be learned, else 0."""
        return [np.full(len(each.turns), float(value(each.episode) > self._config.alpha)) for each in trajectories]

    def metrics(self) -> Metrics:
        """Good paths that are learned (`buffer/good`); of the bad ones the share that a graft leads to the goal
        (`grafted`), in which the actor sees no error (`no_error`), and of its verdicts the unread share (`unread`)."""
        return self._figures | self._alarms.observe({name: float(each) for name, each in self._figures.items()})


def sample(found: Sequence[Any], count: int, rng: Random) -> list[Any]:
    """At most `count` of what was found, drawn without repetition."""
    return rng.sample(found, min(count, len(found)))


def grafted(game: Acting, pair: Pair, places: Sequence[int], back: int) -> Graft | None:
    """The `graft` at the first of these places that has one."""
    return next((found for place in places if (found := graft(game, pair, place, back)) is not None), None)


def graft(game: Acting, pair: Pair, place: int, back: int) -> Graft | None:
    """The bad path up to and with its act at `place`, the revision, the shortest way of at most `back` listed acts to
    where the paths parted, and the good path from there. First without a way back, as where acts changed nothing. None
    where none of this ends well within the acts of the game."""
    wrong, rest = acts_of(pair.bad)[: place + 1], acts_of(pair.good)[pair.fork :]
    if len(wrong) + 1 + len(rest) > game.acts:
        return None
    for way in ((), way_back(game, pair.bad, pair.fork, place, back)):
        if way is not None:
            acts = (*wrong, REVISE, *way, *rest)
            if len(acts) <= game.acts and ends(game, pair.bad, acts, value(pair.good)):
                return Graft(pair.bad, acts, len(wrong))
    return None


def ends(game: Acting, episode: Episode, acts: Sequence[str], least: float) -> bool:
    """Whether the last of these acts, and none before it, ends the task of an episode, with at least this score; not
    where one of them is not listed when it is said."""
    with closing(visit(game, episode)) as found:
        view = found.look()
        for act in acts:
            if view.over or (view.choices and act not in view.choices):
                return False
            view = found.act(act)
        return view.over and found.assess(acts[-1]).score >= least


def way_back(game: Acting, bad: Episode, fork: int, place: int, most: int) -> tuple[str, ...] | None:
    """The shortest listed acts, at most `most`, after which the state is that before the act at `fork`; None where
    there are none."""
    acts = acts_of(bad)
    aim = reached(game, bad, acts[:fork])[0]
    ways, known = deque([tuple[str, ...]()]), set[str]()
    while ways:
        way = ways.popleft()
        state, choices = reached(game, bad, (*acts[: place + 1], *way))
        if state == aim:
            return way
        if state not in known and len(way) < most:
            known.add(state)
            ways += [(*way, act) for act in choices if act != REVISE]
    return None


def reached(game: Acting, episode: Episode, acts: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The state after these acts, and those that are listed then; none where the visit is over."""
    with closing(visit(game, episode)) as found:
        view = found.look()
        for act in acts:
            view = found.act(act)
        return json.dumps(found.state(), sort_keys=True), () if view.over else view.choices


def visit(game: Acting, episode: Episode) -> Visit:
    """A visit as the episode had it: the game draws the same seed (`play.table`)."""
    return game.world.open(episode.task, Random(derive(episode.seed, "game")).getrandbits(48))
