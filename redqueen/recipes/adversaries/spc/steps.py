"""A generator that spoils steps and a critic that judges them: what each is paid, and what a critic chooses."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from redqueen.credit.group_rewards import FromBelow, OfGroup, for_its_seat
from redqueen.credit.payoff_table import CriticRewards
from redqueen.credit.rewards import spoken_by, with_verdict
from redqueen.games.single_reply import SingleReply
from redqueen.measures.recitations import demonstrated
from redqueen.opponents.pools import Snapshots
from redqueen.play.groups import Played, episodes_of, grouped
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.language.writing import Writer
from redqueen.protocols import Player, Policy
from redqueen.questions.asking import judgements_of, read, tasks_among
from redqueen.questions.catalogue import find_questions, having
from redqueen.questions.small.step_traces import CORRECT, INCORRECT, VERDICT, Criticised, Solved
from redqueen.settings.roles import FROZEN, SEPARATE, Cast
from redqueen.types import Episode, Group, Match, Mean, Metrics, RedQueenError, Refusal, Task, Trajectory, mean_of

SPOIL, CRITICISE = SingleReply("generator"), SingleReply("critic")


@dataclass(frozen=True)
class Side:
    """One of the two models: the policy that learns, and the pool of those that spoke in the latest rounds."""

    game: SingleReply
    policy: Writer
    pool: Snapshots

    @property
    def speaker(self) -> Policy:
        """The policy as it was when the round began."""
        return self.pool.players[-1]

    def end_round(self) -> None:
        self.pool.add(self.policy.freeze())


def sides(cast: Cast, rounds: int) -> tuple[Side, Side]:
    """The critic and the generator, each with a pool of its `rounds` latest selves. Raises RedQueenError where they are
    one model, and for a generator that cannot be kept from round to round."""
    generator = cast["generator"]
    if generator is cast.learner:
        raise RedQueenError(f"generator and critic are two models: bind the generator to {SEPARATE} or {FROZEN}")
    if not isinstance(generator, Writer):
        raise RedQueenError("an endpoint cannot be kept from round to round: bind the generator to a model")
    return (
        Side(CRITICISE, cast.learner, Snapshots(cast.learner, latest=rounds)),
        Side(SPOIL, generator, Snapshots(generator, latest=rounds)),
    )


def criticised(spec: str) -> Criticised:
    """The question set that `spec` names. Raises RedQueenError where it has no steps to spoil and judge."""
    return having(find_questions(spec), Criticised)


def against(side: Side, tasks: Sequence[Task], rng: Random, parents: Sequence[Episode] = ()) -> list[Group]:
    """A group of one attempt at each task, by a player of the side's pool that is drawn for it."""
    matches = [Match(side.game, task, {side.game.role: side.pool.draw(rng)}) for task in tasks]
    return grouped(play(matches, rng), 1, parents)


def verdicts(judgements: Played) -> list[str | None]:
    """The verdict of each judgement, CORRECT or INCORRECT; None where it cannot be read."""
    return [VERDICT.read(text) for text in judgements_of(judgements)]


@dataclass(frozen=True)
class Pay:
    """A group reward for critics: right or wrong judgement; one that cannot be read is wrong."""

    rewards: CriticRewards = CriticRewards()

    def of_group(self, group: Group) -> OfGroup:
        right = [verdict == group.task.answer for verdict in verdicts(group.attempts)]
        return for_its_seat(group, {"judgement": [self.rewards.judged(each) for each in right]})

    def generators(self, planted: Sequence[Group]) -> FromBelow:
        """What each spoilt step pays, from one judgement of each that is an error. Where the critic cannot be read
        there is no verdict."""
        paid = [
            np.nan if verdict is None else self.rewards.planted(deceived=verdict == CORRECT)
            for verdict in verdicts(planted)
        ]
        return FromBelow(planted, {"deception": paid}, refused=self.rewards.invalid)


def lessons(
    side: Side,
    trajectories: Sequence[Trajectory],
    questions: Criticised,
    held: Collection[str],
    imitates: bool,
    rng: Random,
) -> tuple[list[Trajectory], list[Trajectory]]:
    """The trajectories of the side's speaker in its role; and demonstrations recited by it, as many as of these have a
    verdict (none unless it `imitates`). Tasks whose ids are in `held`, which are kept for measuring, are left out."""
    role = side.game.role
    told = [each for each in spoken_by(side.speaker, trajectories) if each.seat.role == role]
    own = [each for each in told if each.episode.task.id not in held]
    count = len(with_verdict(own))
    offered = questions.demonstrations(3 * count, rng) if imitates else []
    shown = [one for one in offered if one.role == role and one.task.id not in held][:count]
    return own, demonstrated(shown, side.speaker)


def figures(written: Sequence[Task | Refusal], planted: Sequence[Group], natural: Sequence[Group]) -> Metrics:
    """The share of spoilt steps that are errors, the share of these that deceive the critic, and the share of right
    judgements on right steps and on wrong ones."""
    judged = [*planted, *natural]
    said_so = list(zip(verdicts(judged), episodes_of(judged), strict=True))
    steps = {
        answer: [v == answer for v, one in said_so if one.task.answer == answer] for answer in (CORRECT, INCORRECT)
    }
    found: dict[str, list[bool]] = {
        "planted/valid_share": [isinstance(each, Task) for each in written],
        "planted/deceives": [verdict == CORRECT for verdict in verdicts(planted)],
        "critic/right_on_right": steps[CORRECT],
        "critic/right_on_wrong": steps[INCORRECT],
        "critic/unread": [verdict is None for verdict, _ in said_so],
    }
    return {name: mean_of(values) for name, values in found.items() if values}


def deception(questions: Criticised, generator: Player, critic: Player, tasks: Sequence[Task], seed: int) -> Metrics:
    """`valid`, the share of the invitations that became an error, and `deceived`, the share of these errors that
    `critic` calls correct."""
    rng = Random(seed)
    written = read(questions, play(alone(SPOIL, tasks, generator), rng))
    errors = tasks_among(written)
    called = [verdict == CORRECT for verdict in verdicts(play(alone(CRITICISE, errors, critic), rng))]
    valid: Metrics = {"valid": Mean(len(errors) / len(tasks), len(tasks))}
    return valid | ({"deceived": mean_of(called)} if called else {})


def chosen(solved: Sequence[Solved], critic: Player, rng: Random) -> Metrics:
    """The share of problems whose chosen answer is right: the answer of most attempts (`majority`), of the first
    (`first_attempt`), and of the attempt with the most steps called correct (`guided`; ties by majority)."""
    steps = [step for each in solved for attempt in each.attempts for step in attempt.steps]
    called = iter([float(verdict == CORRECT) for verdict in verdicts(play(alone(CRITICISE, steps, critic), rng))])
    right: dict[str, list[bool]] = {"majority": [], "first_attempt": [], "guided": []}
    for each in solved:
        answers = [attempt.answer for attempt in each.attempts]
        scores = [_mean(called, len(attempt.steps)) for attempt in each.attempts]
        best = [answer for answer, score in zip(answers, scores, strict=True) if score == max(scores)]
        right["majority"].append(_commonest(answers) == each.answer)
        right["first_attempt"].append(answers[0] == each.answer)
        right["guided"].append(_commonest(best) == each.answer)
    return {name: mean_of(values) for name, values in right.items()}


def _mean(called: Iterator[float], count: int) -> float:
    return sum(next(called) for _ in range(count)) / count


def _commonest(answers: Sequence[str]) -> str:
    """Of equally common ones the first."""
    return max(dict.fromkeys(answers), key=answers.count)
