"""The audit finds each planted defect, shows it by a program, and finds none where there is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from redqueen.audit import probes
from redqueen.audit.places import drawn, environment, heard, heard_together
from redqueen.audit.probes import PROBES, audit
from redqueen.cli.main import main
from redqueen.types import RedQueenError

HERE = Path(__file__).parent / "planted.py"
PLANTED = {
    "Unseeded": ("chance", "in another process"),
    "Salted": ("chance", "in another process"),
    "Reseeding": ("chance", "global generator of `random`"),
    "Alike": ("held out", "1 of 1 held-out tasks play as one to train on"),
    "Tells": ("seats", "what task red hides is shown"),
    "Marked": ("seats", "what first is shown tells the cards of others"),
    "Overheard": ("seats", "a thought"),
    "Believes": ("forged", "a claim is paid"),
    "Lists": ("forged", "a list of every answer is paid"),
    "Runs": ("forged", "run as code"),
    "Clocked": ("clock", "an hour between the replies"),
    "Dated": ("clock", "an hour between the replies"),
    "Remembers": ("shared", "an earlier visit"),
    "OneState": ("shared", "a visit at the same time"),
    "Keeps": ("memory", "bytes behind"),
    "Opens": ("memory", "1 descriptors behind"),
    "Endless": ("end", "nothing brings it to an end"),
    "Hangs": ("end", "does not answer within 1 s"),
}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(probes, "PATIENCE", 1.0)
    monkeypatch.setattr(probes, "PAUSE", 0.01)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_defect_is_found_and_shown(name):
    kind, said = PLANTED[name]
    (row,) = audit(f"{HERE}:{name}", [kind])
    assert any(said in defect.said for defect in row.defects), row
    assert all(len(defect.program.splitlines()) <= 10 for defect in row.defects)


def test_every_kind_has_a_planted_defect():
    assert {kind for kind, _ in PLANTED.values()} == set(PROBES)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Lamp", "Doubts", "Exact", "Cards"])
def test_nothing_is_found_where_nothing_is_wrong(name):
    rows = audit(f"{HERE}:{name}")
    assert [row.kind for row in rows] == list(PROBES)
    assert not [defect for row in rows for defect in (*row.defects, *row.once)]
    assert all(row.verdict in ("none", "") for row in rows)


def test_what_is_not_shown_again_is_no_defect(monkeypatch):
    false = probes.Defect("end", "the moon is of cheese", "assert True")
    monkeypatch.setattr(probes, "PROBES", {"end": lambda place: ("the moon", [false])})
    (row,) = audit("kuhn_poker")
    assert (row.defects, row.once, row.verdict) == ((), (false,), "1 seen once, not again")


def test_a_probe_that_fails_says_why(monkeypatch):
    def probe(place):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(probes, "PROBES", {"end": probe})
    (row,) = audit("kuhn_poker")
    assert (row.looked, row.verdict) == ("not looked at: it raises ZeroDivisionError: by zero", "")


def test_the_command_prints_a_table_and_the_programs_and_ends_with_status_two(capsys):
    assert main(["audit", f"{HERE}:Tells", "--only", "seats"]) == 2
    said = capsys.readouterr()
    assert "what task red hides is shown" in said.out
    assert "1 defects, each shown by its program (seats)" in said.err
    program = said.out.partition("shown\n")[2]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "AssertionError: what the task hides is shown" in done.stderr
    assert main(["audit", f"{HERE}:Lamp", "--only", "seats", "forged"]) == 0
    assert "all replies are listed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["audit", "kuhn_pokre"], "there is no environment 'kuhn_pokre'"),
        (["audit", f"{HERE}:Nobody"], "has no 'Nobody'"),
        (["audit", f"{HERE}:Switch"], "cannot be made"),
        (["audit", "kuhn_poker", "--only", "ends"], "did you mean end?"),
        (["audit"], "ENV"),
    ],
)
def test_bad_input_is_one_line(words, said, capsys):
    assert main(words) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_two_visits_take_turns():
    place = environment("site:shop")
    scripts = [(0, 7, drawn(1)), (1, 8, drawn(2))]
    assert heard_together(place, *scripts) == [heard(place, *script) for script in scripts]


def test_a_program_that_asks_is_no_environment():
    folder = Path(__file__).parents[2] / "examples"
    with pytest.raises(RedQueenError, match="audit what it acts in"):
        environment(f"agent:{folder}/agent_of_digits.py:asked_twice,questions={folder}/arithmetic.jsonl")
