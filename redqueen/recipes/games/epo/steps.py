"""EPO's talks, which turns of a talk are named critical, and what its strategies are worth (2502.12486)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated, Any

import numpy as np

from redqueen.credit.advantages.keys import by_game_role_and_turn
from redqueen.credit.advantages.statistics import LeaveOneOut, RewardToGo
from redqueen.credit.rewards import spoken_turns
from redqueen.games.catalogue import find_game
from redqueen.games.hagglers import Speaker
from redqueen.games.price_talk import ADVISER, ADVISERS, ADVISES, BUYER, DEAL, LEAVE, PriceTalk, stood
from redqueen.games.single_reply import SingleReply
from redqueen.play.groups import attempts, noted
from redqueen.protocols import AdvantageEstimator, Player
from redqueen.questions.fenced import between_fences
from redqueen.settings.roles import Cast, Role, Still
from redqueen.types import Episode, Match, Mean, Metrics, RedQueenError, Seat, Task, Trajectory, Turn, mean_of

SCRIPTED = "scripted"
BY_RULE = Role(SCRIPTED)
Other = Annotated[Role, Still((SCRIPTED,))]
"""Who does not learn: a rule by default, or a model."""
Named = Callable[[Episode, Seat, PriceTalk], tuple[int, ...]]
"""The numbers, from 0, of the turns of an adviser that are critical in a finished talk, of those that stood."""


def critical(episode: Episode, seat: Seat, game: PriceTalk) -> tuple[int, ...]:
    """The turns after which the other side came nearer than the adviser's own did, a deal at its own price too."""
    moved = list(moves(episode, game))
    own = [place for place, (mover, _, _) in enumerate(moved) if mover == ADVISES[seat]]
    found = []
    for turn, place in enumerate(own):
        after = moved[place + 1 : place + 2]
        if after and after[0][1] > moved[place][1] and not after[0][2]:
            found.append(turn)
    return tuple(found)


def nowhere(episode: Episode, seat: Seat, game: PriceTalk) -> tuple[int, ...]:
    """No turn: what is left is the score at the end, a control."""
    return ()


def everywhere(episode: Episode, seat: Seat, game: PriceTalk) -> tuple[int, ...]:
    """All turns, a control: every strategy is paid alike."""
    return tuple(range(len(_turns(episode, seat))))


def moves(episode: Episode, game: PriceTalk) -> Iterator[tuple[Seat, int, bool]]:
    """What buyer and seller did in turn: who, by how much it came nearer, and whether it left. A buyer's first offer is
    where it begins, so that it comes no nearer by it."""
    offer, price = 0, game.top
    for line in episode.outcome.facts["history"]:
        who, _, text = line.partition(": ")
        seat = next(each for each in ADVISES.values() if each.role == who)
        if text == LEAVE:
            yield seat, 0, True
        elif seat == BUYER:
            now = game.offered(text, offer)
            yield seat, now - offer if offer else 0, False
            offer = now
        else:
            now = offer or price if text == DEAL else int(text.split()[-1].rstrip("."))
            yield seat, price - now, False
            price = now


def _turns(episode: Episode, seat: Seat) -> list[Turn]:
    spoken = spoken_turns(episode).get(seat, ())
    return [spoken[place] for place in stood(spoken)]


