"""A class whose public methods are tools, for the tests of trl:."""


class Shelf:
    def __init__(self):
        self.items, self.wanted, self.done = [], "", False

    def reset(self, answer, **row):
        self.wanted = answer
        return f"The shelf is empty; {row.get('hint', 'no hint')}."

    def put(self, item: str) -> str:
        """Puts an item on the shelf."""
        if item == "brick":
            raise ValueError("too heavy")
        self.items.append(item)
        return f"{item} is on the shelf"

    def count(self, item: str, twice: bool = False) -> int:
        """Counts an item."""
        return self.items.count(item) * (2 if twice else 1)

    @property
    def reward(self):
        return float(self.items == [self.wanted])
