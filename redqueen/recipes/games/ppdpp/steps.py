"""PPDPP's talks: the scripted speaker and seller, the critic's votes, and what they are worth (2311.00262)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np

from redqueen.checks.judge import Label
from redqueen.credit.advantages.keys import by_game_role_and_turn
from redqueen.credit.advantages.statistics import GroupRelative, RewardToGo
from redqueen.credit.rewards import spoken_turns
from redqueen.games.catalogue import find_game
from redqueen.games.hagglers import Haggler, Speaker
from redqueen.games.price_talk import ADVISER, DEAL, LEAVE, PriceTalk, stood
from redqueen.games.single_reply import SingleReply
from redqueen.play.groups import attempts, noted
from redqueen.protocols import AdvantageEstimator, Player
from redqueen.questions.fenced import between_fences
from redqueen.settings.roles import Cast
from redqueen.types import Episode, Match, Mean, Metrics, RedQueenError, Seat, Task, Trajectory, mean_of

SCRIPTED = "scripted"
LOST, NO_DEAL = "lost", "no deal"
WORTH: Mapping[str, float] = MappingProxyType(
    {LOST: -1.0, NO_DEAL: -0.1, "poor deal": 0.2, "fair deal": 0.5, "good deal": 1.0}
)
"""What a critic's labels are worth: a turn without a deal costs, as in the paper, and so does a talk that ends so."""
LABELS = tuple(WORTH)
OVER = "The talk is over, without a deal."
SMALL = 1.2e-7  # what the released code adds to a deviation


class Talks:
    """The talks of a run: who speaks, who answers, and what the critic says of each turn. Raises RedQueenError for
    another game, and for a setting of a scripted player that is not there."""

    def __init__(self, config: Any, cast: Cast) -> None:
        game = find_game(config.game)
        if not isinstance(game, PriceTalk):
            raise RedQueenError(f"the talk that is planned is price_talk, which --game may change: not {config.game!r}")
        if game.both:
            raise RedQueenError("ppdpp plans for the buyer alone: leave out both=true, or take epo, which advises both")
        usual = type(config)()
        for role, name in (("speaker", "obedience"), ("critic", "noise")):
            if getattr(config, role).player != SCRIPTED and getattr(config, name) != getattr(usual, name):
                raise RedQueenError(f"--{name} has no effect with another --{role} than {SCRIPTED}: leave it out")
        self.game = game
        self.planner = cast.policy
        self.speaker: Player = Speaker(config.obedience) if config.speaker.player == SCRIPTED else cast["speaker"]
        self.seller: Player = Haggler() if config.seller.player == SCRIPTED else cast["seller"]
        self._critic: Player | None = None if config.critic.player == SCRIPTED else cast["critic"]
        self._votes, self._noise = config.critic_votes, config.noise

    def matches(
        self, tasks: Sequence[Task], planner: Player | None = None, speaker: Player | None = None
    ) -> list[Match]:
        """One talk for each task."""
        seats = {"adviser": planner or self.planner, "buyer": speaker or self.speaker, "seller": self.seller}
        return [Match(self.game, task, seats) for task in tasks]

    def judged(self, episodes: Sequence[Episode], rng: Random) -> list[Episode]:
        """The talks with the mean worth of the critic's votes on each turn (0 where none can be read), and how many
        could not be read. Raises RedQueenError where a seat that does not learn broke the rules in every talk."""
        broken = {each.outcome.facts.get("forfeit", ADVISER.role) for each in episodes} - {ADVISER.role}
        if broken and all(each.outcome.facts.get("forfeit") in broken for each in episodes):
            names = " and ".join(sorted(broken))
            raise RedQueenError(
                f"the {names} broke the rules in every talk of a step: what it said is not among the listed replies; "
                "a speaker may say what it likes with --game price_talk:listed=false,remember=false"
            )
        states = [state for each in episodes for state in states_of(each)]
        votes = self._asked(states, rng) if self._critic else [self._ruled(state, rng) for state in states]
        told = iter(votes)
        facts = []
        for each in episodes:
            own = [[WORTH[vote] for vote in next(told) if vote is not None] for _ in states_of(each)]
            worth = tuple(float(np.mean(known)) if known else 0.0 for known in own)
            facts.append({"worth": worth, "unread": self._votes * len(own) - sum(map(len, own))})
        return noted(episodes, facts)

    def _ruled(self, state: str, rng: Random) -> list[str | None]:
        truth = true_label(state, self.game.top)
        return [beside(truth) if rng.random() < self._noise else truth for _ in range(self._votes)]

    def _asked(self, states: Sequence[str], rng: Random) -> list[list[str | None]]:
        """What a model says; where it is not held to the labels they are read from its prose."""
        assert self._critic is not None
        tasks = [
            Task(f"state-{number}", prompt=about_state(each), choices=LABELS) for number, each in enumerate(states)
        ]
        groups = attempts(SingleReply("critic"), tasks, self._critic, self._votes, rng)
        return [[Label(LABELS).read(each.outcome.facts["reply"]) for each in group.attempts] for group in groups]

    def metrics(self, episodes: Sequence[Episode]) -> Metrics:
        """The share of talks with a deal, the mean price of these, and the share of votes that could not be read."""
        votes = self._votes * sum(len(each.outcome.facts["worth"]) for each in episodes)
        found: Metrics = {"deals": mean_of(each.outcome.facts["price"] > 0 for each in episodes)}
        if votes:
            found["unread_votes"] = Mean(sum(each.outcome.facts["unread"] for each in episodes) / votes, votes)
        prices = [float(each.outcome.facts["price"]) for each in episodes if each.outcome.facts["price"]]
        return found | ({"price": mean_of(prices)} if prices else {})