class Talks:
    """The talks of a run: who acts, and who names critical turns. Raises RedQueenError for another game, and for a
    setting of a scripted player that is not there."""

    def __init__(self, config: Any, cast: Cast, named: Named) -> None:
        game = find_game(config.game)
        if not isinstance(game, PriceTalk) or not game.both:
            raise RedQueenError(
                f"strategies are for both sides of a price_talk: --game price_talk:both=true, not {config.game!r}"
            )
        if SCRIPTED not in (config.buyer.player, config.seller.player) and config.obedience != type(config)().obedience:
            raise RedQueenError("--obedience has no effect where no actor is scripted: leave it out")
        self.game = game
        self.learner: Player = cast.policy
        speaker = Speaker(config.obedience)
        self.actor = speaker if config.buyer.player == config.seller.player == SCRIPTED else None
        self._buyer: Player = speaker if config.buyer.player == SCRIPTED else cast["buyer"]
        self._seller: Player = speaker if config.seller.player == SCRIPTED else cast["seller"]
        self._judge: Player | None = None if config.judge.player == SCRIPTED else cast["judge"]
        self._named = named

    def matches(
        self, tasks: Sequence[Task], other: Player, learner: Player | None = None, actor: Player | None = None
    ) -> list[Match]:
        """One talk for each task, in which the learner advises the buyer and the seller by turns and `other` the other
        side. With an `actor` it speaks for both sides."""
        learner = learner or self.learner
        acting = {"buyer": actor or self._buyer, "seller": actor or self._seller}
        found = []
        for number, task in enumerate(tasks):
            own, others = ADVISERS if number % 2 == 0 else ADVISERS[::-1]
            found.append(Match(self.game, task, {own.role: learner, others.role: other, **acting}))
        return found

    def judged(self, episodes: Sequence[Episode], rng: Random) -> list[Episode]:
        """The talks with the critical turns of each adviser, where a model judges of the learner alone, as the fact
        `critical`. Raises RedQueenError where a side that does not learn broke the rules in every talk."""
        advisers = {seat.role for seat in ADVISERS}
        broken = {each.outcome.facts.get("forfeit", ADVISER.role) for each in episodes} - advisers
        if broken and all(each.outcome.facts.get("forfeit") in broken for each in episodes):
            raise RedQueenError(
                f"the {' and '.join(sorted(broken))} broke the rules in every talk of a step: what it said is not "
                "among the listed replies; a buyer may say what it likes with --game price_talk:both=true,listed=false"
            )
        told = self._asked(episodes, rng) if self._judge else [self._ruled(each) for each in episodes]
        return noted(episodes, told)

    def _ruled(self, episode: Episode) -> Mapping[str, Any]:
        return {"critical": {seat.role: self._named(episode, seat, self.game) for seat in ADVISERS}, "unread": 0}

    def _asked(self, episodes: Sequence[Episode], rng: Random) -> list[Mapping[str, Any]]:
        """What a model says that reads the finished talks, of the learner's own advice."""
        assert self._judge is not None
        own = [[seat for seat in ADVISERS if self._speaks(each, seat)] for each in episodes]
        shown = [(each, seat) for each, seats in zip(episodes, own, strict=True) for seat in seats]
        tasks = [Task(f"{number} {seat}", prompt=question_of(each, seat)) for number, (each, seat) in enumerate(shown)]
        groups = attempts(SingleReply("judge"), tasks, self._judge, 1, rng)
        said = [str(group.attempts[0].outcome.facts["reply"]) for group in groups]
        read = iter([turns_in(text, len(_turns(*of))) for text, of in zip(said, shown, strict=True)])
        told = [{seat.role: next(read) for seat in seats} for seats in own]
        return [
            {
                "critical": {role: turns or () for role, turns in each.items()},
                "unread": sum(turns is None for turns in each.values()),
            }
            for each in told
        ]

    def _speaks(self, episode: Episode, adviser: Seat) -> bool:
        """Whether it is the learner that advises, and something was said."""
        turns = _turns(episode, adviser)
        return bool(turns) and turns[0].reply.player == self.learner.name

    def metrics(self, episodes: Sequence[Episode]) -> Metrics:
        """The share of talks with a deal; of the advisers' turns that are critical; of a judge's verdicts unread."""
        facts = [each.outcome.facts for each in episodes]
        found: Metrics = {"deals": mean_of(each["price"] > 0 for each in facts)}
        judged = [(each, seat) for each in episodes for seat in ADVISERS if seat.role in each.outcome.facts["critical"]]
        turns = sum(len(_turns(*of)) for of in judged)
        if turns:
            named = sum(len(places) for each in facts for places in each["critical"].values())
            found["critical_turns"] = Mean(named / turns, turns)
        if self._judge:
            verdicts = max(len(judged), 1)
            found["unread_votes"] = Mean(sum(each["unread"] for each in facts) / verdicts, verdicts)
        return found


def question_of(episode: Episode, seat: Seat) -> str:
    """What a judge is asked about one adviser's turns, after the talk and what came of it."""
    facts = episode.outcome.facts
    advice = facts["advice"] if seat == ADVISER else facts["seller_advice"]
    end = f"They agreed on {facts['price']}." if facts["price"] else "They did not agree."
    told = {f"Strategy {number}": line for number, line in enumerate(advice, 1)}
    rubric = (
        f"A buyer and a seller bargained. {end} Turn by turn the {ADVISES[seat]} was given a strategy. Which of them "
        f"brought the {ADVISES[seat]} nearer to a good deal?"
    )
    parts = {"Talk": "\n".join(facts["history"]), **told}
    return between_fences(rubric, parts, "Answer with the numbers of these strategies, or with none.")


def turns_in(text: str, turns: int) -> tuple[int, ...] | None:
    """The turns, from 0, whose numbers from 1 a judge's answer names in its last line that names any; () for "none",
    None where it says neither, or a number that is no turn's."""
    lines = [line for line in text.lower().splitlines() if re.search(r"\d|\bnone\b", line)]
    if not lines:
        return None
    numbers = [int(number) for number in re.findall(r"(?<![\d.])\d{1,4}(?!\d|\.\d)", lines[-1])]
    if any(not 1 <= number <= turns for number in numbers):
        return None
    return tuple(sorted({number - 1 for number in numbers}))


def process_and_goal(episode: Episode) -> dict[Seat, np.ndarray]:
    """1 for a critical turn of an adviser, its score (0 to 1) for its last turn if that is not one, and 0 else."""
    spoken = spoken_turns(episode)
    found = {seat: np.zeros(len(turns)) for seat, turns in spoken.items()}
    for seat in ADVISERS:
        if spoken.get(seat):
            places = stood(spoken[seat])
            found[seat][-1] = min(max(episode.outcome.scores[seat], 0.0), 1.0)
            found[seat][[places[turn] for turn in episode.outcome.facts["critical"].get(seat.role, ())]] = 1.0
    return found


def estimator(baseline: str, discount: float) -> AdvantageEstimator:
    """The weights of turns, as in the paper, or the returns less those of other talks at the same turn."""
    returns = RewardToGo(discount)
    return OverLargest(returns) if baseline == "none" else LeaveOneOut(by_game_role_and_turn, returns)


@dataclass(frozen=True)
class OverLargest:
    """The returns of a talk's turns over the largest of them; 0 where none is above 0."""

    returns: Callable[[Trajectory], np.ndarray]

    def __call__(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        return [_over_largest(self.returns(each)) for each in trajectories]


def _over_largest(values: np.ndarray) -> np.ndarray:
    largest = values.max(initial=0.0)
    return values / largest if largest > 0.0 else np.zeros(len(values))
