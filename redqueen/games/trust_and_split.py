"""Trust-and-Split: two players tell each other their hands, then claim coins that are worth more to one of them.

The negotiation of arXiv:2511.19405. In each round two different hands of rock, paper and scissors are dealt, one
to each, visible to its holder only. To the upper hand a coin is worth 10, to the other 1. Both send one message,
the first speaker alternating, and then claim coins at the same time. Claims above the number of coins in total
are reduced in proportion. After the round both are told who had the upper hand and what was claimed.

Two truthful players that leave all coins to the upper hand gain 50 each per round on average; two that claim
everything, or half, gain 27.5 each.

With `listed` the message is the name of a hand, true or not; else it is free text, cut to 500 characters for the other
seat. Without `remember` a seat is shown only the last round in place of the whole conversation.
A seat that breaks the rules ends the match: it gains nothing more, and the other half of the coins of every remaining
round, at the lower value, so that no seat gains from the other's illegal reply.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from redqueen.chance import derive
from redqueen.games.talk import GAME, ask_together, offence, titled, unsaid
from redqueen.protocols import Play
from redqueen.types import Ask, Message, Outcome, RedQueenError, Seat, Task

SEATS = FIRST, SECOND = Seat("first"), Seat("second")
HANDS = ROCK, PAPER, SCISSORS = "rock", "paper", "scissors"
BEATS = {(ROCK, SCISSORS), (SCISSORS, PAPER), (PAPER, ROCK)}
HEARD = 500  # characters of a message that the other seat hears
DEALS = 32  # each also with the seats exchanged
MOST_ROUNDS = 1_000  # each of which repeats all those before it to who is asked


@dataclass(frozen=True)
class TrustAndSplit:
    rounds: int = 10
    coins: int = 10  # of each round
    unit: int = 1  # claims are multiples of it
    upper: int = 10  # what a coin is worth to the upper hand
    lower: int = 1
    listed: bool = False
    remember: bool = True
    retries: int = 0  # second chances after an illegal reply, before it ends the match
    roles: tuple[str, ...] = field(default=("first", "second"), init=False)
    zero_sum: bool = field(default=False, init=False)
    perfect_information: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if not 1 <= self.rounds <= MOST_ROUNDS:
            raise RedQueenError(f"trust_and_split has 1 to {MOST_ROUNDS} rounds, not {self.rounds}")
        if self.unit < 1 or self.coins < self.unit or self.coins % self.unit:
            raise RedQueenError(f"{self.coins} coins cannot be claimed in units of {self.unit}")
        if not self.upper > self.lower > 0:
            raise RedQueenError(f"a coin must be worth more to the upper hand, not {self.upper} and {self.lower}")

    @property
    def name(self) -> str:
        return titled("trust_and_split", self)

    def tasks(self) -> list[Task]:
        """A fixed sample of 32 deals of hands for all rounds, each also with the seats exchanged."""
        tasks = []
        for number in range(DEALS):
            rng = Random(derive(number, "trust_and_split"))
            hands = tuple(tuple(rng.sample(HANDS, 2)) for _ in range(self.rounds))
            opens = rng.randrange(2)
            tasks.append(Task(f"deal-{number}", "deal", facts={"hands": hands, "opens": opens}))
            turned = tuple(pair[::-1] for pair in hands)
            tasks.append(Task(f"deal-{number}-exchanged", "deal", facts={"hands": turned, "opens": 1 - opens}))
        return tasks

    def play(self, task: Task, rng: Random) -> Play:
        talk: dict[Seat, tuple[Message, ...]] = {FIRST: (), SECOND: ()}
        news = {seat: self.rules() for seat in SEATS}
        scores = {FIRST: 0.0, SECOND: 0.0}
        gains: tuple[tuple[int, dict[str, float]], ...] = ()
        history: tuple[tuple[int, int], ...] = ()
        spoken = 0
        for number, dealt in enumerate(task.facts["hands"]):
            hands = dict(zip(SEATS, dealt, strict=True))
            said: dict[Seat, str] = {}
            if not self.remember:
                talk = {FIRST: (), SECOND: ()}
            order = SEATS if (task.facts["opens"] + number) % 2 == 0 else SEATS[::-1]
            for seat, other in zip(order, order[::-1], strict=True):
                question = (
                    f"{news[seat]} {self.dealt(number, hands[seat])} {self._heard(said.get(other))}{self.invitation()}"
                )
                asked = Ask(seat, (*talk[seat], Message(GAME, question)), HANDS if self.listed else ())
                (answer,) = yield from ask_together([asked], self.retries, unsaid)
                spoken += answer.attempts
                if not answer.legal:
                    return self._forfeited([seat], answer.text, number, spoken, scores, gains, history)
                said[seat], talk[seat] = answer.text, answer.messages
            questions = [self._claim(seat, talk[seat], said, order) for seat in SEATS]
            answers = yield from ask_together(questions, self.retries)
            spoken += sum(answer.attempts for answer in answers)
            offenders = [seat for seat, answer in zip(SEATS, answers, strict=True) if not answer.legal]
            if offenders:
                text = answers[SEATS.index(offenders[0])].text
                return self._forfeited(offenders, text, number, spoken, scores, gains, history)
            claims = (int(answers[0].text), int(answers[1].text))
            history += (claims,)
            won = dict(zip(SEATS, self.payoffs((hands[FIRST], hands[SECOND]), claims), strict=True))
            scores = {seat: scores[seat] + won[seat] for seat in SEATS}
            gains += ((spoken - 1, {str(seat): won[seat] for seat in SEATS}),)
            news = self._news(hands, claims, won)
            talk = {seat: answer.messages for seat, answer in zip(SEATS, answers, strict=True)}
        return Outcome(scores, {"history": history, "gains": gains})

    def payoffs(self, hands: tuple[str, str], claims: tuple[int, int]) -> tuple[float, float]:
        """The gain of each seat: its share of the coins times their value to it."""
        values = (self.upper, self.lower) if hands in BEATS else (self.lower, self.upper)
        cut = min(1.0, self.coins / max(sum(claims), 1))
        return claims[0] * cut * values[0], claims[1] * cut * values[1]

    def _claim(self, seat: Seat, talk: tuple[Message, ...], said: dict[Seat, str], order: tuple[Seat, ...]) -> Ask:
        """The ask for a seat's claim; the seat that spoke first is also shown the other's message."""
        other = order[1] if seat == order[0] else None
        question = f"{self._heard(said[other]) if other else ''}How many of the {self.coins} coins do you claim?"
        choices = tuple(str(claim) for claim in range(0, self.coins + 1, self.unit))
        return Ask(seat, (*talk, Message(GAME, question)), choices)

    def _news(self, hands: dict[Seat, str], claims: tuple[int, int], won: dict[Seat, float]) -> dict[Seat, str]:
        found = {}
        for seat, mine, theirs in zip(SEATS, claims, claims[::-1], strict=True):
            stands = "upper" if (hands[seat], hands[SEATS[1 - SEATS.index(seat)]]) in BEATS else "lower"
            last = f"Last round you had the {stands} hand, you claimed {mine} and the other player {theirs}."
            if self.remember:
                last = last.replace("Last round you", "You") + f" You gained {won[seat]:g}."
            found[seat] = last if self.remember else f"{self.rules()} {last}"
        return found

    def _heard(self, text: str | None) -> str:
        return "" if text is None else f"The other player says: {' '.join(text.split())[:HEARD]!r}. "

    def _forfeited(
        self,
        offenders: list[Seat],
        text: str,
        number: int,
        spoken: int,
        scores: dict[Seat, float],
        gains: tuple[tuple[int, dict[str, float]], ...],
        history: tuple[tuple[int, int], ...],
    ) -> Outcome:
        consoled = (self.rounds - number) * self.coins / 2 * self.lower
        won = {seat: 0.0 if seat in offenders else consoled for seat in SEATS}
        facts = {**offence(offenders[0], text), "history": history}
        return Outcome(
            {seat: scores[seat] + won[seat] for seat in SEATS},
            {**facts, "gains": (*gains, (spoken - 1, {str(seat): won[seat] for seat in SEATS}))},
        )

    def rules(self) -> str:
        length = f"{self.rounds} rounds" if self.remember else "many rounds"
        return (
            f"You are sharing coins with one other player in a game of {length}. In each round both of you hold "
            "different hands: rock, paper or scissors, as in the game, and you do not see the other's. "
            f"To the player with the upper hand a coin is worth {self.upper} points, to the other {self.lower}. "
            f"Each sends one message; then both claim coins at the same moment, from 0 to {self.coins}. "
            f"If the claims add up to more than {self.coins}, both are cut down in proportion."
        )

    def dealt(self, number: int, hand: str) -> str:
        return f"Round {number + 1}: you hold {hand}." if self.remember else f"You hold {hand}."

    def invitation(self) -> str:
        return "Which hand do you say you hold?" if self.listed else "What do you say to the other player?"
