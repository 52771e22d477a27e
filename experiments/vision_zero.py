"""Vision-Zero on cards: clues and votes learned in turn, one of them alone, and a spy whose card is no other one."""

from __future__ import annotations

from redqueen.recipes.games.vision_zero import recipe as vision_zero
from redqueen.trials.experiment import Difference, Experiment, Training, versus

FOUND, EVEN = "spy_found", "spy_found_even_clues"
PLATEAU, EVERY, UNBIASED = "by plateau", "every step (released)", "by plateau, averages from zero"
CLUES, VOTES, ALIKE = "clues alone", "votes alone", "alike"
CARDS = Experiment(
    title="Odd one out on cards, tabular",
    asked="Does learning clues and votes in turn find spies that clues alone do not, and teach the spy to hide?",
    trial=Training(vision_zero.train),
    config=vision_zero.Config(),
    variants={
        PLATEAU: {},
        EVERY: {"switch": "every-step"},
        UNBIASED: {"debias": False},
        CLUES: {"switch": "never", "first": "clues"},
        VOTES: {"switch": "never"},
        ALIKE: {"game": "odd_one_out:alike=true"},
    },
    figures=(FOUND, EVEN, "votes_unsure", "clue_entropy", "late knobs/clue_stage"),
    compared=(
        *versus(PLATEAU, (CLUES, VOTES, EVERY, UNBIASED, ALIKE), (FOUND, EVEN)),
        Difference(PLATEAU, PLATEAU, FOUND, EVEN),
    ),
    controls=(CLUES, VOTES, ALIKE),
    seeds=5,
    notes=(
        "Three players, cards of two things of two values, one of which differs; 200 steps of 32 matches, 8 votes "
        "each. Votes drawn evenly are right in 1/4. With clues drawn evenly no voter finds the spy in more than "
        "3/4, where the cards are alike in more than 1/2 (a civilian knows that it is none). spy_found: the learner "
        "at all seats, spy_found_even_clues: clues drawn evenly, to which no spy adapts. late knobs/clue_stage: the "
        "share of the last fifth of steps that learned clues. The cards of the published game are pictures; four "
        "players on cards of four things that differ in one, two rounds, allow .63 at best with clues drawn evenly.",
    ),
)
