"""The comparisons run, print and write; their figures are checked where they are known."""

import io
import re

import pytest
from rich.console import Console

from experiments.__main__ import BENCHES, bench
from redqueen.trials.sheets import Bench, Sheet

LEARNING = ("constants", "head_to_head", "kuhn", "leduc", "tic_tac_toe")  # speed has tests of its own


def console():
    return Console(file=io.StringIO(), width=120, force_terminal=False)


def result(name, **options):
    return BENCHES[name](Bench(**options), console())


def test_uniform_play_has_the_known_exploitability():
    _, headings, rows, _ = result("constants")
    assert headings == ("game", "information states", "NashConv", "known")
    assert rows == [
        ("kuhn_poker", "12", "0.9167", "0.9167"),
        ("leduc_poker", "288", "4.7472", "4.7472"),
        ("liars_dice(sides=4)", "1024", "1.3101", "1.3101"),
    ]


def test_an_honest_player_ties_an_equilibrium_player_and_is_exploitable_by_half_a_chip():
    rows = {row[0]: row[1:] for row in result("head_to_head")[2]}
    assert rows["honest"] == ("+0.0000", "0.5000")
    assert rows["equilibrium"] == ("+0.0000", "0.0000")
    assert float(rows["uniform"][0]) < 0.0


@pytest.mark.parametrize("name", LEARNING)
def test_a_comparison_of_few_steps_has_a_value_under_every_heading(name):
    _, headings, rows, _ = result(name, steps=2, seeds=2)
    assert rows
    assert all(len(row) == len(headings) for row in rows)
    assert all(re.search(r"\w", cell) for row in rows for cell in row)


def test_the_comparison_of_methods_names_each_and_its_seeds():
    _, _, rows, note = result("kuhn", steps=2, seeds=2)
    assert [row[0] for row in rows] == ["spiral", "fictitious_self_play", "magnetic"]
    assert "2 paired seeds, 2 updates" in note


def test_a_bar_in_a_cell_is_no_border_of_the_table():
    page = Sheet("x", "X", ("KL(p || q)", "b"), (("1|2", "3"),), "", 0.0).markdown(Bench())
    assert "| KL(p \\|\\| q) | b |\n|---|---|\n| 1\\|2 | 3 |\n" in page


def test_tables_are_printed_and_written_as_markdown_with_the_command_that_made_them(tmp_path):
    screen, path = console(), tmp_path / "deep" / "benchmarks.md"
    bench(Bench(("constants", "head_to_head"), seeds=3, write=path), screen)
    lines = path.read_text().splitlines()
    assert lines[0] == "# Benchmarks"
    assert "## Uniform play" in lines
    assert "| game | information states | NashConv | known |" in lines
    assert "| kuhn_poker | 12 | 0.9167 | 0.9167 |" in lines
    assert any(line.startswith("Made by `python -m experiments head_to_head --seeds 3` with") for line in lines)
    assert "kuhn_poker" in screen.file.getvalue()
    assert f"written to {path}" in screen.file.getvalue().replace("\n", "")


def test_a_page_keeps_what_was_not_measured_again(tmp_path):
    path = tmp_path / "benchmarks.md"
    path.write_text("# Benchmarks\n\nBy hand.\n\n## Uniform play\n\nold\n\n## Another\n\nstays\n")
    bench(Bench(("constants",), write=path), console())
    text = path.read_text()
    assert "By hand." in text
    assert "old" not in text
    assert text.index("## Uniform play") < text.index("| leduc_poker | 288 |") < text.index("## Another\n\nstays")
    bench(Bench(("constants",), write=path), console())
    assert path.read_text().count("## ") == 2


def test_every_name_of_the_help_is_a_comparison():
    assert set(LEARNING) < set(BENCHES)
    assert set(Bench().names) <= set(BENCHES)
