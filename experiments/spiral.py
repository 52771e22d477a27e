"""SPIRAL: a baseline for each role or none, who is met, several games in one run, and what is left of it elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from redqueen.credit.advantages.keys import by_game_and_role
from redqueen.credit.advantages.statistics import MovingBaseline
from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.curricula.dealt import Sampled
from redqueen.games.catalogue import find_game
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.of_games import lists_choices, measures_of_games, usual_measures
from redqueen.opponents.pools import Fixed, Mirror, Snapshots
from redqueen.play.lockstep import play
from redqueen.play.seating import rotate
from redqueen.protocols import Play, Policy
from redqueen.questions.catalogue import find_questions
from redqueen.recipes.games import spiral
from redqueen.runs.named_players import find_player
from redqueen.runs.run import Run
from redqueen.settings.learner import Learner
from redqueen.settings.learning_step import LearningStep
from redqueen.settings.optimization import Optimization
from redqueen.settings.update import Update
from redqueen.trials.experiment import Changes, Experiment, Training, Trial, versus
from redqueen.types import Metrics, Outcome, Task

NEVER_FORGETS = 0.9999999  # a moving average that stays where it began, at zero
ROLES, SHARED, NONE = "a baseline for each role", "one baseline for both", "no baseline"
BASELINES: Mapping[str, Changes] = {
    ROLES: {},
    SHARED: {"method.update.estimator": "batch", "method.update.scale": "none"},
    NONE: {"method.baseline_decay": NEVER_FORGETS},
}


@dataclass(frozen=True)
class Favoured:
    """Kuhn poker in which the first player is paid a bonus however it plays."""

    bonus: float = 1.0
    roles: tuple[str, ...] = field(default=("first", "second"), init=False)
    perfect_information: bool = field(default=False, init=False)

    @property
    def name(self) -> str:
        return f"favoured_kuhn_poker(bonus={self.bonus:g})"

    def tasks(self) -> list[Task]:
        return KuhnPoker().tasks()

    def play(self, task: Task, rng: Random) -> Play:
        outcome = yield from KuhnPoker().play(task, rng)
        scores = {seat: value + self.bonus * (seat.role == "first") for seat, value in outcome.scores.items()}
        return Outcome(scores, outcome.facts)


@dataclass(frozen=True)
class Baselines:
    """The method, in a game that favours a seat."""

    method: spiral.Config
    bonus: float = 1.0


def favoured(config: Baselines, run: Run) -> Policy:
    """The method in Kuhn poker with a bonus for the first player."""
    return spiral.train(replace(config.method, game=f"experiments.spiral:Favoured:bonus={config.bonus:g}"), run)


def largest_gradient(trial: Trial) -> float:
    """The largest norm of a gradient in the run."""
    return float(max(line["gradient_norm"] for line in trial.lines))


KUHN = Experiment(
    title="A favoured seat",
    asked="Does a baseline for each role keep learning as it is where one seat is favoured, and what is it worth?",
    trial=Training(favoured, evaluate_every=10),
    config=Baselines(spiral.Config(steps=400, matches_per_step=64)),
    variants={
        **BASELINES,
        "no bonus, a baseline for each role": {"bonus": 0.0},
        "no bonus, no baseline": {"bonus": 0.0, "method.baseline_decay": NEVER_FORGETS},
    },
    figures=(
        *("average_exploitability", "exploitability", "late exploitability"),
        *("first gradient_norm", "late gradient_norm", "largest gradient_norm", "late entropy"),
    ),
    compared=versus(ROLES, (SHARED, NONE), ("average_exploitability", "late gradient_norm")),
    controls=(SHARED, NONE),
    derived={"largest gradient_norm": largest_gradient},
    notes=(
        "A table, 64 games an update. The first player of Kuhn poker is paid 1 more, whatever either does, so that "
        "best replies and exploitability are those of Kuhn poker. One baseline for both: the mean of the batch, "
        "which in a zero-sum game is 0.",
    ),
    seeds=10,
)


@dataclass(frozen=True)
class Meeting:
    """The method against others than itself: its update and estimator, and who is met."""

    method: spiral.Config
    met: str = "itself"  # or its past, or a player that does not learn
    snapshot_every: int = 5
    past: int = 25


def against(config: Meeting, run: Run) -> Policy:
    """SPIRAL's loop, in which the learner takes the seats in turn and another player all others."""
    method = config.method
    game = find_game(method.game)
    learner = method.learner.build(run.derived("learner"))
    others: Mirror | Fixed | Snapshots = Mirror(learner)
    if config.met == "its past":
        others = Snapshots(learner, capacity=config.past)
    elif config.met != "itself":
        others = Fixed(find_player(config.met, game))
    rae = MovingBaseline(by_game_and_role, decay=method.baseline_decay)
    step = LearningStep(method, [learner], key=by_game_and_role, estimate=rae, listed=lists_choices(game))
    curriculum = Sampled(game.tasks())
    for number in run.steps(method.steps, [learner], [others, *step.parts], usual_measures(game, learner, run.tests)):
        if config.met == "its past" and number % config.snapshot_every == 0 and number:
            others.add(learner.freeze())
        tasks = curriculum.draw(method.matches_per_step, run.rng)
        matches = rotate(game, tasks, learner, others, run.rng, number * method.matches_per_step)
        trajectories = step.shaped(spoken_by(learner, score(play(matches, run.rng), payoff)))
        advantages = step.estimate(trajectories)
        metrics = step.update(learner, step.pack(trajectories, advantages), run.rng)
        run.report(learner, trajectories, advantages, metrics)
    return learner


