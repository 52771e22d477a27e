"""PPDPP in price talk: the baseline of the batch, the released one within a talk, a speaker that does not listen."""

from __future__ import annotations

from redqueen.recipes.games.ppdpp import recipe as ppdpp
from redqueen.trials.experiment import Difference, Experiment, Training, versus

BATCH, EPISODE, DEAF, CLEAR = "over the batch", "within a talk (released)", "advice unheard", "critic without noise"
FIGURES = ("return", "deal_rate", "turns", "gain")
OTHER = "other_speaker/return"
TALK = Experiment(
    title="Price talk, tabular planner",
    asked="Does a planner make a frozen speaker close more deals, with which baseline, and with another speaker too?",
    trial=Training(ppdpp.train),
    config=ppdpp.Config(),
    variants={
        BATCH: {},
        EPISODE: {"normalise": "episode"},
        DEAF: {"obedience": 0.2},
        CLEAR: {"noise": 0.0},
    },
    figures=(*FIGURES, OTHER, "other_speaker/deal_rate", "unplanned/return"),
    compared=(
        Difference(BATCH, BATCH, "return", "unplanned/return"),
        Difference(EPISODE, EPISODE, "return", "unplanned/return"),
        Difference(DEAF, DEAF, "return", "unplanned/return"),
        Difference(BATCH, BATCH, OTHER, "unplanned/return"),
        *versus(BATCH, (EPISODE,), FIGURES),
        *versus(BATCH, (CLEAR,), ("return",)),
    ),
    controls=(EPISODE, DEAF),
    notes=(
        "100 updates of 32 talks of at most 8 turns; ten votes of the critic on each turn, a fifth of them the "
        "label next to the true one. return: what the true labels of a talk's turns are worth; the best planner, "
        "who remembers all of the talk, has -.027 with this speaker (measures.best_return), the table is shown the "
        "standing offers alone. unplanned: lines named at random. advice unheard: the speaker takes each of the "
        "five lines as often, whatever it is told. other_speaker heeds .8 of what it is told and was never trained "
        "with. A talk also ends where somebody leaves, so that fewer turns are no success of their own. There is no "
        "supervised start.",
    ),
)
