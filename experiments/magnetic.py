"""What the methods reach, with paired seeds: uniform play, Kuhn, Leduc, tic-tac-toe."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.games.leduc_poker import LeducPoker
from redqueen.games.liars_dice import LiarsDice
from redqueen.measures.exact.exploitability import GameTree
from redqueen.measures.exact.known_equilibria import honest_kuhn, kuhn_equilibrium
from redqueen.measures.intervals import bootstrap_interval, paired_difference
from redqueen.players.scripted import Uniform
from redqueen.protocols import Policy
from redqueen.recipes.games import fictitious_self_play, magnetic, spiral
from redqueen.runs.run import Line, Run, Schedule, read_final, read_metrics
from redqueen.settings.learner import Learner
from redqueen.trials.sheets import Bench, Result, Rows
from redqueen.views.terminal import figures


def constants(options: Bench, console: Console) -> Result:
    """Uniform play in games whose exploitability is known."""
    known = ((KuhnPoker(), 0.9167), (LeducPoker(), 4.7472), (LiarsDice(sides=4), 1.3101))
    rows: Rows = []
    for game, published in known:
        tree = GameTree(game)
        uniform = tree.strategy(Uniform())
        rows.append((game.name, str(len(tree.states)), f"{tree.nash_conv(uniform):.4f}", f"{published:.4f}"))
    return "Uniform play", ("game", "information states", "NashConv", "known"), rows, ""


def head_to_head(options: Bench, console: Console) -> Result:
    """What a win rate does not show: exact scores against an equilibrium player, and NashConv."""
    tree = GameTree(KuhnPoker())
    equilibrium = tree.strategy(kuhn_equilibrium(0.0))
    rows: Rows = []
    for name, player in (("uniform", Uniform()), ("honest", honest_kuhn()), ("equilibrium", kuhn_equilibrium(0.0))):
        own = tree.strategy(player)
        scores = []
        for number, seat in enumerate(tree.seats):
            mixed = {ask: (own if ask.seat == seat else equilibrium)[ask] for ask in tree.states}
            scores.append(float(tree.values(mixed)[number]))
        rows.append((name, f"{np.mean(scores):+.4f}", f"{tree.nash_conv(own):.4f}"))
    note = "The honest player bets and calls with the king only; an equilibrium player does not punish it."
    return "Kuhn poker, exact", ("player", "score against an equilibrium, both seats", "NashConv"), rows, note


def kuhn(options: Bench, console: Console) -> Result:
    """The methods on a table, paired seeds."""
    steps = options.steps or 400
    recipes: Mapping[str, tuple[Callable[[Any, Run], Policy], Any]] = {
        "spiral": (spiral.train, spiral.Config(steps=steps)),
        "fictitious_self_play": (fictitious_self_play.train, fictitious_self_play.Config(steps=steps)),
        "magnetic": (magnetic.train, magnetic.Config(steps=steps)),
    }
    rows: Rows = []
    lasts = {}
    for name, (train, config) in recipes.items():
        runs = [train_once(train, config, seed) for seed in range(options.seeds)]
        for seed, (lines, final) in enumerate(runs):
            console.print(f"  {name} seed {seed}: {figures({**lines[-1], **final})}", highlight=False)
        late = [[line["exploitability"] for line in lines[steps // 2 :]] for lines, _ in runs]
        lasts[name] = [final["exploitability"] for _, final in runs]
        rows.append(
            (
                name,
                _mean(lasts[name]),
                _mean([float(np.mean(values)) for values in late]),
                f"{min(map(min, late)):.3f} to {max(map(max, late)):.3f}",
                f"{max(max(values[len(values) // 2 :]) for values in late):.3f}",
                _mean([final["average_exploitability"] for _, final in runs]),
                _mean([final["late_average_exploitability"] for _, final in runs]),
            )
        )
    difference = paired_difference(lasts["spiral"], lasts["magnetic"], seed=0)
    note = (
        f"Exploitability; {options.seeds} paired seeds, {steps} updates of 128 games. Last iterate of spiral "
        f"minus that of magnetic: {difference}."
    )
    headings = (
        "recipe",
        "last iterate",
        "mean of the second half",
        "range of the second half",
        "highest in the last quarter",
        "average policy",
        "late average",
    )
    return "Kuhn poker, tabular", headings, rows, note


def leduc(options: Bench, console: Console) -> Result:
    """Magnetic self-play on a table in Leduc poker."""
    steps = options.steps or 600
    config = magnetic.Config(
        game="leduc_poker",
        steps=steps,
        matches_per_step=1024,
        learner=Learner(learning_rate=60.0),  # the gradient is spread over 288 states
        last_learning_rate=0.05,
        pull=1.0,
        last_pull=0.2,
        magnet_every=0,
    )
    lines, final = train_once(magnetic.train, config, 0, evaluate_every=25)
    measured = [line for line in lines if "nash_conv" in line]
    shown = [measured[len(measured) * n // 6] for n in range(6)]
    rows: Rows = [
        (str(line["step"]), f"{line['nash_conv']:.3f}", f"{2 * line['late_average_exploitability']:.3f}")
        for line in shown
    ]
    rows.append((str(steps), f"{final['nash_conv']:.3f}", f"{2 * final['late_average_exploitability']:.3f}"))
    note = f"Uniform play has 4.7472. {config.matches_per_step} games an update, one seed."
    return "Leduc poker, tabular magnetic", ("update", "NashConv, last iterate", "NashConv, late average"), rows, note


def tic_tac_toe(options: Bench, console: Console) -> Result:
    """A transformer from scratch learns tic-tac-toe from self-play."""
    steps = options.steps or 400
    config = magnetic.Config(
        game="tic_tac_toe",
        steps=steps,
        matches_per_step=96,
        learner=Learner(model="tiny", learning_rate=2e-3),
        pull=0.1,
        last_pull=0.02,
        magnet_every=0,
    )
    lines, final = train_once(magnetic.train, config, 0, evaluate_every=100)
    names = ("minimax_regret_mean", "payoff/uniform", "losses/uniform", "forfeits/uniform")
    measured = [*(line for line in lines if "minimax_regret_mean" in line), final]
    rows: Rows = [(str(line["step"]), *(f"{line[name]:.3f}" for name in names)) for line in measured]
    return "Tic-tac-toe, tiny transformer from scratch", ("update", *names), rows, "128 games, both seats."


def train_once(
    train: Callable[[Any, Run], Policy], config: Any, seed: int, evaluate_every: int = 1
) -> tuple[list[Line], Line]:
    """One training in a temporary folder: its metrics and its last measurement."""
    with tempfile.TemporaryDirectory() as folder:
        schedule = Schedule(evaluate_every, checkpoint_every=10**9, record_episodes=0)
        run = Run(Path(folder), seed, schedule)
        train(config, run)
        return read_metrics(run.folder), read_final(run.folder)


def _mean(values: Sequence[float]) -> str:
    return str(bootstrap_interval(values, seed=0))
