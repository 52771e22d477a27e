"""Which installed packages have known holes, without a network.

python docs/audit_packages.py ADVISORIES     a folder or zip of advisories in OSV's form, such as the PyPI/all.zip that
                                             osv.dev offers

Prints a line for each hole of an installed version and exits with 1 if there is one; `make audit ADVISORIES=all.zip`
calls it. An advisory that is withdrawn does not count; a version that cannot be compared counts where it is listed.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version


def canonical(name: str) -> str:
    """The name of a package as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def advisories(place: Path) -> Iterator[dict[str, Any]]:
    """Those in a folder or zip."""
    if place.is_dir():
        for path in sorted(place.rglob("*.json")):
            yield json.loads(path.read_text(encoding="utf-8"))
        return
    with zipfile.ZipFile(place) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".json"):
                yield json.loads(archive.read(name))


def is_affected(version: str, affected: Mapping[str, Any]) -> bool:
    """Whether a version is listed, or lies in a range of versions, which events begin and end."""
    if version in affected.get("versions", ()):
        return True
    try:
        mine = Version(version)
        for each in affected.get("ranges", ()):
            if each.get("type") != "ECOSYSTEM":
                continue
            inside = False
            events = [(Version(at), kind) for event in each["events"] for kind, at in event.items()]
            for edge, kind in sorted(events, key=lambda event: event[0]):
                if kind == "introduced" and mine >= edge:
                    inside = True
                elif (kind == "fixed" and mine >= edge) or (kind == "last_affected" and mine > edge):
                    inside = False
            if inside:
                return True
    except InvalidVersion:
        return False
    return False


def holes(installed: Mapping[str, str], place: Path) -> list[str]:
    """A line for each hole: the package, its version, the advisory and what it says. `installed` is by canonical
    name."""
    found = []
    for one in advisories(place):
        if "withdrawn" in one:
            continue
        for affected in one.get("affected", ()):
            package = affected.get("package", {})
            name = canonical(package.get("name", ""))
            if package.get("ecosystem") == "PyPI" and name in installed and is_affected(installed[name], affected):
                summary = " ".join(str(one.get("summary") or one.get("details", "")).split())[:160]
                found.append(f"{name} {installed[name]}: {one['id']} {summary}".strip())
    return sorted(set(found))


def main(place: Path) -> int:
    """The exit status: 1 where there is a hole, 2 without advisories."""
    if not place.is_dir() and not zipfile.is_zipfile(place):
        print(f"{place} is no folder or zip of advisories: fetch PyPI/all.zip of OSV (osv.dev)", file=sys.stderr)
        return 2
    installed = {canonical(each.metadata["Name"]): each.version for each in distributions()}
    found = holes(installed, place)
    print("\n".join(found) or f"no known hole in {len(installed)} packages")
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