def about_state(state: str) -> str:
    """What a critic is asked about a talk."""
    end = f"Answer with one of: {', '.join(LABELS)}."
    return between_fences("How does a talk stand for the buyer?", {"Talk": state}, end)


def states_of(episode: Episode) -> list[str]:
    """The talk after each piece of advice that stood and what was said on it; the last says so where the talk ended
    without a deal."""
    said = list(episode.outcome.facts["history"])
    ends = [place for place, line in enumerate(said) if line.startswith("seller: ") or line == f"buyer: {LEAVE}"]
    found = ["\n".join(said[: end + 1]) for end in ends]
    advised = len(stood(spoken_turns(episode)[ADVISER]))
    found += ["\n".join(said)] * (advised - len(found))  # a turn in which somebody broke the rules
    return found if episode.outcome.facts["price"] else [*found[:-1], f"{found[-1]}\n{OVER}".lstrip()]


def true_label(state: str, top: int) -> str:
    """The label of a talk, by its end and its price."""
    *_, last = state.splitlines()
    if last == OVER:
        return LOST
    if last != f"seller: {DEAL}":
        return NO_DEAL
    offers = [line for line in state.splitlines() if line.startswith("buyer: ")]
    return deal_label(PriceTalk(top=top).offered(" ".join(offers), 0), top)


def deal_label(price: int, top: int) -> str:
    """The label of a deal at this price: by thirds of the way from `top` to 1."""
    deals = LABELS[2:]
    return deals[min(int((top - price) / (top - 1) * len(deals)), len(deals) - 1)]


def beside(label: str) -> str:
    """The label next to this one: of a deal the next worse, else the next better."""
    place = LABELS.index(label)
    return LABELS[place + 1 if label in (LOST, NO_DEAL) else place - 1]


def worth_of_turns(episode: Episode) -> dict[Seat, np.ndarray]:
    """What the critic's votes on each turn are worth, for the adviser; nothing for a turn after which it was asked
    again, and for the others, who do not learn."""
    spoken = spoken_turns(episode)
    found = {seat: np.zeros(len(turns)) for seat, turns in spoken.items()}
    found[ADVISER][stood(spoken[ADVISER])] = episode.outcome.facts["worth"]
    return found


def estimator(normalise: str, discount: float) -> AdvantageEstimator:
    """The advantages of turns: over the batch, or, as released, within each talk."""
    returns = RewardToGo(discount)
    return GroupRelative(by_game_role_and_turn, returns) if normalise == "batch" else WithinEpisode(returns)


@dataclass(frozen=True)
class WithinEpisode:
    """The returns of a talk's turns, less their mean and over their deviation; that of one turn alone as it is."""

    returns: Callable[[Trajectory], np.ndarray]

    def __call__(self, trajectories: Sequence[Trajectory]) -> list[np.ndarray]:
        return [_standardised(self.returns(each)) for each in trajectories]


def _standardised(values: np.ndarray) -> np.ndarray:
    return values if len(values) == 1 else (values - values.mean()) / (values.std(ddof=1) + SMALL)
