"""A player that says what its partner will do next, checks that, and plans with it (ProAgent, arXiv:2308.11339).

Before each skill the partner's next one is predicted: as in the last correction of its situation, else as a cook would
act in its place. What the partner then does confirms the prediction or becomes a correction. Prediction and corrections
are written above the question, and the player that is wrapped (a rule, a language model) plans with them; the game
refuses skills that are not possible, with the reason, and a plan that cannot be read is a wait. Nothing is trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from redqueen.games.cooks import View, greedy, view_of
from redqueen.games.mini_kitchen import FULL, WAIT
from redqueen.protocols import Player
from redqueen.types import Ask, Message, Reply, Turn, mean_of

Situation = tuple[str, str]


class Beliefs:
    """What was predicted of a partner, and what of it was wrong: at most `remembers` corrections, the latest."""

    def __init__(self, remembers: int) -> None:
        self.right: list[bool] = []  # of each prediction that was checked, whether it came true
        self.corrections: list[tuple[Situation, str]] = []
        self._open: tuple[int, Situation, str] | None = None  # the number of the skill that is predicted, where, what
        self._remembers = remembers

    def expect(self, number: int, situation: Situation, usual: str) -> str:
        """The partner's skill of this number, in its situation: as it was corrected there last, else the `usual`
        one."""
        known = [skill for where, skill in self.corrections if where == situation]
        predicted = known[-1] if known else usual
        self._open = (number, situation, predicted)
        return predicted

    def check(self, done: Sequence[str]) -> None:
        """Compares the prediction with what the partner has done by now, if that goes so far."""
        if self._open is None or self._open[0] >= len(done):
            return
        number, situation, predicted = self._open
        self._open = None
        self.right.append(predicted == done[number])
        if not self.right[-1] and self._remembers:
            others = [each for each in self.corrections if each[0] != situation]
            self.corrections = [*others, (situation, done[number])][-self._remembers :]

    @property
    def accuracy(self) -> float:
        """The share of the checked predictions that came true; NaN where none was checked."""
        return float(mean_of(self.right)) if self.right else float("nan")


def situation_of(view: View) -> Situation:
    """What a partner's habits are told apart by: what it holds, and whether the pot fills, cooks or is ready."""
    return view.theirs, "ready" if view.ready else "cooks" if view.onions == FULL else "fills"


def believed(asks: Sequence[Ask], remembers: int) -> tuple[Beliefs, str]:
    """What a seat believes that was asked all this, and what it predicts at the last: the partner's next skill."""
    beliefs, now = Beliefs(remembers), ""
    for ask in asks:
        view = view_of(ask)
        beliefs.check(view.partner_did)
        now = beliefs.expect(len(view.partner_did), situation_of(view), greedy(view.turned))
    return beliefs, now


@dataclass(frozen=True)
class Proactive:
    """The `player`, told what its partner will do next and the latest corrections; without `belief` asked as it is."""

    player: Player
    belief: bool = True
    remembers: int = 3
    name: str = "proactive"

    def reply(self, asks: Sequence[Ask]) -> list[Reply]:
        shown = [self._with_belief(ask) if self.belief else ask for ask in asks]
        replies = self.player.reply(shown)
        return [
            replace(reply, player=self.name) if reply.text.strip() in ask.choices else Reply(WAIT, self.name)
            for ask, reply in zip(asks, replies, strict=True)
        ]

    def _with_belief(self, ask: Ask) -> Ask:
        beliefs, now = believed([*(turn.ask for turn in ask.past), ask], self.remembers)
        wrong = "; ".join(
            f"holding {holds} while the pot {pot}, it did {skill}" for (holds, pot), skill in beliefs.corrections
        )
        learned = f" You were wrong before: {wrong}." if wrong else ""
        first, *rest = ask.messages
        text = f"{first.text}{learned} You believe that your partner's next skill is {now}."
        return replace(ask, messages=(Message(first.speaker, text), *rest))


def accuracy_of(turns: Sequence[Turn], done: Sequence[str], remembers: int) -> float:
    """The share of a seat's predictions in a match that came true, from its turns and what its partner did."""
    beliefs, _ = believed([turn.ask for turn in turns], remembers)
    beliefs.check(done)
    return beliefs.accuracy
