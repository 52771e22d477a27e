"""Renamed settings: the error for an old name gives the new one, on the command line and for the `config.json` of an
older run."""

from __future__ import annotations

from collections.abc import Collection, Mapping

# old flag: the new ones, of which a recipe has one at most (its own fields say which); add yours in alphabetical order
RENAMED: Mapping[str, tuple[str, ...]] = {
    "--begins-as": ("--untrained",),
    "--by-word": ("--by-token",),
    "--challenger": ("--proposer",),
    "--challenger-steps": ("--proposer-steps",),
    "--clip": ("--clip-high",),
    "--curriculum": ("--proposer",),
    "--curriculum-steps": ("--proposer-steps",),
    "--domain": ("--questions",),
    "--executor-steps": ("--solver-steps",),
    "--group": ("--attempts",),
    "--judge-misses": ("--judge",),
    "--kl-coefficient": ("--kl",),
    "--leave-one-out": ("--estimator",),
    "--lora-r": ("--lora-rank",),
    "--lora-target-modules": ("--lora-targets",),
    "--lr-scheduler-type": ("--schedule",),
    "--originals": ("--tasks",),
    "--prompter": ("--proposer",),
    "--prompts": ("--tasks",),
    "--questioner": ("--proposer",),
    "--synthesiser": ("--proposer",),
    "--tries": ("--attempts",),
    "--updates": ("--updates-per-batch",),
    "--verifier": ("--judge",),
    "--warmup-steps": ("--warm-up",),
    "--world": ("--prompts",),
}

# what a recipe takes instead of a flag that others have, by one of its own flags: a sentence
INSTEAD: Mapping[str, Mapping[str, str]] = {
    "--questions": {
        "--corpus": "this recipe writes its questions itself, about documents: --corpus FILE holds them, --answers "
        "FILE what to ask for in them, and --tests FILE questions with answers that are held out to measure",
    },
}

# flags that were controls of an experimenter, or parts that papers do not have: other parts of the method now
VARIANTS = (
    "--aim",
    "--at-the-ends",
    "--by-info",
    "--dealt",
    "--ends",
    "--fixed",
    "--from-seeds",
    "--gate",
    "--grounding",
    "--invalid",
    "--novelty",
    "--question-reward",
    "--repetition",
)


def instead(flag: str, known: Collection[str]) -> str | None:
    """What is to be given instead of a flag, where one of the `known` flags says so; else None."""
    return next((said for own, said in INSTEAD.get(flag.partition("=")[0], {}).items() if own in known), None)


def renamed(flag: str, known: Collection[str]) -> str | None:
    """The new name of an old flag among the `known` ones; None if the flag was never renamed, or to none of them."""
    return next((name for name in RENAMED.get(flag.partition("=")[0], ()) if name in known), None)
