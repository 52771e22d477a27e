"""Environments with one defect each, planted for tests of the audit, and two healthy ones."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from datetime import datetime
from typing import Any

from redqueen.games.talk import ask, told
from redqueen.types import Ask, Assessment, Message, Observation, Outcome, Seat, Task

CHOICES = ("turn red", "turn blue", "turn green")


class Lamp:
    """A lamp in one of three colours, which can be turned once. Nothing is wrong with it."""

    name, repeatable = "lamp", True

    def tasks(self):
        return [Task(colour, prompt=f"Make it {colour}.", facts={"hidden": ("xk7",)}) for colour in ("red", "blue")]

    def held_out(self):
        return [Task("green", prompt="Make it green.", facts={"hidden": ("xk7",)})]

    def open(self, task, seed):
        return Switch(task.id, random.Random(seed))


class Switch:
    tools: Any = ()
    choices = CHOICES

    def __init__(self, wanted, rng):
        self.wanted, self.colour, self.rng, self.said = wanted, rng.choice(("white", "grey")), rng, 0

    def look(self):
        return Observation(f"The lamp is {self.colour}.", self.choices)

    def act(self, said):
        self.said += 1
        self.colour = said.removeprefix("turn ")
        return Observation(f"The lamp is {self.colour}.", over=True)

    def state(self):
        return {"colour": self.colour}

    def assess(self, answer=""):
        return Assessment(float(self.colour == self.wanted))

    def close(self):
        pass


def lamp(**changes):
    """A lamp whose visits have other methods."""
    kind = type("Changed", (Switch,), changes)

    class Changed(Lamp):
        def open(self, task, seed):
            return kind(task.id, random.Random(seed))

    return Changed


Unseeded = lamp(look=lambda self: Observation(f"Number {random.randrange(10**6)}.", CHOICES))
Salted = lamp(look=lambda self: Observation(" ".join({"a", "b", "c", "d", "e", "f"}), CHOICES))
Reseeding = lamp(look=lambda self: random.seed(3) or Observation("The lamp is off.", CHOICES))
Tells = lamp(look=lambda self: Observation("The lamp is off (xk7).", CHOICES))


class Alike(Lamp):
    def held_out(self):
        return [Task("test", prompt="Make it red.", facts={"hidden": ("xk7",)})]

    def open(self, task, seed):
        return Switch("red", random.Random(seed))


def clocked(now):
    def assess(self, answer=""):
        return Assessment(1.0 if now() - self.began < 60.0 else 0.0)

    def begin(self, wanted, rng):
        Switch.__init__(self, wanted, rng)
        self.began = now()

    return lamp(__init__=begin, assess=assess)


Clocked = clocked(lambda: time.monotonic())
Dated = clocked(lambda: datetime.now().timestamp())


CLAIMED = {"choices": (), "act": lambda self, said: setattr(self, "colour", said) or Observation("Well.", over=True)}
Believes = lamp(**CLAIMED, assess=lambda self, answer="": Assessment(float("success" in self.colour.lower())))
Runs = lamp(**{**CLAIMED, "act": lambda self, said: _run(said) or Observation("Well.", over=True)})
Doubts = lamp(**CLAIMED)  # free text, and healthy


def _run(said):
    with suppress(Exception):
        eval(said)


class Lists:
    """Right where the answer stands anywhere in the reply."""

    name, roles = "lists", ("solver",)

    def tasks(self):
        return [Task(str(n), prompt=f"{n} squared is", answer=str(n * n)) for n in range(11, 19)]

    def play(self, task, rng):
        seat = Seat("solver")
        said = yield from ask(seat, told(task.prompt))
        return Outcome({seat: float(task.answer in said)})


class Exact(Lists):
    def play(self, task, rng):
        seat = Seat("solver")
        said = yield from ask(seat, told(task.prompt))
        return Outcome({seat: float(task.answer == said)})


COUNT = {"opened": 0}


def _counted(self, wanted, rng):
    Switch.__init__(self, wanted, rng)
    COUNT["opened"] += 1


Remembers = lamp(__init__=_counted, look=lambda self: Observation(f"Visit {COUNT['opened']}.", CHOICES))


LIT = {"colour": "white"}


class OneState(Lamp):
    """All visits turn one lamp, which each sets back at first."""

    def open(self, task, seed):
        lit = LIT
        lit["colour"] = "white"

        class One(Switch):
            def act(self, said):
                lit["colour"] += said[5]
                return Observation(f"It is {lit['colour']}.", CHOICES, over=len(lit["colour"]) > 8)

        return One(task.id, random.Random(seed))


KEPT = []
Keeps = lamp(close=lambda self: KEPT.append("x" * 50_000 + str(len(KEPT))))
Opens = lamp(close=lambda self: KEPT.append(open("/dev/null")))  # noqa: SIM115
Endless = lamp(act=lambda self, said: Observation("Nothing happens.", CHOICES))
Hangs = lamp(act=lambda self, said: time.sleep(1000))


class Cards:
    """Two cards are dealt, and each seat says a number. Nothing is wrong with it."""

    name, roles = "cards", ("first", "second")
    shown = "Your card is {mine}."

    def tasks(self):
        return [Task(f"{a}{b}", facts={"cards": (a, b)}) for a in "KQJ" for b in "KQJ"]

    def play(self, task, rng):
        seats, told_before = [Seat(role) for role in self.roles], ""
        for number, seat in enumerate(seats):
            mine, other = task.facts["cards"][number], task.facts["cards"][1 - number]
            text = self.shown.format(mine=mine, other=other) + told_before
            (reply,) = yield [Ask(seat, (Message("game", text),), ("1", "2"))]
            told_before = self.after(reply)
        return Outcome(dict.fromkeys(seats, 0.0))

    def after(self, reply):
        return f" It was said {reply.text}."


class Marked(Cards):
    """The back of the other card is marked."""

    shown = "Your card is {mine}; the other is not {other}."


class Overheard(Cards):
    def after(self, reply):
        return f" It was thought {reply.thought}."
