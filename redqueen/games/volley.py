"""Volley: three players a side on a small court, a captain who calls, and skills that do what was called.

Each half of the court has three lanes and three rows, and its players begin in the middle row, one in each lane. A
ball falls on a cell; who stands nearest runs there (`receiver`), at most a cell a step. Reached with time to spare it
is passed, at the last step only every other time. Then both captains call at once: the one whose side has the ball a
spike or a tip from one of the lanes, the other a block at the net of a lane, or to hold. Who passed sets the ball to a
lane (`setter`); another player runs to the net of that lane and hits it to a cell of the other half (`hitter`), while
the blocker runs (`blocker`). A spike falls after one step, and on the hitter's own half where someone stands at
the net of its lane; a tip falls after two, and over the block. Who does not act goes back a cell a step.

The last to lose the ball loses the point; after `longest` attacks nobody wins it. A seat that breaks the rules loses it
for its side. A task may be a drill: the rally ends once its skill was used, and nobody scores. How balls and players
fly is left out.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from itertools import product
from random import Random
from types import MappingProxyType

from redqueen.games.talk import GAME, Answer, ask_together, offence, titled
from redqueen.protocols import Play
from redqueen.types import Ask, Message, Outcome, RedQueenError, Reply, Seat, Task

Cell = tuple[int, int]  # lane, row
SIDES = HOME, AWAY = "home", "away"
CAPTAIN = "captain"
SKILLS = RECEIVER, SETTER, HITTER, BLOCKER = "receiver", "setter", "hitter", "blocker"
SEATS = tuple(Seat(f"{side}_{who}") for side in SIDES for who in (CAPTAIN, *SKILLS))
LANES = ("left", "centre", "right")
ROWS = ("net", "middle", "back")
NET, MIDDLE, BACK = 0, 1, 2
CELLS: dict[str, Cell] = {f"{LANES[lane]} {ROWS[row]}": (lane, row) for lane, row in product(range(3), range(3))}
SPIKE, TIP, BLOCK, HOLD = "spike", "tip", "block", "hold"
ATTACKS = tuple(f"{shot} {lane}" for shot in (SPIKE, TIP) for lane in LANES)
DEFENCES = (*(f"{BLOCK} {lane}" for lane in LANES), HOLD)
STEPS = MappingProxyType({"stay": (0, 0), "forward": (0, -1), "back": (0, 1), "left": (-1, 0), "right": (1, 0)})
SERVED, SET, FLIES = 3, 2, MappingProxyType({SPIKE: 1, TIP: 2})  # steps that a ball is in the air
IN_TIME = 0.5  # chance to pass a ball that was reached at the last step
REACHED = 0.5  # of a coach's pay for each cell that a runner comes nearer

Said = Generator[list[Ask], list[Reply], list[Answer]]


class Broken(Exception):
    """A seat broke the rules: the seat, and what it said."""

    def __init__(self, seat: Seat, text: str) -> None:
        self.seat, self.text = seat, text


def cell_named(cell: Cell) -> str:
    return f"{LANES[cell[0]]} {ROWS[cell[1]]}"


def apart(one: Cell, other: Cell) -> int:
    """The steps from one cell to another."""
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def toward(one: Cell, other: Cell) -> Cell:
    """The cell after a step to another one, along the row first."""
    lane, row = (other[0] > one[0]) - (other[0] < one[0]), (other[1] > one[1]) - (other[1] < one[1])
    return (one[0] + lane, one[1]) if lane else (one[0], one[1] + row)


def steps_from(cell: Cell) -> tuple[str, ...]:
    """The steps that stay on the half."""
    return tuple(name for name, (lane, row) in STEPS.items() if 0 <= cell[0] + lane < 3 and 0 <= cell[1] + row < 3)


def stepped(cell: Cell, step: str) -> Cell:
    lane, row = STEPS[step]
    return cell[0] + lane, cell[1] + row


def coached(shot: str, aim: Cell) -> float:
    """What a coach pays for an aim, whoever stands there: a spike is to be deep, a tip short."""
    return aim[1] / 2 if shot == SPIKE else 1 - aim[1] / 2


@dataclass
class Rally:
    """A point in play: where everyone stands, what was done, and what a coach pays each seat for each of its turns."""

    cells: dict[str, list[Cell]] = field(
        default_factory=lambda: {s: [(lane, MIDDLE) for lane in range(3)] for s in SIDES}
    )
    history: list[str] = field(default_factory=list)
    paid: dict[str, list[float]] = field(default_factory=lambda: {str(seat): [] for seat in SEATS})
    talks: dict[Seat, tuple[Message, ...]] = field(default_factory=dict)  # what each seat was asked and said
    ticks: int = 0

    def nearest(self, side: str, cell: Cell, but: int | None = None) -> int:
        """The number of the player who stands nearest."""
        return min((n for n in range(3) if n != but), key=lambda n: (apart(self.cells[side][n], cell), n))

    def drift(self, side: str, busy: tuple[int | None, ...]) -> None:
        """All who are not busy go a step back to where they began."""
        own = self.cells[side]
        self.cells[side] = [c if n in busy else toward(c, (n, MIDDLE)) for n, c in enumerate(own)]

    def pay(self, seat: Seat, asked: int, amount: float) -> None:
        """Pays a turn, of those in which the seat was asked again the last."""
        self.paid[str(seat)] += [0.0] * (asked - 1) + [amount]

    def shown(self, side: str) -> str:
        return ", ".join(map(cell_named, sorted(self.cells[side])))


@dataclass(frozen=True)
class Run:
    """A player on the way to a cell."""

    side: str
    who: str
    number: int
    goal: Cell
    told: str  # what it is told before where it stands

    @property
    def seat(self) -> Seat:
        return Seat(f"{self.side}_{self.who}")


@dataclass(frozen=True)
class Volley:
    longest: int = 6  # attacks
    remember: bool = True  # whether a seat is shown its earlier turns of the rally
    retries: int = 0
    roles: tuple[str, ...] = field(default=tuple(seat.role for seat in SEATS), init=False)
    zero_sum: bool = field(default=True, init=False)
    perfect_information: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if not 1 <= self.longest <= 100:
            raise RedQueenError(f"a rally of volley has 1 to 100 attacks, not {self.longest}")

    @property
    def name(self) -> str:
        return titled("volley", self)

    def tasks(self) -> list[Task]:
        return [Task(f"{side} receives") for side in SIDES]

    def drills(self, skill: str) -> list[Task]:
        """Rallies that end once the skill was used."""
        return [Task(f"{side} receives, for the {skill}", facts={"drill": skill}) for side in SIDES]

    def play(self, task: Task, rng: Random) -> Play:
        rally, drill = Rally(), task.facts.get("drill")
        side = task.id.split()[0]
        try:
            winner = yield from self._rally(rally, side, drill, rng)
        except Broken as fault:
            winner = other(side_of(fault.seat))
            return self._outcome(rally, winner, offence(fault.seat, fault.text))
        return self._outcome(rally, "" if drill else winner, {})

    def _outcome(self, rally: Rally, winner: str, facts: dict[str, str]) -> Outcome:
        scores = {seat: 0.0 if not winner else 1.0 if side_of(seat) == winner else -1.0 for seat in SEATS}
        return Outcome(
            scores,
            {
                **facts,
                "history": tuple(rally.history),
                "paid": {seat: tuple(paid) for seat, paid in rally.paid.items()},
                "ticks": rally.ticks,
            },
        )

    def _rally(self, rally: Rally, side: str, drill: str | None, rng: Random) -> Generator[list[Ask], list[Reply], str]:
        """The side that wins, "" for none."""
        flight, falls = SERVED, (rng.randrange(3), rng.randrange(3))
        for _ in range(self.longest):
            passer = yield from self._received(rally, side, falls, flight, rng)
            if passer is None or drill == RECEIVER:
                return other(side)
            shot, lane, blocker = yield from self._called(rally, side, falls, passer)
            if drill == SETTER:
                return other(side)
            hitter = yield from self._approached(rally, side, f"{shot} {LANES[lane]}", passer, lane, blocker)
            if hitter is None or drill == BLOCKER:
                return other(side)
            falls = yield from self._hit(rally, side, shot, lane)
            if shot == SPIKE and (lane, NET) in rally.cells[other(side)]:
                rally.history.append(f"{other(side)} blocks")
                return other(side)
            if drill:
                return side
            side, flight = other(side), FLIES[shot]
        return ""

    def _received(
        self, rally: Rally, side: str, falls: Cell, flight: int, rng: Random
    ) -> Generator[list[Ask], list[Reply], int | None]:
        """Who passed the ball; None where it fell."""
        number = rally.nearest(side, falls)
        run = Run(side, RECEIVER, number, falls, f"The ball falls at {cell_named(falls)}.")
        early = False
        for left in range(flight, 0, -1):
            early = early or rally.cells[side][number] == falls
            yield from self._run(rally, [run], left)
        there = rally.cells[side][number] == falls
        kept = there and (early or rng.random() < IN_TIME)
        rally.paid[str(run.seat)][-1] += float(there)
        rally.history.append(f"{side} {'passes' if kept else 'loses'} the ball at {cell_named(falls)}")
        return number if kept else None

    def _called(
        self, rally: Rally, side: str, ball: Cell, passer: int
    ) -> Generator[list[Ask], list[Reply], tuple[str, int, Run | None]]:
        """The shot, the lane to which the ball is set, and the blocker if there is one."""
        where = f"the ball at {cell_named(ball)}. What do you call?"
        seats = [Seat(f"{each}_{CAPTAIN}") for each in (side, other(side))]
        asks = [
            self._ask(rally, seats[0], f"Your side has passed {where}", ATTACKS),
            self._ask(rally, seats[1], f"The other side has passed {where}", DEFENCES),
        ]
        attack, defence = yield from self._asked(rally, asks)
        for seat, answer in zip(seats, (attack, defence), strict=True):
            rally.pay(seat, answer.attempts, 0.0)
            rally.history.append(f"{side_of(seat)} calls {answer.text}")
        shot, called = attack.text.split()
        setter = Seat(f"{side}_{SETTER}")
        text = f"You have the ball at {cell_named(ball)}. The call is {attack.text}. Where do you set it?"
        (answer,) = yield from self._asked(rally, [self._ask(rally, setter, text, LANES)])
        rally.pay(setter, answer.attempts, float(answer.text == called))
        rally.history.append(f"{side} sets {answer.text}")
        if defence.text == HOLD:
            return shot, LANES.index(answer.text), None
        goal = (LANES.index(defence.text.split()[1]), NET)
        number = rally.nearest(other(side), goal)
        blocks = Run(other(side), BLOCKER, number, goal, f"The call is {defence.text}.")
        return shot, LANES.index(answer.text), blocks

    def _approached(
        self, rally: Rally, side: str, call: str, passer: int, lane: int, blocker: Run | None
    ) -> Generator[list[Ask], list[Reply], int | None]:
        """Who is at the net to hit the ball; None where it fell."""
        goal = (lane, NET)
        number = rally.nearest(side, goal, but=passer)
        hits = Run(side, HITTER, number, goal, f"The ball is set to {cell_named(goal)}.")
        runs = [hits, blocker] if blocker else [hits]
        for left in range(SET, 0, -1):
            yield from self._run(rally, runs, left)
        for run in runs:
            rally.paid[str(run.seat)][-1] += float(rally.cells[run.side][run.number] == run.goal)
        if rally.cells[side][number] == goal:
            return number
        rally.history.append(f"{side} loses the ball at {cell_named(goal)}")
        return None

    def _hit(self, rally: Rally, side: str, shot: str, lane: int) -> Generator[list[Ask], list[Reply], Cell]:
        """Where the ball is hit to."""
        seat = Seat(f"{side}_{HITTER}")
        text = f"You {shot} at {cell_named((lane, NET))}. They stand at {rally.shown(other(side))}. Where to?"
        (answer,) = yield from self._asked(rally, [self._ask(rally, seat, text, tuple(CELLS))])
        rally.pay(seat, answer.attempts, coached(shot, CELLS[answer.text]))
        rally.history.append(f"{side} hits a {shot} to {answer.text}")
        return CELLS[answer.text]

    def _run(self, rally: Rally, runs: list[Run], left: int) -> Generator[list[Ask], list[Reply], None]:
        """One step of all who run, and of all others."""
        asks = []
        for run in runs:
            cell = rally.cells[run.side][run.number]
            text = f"{run.told} Steps left: {left}. You stand at {cell_named(cell)}. Where do you go?"
            asks.append(self._ask(rally, run.seat, text, steps_from(cell)))
        answers = yield from self._asked(rally, asks)
        for side in SIDES:
            rally.drift(side, tuple(run.number for run in runs if run.side == side))
        for run, answer in zip(runs, answers, strict=True):
            before = rally.cells[run.side][run.number]
            after = rally.cells[run.side][run.number] = stepped(before, answer.text)
            rally.pay(run.seat, answer.attempts, REACHED * (apart(before, run.goal) - apart(after, run.goal)))
        rally.ticks += 1

    def _ask(self, rally: Rally, seat: Seat, text: str, choices: tuple[str, ...]) -> Ask:
        before = rally.talks.get(seat, ()) if self.remember else ()
        return Ask(seat, (*before, Message(GAME, text)), choices)

    def _asked(self, rally: Rally, asks: list[Ask]) -> Said:
        """The answers. Raises `Broken` for the first seat that broke the rules."""
        answers = yield from ask_together(asks, self.retries)
        for question, answer in zip(asks, answers, strict=True):
            rally.talks[question.seat] = answer.messages
            if not answer.legal:
                raise Broken(question.seat, answer.text)
        return answers


def other(side: str) -> str:
    return AWAY if side == HOME else HOME


def side_of(seat: Seat) -> str:
    return seat.role.partition("_")[0]
