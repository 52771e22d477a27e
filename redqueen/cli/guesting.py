"""`guest`."""

from __future__ import annotations

from collections.abc import Sequence

from redqueen.cli.words import closest
from redqueen.guests.installed import add_environment, environments, environments_folder, remove_environment
from redqueen.markup import visible
from redqueen.types import RedQueenError

USAGE = "redqueen guest add NAME PACKAGE..., redqueen guest list, redqueen guest remove NAME"


def guest(words: Sequence[str]) -> None:
    """add NAME PACKAGE..., list, remove NAME: virtual environments for worlds that other packages bring"""
    if not words:
        raise RedQueenError(f"usage: {USAGE}")
    order, *rest = words
    if order == "list" and not rest:
        for each in environments():
            print(visible(f"{each.name}\t{' '.join(each.packages)}\t{each.folder}"))
        if not environments():
            print(f"no guests in {environments_folder()}: redqueen guest add NAME PACKAGE...")
    elif order == "add" and rest:
        found = add_environment(rest[0], rest[1:])
        print(visible(f"{found.name}: {' '.join(found.packages)} in {found.folder}"))
    elif order == "remove" and len(rest) == 1:
        if not remove_environment(rest[0]):
            raise RedQueenError(f"there is no guest {rest[0]!r}: redqueen guest list")
        print(visible(f"{rest[0]} is removed"))
    elif order in ("add", "list", "remove"):
        raise RedQueenError(f"usage: {USAGE}")
    else:
        raise RedQueenError(f"there is no order {order!r}: {closest(order, ['add', 'list', 'remove'])}")
