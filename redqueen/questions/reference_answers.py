"""Whether the reference answers of a data set pass the tests of their own rows."""

from __future__ import annotations

from collections.abc import Sequence

from redqueen.questions.by_tests import ByTests
from redqueen.types import Task

MOST = 200  # references that are run
NAMED = 3


def doubts_about(path: str, grading: ByTests, tasks: Sequence[Task]) -> str:
    """One line that counts the references that fail their own tests and names the first ones, each with the reason; ""
    where all pass, or there is none. The first `MOST` are run."""
    given = [task for task in tasks if task.answer and task.facts.get("tests")]
    tried = given[:MOST]
    found = zip(tried, grading.tested(tried, [task.answer for task in tried]), strict=True)
    failed = [f"{task.id} ({each.reason})" for task, each in found if each.right is False]
    if not failed:
        return ""
    count = f"{len(failed)} of {'the first ' if len(given) > MOST else ''}{len(tried)} reference answers"
    named = "; ".join(failed[:NAMED]) + ("; ..." if len(failed) > NAMED else "")
    fail = f"fail{'s' if len(failed) == 1 else ''} {'its' if len(failed) == 1 else 'their'} own tests"
    return f"{path}: {count} {fail}, so that right replies may count as wrong: {named}"
