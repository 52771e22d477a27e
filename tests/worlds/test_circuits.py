"""Circuits: which designs are read, how many rows are right, and that iverilog says the same."""

import subprocess
from random import Random

import pytest

from redqueen.checks import verilog
from redqueen.checks.verilog import DesignError, read_design, simulated, table_of, why_not_simulated, written
from redqueen.contracts.worlds import check_world
from redqueen.types import RedQueenError, Task
from redqueen.worlds.catalogue import find_world
from redqueen.worlds.circuits import Circuits

ASKED = Task(
    "t", facts={"inputs": ("a", "b", "c"), "table": "01010111", "listed": (), "design": "assign y = (a & b) | c ;"}
)
needs_iverilog = pytest.mark.skipif(bool(why_not_simulated()), reason=why_not_simulated() or "there")


def test_signs_bind_as_in_verilog():
    """~ before &, & before ^, ^ before |, | before ?:."""
    assert table_of(read_design("assign y=(a&b)|c;", "abc"), "abc") == "01010111"
    assert table_of(read_design("assign y = a & (b | c);", "abc"), "abc") == "00000111"
    assert written(read_design("assign y = a|b^c&~a;", "abc")) == "a | ( b ^ ( c & ~ a ) )"
    assert table_of(read_design("assign y = a ? b : c ? 1'b1 : 0;", "abc"), "abc") == "01010011"


WIDTHS = {
    "assign y = ~ 1'b1 ? a : b ;": "00110011",
    "assign y = ~ 1 ? a : b ;": "00001111",
    "assign y = ( ~ a | 0 ) ? b : c ;": "00110011",
    "assign y = ( ~ a | 1'b0 ) ? b : c ;": "00110101",
    "assign y = ~ ( a ? 0 : b ) ? b : c ;": "00110011",
    "assign y = ~ ( 0 ? a : b ) ? b : c ;": "00010001",
    "assign y = ~ 0 ^ a & 1 ;": "11110000",
}


@pytest.mark.parametrize(("text", "table"), WIDTHS.items())
def test_a_bare_constant_has_32_bits_and_one_with_a_width_has_one(text, table):
    """The tables are what Icarus Verilog 11 says of the texts."""
    assert table_of(read_design(text, "abc"), "abc") == table


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected 'assign', not 'the end'"),
        ("assign y = a", "expected ';'"),
        ("assign y = q;", "'q' is no input: they are a, b"),
        ("assign y = $fopen(1);", "'$fopen(1)' is no name"),
        ('`include "x"', "is no name"),
        ("assign y = a; assign z = b;", "one assign and nothing after it"),
        ("assign y = " + "(" * 99 + "a", "lie more than 30 deep"),
        ("assign y = " + "~" * 99 + "a;", "lie more than 30 deep"),
        ("assign y = a;" + " " * 400, "400 characters at most"),
    ],
)
def test_what_is_no_design_is_told_in_one_line(text, said):
    with pytest.raises(DesignError) as raised:
        read_design(text, ("a", "b"))
    assert said in str(raised.value) and "\n" not in str(raised.value)


def test_six_of_eight_rows_are_those_of_the_card():
    """The card (17): wrong in the two rows with a = 0 and c = 1."""
    visit = Circuits().open(ASKED, 0)
    shown = visit.act("assign y = a&(b|c);").shown
    assert shown == "6 of 8 rows are right. At a b c = 0 0 1 y is 0, not 1."
    assert visit.assess().parts == {"compiles": 1.0, "rows": 0.75} and visit.assess().score == 0.0
    assert visit.act("nonsense").shown.startswith("No design: ")
    assert visit.assess().parts == {"compiles": 0.0, "rows": 0.0}
    assert visit.act("assign y = c | (b & a);").over
    assert visit.assess().score == 1.0 and visit.assess().facts == {"tried": 3}


def test_listed_designs_end_with_the_first_that_is_chosen():
    world = Circuits(listed=True, count=8, tests=4)
    assert "keeps the contract" in check_world(world)
    task = world.tasks()[0]
    rows = [table_of(read_design(each, task.facts["inputs"]), task.facts["inputs"]) for each in task.facts["listed"]]
    assert rows.count(task.facts["table"]) == 1
    wrong = task.facts["listed"][rows.index(task.facts["table"]) - 1]
    visit = world.open(task, 0)
    assert visit.act(wrong).over and visit.assess().score == 0.0


