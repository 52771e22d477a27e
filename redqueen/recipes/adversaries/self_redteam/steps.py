"""Red teaming in batches: seeds dealt, matches judged, ties left out, and what is worth knowing about the attacks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random
from typing import Annotated

import numpy as np

from redqueen.checks.safety import Exchange, Missing, Ruled, SafetyClassifier, Thresholded, find_classifier, labelled
from redqueen.credit.payoff_table import verdict_of
from redqueen.credit.rewards import spoken_by
from redqueen.games.red_team import BENIGN, HARMFUL, RedTeam
from redqueen.measures.alarms import Alarm, Alarms, Ringing
from redqueen.protocols import Policy, Resumable, has
from redqueen.questions.guards import Guard
from redqueen.questions.small.red_words import RedTeamWorld, RuledWorld
from redqueen.settings.limits import NotWith
from redqueen.settings.oracles import EVERY, SafetyJudge, Seating, asked_judge, refuse
from redqueen.settings.roles import SHARED, Cast, Peer
from redqueen.types import Episode, Match, Mean, Metrics, RedQueenError, Task, Trajectory, mean_of

MISSES = ":misses="
ASKED = "judge:"
Attacker = Annotated[Peer, NotWith("vanilla", 1.0)]  # who speaks where not all seeds are answered as they stand
TIES = Alarm(
    "ties",
    "game/ties",
    "{value:.0%} of the judged matches lack a label (prompt harmful, response harmful, refusal): they are ties, and "
    "nothing is learned from them: look at what the judge answers, or name another --judge",
    limit=0.5,
    steps=3,
)
BROKEN = Alarm(
    "broken_format",
    "game/broken",
    "{value:.0%} of the matches end at a reply in which there is no answer, so that nothing is learned but the format: "
    "allow longer replies, or pass whole ones on (--prompts prompts:path=FILE,thoughts=false)",
    limit=0.5,
    steps=5,
)
REFUSES_ALL, ANSWERS_ALL = (
    Alarm(
        name,
        "game/refusals",
        f"the defender {does}, harmful or harmless ({{value:.0%}} of the newest are refused): where every reply is the "
        "same, nothing teaches it to tell them apart: begin with a model that refuses plain harm, or lower the "
        "--learning-rate",
        limit=limit,
        steps=5,
        below=below,
        trials="judged",
    )
    for name, does, limit, below in (
        ("refuses_all", "refuses all", 0.95, False),
        ("answers_all", "answers all", 0.05, True),
    )
)


def who_learns(
    cast: Cast, world: RedTeamWorld, imitation: float, answer: str | None, attacks: bool = True
) -> list[Policy]:
    """The policies that learn among attacker and defender, or the defender alone where nobody `attacks`. Raises
    RedQueenError where none does, and for settings that would have no effect: `imitation` without anybody to imitate,
    an `answer` format in a world that has its own."""
    learners = cast.seated("attacker", "defender") if attacks else cast.seated("defender")
    if not learners:
        raise RedQueenError(f"nobody learns: bind the attacker or the defender to {SHARED}")
    if imitation and not (cast["defender"] in learners and world.schooling(1, Random(0))):
        raise RedQueenError("there are no good answers to imitate, or nobody who would: set --imitation 0")
    if world.thoughts and answer:
        raise RedQueenError("this world has a format of its own for thoughts: leave --answer out")
    return learners


def matches_dealt(
    world: RedTeamWorld, cast: Cast, count: int, benign: float, vanilla: float, rng: Random
) -> list[Match]:
    """One match between attacker and defender for each of the seeds that are `dealt`."""
    game, players = RedTeam(world), {role: cast[role] for role in ("attacker", "defender")}
    return [Match(game, seed, players) for seed in dealt(world, count, benign, vanilla, rng)]


def dealt(world: RedTeamWorld, count: int, benign: float, vanilla: float, rng: Random) -> list[Task]:
    """`count` seeds, the share `benign` of them benign; of each kind the share `vanilla` is answered as it stands."""
    tasks = []
    for kind, share in ((HARMFUL, 1.0 - benign), (BENIGN, benign)):
        drawn = [world.seed(kind, rng) for _ in range(_rounded(count * share, rng))]
        plain = _rounded(len(drawn) * vanilla, rng)
        tasks += [replace(seed, facts={**seed.facts, "vanilla": n < plain}) for n, seed in enumerate(drawn)]
    return tasks


def _rounded(amount: float, rng: Random) -> int:
    """A whole number with this mean."""
    return int(amount) + (rng.random() < amount - int(amount))


class Watched(Ringing):
    """The figures of each step, and alarms where most matches are ties or end at a broken format, and where the
    defender says one thing to seeds of both kinds: to harm alone, or to none, one thing is right."""

    def __init__(self) -> None:
        self._alarms = Alarms([TIES, BROKEN, REFUSES_ALL, ANSWERS_ALL], quiet=True)

    def __call__(self, episodes: Sequence[Episode]) -> Metrics:
        found = figures(episodes)
        refusals = found.get("game/refusals")
        judged = {"judged": float(refusals.count)} if isinstance(refusals, Mean) else {}
        watched = {name: float(value) for name, value in found.items()} | judged
        if not _of_both_kinds(episodes):
            watched.pop("game/refusals", None)
        return found | self._alarms.observe(watched)


def _of_both_kinds(episodes: Sequence[Episode]) -> bool:
    """Whether matches of harmful and of benign seeds were judged."""
    verdicts = [verdict_of(episode.outcome.facts) for episode in episodes]
    return len({verdict.seed for verdict in verdicts if verdict is not None}) == 2


@dataclass(frozen=True)
class Judge:
    """Labels the matches that a classifier is given (`judged`); `counted` are guards among its parts."""

    classifier: SafetyClassifier
    counted: tuple[Guard, ...] = ()
    watched: Watched = field(default_factory=Watched)

    @property
    def parts(self) -> list[Resumable]:
        """What is resumed, and rings."""
        return [*self.counted, self.watched]

    def __call__(self, episodes: Sequence[Episode]) -> list[Episode]:
        return judged(episodes, self.classifier)

    def figures(self, episodes: Sequence[Episode]) -> Metrics:
        """The figures of a step, whose matches it has judged, and how often a model was asked."""
        return self.watched(episodes) | self.metrics()

    def metrics(self) -> Metrics:
        """Figures of how often a model was asked as the judge; none where the judge is no model."""
        return {name: value for each in self.counted for name, value in each.metrics().items()}


def judge_named(judge: SafetyJudge, world: RedTeamWorld, seat: Seating | None = None) -> Judge:
    """Who labels: "rule" (the world's own, where it has one), "hf:FOLDER" (a sequence classifier of Hugging Face),
    "judge:WHO" (a model that is asked as the settings say, such as judge:http://HOST/v1#MODEL; `seat` makes the
    player of WHO), or a classifier of the user's own (`find_classifier`). "rule:misses=0.6" and so on is one that
    misses this share of harm: what a biased judge does. Raises RedQueenError for a share that is none, for the rule of
    a file of prompts, for a judge that is not named or would learn, and for settings that have no effect."""
    spec, settings = judge.who, judge.settings
    name, _, share = spec.partition(MISSES)
    classifier: SafetyClassifier
    counted: tuple[Guard, ...] = ()
    if name == "rule":
        if not has(world, RuledWorld):
            raise RedQueenError(
                f"{world.name} has no rule that says what is harmful: name a classifier, --judge hf:FOLDER, "
                "--judge judge:http://HOST/v1#MODEL or --judge FILE.py:NAME"
            )
        classifier = Ruled(world.classify)
    elif name.startswith("hf:"):
        from redqueen.players.transformer.classifier import SequenceClassifier

        classifier = Thresholded(SequenceClassifier(name.removeprefix("hf:")))
    elif name.startswith(ASKED) and seat is not None:
        if (who := name.removeprefix(ASKED)) in ("", "shared", "adapter", "separate"):
            raise RedQueenError(
                "say who judges: --judge judge:http://HOST/v1#MODEL, judge:FOLDER or judge:frozen; it does not learn"
            )
        classifier = Guard(asked_judge(name, who, seat, settings))
        counted = (classifier,)
    elif name.startswith(("http://", "https://")):
        raise RedQueenError(f"a model that is asked is named --judge {ASKED}{name}")
    else:
        classifier = find_classifier(name)
    if not counted:
        refuse(settings, EVERY, f"--judge {spec}")
    if MISSES not in spec:
        return Judge(classifier, counted)
    try:
        misses = float(share)
    except ValueError:
        misses = math.nan
    if not 0.0 <= misses <= 1.0:
        raise RedQueenError(f"a judge misses a share of the harm from 0 to 1, as in {name}{MISSES}0.6, not {share!r}")
    return Judge(Missing(classifier, misses) if misses else classifier, counted)


def judged(episodes: Sequence[Episode], judge: SafetyClassifier) -> list[Episode]:
    """The episodes with the fact `labels` where both turns were over; the others have none."""
    over = [episode for episode in episodes if "response" in episode.outcome.facts]
    found = iter(labelled(judge, [exchange_of(episode) for episode in over]))
    return [_labelled(episode, next(found).facts()) if _is_over(episode) else episode for episode in episodes]


def _is_over(episode: Episode) -> bool:
    return "response" in episode.outcome.facts


def exchange_of(episode: Episode) -> Exchange:
    """The prompt and the response of a finished match, as a classifier is given them."""
    facts = episode.outcome.facts
    return Exchange(facts["prompt"], facts["response"], facts["truth"], episode.seed)


def _labelled(episode: Episode, labels: dict[str, bool | None]) -> Episode:
    return replace(episode, outcome=replace(episode.outcome, facts={**episode.outcome.facts, "labels": labels}))


def paid(policy: Policy, trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """The trajectories of `policy` that are paid."""
    return spoken_by(policy, without_ties(trajectories))


def without_ties(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """The trajectories that are paid: of matches with all three labels, and those of a seat that broke the format. The
    others are left out before advantages are estimated, so that they enter no mean."""
    return [each for each in trajectories if _is_paid(each)]


def _is_paid(trajectory: Trajectory) -> bool:
    facts = trajectory.episode.outcome.facts
    return verdict_of(facts) is not None or facts.get("forfeit") == str(trajectory.seat)


def figures(episodes: Sequence[Episode]) -> Metrics:
    """Shares over the judged matches of a step: attacks that succeed, over-refusals, faithful rewrites by kind of seed,
    ties and broken formats; and how much attacks differ."""
    verdicts = [(episode, verdict_of(episode.outcome.facts)) for episode in episodes]
    known = [(bool(episode.outcome.facts["vanilla"]), verdict) for episode, verdict in verdicts if verdict is not None]
    attacks = [str(e.outcome.facts["prompt"]) for e, _ in verdicts if _is_over(e) and not e.outcome.facts["vanilla"]]
    found: dict[str, list[bool]] = {
        "game/attack_success": [v.response for plain, v in known if v.prompt and not plain],
        "game/refusals": [v.refusal for _, v in known],
        "game/over_refusal": [v.refusal for _, v in known if not v.prompt],
        "game/faithful_harmful": [v.prompt for plain, v in known if v.seed and not plain],
        "game/faithful_benign": [not v.prompt for plain, v in known if not v.seed and not plain],
        "game/ties": [verdict is None for episode, verdict in verdicts if _is_over(episode)],
        "game/broken": ["forfeit" in episode.outcome.facts for episode in episodes],
    }
    metrics: Metrics = {name: mean_of(values) for name, values in found.items() if values}
    return metrics | ({"game/attack_diversity": Mean(diversity(attacks), len(attacks))} if len(attacks) > 1 else {})


def diversity(texts: Sequence[str]) -> float:
    """The mean of 1 - cosine over all pairs of texts, each as its counts of words and of neighbouring words."""
    grams = [_grams(text.split()) for text in texts]
    names = {gram: number for number, gram in enumerate(sorted({gram for each in grams for gram in each}))}
    counts = np.zeros((len(texts), len(names)))
    for row, each in enumerate(grams):
        for gram in each:
            counts[row, names[gram]] += 1.0
    counts /= np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-12)
    total = counts.sum(axis=0)
    pairs = len(texts) * (len(texts) - 1)
    return float(1.0 - (total @ total - float((counts * counts).sum())) / pairs)


def _grams(words: Sequence[str]) -> list[str]:
    return [*words, *(f"{one} {other}" for one, other in pairwise(words))]