ITSELF, UNIFORM, STRONG, PAST = "itself", "uniform play", "perfect play", "its past selves"
MET: Mapping[str, Changes] = {ITSELF: {}, UNIFORM: {"met": "uniform"}, PAST: {"met": "its past"}}
OPPONENTS = Experiment(
    title="Who is met, Kuhn poker",
    asked="At as many games, what is learned from oneself, from a player that does not learn, and from one's past?",
    trial=Training(against, evaluate_every=10),
    config=Meeting(spiral.Config(steps=400, matches_per_step=128)),
    variants={**MET, STRONG: {"met": "equilibrium"}},
    figures=("exploitability", "late exploitability", "average_exploitability", "late_average_exploitability"),
    compared=(
        *versus(ITSELF, (UNIFORM, STRONG), ("late exploitability", "average_exploitability")),
        *versus(PAST, (ITSELF,), ("late exploitability", "average_exploitability")),
    ),
    controls=(UNIFORM, STRONG),
    notes=(
        "A table, 128 games an update; who meets itself learns from both seats, so from twice as many turns. The best "
        "reply to uniform play is exploitable by .417.",
    ),
    seeds=10,
)
BOARD = Experiment(
    title="Who is met, tic-tac-toe",
    asked="At as many games, who loses least to uniform play and moves nearest to perfect play?",
    trial=Training(against),
    config=Meeting(spiral.Config(game="tic_tac_toe", steps=300, matches_per_step=128)),
    variants={**MET, STRONG: {"met": "minimax"}},
    figures=("losses/uniform", "payoff/uniform", "minimax_regret_reached", "minimax_regret_mean"),
    compared=(
        *versus(ITSELF, (UNIFORM, STRONG), ("losses/uniform", "minimax_regret_mean")),
        *versus(PAST, (ITSELF,), ("losses/uniform", "minimax_regret_mean")),
    ),
    controls=(UNIFORM, STRONG),
    notes=("A table, 128 games an update.",),
    seeds=10,
)