def said_by_iverilog(texts, folder):
    """What iverilog says of the texts themselves, each over a, b and c."""
    modules = [f"module d{n}(input a, b, c, output y);\n{text}\nendmodule" for n, text in enumerate(texts)]
    wires = "".join(f"wire y{n}; d{n} u{n}(row[2], row[1], row[0], y{n});\n" for n in range(len(texts)))
    rows = "".join(
        f'for (i = 0; i < 8; i = i + 1) begin row = i; #1 $write("%b", y{n}); end $write("\\n");\n'
        for n in range(len(texts))
    )
    bench = f"module bench; reg [2:0] row; integer i;\n{wires}initial begin\n{rows}$finish; end endmodule\n"
    (folder / "all.v").write_text("\n".join((*modules, bench)))
    subprocess.run(["iverilog", "-g2005", "-s", "bench", "-o", folder / "all", folder / "all.v"], check=True)
    run = subprocess.run(["vvp", "-n", folder / "all"], check=True, capture_output=True, text=True)
    return run.stdout.split()


def drawn_text(rng, depth):
    """A random expression, mostly without the brackets that say how it is read."""
    kind = rng.randrange(6) if depth else 0
    if kind == 0:
        return rng.choice(["a", "b", "c", "0", "1", "1'b0", "1'b1"])
    if kind == 1:
        operand = drawn_text(rng, depth - 1)
        return f"~ ( {operand} )" if operand.startswith("~") else f"~ {operand}"
    if kind == 2:
        return f"( {drawn_text(rng, depth - 1)} )"
    if kind == 3:
        return " ".join([drawn_text(rng, depth - 1), "?", drawn_text(rng, depth - 1), ":", drawn_text(rng, depth - 1)])
    return f"{drawn_text(rng, depth - 1)} {rng.choice('&|^')} {drawn_text(rng, depth - 1)}"


@needs_iverilog
def test_tables_and_simulations_are_what_iverilog_says_of_the_text_itself(tmp_path):
    rng = Random(0)
    texts = [*WIDTHS, *(f"assign y = {drawn_text(rng, 4)} ;" for _ in range(300))]
    texts = [text for text in texts if len(text) <= verilog.LONGEST]
    said = said_by_iverilog(texts, tmp_path)
    twice = "assign y = ~ ~ a ;"  # which is no Verilog, and is read
    assert simulated(read_design(twice, "abc"), "abc") == table_of(read_design(twice, "abc"), "abc") == "00001111"
    trees = [read_design(text, "abc") for text in texts]
    assert [table_of(tree, "abc") for tree in trees] == said
    assert [simulated(tree, "abc") for tree in trees[:40]] == said[:40]


@needs_iverilog
def test_iverilog_says_the_same_of_every_kind_of_design():
    for task in Circuits(count=10, tests=2).tasks():
        inputs = task.facts["inputs"]
        assert simulated(read_design(task.facts["design"], inputs), inputs) == task.facts["table"]
    world = find_world("circuits:simulator=iverilog,count=2,tests=2")
    visit = world.open(ASKED, 0)
    assert visit.act("assign y = a&(b|c);").shown.startswith("6 of 8")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("circuits:four", "there is no family 'four'"),
        ("circuits:simulator=vcs", "by python or iverilog, not by 'vcs'"),
        ("circuits:count=0", "a task to train on"),
        ("circuits:simulator=iverilog", "apt-get install iverilog"),
    ],
)
def test_what_cannot_be_is_one_line(spec, said, monkeypatch):
    monkeypatch.setattr(verilog, "which", lambda name: None)
    with pytest.raises(RedQueenError, match=said):
        find_world(spec)


def test_a_family_of_few_circuits_deals_all_of_them():
    """28 pairs of 8 letters, and 10 functions that need both inputs."""
    world = Circuits("two", count=300, tests=100)
    assert (len(world.tasks()), len(world.held_out())) == (210, 70)


@pytest.mark.parametrize("family", ["two", "three", "mux", "adder"])
def test_no_length_tells_which_of_the_listed_designs_is_right(family):
    """Always to choose the shortest does little better than chance, a sixth."""
    tasks = Circuits(family, count=60, tests=20, listed=True).tasks()
    shortest = [min(task.facts["listed"], key=len) == task.facts["design"] for task in tasks]
    assert sum(shortest) < 0.4 * len(tasks)
