import pytest

from redqueen.checks.retrieval import Corpus, Document
from redqueen.checks.sandbox import jail
from redqueen.checks.sandbox.runner import PythonRunner
from redqueen.checks.sandbox.runs_of_programs import Kind, Program, Verdict
from redqueen.games.tools import Calculator, ToolError
from redqueen.questions.toolbox import find_tools, python_tool, search_tool
from redqueen.types import RedQueenError


class Tier:
    """Says the same of every program."""

    def __init__(self, verdict):
        self.verdict = verdict
        self.seen = []

    def run(self, programs, hash_seed=0):
        self.seen += programs
        return [self.verdict for _ in programs]

    def close(self):
        pass


def test_a_search_shows_the_best_documents_first():
    tool = search_tool(
        Corpus([Document("a", "red fox"), Document("b", "red red hen"), Document("c", "fox and hen")]), 2
    )
    assert tool("fox red") == "red fox\nred red hen" or tool("fox red").startswith("red fox")
    assert tool("goose") == "Nothing was found."


def test_what_a_program_prints_is_the_output():
    tier = Tier(Verdict(Kind.VALUE, "None", printed="5\n"))
    assert python_tool(PythonRunner(tiers=[tier]))("print(2+3)") == "5"
    assert tier.seen == [Program("print(2+3)")]


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (
            Verdict(Kind.EXCEPTION, detail="ZeroDivisionError", message="division by zero"),
            "ZeroDivisionError: division",
        ),
        (Verdict(Kind.TIMEOUT, detail="1 s"), "timeout 1 s"),
        (Verdict(Kind.FORBIDDEN, detail="open"), "forbidden open"),
    ],
)
def test_how_a_program_failed_is_told(verdict, said):
    with pytest.raises(ToolError, match=said):
        python_tool(PythonRunner(tiers=[Tier(verdict)]))("x")


def test_the_sandbox_runs_a_script():
    with PythonRunner() as runner:
        tool = python_tool(runner)
        assert tool("x = 3\nprint(x * 4)") == "12"
        with pytest.raises(ToolError, match="ZeroDivisionError"):
            tool("1/0")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import random\nprint(random.random())", "forbidden random: it may tell one run from another"),
        ("import time\nprint(time.time())", "forbidden time: it may tell one run from another"),
        ("import numpy as np\nprint(1)", "forbidden numpy: the sandbox does not have this module"),
        ("print(id([]))", "forbidden id: it may tell one run from another"),
        ("class A: pass\nprint(A())", "nondeterministic an address: a text that it makes holds one"),
    ],
)
def test_a_script_that_would_print_something_else_another_time_is_refused(source, said):
    if reason := jail.why_not():
        pytest.skip(reason)
    with PythonRunner() as runner, pytest.raises(ToolError) as error:
        python_tool(runner)(source)
    assert str(error.value) == said


def test_python_without_a_jail_ends_the_run_and_says_why(monkeypatch):
    monkeypatch.setattr(jail, "why_not", lambda: "no walls here")
    with pytest.raises(RedQueenError, match="the tool python needs the jail: no walls here"):
        find_tools("python")
    with PythonRunner() as runner:
        assert python_tool(runner)("print(1)") == "1"
        with pytest.raises(RedQueenError, match="the tool python needs the jail: no walls here"):
            python_tool(runner)("class A: pass\nprint(1)")


def test_tools_have_names():
    assert find_tools("calculator") == (Calculator(),)
    assert find_tools("none") == ()
    if not jail.why_not():
        assert find_tools("python")[0].name == "python"
    with pytest.raises(RedQueenError, match="there is no tool 'abacus': the tools are calculator, python, none"):
        find_tools("abacus")