FROM_FIRST_WEIGHTS = Learner(  # a tiny transformer that learns a board from nothing
    model="tiny:heads=8,initializer_range=0.12", learning_rate=2e-3, optimization=Optimization(schedule="cosine")
)
EVEN, WIDE = "first weights of .02", "first weights of .12"
FROM_NOTHING = Experiment(
    title="Tic-tac-toe, a tiny transformer made from nothing",
    asked="In twenty minutes, does a transformer come to lose one game in twenty to uniform play, and a regret of .05?",
    trial=Training(spiral.train, evaluate_every=50),
    config=spiral.Config(
        FROM_FIRST_WEIGHTS,
        game="tic_tac_toe:openings=8",
        steps=300,
        matches_per_step=384,
        update=Update(
            estimator="gae",
            entropy=0.05,
            loss="ppo",
            clip_low=0.2,
            clip_high=0.2,
            minibatches=4,
            updates_per_batch=3,
        ),
    ),
    variants={WIDE: {}, EVEN: {"learner.model": "tiny:heads=8"}, "not trained": {"steps": 1}},
    figures=("minimax_regret_mean", "minimax_regret_reached", "payoff/uniform", "losses/uniform"),
    compared=versus(WIDE, (EVEN, "not trained"), ("losses/uniform", "minimax_regret_mean")),
    controls=(EVEN, "not trained"),
    notes=(
        "Matches begin on random boards; 128 games against uniform play, both seats. A regret of .477 is that of "
        "squares in a fixed order, centre, corners, edges, whatever the board shows.",
    ),
    seeds=5,
)

TRAINED = ("kuhn_poker", "tic_tac_toe", "liars_dice:sides=3")
ELSEWHERE = ("leduc_poker", "connect:3,3,3", "liars_dice:sides=2")


def scores(learner: Policy, games: Sequence[str], seed: int) -> Metrics:
    """The usual figures of the policy in each game, under its name."""
    found: Metrics = {}
    for measure in measures_of_games([find_game(name) for name in games], learner, seed):
        found |= measure()
    return found


def with_all(learner: Policy, seed: int) -> Metrics:
    """What the policy scores in all games, trained on or not."""
    return scores(learner, (*TRAINED, *ELSEWHERE), seed)


ALL, ALONE, BETWEEN = "three games", "Kuhn poker alone", "tic-tac-toe alone"
UNTRAINED = "hardly trained"
FIGURES = (
    *("kuhn_poker/exploitability", "tic_tac_toe/payoff/uniform", "liars_dice(sides=3)/exploitability"),
    *("leduc_poker/nash_conv", "connect(3,3,3)/payoff/uniform", "liars_dice(sides=2)/exploitability"),
)


SEVERAL = Experiment(
    title="Several games in one run",
    asked="At as many games in all, what does a run of three games learn of each, and what is left of it in games that "
    "it never played?",
    trial=Training(spiral.train, read=with_all),
    config=spiral.Config(Learner(model="tiny"), also=TRAINED[1:], steps=300, matches_per_step=96),
    variants={
        ALL: {},
        ALONE: {"also": ()},
        BETWEEN: {"game": "tic_tac_toe", "also": ()},
        UNTRAINED: {"steps": 1, "matches_per_step": 3},
    },
    figures=FIGURES,
    compared=versus(ALL, (ALONE, BETWEEN, UNTRAINED), FIGURES),
    controls=(ALONE, BETWEEN, UNTRAINED),
    notes=("A tiny transformer made from nothing, 96 games an update in all.",),
    seeds=10,
)

REASONING = "sums:digits=2"


def reasoning(learner: Policy, seed: int) -> Metrics:
    """Held-out accuracy on sums, of which no game says anything."""
    return HeldOut(find_questions(REASONING), learner, 100, attempts=4, seed=seed)()


LANGUAGE = Experiment(
    title="SmolLM2 thinks, then moves",
    asked="Without a baseline for each role, do thoughts collapse; and is any of it left in sums, which no game holds?",
    trial=Training(lambda config, run: spiral.train(config.method, run), read=reasoning),
    config=Baselines(
        spiral.Config(
            Learner(model="smollm2-135m", answer="boxed", max_completion_length=96),
            also=("tic_tac_toe", "negotiation"),
            steps=100,
            matches_per_step=48,
            update=Update(loss="ppo", updates_per_batch=2),
        )
    ),
    variants={**BASELINES, "hardly trained": {"method.steps": 1, "method.matches_per_step": 3}},
    figures=("accuracy", "first length", "late length", "late gradient_norm", "late forfeits"),
    compared=versus(ROLES, (SHARED, NONE, "hardly trained"), ("accuracy", "late length", "late gradient_norm")),
    controls=(SHARED, NONE, "hardly trained"),
    notes=("Kuhn poker, tic-tac-toe and negotiation, 48 games an update in all.",),
    seeds=3,
)
