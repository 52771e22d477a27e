"""MentalArena on abstract symptoms: the gate and its hint, the filter, and the model as its own patient."""

from __future__ import annotations

from redqueen.recipes.games.mental_arena import recipe
from redqueen.trials.experiment import Difference, Experiment, Training, versus

GAME = "hidden_state:remember=false"
ON, RELEASED, OFF, LONGER, ALL, RATED, RULE = (
    "gate on",
    "gate as released",
    "no gate",
    "no gate, six questions",
    "all talks kept",
    "kept by own ratings",
    "patient by rule",
)
FOUND, WITHOUT = "diagnosed", "no_gate/diagnosed"
TALKS = Experiment(
    title="Eight symptoms, six conditions, tables",
    asked="Is the condition found after rounds of talks that end well, and what do hint, filter and patient add?",
    trial=Training(recipe.train, evaluate_every=60),
    config=recipe.Config(),
    variants={
        ON: {},
        RELEASED: {"game": f"{GAME},gate=released"},
        OFF: {"game": f"{GAME},gate=off"},
        LONGER: {"game": f"{GAME},gate=off,first=6"},
        ALL: {"keep": "all"},
        RATED: {"game": f"{GAME},tries=6", "keep": "rated"},
        RULE: {"patient": "rule", "steps": 180},
    },
    figures=(FOUND, f"first {FOUND}", "questions", "first questions", WITHOUT, "truthful"),
    compared=(
        Difference(ON, ON, FOUND, f"first {FOUND}"),
        Difference(ON, ON, "first questions", "questions"),
        *versus(ON, (OFF, RELEASED, LONGER, ALL, RATED, RULE), (FOUND,)),
        *versus(ON, (OFF, RELEASED), (WITHOUT,)),
    ),
    controls=(RELEASED, OFF, LONGER, ALL),
    seeds=5,
    notes=(
        "Chance is 1 in 6. Four rounds of 60 updates, of 1,024 talks each; in the first an honest patient is "
        "imitated, which a patient by rule does without. diagnosed: of 240 talks as they "
        "are played in training, in which a gate, if there is one, compares the belief with the truth and, when it is "
        "on, says where to look; no_gate: of 240 that end after four questions, of which the best, with a patient "
        "who is honest, would be right in 29 of 30. kept by own ratings: up to six conditions are named, and what "
        "counts is the one that the patient rates highest, in the measurement too.",
    ),
)
