"""Answers that are criticised and mended, and which of them are learned (SELF, 2310.00533)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Literal, NamedTuple

from redqueen.credit.outcomes import cut_off, number, whole_reply
from redqueen.credit.rewards import payoff, score
from redqueen.curricula.held_out import Apart
from redqueen.demonstrations.refinement import CRITICISE, about, again
from redqueen.demonstrations.transfer import unaided
from redqueen.measures.alarms import Alarm, Alarms, Ringing
from redqueen.measures.judges import NO_VERDICT, Inflation
from redqueen.play.groups import attempts, episodes_of
from redqueen.players.language.writing import Writer
from redqueen.protocols import Questions, State
from redqueen.questions.asking import SOLVE, graded, judgements_of, said
from redqueen.questions.verdicts import Truncated, check_known
from redqueen.questions.verifying import RIGHT, verdict
from redqueen.types import Episode, Group, Mean, Metrics, Task, Trajectory, mean_of

Keep = Literal["own", "all", "right"]
GAIN = 0.1  # by how much the share of right ones is to rise by the filter
TOO_WEAK = Alarm(
    "weak_critic",
    "lacking",
    "right answers are accepted {acceptance_ratio:.2f} times as often as wrong ones, and {needed_ratio:.2f} is the "
    "least that lifts the share of right ones by ten points",
    limit=0.0,
)
ALL_ACCEPTED = Alarm(
    "all_accepted",
    "accepted",
    "{value:.0%} of the mended answers are accepted by their own critic: nothing is filtered",
    limit=0.95,
)
NOTHING_KEPT = Alarm(
    "nothing_kept", "kept", "only {value:.0%} of the mended answers are learned from", limit=0.02, below=True
)
INFLATED = Alarm(
    "inflated",
    "inflation",
    "the share of mended answers that their own critic accepts has risen by {value:.0%} more than that of right ones",
    limit=0.1,
    steps=2,
)


class Chain(NamedTuple):
    """An answer, the criticism of it, the mended answer, and whether its own criticism accepts that: None where no
    verdict can be read."""

    answer: Episode
    criticism: Episode
    mended: Episode
    accepted: bool | None
    right: float  # whether the mended answer is right; NaN where nobody knows
    ended: bool  # whether the mended answer is one, and was not cut off


def needed_ratio(share: float) -> float:
    """How many times as often right answers have to be accepted as wrong ones, so that of a `share` of right ones (0 to
    1) ten points more are kept; infinity where that is more than all."""
    if not 0.0 < share < 1.0 - GAIN:
        return float("inf")
    return (share + GAIN) * (1.0 - share) / ((1.0 - share - GAIN) * share)


class Refinement(Ringing):
    """Criticises answers, mends them and criticises them again, and keeps what `keep` says. Raises RedQueenError where
    it is to keep what is right, for a question set that does not know the answers to its `tests`."""

    def __init__(self, questions: Questions, tests: Apart, keep: Keep, truncated: Truncated) -> None:
        if keep == "right":
            check_known(questions, tests, "--keep own learns what the model itself accepts, ")
        self._questions, self._keep = questions, keep
        self._truncated: Truncated = truncated
        self._figures: Metrics = {}
        self._inflation = Inflation()  # of the share of mended answers that are accepted
        self._alarms = Alarms([NO_VERDICT, TOO_WEAK, ALL_ACCEPTED, INFLATED, NOTHING_KEPT], quiet=True)

    def __call__(self, groups: Sequence[Group], learner: Writer, rng: Random) -> list[Chain]:
        """A chain for each attempt of the graded groups."""
        answers = episodes_of(groups)
        plain, texts = [each.task for each in answers], [whole_reply(each).strip() for each in answers]
        criticisms = episodes_of(attempts(CRITICISE, [*map(about, plain, texts)], learner, 1, rng))
        tasks = [again(*each) for each in zip(plain, texts, said(criticisms), strict=True)]
        mended = episodes_of(graded(self._questions, self._mended(tasks, groups, learner, rng), self._truncated))
        second = attempts(
            CRITICISE,
            [about(task, whole_reply(each).strip()) for task, each in zip(plain, mended, strict=True)],
            learner,
            1,
            rng,
        )
        verdicts = [verdict(text) for text in judgements_of(second)]
        chains = [
            Chain(one, criticism, last, None if found is None else found == RIGHT, _right(last), self._whole(last))
            for one, criticism, last, found in zip(answers, criticisms, mended, verdicts, strict=True)
        ]
        self._observe(chains)
        return chains

    def _mended(self, tasks: Sequence[Task], groups: Sequence[Group], learner: Writer, rng: Random) -> list[Group]:
        """The mended answers, a group each; in the control that mends nothing the attempts themselves."""
        return attempts(SOLVE, tasks, learner, 1, rng)

    def _whole(self, mended: Episode) -> bool:
        cut = cut_off(mended) and self._truncated != "graded"
        return not cut and bool(said([mended])[0].strip())

    def _kept(self, chain: Chain) -> bool:
        wanted = {"own": chain.accepted is True, "all": True, "right": chain.right == 1.0}
        return chain.ended and wanted[self._keep]

    def learned(self, chains: Sequence[Chain], skill: float, learner: Writer) -> tuple[list[Trajectory], list[float]]:
        """The demonstrations of the chains that are kept, and how much each counts, as many times as it has tokens: the
        mended answer to the question alone, and with the weight `skill`, if that is not 0, the criticism and the mended
        answer after it."""
        kept = [chain for chain in chains if self._kept(chain)]
        mended, criticisms = (
            score([chain.mended for chain in kept], payoff),
            score([chain.criticism for chain in kept], payoff),
        )
        sides = [(unaided(mended, [chain.answer.task for chain in kept], learner), 1.0)]
        if skill:
            sides += [
                (unaided(one, [each.episode.task for each in one], learner), skill) for one in (criticisms, mended)
            ]
        shown = [(each, weight) for side, weight in sides for each in side]
        return [each for each, _ in shown], [weight * len(each.turns[0].reply.tokens) for each, weight in shown]

    def _observe(self, chains: Sequence[Chain]) -> None:
        kept = [self._kept(chain) for chain in chains]
        self._figures = {
            "unread": mean_of([chain.accepted is None for chain in chains]),
            "accepted": mean_of([chain.accepted is True for chain in chains]),
            "kept": mean_of(kept),
        }
        known = [(chain, keeps) for chain, keeps in zip(chains, kept, strict=True) if chain.right == chain.right]
        if known:
            self._figures |= _of_known(known)
        told = {name: float(value) for name, value in self._figures.items()}
        if "mended_right" in told:
            accepted = float(mean_of([chain.accepted is True for chain, _ in known]))
            told["inflation"] = self._inflation.rise(accepted, told["mended_right"])
        if "needed_ratio" in told:
            told["lacking"] = told["needed_ratio"] - told["acceptance_ratio"]
        self._figures |= self._alarms.observe(told)

    def metrics(self) -> Metrics:
        """Figures of the last round, and the alarms: shares of the criticisms of mended answers without a verdict
        (`unread`), of mended answers that these accept (`accepted`) and that are learned (`kept`). Where it is known
        what is right: the shares that are right of first answers (`answers_right`), of mended ones (`mended_right`) and
        of those kept (`kept_right`), `acceptance_ratio` and `needed_ratio`. Nothing where there was none since the last
        call."""
        found, self._figures = self._figures, {}
        return found

    def state(self) -> State:
        return {**super().state(), **self._inflation.state()}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._inflation.restore({"first": state.get("first", [])})


def _of_known(known: Sequence[tuple[Chain, bool]]) -> Metrics:
    right = [chain.right == 1.0 for chain, _ in known]
    found: Metrics = {"mended_right": mean_of(right)}
    first = [_right(chain.answer) for chain, _ in known]
    if told := [each for each in first if each == each]:  # not NaN, as of an answer that was cut off
        found["answers_right"] = mean_of(told)
    if kept := [chain.right for chain, keeps in known if keeps]:
        found["kept_right"] = mean_of(kept)
    sides = [[chain.accepted is True for chain, _ in known if (chain.right == 1.0) is side] for side in (True, False)]
    if all(sides) and any(sides[1]):
        shares = [sum(side) / len(side) for side in sides]
        found["acceptance_ratio"] = Mean(shares[0] / shares[1], len(known))
        needed = needed_ratio(sum(right) / len(right))
        found |= {"needed_ratio": Mean(needed, len(known))} if needed < float("inf") else {}
    return found


def _right(episode: Episode) -> float:
    return number(episode.outcome.facts["right"])
