"""What reads the text of a model takes a time that grows with the text, whatever the text is."""

import time
from collections.abc import Callable

import pytest

from redqueen import texts
from redqueen.checks import extraction, judge, leaks, numeric, retrieval
from redqueen.checks.ranking import Ranking
from redqueen.checks.repository.edits import BadEdit, Repository, file_diffs, read_edits
from redqueen.checks.repository.similarity import patch_similarity
from redqueen.checks.sandbox import agreement
from redqueen.checks.sandbox.literals import NotPlain
from redqueen.checks.sandbox.three_tasks import arguments
from redqueen.games.red_team import read_hidden
from redqueen.games.tool_calls import called
from redqueen.players.language.answers import Code, Json
from redqueen.questions import answer_columns
from redqueen.questions.posing import read_proposal
from redqueen.questions.replied_programs import program_in
from redqueen.texts import likeness, one_spelling, parted, until_stop
from redqueen.types import Refusal

LONG = 200_000  # characters


def many(piece: str, size: int = LONG) -> str:
    return piece * (size // len(piece))


def seconds(call: Callable[[], object]) -> float:
    """Processor time, so that a busy machine fails no test."""
    began = time.process_time()
    call()
    return time.process_time() - began


def refused(error: type[Exception], call: Callable[[str], object], text: str) -> None:
    with pytest.raises(error):
        call(text)


HEAD = "### a.py\n<<<<<<< SEARCH\n"
CASES: dict[str, Callable[[], object]] = {
    "thoughts that are not closed": lambda: parted(many("<think>")),
    "stops within a thought": lambda: until_stop("<think>" + many("\n"), ("\n",)),
    "stops behind many thoughts": lambda: until_stop(many("<think>\n</think>", 60_000) + "<think>", ("\n", "</think>")),
    "objects within objects": lambda: Json().parse(many('{"a":'), ()),
    "objects that break off": lambda: Json().parse(many('{"') + '"answer"', ()),
    "braces": lambda: Json().parse(many("{"), ()),
    "spaces after a fence": lambda: Code().parse("```" + many(" "), ()),
    "spaces after a fence of a program": lambda: program_in("```" + many(" ")),
    "spaces in a fence of a program": lambda: program_in(f"```{many(' ')}`"),
    "blocks of a program": lambda: program_in(many("```\nf = 1\n```\n"), names=["g"]),
    "blocks of programs": lambda: program_in(many("```\ndef f(): g\n```\n"), names=["g"]),
    "fences in a line": lambda: program_in(many("``` ")),
    "a program longer than any": lambda: program_in(f"def f():\n return f'{many('{x}')}'"),
    "questions that are not closed": lambda: read_proposal(many("<question>"), True, True),
    "questions that are closed and opened": lambda: read_proposal("</question>" + many("<question>x</answer>")),
    "marks on one character": lambda: one_spelling("a" + many("\u0301\u0323")),
    "spaces before a number": lambda: extraction.given("x" + many(" "), extraction.Kind.NUMBER),
    "spaces before an answer": lambda: extraction.value_of("x" + many(" ") + "7"),
    "spaces after a score": lambda: judge.Score().read("score" + many(" ")),
    "spaces after a number": lambda: judge.Score().read("7" + many(" ") + "x"),
    "spaces after a verdict": lambda: judge.Label(("A", "B")).read("The answer is:" + many(" ") + "x"),
    "spaces after a preference": lambda: judge.Label(("A", "B")).read("I prefer" + many(" ") + "x"),
    "an answer in a long question": lambda: leaks.leaks(many("a b "), many("a b ", LONG // 2) + "c"),
    "tags of a question": lambda: retrieval.Rules().question(many("<question>")),
    "blocks of an answer": lambda: read_hidden(many("<answer>")),
    "arguments": lambda: refused(NotPlain, arguments, many("-") + "1"),
    "choices": lambda: answer_columns.lists_choices(many("A. ")),
    "words": lambda: numeric.words(many("1,")),
    "a ranking in which every sign begins another": lambda: Ranking(3).read(many("1> ")),
    "a ranking in which every line begins another": lambda: Ranking(3).read(many("1,\n") + "x"),
    "calls beside one another": lambda: called(many('{"parameters":0};') + "x"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_long_text_is_read_at_once(case):
    assert seconds(CASES[case]) < 1.5


@pytest.mark.parametrize("text", [many(HEAD), HEAD + many("=======\n"), many(HEAD + "a\n=======\nb\n"), many("### a ")])
def test_edits_that_do_not_end_are_read_at_once(text):
    assert seconds(lambda: refused(BadEdit, read_edits, text)) < 1.5


def test_edits_are_read_as_far_as_they_end():
    block = f"{HEAD}a\n=======\nb\n>>>>>>> REPLACE\n"
    assert [(edit.path, edit.search, edit.replace) for edit in read_edits(block * 3)] == [("a.py", "a\n", "b\n")] * 3


@pytest.mark.parametrize("piece", ["map(str, x),", "(a for a in x),", "zip(x, map(str, x)),"])
def test_lazy_things_beside_one_another_are_too_entangled_to_be_read(piece):
    program = f"def f(x):\n    return list(zip({many(piece, 6_000)}))"
    assert seconds(lambda: agreement.read.__wrapped__(program)) < 1.5
    assert agreement.read(program) == agreement.Reading("a program too entangled to be read")
    assert agreement.read("def f(x):\n    return list(zip(map(str, x), x))").outside == ""


@pytest.mark.parametrize(("one", "other"), [("ab", "ba"), ("a", "ab"), ("abc", "cab")])
def test_texts_that_repeat_themselves_have_no_likeness(one, other):
    assert seconds(lambda: likeness(many(one, 9_000), many(other, 9_000))) < 5.0
    assert likeness(many(one, 9_000), many(other, 9_000)) is None
    assert likeness(many(one), many(one)) == 1.0


def test_patches_too_long_to_be_compared_count_nothing():
    diffs = {"a.py": many("+x\n", 9_000)}, {"a.py": many("+x\n-x\n", 9_000)}
    assert patch_similarity(*diffs, both_empty=1.0) == 0.0


def test_a_diff_too_dear_to_be_found_replaces_all_lines(monkeypatch):
    monkeypatch.setattr(texts, "MOST_STEPS", 100_000)
    before = Repository({"a.txt": "".join(f"{n % 101}\n" for n in range(20_000))})
    after = Repository({"a.txt": "".join(f"{n * 7 % 101}\n" for n in range(20_000))})
    diff = file_diffs(before, after)["a.txt"].split("\n")
    assert (diff[0], diff[1], diff[20_001]) == ("@@ -1,20000 +1,20000 @@", "-0", "+0")
    assert len(diff) == 40_001


def test_a_diff_is_that_of_difflib():
    old, new = "a\nb\nc\nd\ne\nf\ng\nh\ni\n", "a\nb\nc\nD\ne\nf\ng\nh\ni\nj\n"
    found = file_diffs(Repository({"a.txt": old, "b.txt": ""}), Repository({"a.txt": new, "b.txt": "x"}))
    assert found == {
        "a.txt": "@@ -1,9 +1,10 @@\n a\n b\n c\n-d\n+D\n e\n f\n g\n h\n i\n+j",
        "b.txt": "@@ -0,0 +1 @@\n+x",
    }


@pytest.mark.parametrize(
    ("text", "stops", "opened", "cut"),
    [
        ("<think>a\n</think>b\nc", ("\n",), False, "<think>a\n</think>b\n"),
        ("a\n</think>b\nc", ("\n",), True, "a\n</think>b\n"),
        ("  <think>a\n</think>\nb", ("\n",), True, "  <think>a\n</think>\n"),
        ("a\n<think>", ("\n",), False, "a\n"),
        ("<think>a\n", ("\n",), False, None),
        ("<think>a</think>", ("</think>",), False, "<think>a</think>"),
    ],
)
def test_a_stop_within_a_thought_is_none(text, stops, opened, cut):
    assert until_stop(text, stops, opened) == cut


def test_a_question_is_cut_off_where_its_last_tag_is_open():
    assert read_proposal("<question>a</question><question>b</question>") != Refusal("cut off")
    assert read_proposal("x</question><QUESTION>abc") == Refusal("cut off")
    assert read_proposal("<question>x</answer></question>a").question == "x</answer>"  # type: ignore[union-attr]


def test_a_text_without_end_has_few_marks():
    assert (
        one_spelling("e\u0301" + "\u0323" * 100).count("\u0323") == 28
    )  # of 30 marks: one other, and one joins the letter
