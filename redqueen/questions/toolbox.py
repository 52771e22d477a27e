"""Tools: search in a corpus, Python in the sandbox, a calculator."""

from __future__ import annotations

from redqueen.checks.retrieval import Corpus
from redqueen.checks.sandbox import jail
from redqueen.checks.sandbox.runner import PythonRunner
from redqueen.checks.sandbox.runs_of_programs import Kind, Program
from redqueen.games.tools import Calculator, Running, Searching, ToolError
from redqueen.protocols import Tool
from redqueen.types import RedQueenError

TOOLS = ("calculator", "python", "none")


def search_tool(corpus: Corpus, count: int = 3) -> Searching:
    """A search tool that shows the titles and texts of up to `count` documents, the best first."""
    return Searching(lambda query: [document.shown for document in corpus.search(query, count)])


def python_tool(runner: PythonRunner) -> Running:
    """A tool that runs scripts in the sandbox and returns what they print, or how they failed. A script whose output
    could differ between runs (by chance, a clock or an address) is refused. Raises RedQueenError for one that
    needs the jail if there is none."""

    def run(source: str) -> str:
        (verdict,) = runner.reproducible([Program(source)])
        if verdict.kind is Kind.VALUE:
            return verdict.printed
        if verdict.kind is Kind.UNSUPPORTED and runner.missing:
            raise RedQueenError(_lacking(runner.missing))
        said = f"{verdict.detail}: {verdict.message}".strip(": ")
        raise ToolError(said if verdict.kind is Kind.EXCEPTION else f"{verdict.kind} {said}".strip())

    return Running(run)


def find_tools(name: str) -> tuple[Tool, ...]:
    """The tools of a name: "calculator", "python" or "none". Raises RedQueenError for "python" without a jail."""
    if name == "calculator":
        return (Calculator(),)
    if name == "python":
        if missing := jail.why_not():
            raise RedQueenError(_lacking(missing))
        return (python_tool(PythonRunner()),)
    if name == "none":
        return ()
    raise RedQueenError(f"there is no tool {name!r}: the tools are {', '.join(TOOLS)}")


def _lacking(missing: str) -> str:
    return f"the tool python needs the jail: {missing}"
