import pytest

from redqueen.domains.toolbox import find_tools, python_tool, search_tool
from redqueen.games.tools import Calculator, ToolError
from redqueen.types import RedQueenError
from redqueen.verifiers.python_code.runner import PythonRunner
from redqueen.verifiers.python_code.verdicts import Kind, Program, Verdict
from redqueen.verifiers.retrieval import Corpus, Document


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


def test_tools_have_names():
    assert find_tools("calculator") == (Calculator(),)
    assert find_tools("none") == ()
    assert find_tools("python")[0].name == "python"
    with pytest.raises(RedQueenError, match="there is no tool 'abacus': the tools are calculator, python, none"):
        find_tools("abacus")
