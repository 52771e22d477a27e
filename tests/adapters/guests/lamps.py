"""Stand-ins in the shape of OpenEnv's objects, for the tests of openenv:."""

import random
from typing import ClassVar


class Field:
    def __init__(self, annotation, required=True):
        self.annotation, self._required = annotation, required

    def is_required(self):
        return self._required


class Switching:
    model_fields: ClassVar = {"lamp": Field(str)}

    def __init__(self, lamp):
        self.lamp = lamp


class Moving:
    model_fields: ClassVar = {"x": Field(int), "y": Field(int)}

    def __init__(self, x, y):
        self.x, self.y = int(x), int(y)


class Seen:
    def __init__(self, text, reward=None, done=False):
        self.text, self.reward, self.done = text, reward, done

    def model_dump(self, mode):
        return {"text": self.text, "reward": self.reward, "done": self.done, "metadata": {}}


class Lamps:
    def reset(self, seed=None, episode_id=None):
        self.right = random.Random(seed).choice(["red", "blue"])
        return Seen("Two lamps: red, blue.")

    def step(self, action: Switching):
        right = action.lamp == self.right
        return Seen("It is light." if right else "It is dark.", float(right), right)


class Field2:
    def reset(self, seed=None):
        return Seen("You are at 0 0.")

    def step(self, action: Moving):
        return Seen(f"You are at {action.x} {action.y}.", float(action.x == action.y), action.x == 9)
