"""Log-probabilities that a policy gives to sampled replies, and to given texts that it is made to recite; and whether
these texts fit into its replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Protocol

import numpy as np

from redqueen.credit.rewards import payoff, score
from redqueen.demonstrations.rehearsal import Lessons, Plays, with_tools
from redqueen.games.single_reply import SingleReply
from redqueen.measures.accuracy import HeldOut
from redqueen.measures.alarms import Alarm, Alarms, Ringing
from redqueen.measures.of_games import usual_measures
from redqueen.objectives.batch import free_positions, pack
from redqueen.play.lockstep import play
from redqueen.players.language.reciter import Demonstrating, Reader
from redqueen.players.language.writing import Writer
from redqueen.protocols import Measure, Policy
from redqueen.questions.verdicts import Truncated
from redqueen.types import Batch, Demonstration, Likelihoods, Match, Metrics, RedQueenError, Trajectory, mean_of

TOO_LONG = Alarm(
    "demonstrations_too_long",
    "demonstrations/too_long",
    "{value:.0%} of the replies shown are longer than the model's own may be, the longest has {tokens:.0f} tokens: "
    "their like will be cut off; raise --max-completion-length",
    limit=0.0,
)


class Rates(Protocol):
    """What can say how likely the tokens of a batch are: a policy, a reference."""

    def likelihoods(self, batch: Batch) -> Likelihoods: ...


def reference_logprobs(reference: Rates, trajectories: Sequence[Trajectory]) -> list[list[np.ndarray]]:
    """For each turn of each trajectory [R], the log-probabilities of its tokens under a frozen policy, for
    `rewards.kl_in_reward`. Each turn is rated after its own prompt alone; a reply in which nothing was free keeps the
    log-probabilities it was said with."""
    turns = [replace(each, turns=(turn,), rewards=np.zeros(1)) for each in trajectories for turn in each.turns]
    rated = reference.likelihoods(pack(turns, [np.zeros(1) for _ in turns])).logprobs.double().cpu().numpy()
    rows, found = iter(rated), []
    for one in turns:
        reply = one.turns[0].reply
        start = len(reply.prompt_tokens)
        chose = any(free_positions(reply.legal_tokens, tuple(reply.tokens.tolist())))
        found.append(next(rows)[start : start + len(reply.tokens)] if chose else reply.logprobs)
    turn = iter(found)
    return [[next(turn) for _ in each.turns] for each in trajectories]


def recited(shown: Sequence[Demonstration], learner: Reader) -> list[Trajectory]:
    """The demonstrations as if the learner had said them, each in the answer format of its role."""
    matches = [
        Match(SingleReply(one.role), one.task, {one.role: Demonstrating(learner, one.text, one.answer)})
        for one in shown
    ]
    return score(play(matches, Random(0)), payoff)  # nothing of it is left to chance


def demonstrated(shown: Sequence[Demonstration], policy: Policy) -> list[Trajectory]:
    """The demonstrations as if the policy had said them. Raises RedQueenError for one that cannot recite."""
    if not isinstance(policy, Writer):
        raise RedQueenError("only a language model can imitate demonstrations")
    return recited(shown, policy)


def of_lessons(
    taught: Lessons | Plays, learner: Writer, problems: int, seed: int, truncated: Truncated
) -> Sequence[Measure]:
    """What measures who is taught: the usual measures of a game; of a question set the accuracy at `problems` held-out
    ones of each level, with the tools that the set has for its solver."""
    if isinstance(taught, Plays):
        return usual_measures(taught.game, learner, seed)
    solver = with_tools(taught.questions, learner)
    return [HeldOut(taught.questions, solver, problems, seed=seed, truncated=truncated)]


class Fitting(Ringing):
    """Tells how many demonstrations are longer than a reply of their role may be: a model that learns them says what
    will be cut off."""

    def __init__(self, learner: Writer) -> None:
        self._learner = learner
        self._alarms = Alarms([TOO_LONG], quiet=True)

    def observe(self, trajectories: Sequence[Trajectory]) -> Metrics:
        """Of what is learned from in this step `demonstrations/too_long`, the share of replies that are too long, if
        any; and the alarm. Replies that are chosen from a list are never cut off."""
        written = [turn for each in trajectories for turn in each.turns if not turn.reply.legal_tokens]
        long = [len(each.reply.tokens) > self._learner.spoken_in(each.ask.seat.role).limit for each in written]
        longest = max((len(each.reply.tokens) for each in written), default=0)
        share: Metrics = {TOO_LONG.figure: mean_of(long)} if any(long) else {}
        return share | self._alarms.observe({TOO_LONG.figure: 0.0, "tokens": longest} | share)
