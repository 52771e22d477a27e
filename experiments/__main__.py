"""`python -m experiments`: runs comparisons by name, prints their tables and keeps them.

    python -m experiments                               the last two: half an hour, most of it the peers of speed
    python -m experiments leduc tic_tac_toe staleness   four to ten minutes each
    python -m experiments proposers digit_play ...      models that write their own tasks: two minutes to an hour each
    python -m experiments preference_tables dilemma ... preferences, adversaries, dilemmas: one minute to an hour each
    python -m experiments constants head_to_head kuhn   what the methods reach in poker: three minutes
    python -m experiments update sampling many_games long_games step    speed

Comparisons of methods run on the same seeds and give the 95 % bootstrap interval of the mean. Speeds are ratios
of medians, measured in turns in one run. Trainings of a comparison that was interrupted go on when the bench is
started again (a bench of two comparisons, as `second_try`, makes the one that was done again), and the seconds under
its table are those of its last part.
"""

from __future__ import annotations

import sys
import time

from rich.console import Console

from experiments import (
    absolute_zero,
    advantage_alignment,
    agent0,
    ditto,
    eva,
    league,
    magnetic,
    multi_agent_evolve,
    pasodoble,
    preferences,
    promptcot2,
    proposers,
    r_zero,
    rise,
    score,
    search_self_play,
    sec,
    self_redteam,
    spc,
    spell,
    svs,
    sws,
)
from experiments.speed import live_view, model, sandbox, staleness
from redqueen.cli.words import closest, parse
from redqueen.settings.limits import check_settings
from redqueen.trials.sheets import Bench, Benches, Sheet, write
from redqueen.types import RedQueenError

BENCHES: Benches = {
    "constants": magnetic.constants,
    "head_to_head": magnetic.head_to_head,
    "kuhn": magnetic.kuhn,
    "leduc": magnetic.leduc,
    "tic_tac_toe": magnetic.tic_tac_toe,
    "staleness": staleness.staleness,
    "slow_player": staleness.slow_player,
    "proposers": proposers.proposers,
    "proposer_sweeps": proposers.proposer_sweeps,
    "self_taught": absolute_zero.self_taught,
    "novel_proposals": absolute_zero.novel_proposals,
    "digit_play": absolute_zero.digit_play,
    "frontier": absolute_zero.frontier,
    "evolving_prompts": eva.eva,
    "staircase": sec.staircase,
    "sums": sec.sums,
    "weaknesses": sws.weaknesses,
    "rationales": promptcot2.rationales,
    "variational": svs.svs,
    "growing_texts": spell.growing_texts,
    "dual_play": pasodoble.dual_play,
    "tool_play": agent0.tool_play,
    "search_play": search_self_play.search_play,
    "search_frontier": search_self_play.search_frontier,
    "unlabelled": multi_agent_evolve.unlabelled,
    "majorities": r_zero.majorities,
    "python_code": sandbox.python_code,
    "spin_expected": preferences.spin_expected,
    "preference_tables": preferences.preference_tables,
    "spin_chain": preferences.spin_chain,
    "chosen_and_rejected": preferences.chosen_and_rejected,
    "ditto": ditto.ditto,
    "dilemma": advantage_alignment.dilemma,
    "sharing": advantage_alignment.sharing,
    "second_try": score.second_try,
    "verified_sums": rise.verified_sums,
    "red_styles": self_redteam.red_styles,
    "red_team": self_redteam.red_team,
    "red_team_without_thoughts": self_redteam.red_team_without_thoughts,
    "critic": spc.critic,
    "league": league.league,
    "update": model.update,
    "sampling": model.sampling,
    "many_games": model.many_games,
    "long_games": model.long_games,
    "step": model.step,
    "live_view": live_view.live_view,
}


def bench(options: Bench, console: Console) -> None:
    """Runs the named comparisons, prints their tables and writes them if asked."""
    sheets = []
    for name in options.names:
        console.print(f"[bold]{name}[/bold] ...")
        began = time.perf_counter()
        title, headings, rows, note = BENCHES[name](options, console)
        sheets.append(Sheet(name, title, headings, tuple(rows), note, time.perf_counter() - began))
        console.print(sheets[-1].screen())
        if options.write is not None:  # at once: a later one may be interrupted
            write(sheets[-1:], options, options.write)
    if options.write is not None:
        console.print(f"written to {options.write}")


def main(words: list[str]) -> int:
    """Runs the comparisons that are named and returns the exit status: 0, or 2 for bad input."""
    try:
        options = parse(Bench, words, "python -m experiments")
        check_settings(options)
        unknown = [name for name in options.names if name not in BENCHES]
        if unknown:
            raise RedQueenError(f"there is no experiment {unknown[0]!r}: {closest(unknown[0], BENCHES)}")
        bench(options, Console())
    except RedQueenError as error:
        print(f"experiments: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
