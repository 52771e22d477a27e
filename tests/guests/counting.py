"""A driver of a small guest: add up to a target. What it is told can also make it ill."""

import os
import random
import sys
import time
from contextlib import suppress
from pathlib import Path


def load(settings):
    if settings.get("broken"):
        raise ValueError("no such environment")
    if settings.get("crash"):
        print("a library that is not there", file=sys.stderr, flush=True)
        os._exit(3)
    return Driver(settings)


class Driver:
    def __init__(self, settings):
        self.settings = settings

    def about(self):
        seats = ["first", "second"][: self.settings.get("seats", 1)]
        tasks = [{"id": f"to{n}", "prompt": f"Count to {n}.", "facts": {"target": n}} for n in (3, 4, 5)]
        held_out = [{"id": f"to{n}", "prompt": f"Count to {n}.", "facts": {"target": n}} for n in (6, 7)]
        return {"seats": seats, "tasks": tasks, "held_out": held_out, "repeatable": True}

    def open(self, task, seed):
        print("noise on standard output")
        if self.settings.get("dies_at_once"):
            os._exit(1)
        return Session(self.settings, task["facts"]["target"])


class Session:
    def __init__(self, settings, target):
        self.settings, self.target, self.total, self.seat = settings, target, 0, 0
        self.seats = ["first", "second"][: settings.get("seats", 1)]
        self.luck = random.randrange(1000)  # of the generator that belongs to the process
        self.tools = [{"name": "double", "usage": "<double>3</double> gives 6."}]
        self.turn = self._turn()

    def _turn(self, gain=0.0):
        over = self.total >= self.target
        shown = f"It stands at {self.total}; luck {self.luck}."
        asks = [] if over else [{"seat": self.seats[self.seat], "shown": shown, "choices": self.choices()}]
        gains = {self.seats[self.seat]: gain}
        return {"asks": asks, "over": over, "shown": shown, "gains": gains}

    def choices(self):
        return ["1", "2"] if self.settings.get("listed") else []

    def say(self, texts):
        (text,) = texts
        print("noise again", flush=True)
        if text == "hang":
            time.sleep(1000)
        if text == "spin":
            while True:
                pass
        if text == "die":
            os.abort()
        if text == "once" and not os.path.exists(self.settings["mark"]):
            open(self.settings["mark"], "w").close()
            os.abort()
        if text == "fork":
            started = os.fork()
            if started == 0:
                time.sleep(1000)
            Path(self.settings["mark"]).write_text(str(started))
        if text == "eat":
            self.food = bytearray(1 << 32)
        if text == "talk":
            return {"asks": [{"seat": "first", "shown": "x" * 100_000}], "over": False}
        if text == "raise":
            raise KeyError("an environment's own fault")
        if text == "print":  # on every descriptor that it can find
            for number in range(3, 60):
                with suppress(OSError):
                    os.write(number, b"hello\n")
        self.seat = (self.seat + 1) % len(self.seats)
        step = int(text) if text in ("1", "2") else 0
        self.total += step
        return self._turn(float(step))

    def call(self, tool, text):
        if not text.isdigit():
            return {"output": "a number, please", "failed": True}
        return {"output": str(2 * int(text)), "failed": False}

    def assess(self, answer):
        scores = {seat: float(self.total == self.target) for seat in self.seats}
        return {"scores": scores, "parts": {"near": min(1.0, self.total / self.target)}, "facts": {"total": self.total}}

    def state(self):
        return {"total": self.total, "luck": self.luck}

    def close(self):
        pass
