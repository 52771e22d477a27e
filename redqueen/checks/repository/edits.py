"""Small Python repositories in memory: their files, search/replace edits, and the diffs between two of them.

Modules are imported from the root of the repository (`pkg/core.py` is `pkg.core`; there is no `src` folder and no
`conftest.py`), and files that are no modules cannot be opened by any of them. Edits change files that are there; none
adds, moves or removes one. Unified diffs are written and not read.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from redqueen.checks.sandbox.literals import NotPlain, literal, quiet
from redqueen.texts import Matcher, TooLong
from redqueen.types import RedQueenError

LARGEST = 150_000  # characters of all files written as literals; the jail takes 262,144 with what goes along
RESERVED = sys.stdlib_module_names | {"__main__", "program", "pytest", "redqueen"}  # names that the jail knows already
HEAD = re.compile(r"### (\S++)[ \t]*+\n<{7} SEARCH[ \t]*+\n")
DIVIDER = re.compile(r"^={7}[ \t]*+$", re.MULTILINE)
END = re.compile(r"^>{7} REPLACE[ \t]*+$", re.MULTILINE)
MARKS = ("<" * 7 + " SEARCH", ">" * 7 + " REPLACE")


class BadEdit(ValueError):
    """Edits that a model wrote and that do not fit their repository."""


@dataclass(frozen=True)
class Edit:
    """A text that stands once in a file, and what is to stand there instead. Its last line may be that of a file that
    ends without a newline."""

    path: str
    search: str
    replace: str


@dataclass(frozen=True)
class Repository:
    """Files by their path, such as `pkg/core.py`. Raises RedQueenError for files that cannot be one repository."""

    files: Mapping[str, str]

    def __post_init__(self) -> None:
        for path in self.files:
            _check(path)
        modules = {path.removesuffix(".py") for path in self.files if path.endswith(".py")}
        folders = {str(folder) for path in self.files for folder in PurePosixPath(path).parents}
        if both := sorted(modules & folders):
            raise RedQueenError(f"{both[0]}.py and the folder {both[0]} would be one module: rename one of them")
        if not _fits(self.files):
            raise RedQueenError(f"a repository takes up to {LARGEST} characters, and this one has more")

    def apply(self, edits: Iterable[Edit]) -> Repository:
        """The repository after the edits, one after the other. Raises BadEdit for none, for an unknown path, for a
        search that is empty, not found or found more than once, and for one that equals what replaces it."""
        files = dict(self.files)
        count = 0
        for edit in edits:
            files[edit.path] = _replaced(files, edit)
            count += 1
        if not count:
            raise BadEdit("no edit")
        return _edited(files)

    def restored(self, oracle: Repository) -> Repository:
        """This code under the oracle's tests: what was done to test files, or in new ones, is gone (SSR). Raises
        BadEdit where the two do not fit together, as with a module `tests.py` next to the oracle's folder."""
        code = {path: text for path, text in self.files.items() if not is_test_file(path)}
        return _edited(code | {path: text for path, text in oracle.files.items() if is_test_file(path)})

    def put_back(self, path: str, oracle: Repository) -> Repository:
        """This repository with one file as the oracle has it, or without it. Raises BadEdit as `restored` does."""
        files = {each: text for each, text in self.files.items() if each != path}
        return _edited(files | ({path: oracle.files[path]} if path in oracle.files else {}))


def is_test_file(path: str) -> bool:
    """Whether a file belongs to the tests: `test_*.py`, and all that lies below a folder `tests`."""
    *folders, name = path.split("/")
    return "tests" in folders or (name.startswith("test_") and name.endswith(".py"))


def read_edits(text: str) -> list[Edit]:
    """The edits in a model's text, in the form of SWE-RL (2502.18449):

        ### pkg/core.py
        <<<<<<< SEARCH
        old lines
        =======
        new lines
        >>>>>>> REPLACE

    Raises BadEdit where there is none, where a mark stands outside of one, or where several lines could part the old
    from the new. Words around them are passed over; lines may end as on Windows.
    """
    text = text.replace("\r\n", "\n")
    edits = []
    at = 0
    while (
        (head := HEAD.search(text, at))
        and (divider := DIVIDER.search(text, head.end()))
        and (end := END.search(text, divider.end() + 1))
    ):
        edits.append(Edit(head[1], text[head.end() : divider.start()], text[divider.end() + 1 : end.start()]))
        at = end.end()
    if not edits:
        raise BadEdit("no edit")
    if any(text.count(mark) != len(edits) for mark in MARKS):
        raise BadEdit("an edit that is not closed, or not opened")
    if any(DIVIDER.search(edit.replace) for edit in edits):  # what is sought ends at the first
        raise BadEdit("an edit with more than one line =======")
    return edits


