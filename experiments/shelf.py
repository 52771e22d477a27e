"""The shelf: a tiny model in each of its eight worlds, from a warm start, against its frozen start and random play.

The start imitates the expert on tasks to train on; then the model learns by attempts (GRPO). What measures is dealt
anew for each seed from tasks that nothing trains on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, Literal

from redqueen.chance import derive
from redqueen.curricula.held_out import Apart
from redqueen.demonstrations.rehearsal import Plays
from redqueen.games.acting import Acting, Working, shown_by
from redqueen.games.catalogue import find_game
from redqueen.measures.of_games import Success
from redqueen.players.scripted import Uniform
from redqueen.protocols import Play, Policy, Tool, Visit, World
from redqueen.recipes.credit.grpo import recipe
from redqueen.recipes.self_training import cold_start
from redqueen.runs.run import Run
from redqueen.runs.sources import Dealt
from redqueen.settings.learner import Learner
from redqueen.trials.controls import swapped
from redqueen.trials.experiment import Difference, Experiment, Training, Trial
from redqueen.trials.starts import Start, warmed
from redqueen.types import Ask, Assessment, Observation, Reply, Task

TRAINED, FROZEN, RANDOM = "trained", "frozen start", "random play"


# --- what is played ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Own:
    """A game in a world, with `count` of its held-out tasks, drawn by the seed."""

    game: Acting | Working
    count: int
    seed: int

    @property
    def name(self) -> str:
        return self.game.name

    @property
    def roles(self) -> tuple[str, ...]:
        return self.game.roles

    def tasks(self) -> Sequence[Task]:
        return self.game.tasks()

    def held_out(self) -> Sequence[Task]:
        known = list(self.game.held_out())
        return Random(derive(self.seed, "held out")).sample(known, min(self.count, len(known)))

    def play(self, task: Task, rng: Random) -> Play:
        return self.game.play(task, rng)


@dataclass
class Remembered:
    """A repeatable world that opens nothing for acts which it has seen at a task: it shows what came of them then."""

    world: World
    views: dict[tuple[str, ...], Observation] = field(default_factory=dict)
    ends: dict[tuple[str, ...], Assessment] = field(default_factory=dict)
    repeatable = True

    @property
    def name(self) -> str:
        return self.world.name

    def tasks(self) -> Sequence[Task]:
        return self.world.tasks()

    def held_out(self) -> Sequence[Task]:
        return self.world.held_out()

    def expert(self, task: Task) -> tuple[str, ...]:
        return shown_by(self.world, task)

    def open(self, task: Task, seed: int) -> Visit:
        return Again(self, task, seed)


class Again:
    """A visit that is opened when somebody does what nobody did before."""

    tools: tuple[Tool, ...] = ()

    def __init__(self, known: Remembered, task: Task, seed: int) -> None:
        self._known, self._task, self._seed = known, task, seed
        self._said: tuple[str, ...] = (task.id,)  # the acts so far, behind the task
        self._done = 0  # how many acts the true visit has seen
        self._visit: Visit | None = None

    def _true(self) -> Visit:
        if self._visit is None:
            self._visit = self._known.world.open(self._task, self._seed)
            self._known.views[self._task.id,] = self._visit.look()
        while self._done < len(self._said) - 1:
            self._done += 1
            self._known.views[self._said[: self._done + 1]] = self._visit.act(self._said[self._done])
        return self._visit

    def look(self) -> Observation:
        return self._view((self._task.id,))

    def act(self, said: str) -> Observation:
        self._said = (*self._said, said)
        return self._view(self._said)

    def _view(self, said: tuple[str, ...]) -> Observation:
        if said not in self._known.views:
            self._true()
        return self._known.views[said]

    def state(self) -> Mapping[str, Any]:
        return self._true().state()

    def assess(self, answer: str = "") -> Assessment:
        if self._said not in self._known.ends:
            self._known.ends[self._said] = self._true().assess(answer)
        return self._known.ends[self._said]

    def close(self) -> None:
        if self._visit is not None:
            self._visit.close()


@lru_cache(maxsize=1)
def remembered(spec: str) -> Acting:
    """The game of acts in a world which is remembered."""
    game = find_game(spec)
    assert isinstance(game, Acting), f"{spec} is no game of acts"
    return Acting(Remembered(game.world), game.acts)


# --- who plays --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """Replies drawn by a rule from what is shown, where none are listed."""

    rule: Callable[[str, Random], str]
    name: str = "drawn"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        return [Reply(self.rule(ask.messages[0].text, Random(ask.seed)), self.name) for ask in asks]


def any_proof(shown: str, rng: Random) -> str:
    """A proof of at most eleven symbols."""
    waiting, said = 1, list[str]()
    while waiting:
        longer = len(said) + waiting < 10 and rng.random() < 0.5
        said.append("D" if longer else rng.choice("123"))
        waiting += 1 if longer else -1
    return " ".join(said)


def any_design(shown: str, rng: Random) -> str:
    """One of the smallest designs over the inputs that are shown."""
    inputs = shown.partition("Inputs ")[2].partition(".")[0].split()
    one, other = (f"{rng.choice(('', '~ '))}{name}" for name in rng.sample(inputs, 2))
    return f"assign y = {one} {rng.choice('&|^')} {other} ;"


def any_query(shown: str, rng: Random) -> str:
    """One of the simplest queries, over any of the words shown."""
    words = [each for each in shown.replace("(", " ").replace(")", " ").replace(",", " ").split() if each.isalnum()]
    column, table, other, value = (rng.choice(words) for _ in range(4))
    return f"select {column} from {table} where {other} " + (f"> {value}" if value.isdigit() else f"= '{value}'")


@dataclass(frozen=True)
class Method:
    """GRPO, or a player that is measured as it is, in a world."""

    grpo: recipe.Config
    who: Literal["trained", "frozen", "random"] = "trained"


@dataclass(frozen=True)
class OneSeed:
    tests: int
    drawn: Callable[[str, Random], str] | None = None
    kept: bool = False  # whether the world is remembered

    def __call__(self, config: Method, seed: int, folder: Path) -> Trial:
        spec = config.grpo.game
        found: Any = remembered(spec) if self.kept else find_game(spec)
        game = Own(found, self.tests, seed)
        if config.who == "trained":
            with swapped(recipe, {"source": lambda config, learner, run: Dealt(game, learner)}):
                return Training(recipe.train, evaluate_every=-(-config.grpo.steps // 4))(config.grpo, seed, folder)
        random = Drawn(self.drawn) if self.drawn else Uniform()
        player: Any = random if config.who == "random" else config.grpo.learner.build(derive(seed, "learner"))
        return Trial((), Success(game, player, self.tests, 0)())


def imitates(config: cold_start.Config, run: Run, apart: Apart) -> Policy:
    """Cold start, which measures nothing."""
    with swapped(cold_start, {"of_lessons": lambda *given: []}):
        return cold_start.train(config, run, apart)


def imitates_remembered(config: cold_start.Config, run: Run, apart: Apart) -> Policy:
    """The same in a world that is remembered."""
    with swapped(cold_start, {"lessons": _remembered_lessons}):
        return imitates(config, run, apart)


def _remembered_lessons(questions: str, game: str, learner: Any, apart: Apart, proposals: float) -> Any:
    return Plays(remembered(game), learner)


# --- what is asked ----------------------------------------------------------------------------


def curve(
    world: str,
    game: str,
    taught: int,
    steps: int,
    *,
    shown: int = 32,
    rate: float = 1e-3,
    learns: float = 3e-4,
    longest: int = 8,
    tasks: int = 8,
    attempts: int = 6,
    tests: int = 64,
    drawn: Callable[[str, Random], str] | None = None,
    kept: bool = False,
    notes: tuple[str, ...] = (),
) -> Experiment:
    """The experiment of one world: `taught` steps of imitation, `steps` of attempts."""
    start = cold_start.Config(
        Learner(
            model="tiny:hidden=64,layers=2,initializer_range=0.1", max_completion_length=longest, learning_rate=rate
        ),
        game=game,
        steps=taught,
        demonstrations_per_step=shown,
        rest=taught // 2,
    )
    method = Method(
        recipe.Config(
            warmed(learns, max_completion_length=longest), game=game, steps=steps, tasks=tasks, attempts=attempts
        )
    )
    return Experiment(
        title=f"{world}: a tiny model in it",
        asked=f"Does a tiny model that imitated the expert do more tasks of {world} after it learned by attempts?",
        trial=OneSeed(tests, drawn, kept),
        config=method,
        starts={"grpo.learner.model": Start(start, imitates_remembered if kept else imitates)},
        variants={TRAINED: {}, FROZEN: {"who": "frozen"}, RANDOM: {"who": "random"}},
        figures=("success", *QUARTERS),
        derived=QUARTERS,
        compared=tuple(Difference(TRAINED, other, "success") for other in (FROZEN, RANDOM)),
        controls=(FROZEN, RANDOM),
        seeds=3,
        one_start=True,
        notes=(
            f"`success`: {tests} tasks that nothing trains on, drawn anew for each seed, one attempt each; after each "
            f"quarter of the {steps} steps of {tasks} x {attempts} attempts. The start was taught by {taught} steps of "
            f"{shown} demonstrations.",
            *notes,
        ),
    )


def asked_again(one: Experiment, seeds: str, found: str) -> Experiment:
    """The same with ten new seeds: with three, these `seeds`, the difference to the start was `found`, which shows
    nothing."""
    note = f"With three seeds ({seeds}) no gain over the start was shown, {found}; these ten came after."
    return replace(one, first_seed=5, seeds=10, notes=(*one.notes, note))


def _after(quarter: int) -> Callable[[Trial], float]:
    def found(trial: Trial) -> float:
        values = [line["success"] for line in trial.lines if "success" in line]
        return float(values[quarter]) if quarter < len(values) else float("nan")

    return found


QUARTERS: Mapping[str, Callable[[Trial], float]] = {
    "success at the start": _after(0),
    **{f"after {quarter}/4": _after(quarter) for quarter in (1, 2, 3)},
}

# it takes some hundred steps until the letters of the inputs are copied, and nothing can be right before
CIRCUITS = curve(
    "circuits",
    "acting:circuits(two,200,80),1",
    200,  # 900 leave no room (.53): attempts cost some there
    300,
    shown=16,
    rate=2e-3,
    learns=2e-4,  # with 1e-3 it unlearns
    longest=32,  # a design has 15 to 20 tokens
    drawn=any_design,
)
PROOFS = asked_again(
    curve("proofs", "acting:proofs(15,15),2", 200, 120, longest=32, tests=40, drawn=any_proof),
    "0 to 2",
    "+.025 [-.037, .087]",
)
SQL = asked_again(
    curve("sql", "working:sql(filter,400,192)", 120, 120, shown=48, rate=2e-3, longest=56, drawn=any_query),
    "0 to 2",
    "+.089 [-.176, .353]",
)
SITE = curve("site", "acting:site(shop,400,192),8", 40, 200)  # where 100 steps of imitation leave no room (.79)
# of requests of 15 to 20 calls it did .05 at most, after 100 and 300 steps of imitation, and no gain was shown
TRACES = asked_again(
    curve("traces", "acting:traces(2000,192,4,7),8", 300, 300, tests=128), "2 to 4", "+.112 [-.013, .237]"
)
WEB = curve("web", "acting:web(click-checkboxes,40,40),6", 80, 12, tasks=4, tests=16, kept=True)
GRID = asked_again(
    curve("grid", "acting:grid(GoToLocal,400,192),8", 60, 20, tests=48, learns=1e-4), "0 to 2", "-.028 [-.107, .051]"
)
REPOSITORY = asked_again(
    curve("repository", "acting:repository(48,20),1", 20, 30, shown=8, tasks=4, tests=16),
    "0 to 2",
    "+.062 [-.093, .218]",
)
