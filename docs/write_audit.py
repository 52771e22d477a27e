"""Writes docs/audit.md: what `redqueen audit` finds in environments of others and in our own.

    python docs/write_audit.py                    the page, from what was found before (audit.jsonl)
    python docs/write_audit.py PACKAGE ...        audits the environments of these packages first (own: our own)
    python docs/write_audit.py PACKAGE/NAME ...   audits these alone

Environments of others are those of docs/write_environments.py. A defect stands here only if its program shows it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]  # this checkout, whatever else is installed

from write_environments import PACKAGES  # noqa: E402

from redqueen.audit.probes import PROBES, audit  # noqa: E402
from redqueen.games.catalogue import GAMES  # noqa: E402
from redqueen.types import RedQueenError  # noqa: E402
from redqueen.worlds.catalogue import WORLDS  # noqa: E402

PAGE, KEPT = ROOT / "docs" / "audit.md", ROOT / "docs" / "audit.jsonl"
QUESTIONS = ("sums", "known", "chain", "facts", "knowledge", "variants", "growing", "concepts", "rhymes", "translation")
OWN = "own"


def environments() -> dict[tuple[str, str], str]:
    """The spec of each environment by its package and name."""
    own = {(OWN, name): name for name in (*GAMES, *WORLDS, *QUESTIONS)}
    theirs = {(each.name, name): each.spec.format(name) for each in PACKAGES for name in each.names.split()}
    return {**own, **theirs}


def audited(package: str, name: str, spec: str) -> dict[str, Any]:
    """What is found in one environment."""
    try:
        rows = [
            {
                "kind": row.kind,
                "looked": row.looked,
                "defects": [{"said": defect.said, "program": defect.program} for defect in row.defects],
            }
            for row in audit(spec)
        ]
    except RedQueenError as error:
        return {"package": package, "environment": name, "spec": spec, "rows": [], "fault": str(error)[:200]}
    return {"package": package, "environment": name, "spec": spec, "rows": rows, "fault": ""}


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in KEPT.read_text().splitlines()] if KEPT.exists() else []


def page(found: Sequence[dict[str, Any]]) -> str:
    """The page."""
    looked = [each for each in found if not each["fault"]]
    defects = [(each, row, one) for each in looked for row in each["rows"] for one in row["defects"]]
    lines = [
        "# Audit of environments",
        "",
        "Written by `python docs/write_audit.py` from what it found (`docs/audit.jsonl`); do not edit it by hand.",
        "`redqueen audit ENV` looks for eight kinds of defects in a game, a world or a question set and prints for",
        "each a program of at most ten lines that fails where the defect is. A defect stands here only if its program,",
        "run in a process of its own, has shown it again.",
        "",
        "| looked for | what it is |",
        "|---|---|",
        "| end | random replies and an expert's never end a match, or an answer does not come |",
        "| chance | the same task, seed and replies show something else in another process; global generators |",
        "| held out | a held-out task plays as one to train on, whatever is said (16 random matches) |",
        "| seats | a seat is shown a thought, what a task hides, or (fact `cards` or `dice`) what another was dealt |",
        "| forged | a claim, a list of every answer, or code is paid or run |",
        "| clock | an hour (seen in this process alone) or .4 s between replies changes what is shown or paid |",
        "| shared | a visit changes another that is open at the same time, or a later one |",
        "| memory | each of 36 visits leaves more than 1 KB, a descriptor or a process behind |",
        "",
        "What a game does not state to be private is not looked at, and a leak that shows after more than 30 replies",
        "is not found: a table without defects is no proof.",
        "",
        f"**{len(looked)} environments of {len({each['package'] for each in looked})} packages were looked at; "
        f"{len(defects)} defects in {len({each['spec'] for each, _, _ in defects})} of them.** "
        "Of these ✓ none was found, – not looked at (replies are listed, nothing is held out, ...), a number: defects.",
        "",
        f"| environment | {' | '.join(PROBES)} |",
        f"|---|{'---|' * len(PROBES)}",
    ]
    for each in looked:
        cells = {row["kind"]: _cell(row) for row in each["rows"]}
        lines.append(f"| `{each['spec']}` | {' | '.join(cells.get(kind, '–') for kind in PROBES)} |")
    if defects:
        lines += ["", "## Defects", ""]
    for each, row, one in defects:
        lines += [f"**`{each['spec']}`, {row['kind']}**: {one['said']}.", "", "```text", one["program"], "```", ""]
    faults = [f"* `{each['spec']}`: {each['fault']}" for each in found if each["fault"]]
    lines += ["", "## Not looked at", "", *faults] if faults else []
    return "\n".join(lines).rstrip("\n") + "\n"


def _cell(row: dict[str, Any]) -> str:
    if row["defects"]:
        return f"**{len(row['defects'])}**"
    return "–" if row["looked"].startswith("not ") else "✓"


def main(names: Sequence[str]) -> None:
    known = environments()
    words = {package for package, _ in known} | {f"{package}/{name}" for package, name in known}
    if unknown := set(names) - words:
        raise SystemExit(f"there is no {min(unknown)} among the environments here")
    found = {(row["package"], row["environment"]): row for row in rows()}
    for (package, name), spec in known.items():
        if {package, f"{package}/{name}"} & set(names):
            found[package, name] = audited(package, name, spec)
            print(json.dumps(found[package, name]), flush=True)
            KEPT.write_text("".join(f"{json.dumps(row)}\n" for row in found.values()))
    PAGE.write_text(page(list(found.values())))


if __name__ == "__main__":
    main(sys.argv[1:])