def changed(before: Repository, after: Repository) -> list[str]:
    """The paths whose text differs, or that only one of the two has."""
    paths = sorted({*before.files, *after.files})
    return [path for path in paths if before.files.get(path) != after.files.get(path)]


def file_diffs(before: Repository, after: Repository) -> dict[str, str]:
    """The unified diff of each file that differs, three lines of context, without the two lines that name the file.
    Where two texts are too long or repeat too much to be compared, all lines of the one are replaced by those of the
    other."""
    return {path: _diff(before.files.get(path, ""), after.files.get(path, "")) for path in changed(before, after)}


def rewritten(repository: Repository) -> Repository:
    """An equivalent repository with the same tests: every text, line number and function differs, the behaviour does
    not, so that a test that inspects the code rather than its behaviour is detected. Files that do not parse, and a
    repository too large to be rewritten, are unchanged."""
    files = {
        path: _rewritten(text) if path.endswith(".py") and not is_test_file(path) else text
        for path, text in repository.files.items()
    }
    return Repository(files) if _fits(files) else repository


def _edited(files: Mapping[str, str]) -> Repository:
    """The repository after a model's edits. Raises BadEdit if they do not give a valid one."""
    try:
        return Repository(files)
    except RedQueenError as error:
        raise BadEdit(str(error)) from error


def _check(path: str) -> None:
    parts = path.split("/")
    if not path or any(part in ("", ".", "..") for part in parts):
        raise RedQueenError(f"a file of a repository has a path such as 'pkg/core.py', not {path!r}")
    if not path.endswith(".py"):
        return
    names = [*parts[:-1], parts[-1].removesuffix(".py")]
    if wrong := [name for name in names if not name.isidentifier()]:
        raise RedQueenError(f"{path} cannot be imported: {wrong[0]!r} is no name of a module")
    if names[0] in RESERVED or names == ["__init__"]:
        raise RedQueenError(f"{path} would be hidden by another module named {names[0]}: rename it")


def _fits(files: Mapping[str, str]) -> bool:
    try:
        literal(dict(files), longest=LARGEST)
    except NotPlain:
        return False
    return True


def _replaced(files: Mapping[str, str], edit: Edit) -> str:
    text = files.get(edit.path)
    if text is None:
        raise BadEdit(f"no file {edit.path[:80]!r}")
    open_ended = edit.search not in text and text and not text.endswith("\n")
    after = _put(text + "\n", edit).removesuffix("\n") if open_ended else _put(text, edit)
    if after == text:
        raise BadEdit(f"an edit of {edit.path} that changes nothing")
    return after


def _put(text: str, edit: Edit) -> str:
    place = text.find(edit.search) if edit.search else -1
    if place < 0:
        raise BadEdit(f"a search that is not found in {edit.path}")
    if text.find(edit.search, place + 1) >= 0:  # one that overlaps counts as well
        raise BadEdit(f"a search that is found more than once in {edit.path}")
    return text[:place] + edit.replace + text[place + len(edit.search) :]


def _diff(before: str, after: str) -> str:
    old, new = before.splitlines(), after.splitlines()
    try:
        hunks = list(Matcher(old, new, autojunk=True).get_grouped_opcodes())
    except TooLong:
        hunks = [[("replace", 0, len(old), 0, len(new))]]
    lines = []
    for hunk in hunks:
        lines.append(f"@@ -{_range(hunk[0][1], hunk[-1][2])} +{_range(hunk[0][3], hunk[-1][4])} @@")
        for kind, start, end, begin, stop in hunk:
            if kind == "equal":
                lines += [f" {line}" for line in old[start:end]]
            else:
                lines += [f"-{line}" for line in old[start:end]] + [f"+{line}" for line in new[begin:stop]]
    return "\n".join(lines)


def _range(start: int, stop: int) -> str:
    """Lines as a unified diff counts them: the first and how many, or the one before an empty range."""
    if stop - start == 1:
        return f"{stop}"
    return f"{start + (stop > start)},{stop - start}"


def _rewritten(text: str) -> str:
    try:
        with quiet():
            tree = ast.parse(text)
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    idle = ast.Assign([ast.Name("__idle__", ast.Store())], ast.Constant(None))
                    node.body.insert(ast.get_docstring(node, clean=False) is not None, idle)
            return "\n\n" + ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
