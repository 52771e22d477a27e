"""How often an agent comes to its goal after wrong acts that it did not choose (Agent-R, 2501.11425)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from random import Random

from redqueen.chance import derive
from redqueen.curricula.held_out import dealt
from redqueen.games.acting import Acting
from redqueen.play.lockstep import play
from redqueen.protocols import Policy, State
from redqueen.recipes.self_training.agent_r.steps import acts_of, begun, value
from redqueen.recipes.self_training.agent_r.world import HEARD, REVISE
from redqueen.types import Basis, Episode, Metrics, RedQueenError, Task, mean_of

MOST = 3  # acts that are drawn at random


def drawn_acts(game: Acting, task: Task, rng: Random) -> tuple[str, ...]:
    """One to three listed acts drawn at random, none of which ends the task; none where acts are not listed."""
    acts = list[str]()
    count = rng.randint(1, MOST)
    for _ in range(10 * count):
        with closing(game.world.open(task, 0)) as found:
            view = found.look()
            for act in acts:
                view = found.act(act)
            listed = [act for act in view.choices if act != REVISE]
            if len(acts) == count or not listed:
                break
            act = rng.choice(listed)
            acts += [] if found.act(act).over else [act]
    return tuple(acts)


def recoveries(game: Acting, tasks: Sequence[Task], learner: Policy, seed: int) -> Metrics:
    """Figures of one attempt at each task that begins with `drawn_acts`: see `Recovery`."""
    seeds = [derive(seed, "recovery", number) for number in range(len(tasks))]
    drawn = [drawn_acts(game, task, Random(each)) for task, each in zip(tasks, seeds, strict=True)]
    matches = [
        begun(game, task, acts, learner, each) for task, acts, each in zip(tasks, drawn, seeds, strict=True) if acts
    ]
    if not matches:
        return {}
    episodes = play(matches, Random(seed))
    own = [acts_of(each)[len(acts) :] for each, acts in zip(episodes, filter(None, drawn), strict=True)]
    return {
        "recovery": mean_of(value(each) == 1.0 for each in episodes),
        "revised": mean_of(REVISE in acts for acts in own),
        "repeated": mean_of(map(repeats, episodes)),
    }


def repeats(episode: Episode) -> bool:
    """Whether a view was seen twice."""
    shown = [view for view in episode.outcome.facts["shown"] if view != HEARD]
    return len(set(shown)) < len(shown)


class Recovery:
    """Of attempts at held-out tasks that begin with one to three acts drawn at random, the same at every measurement:
    `recovery`, the share that is done; `revised`, in which the agent says that it went wrong; `repeated`, in which a
    view is seen twice. `needless` is the share that says so without any such acts. Nothing where acts are not listed.
    Raises RedQueenError where nothing is held out."""

    def __init__(self, game: Acting, learner: Policy, problems: int, seed: int) -> None:
        self._game, self._learner, self._seed = game, learner, seed
        self._tasks = dealt(game.held_out(), problems, seed)
        if not self._tasks:
            raise RedQueenError(f"{game.name} holds out no tasks to measure on")

    def __call__(self) -> Metrics:
        found = recoveries(self._game, self._tasks, self._learner, self._seed)
        if not found:
            return {}
        matches = [begun(self._game, task, (), self._learner, derive(self._seed, task.id)) for task in self._tasks]
        return found | {"needless": mean_of(REVISE in acts_of(each) for each in play(matches, Random(0)))}

    def basis(self) -> dict[str, Basis]:
        return dict.fromkeys(
            ("recovery", "revised", "repeated", "needless"), Basis(count=len(self._tasks), of="tasks", attempts=1)
        )

    def limit(self, replies: int) -> None:
        """An attempt counts as one reply."""
        if replies:
            self._tasks = self._tasks[: max(replies // 2, 1)]

    def state(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        return None
