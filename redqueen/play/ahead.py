"""Steps that are played before it is their turn to be learned from, so that playing and learning need not wait for each
other.

    ahead = Ahead(learner, staleness=1, apart=learner.apart().now)
    for _ in run.steps(steps, [learner], [ahead], measures):
        episodes = ahead.play(lambda: mirror(game, curriculum.draw(128, run.rng), learner), run.rng)

With staleness s a call deals the matches of the step after the next s - 1, has them played with the weights of now, and
returns the oldest that were dealt, whose weights are s updates older than those that learn from them (one step off is
s = 1). A step is played from beginning to end with one set of weights, unlike in `Flow`, whose matches go on with newer
ones.

    call 0   deals 0 and 1, with the weights of version 0    returns 0    age 0
    call 1   deals 2, version 1                              returns 1    age 1
    call 2   deals 3, version 2                              returns 2    age 1: none is ever older

With `apart`, which makes a player elsewhere of the learner as it is now, steps are played in a thread, one after the
other, while the caller goes on. Which weights play which step depends on no clock, so a run with `apart` is the run
without it, and one that was killed resumes to the same: what is ahead is played to its end before it is saved.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from threading import Thread

from redqueen.play.actors import Actors
from redqueen.play.lockstep import finished
from redqueen.play.table import tell, waits
from redqueen.protocols import Player, Policy, State, shaped
from redqueen.records import EPISODE, episode_from_json, episode_to_json
from redqueen.types import Episode, Match, Metrics, RedQueenError

Deal = Callable[[], Sequence[Match]]


class Ahead:
    """Plays steps of one `learner`, `staleness` of them ahead. See the module."""

    def __init__(
        self,
        learner: Policy,
        staleness: int = 0,
        apart: Callable[[], Player] | None = None,
        actors: int = 0,
    ) -> None:
        if staleness < 0:
            raise RedQueenError(f"steps are played 0 or more steps ahead, not {staleness}")
        self._learner = learner
        self._staleness = staleness
        self._apart = apart
        self._actors = Actors(actors) if actors else None
        self._lots: list[_Lot] = []  # oldest first
        self._metrics: Metrics = {}

    def play(self, deal: Deal, rng: Random) -> list[Episode]:
        """The episodes of the oldest step that was dealt. `deal` makes the matches of one step, with the learner in
        them; it is called once, and in the first call also for each step ahead. A match without a seed gets one from
        `rng`. Raises the error of a step that was played ahead when it is its turn."""
        began = time.perf_counter()
        while len(self._lots) <= self._staleness:
            self._lots.append(self._begun(deal(), rng))
        lot = self._lots.pop(0)
        dealt = time.perf_counter()
        episodes = lot.episodes()
        waited = time.perf_counter() - dealt
        for episode in episodes:
            tell(episode)
        lags = [
            self._learner.version - turn.reply.version
            for episode in episodes
            for turn in episode.turns
            if turn.reply.player == self._learner.name
        ]
        self._metrics = {}
        if self._staleness or self._apart is not None:
            self._metrics = {
                "queue/depth": float(len(self._lots)),
                "queue/ready": float(sum(each.is_over for each in self._lots)),
                "queue/lag": sum(lags) / len(lags) if lags else 0.0,
                "queue/oldest": float(max(lags, default=0)),
                "queue/waited": waited,
                "queue/dealt": dealt - began,
            }
        return episodes

    def metrics(self) -> Metrics:
        """Figures of the last call: `queue/depth`, the steps left ahead; `queue/ready`, those of them that are over;
        `queue/lag` and `queue/oldest`, mean and largest age of the learner's turns in updates; `queue/dealt` and
        `queue/waited`, the seconds that dealing took (and playing, without a process) and that were waited for the
        end of play. Empty where steps are played in this process when it is their turn."""
        return dict(self._metrics)

    def settle(self) -> None:
        """Waits until all that is ahead has been played."""
        for lot in self._lots:
            lot.wait()

    def state(self) -> State:
        self.settle()
        return {"ahead": [[episode_to_json(episode) for episode in lot.episodes()] for lot in self._lots]}

    def restore(self, state: State) -> None:
        shaped(state, {"ahead": [[EPISODE]]}, "the steps ahead: ")
        if len(state["ahead"]) > self._staleness:
            raise RedQueenError(
                f"{len(state['ahead'])} steps were played ahead, and --staleness is {self._staleness}: resume with the "
                "same"
            )
        self.settle()
        self._lots = [_Lot.over([episode_from_json(each) for each in lot]) for lot in state["ahead"]]

    def _begun(self, matches: Sequence[Match], rng: Random) -> _Lot:
        base = rng.getrandbits(64)
        if self._apart is None:
            if self._staleness:
                self._learner.forget()  # as elsewhere, a step knows nothing of what another one computed
            return _Lot(self._stepped(matches), base, self._parts)
        self._check(matches)
        player = self._apart()
        dealt = [replace(match, cast=dict.fromkeys(match.cast, player)) for match in matches]
        return _Lot(self._stepped(dealt), base, self._parts, self._lots[-1:])

    def _stepped(self, matches: Sequence[Match]) -> Sequence[Match]:
        return matches if self._actors is None else self._actors.seated(matches)

    @property
    def _parts(self) -> int:
        """Two where the actors can step one while the other is answered, which takes a core more."""
        return 1 if self._actors is None or self._actors.count >= len(os.sched_getaffinity(0)) else 2

    def _check(self, matches: Sequence[Match]) -> None:
        """Refuses what cannot be played while the learner learns."""
        for match in matches:
            if waits(match.game):
                raise RedQueenError(
                    f"{match.game.name} waits for a program, which cannot be played beside the updates: leave "
                    "--placement out"
                )
            other = next((each.name for each in match.cast.values() if each is not self._learner), "")
            if other:
                raise RedQueenError(
                    f"{other} plays beside {self._learner.name}, and only the learner can be played in a process of "
                    "its own: leave --placement out"
                )


class _Lot:
    """The matches of one step. They are played at once, or in a thread after those `before` them."""

    def __init__(
        self, matches: Sequence[Match], base: int = 0, parts: int = 1, before: Sequence[_Lot] | None = None
    ) -> None:
        self._matches, self._base, self._parts = matches, base, parts
        self._episodes: list[Episode] = []
        self._error: BaseException | None = None
        self._thread: Thread | None = None
        if before is None:
            self._play()
            self.episodes()
        else:
            self._thread = Thread(target=self._play_after, args=[list(before)], name="a step ahead", daemon=True)
            self._thread.start()

    @classmethod
    def over(cls, episodes: Sequence[Episode]) -> _Lot:
        """A step that has been played."""
        lot = cls(())
        lot._episodes = list(episodes)
        return lot

    @property
    def is_over(self) -> bool:
        return self._thread is None or not self._thread.is_alive()

    def wait(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def episodes(self) -> list[Episode]:
        """The episodes, in the order of the matches, once all are over."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._episodes

    def _play_after(self, before: Sequence[_Lot]) -> None:
        for lot in before:
            lot.wait()
        self._play()

    def _play(self) -> None:
        try:
            self._episodes = finished(self._matches, self._base, self._parts)
        except BaseException as error:  # raised again by `episodes`
            self._error = error
