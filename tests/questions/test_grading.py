"""Verdicts on replies: by answer, by tests, by a function, by nobody."""

import pytest

from redqueen.checks.extraction import Kind
from redqueen.checks.sandbox import jail
from redqueen.questions.grading import find_grading, same
from redqueen.types import RedQueenError, Task

N, F, C, T, D = Kind.NUMBER, Kind.FORMULA, Kind.CHOICE, Kind.TEXT, Kind.DATE


@pytest.mark.parametrize(
    ("wanted", "given", "kind", "right"),
    [
        ("13", "13", N, True),
        ("13", "13.0", N, True),
        ("13", "31", N, False),
        ("1,000", "1000", N, True),
        ("0.5", "1/2", N, True),
        ("3/4", r"\frac{3}{4}", N, True),
        ("-5", "5", N, False),
        ("50", "50%", N, True),
        ("0.5", "50%", N, True),
        ("50", "5%", N, False),
        ("42", "42 apples", N, True),
        ("$70,000", "70000", N, True),
        ("42", "", N, False),
        ("42", "forty", N, False),
        ("B", "B", C, True),
        ("B", "A", C, False),
        ("Paris", "paris.", T, True),
        ("New York", "  new   york", T, True),
        ("Paris", "Paris, France", T, False),
        ("12", "12.0", T, True),
        ("True", "Yes.", T, True),
        ("True", "No", T, False),
        ("True", "Yes, 93 is above 10.", T, True),
        ("no", "False: it is below.", T, True),
        ("no", "Yes, there is no doubt.", T, False),
        ("yes", "Perhaps", T, False),
        ("2021-05-02", "2014", T, False),  # as a difference both are 2014
        ("2021-05-02", "2021-04-03", T, False),
        ("2021-05-02", "2021-04-03", D, False),
        ("2021-05-02", "the 2nd of May, 2021", D, True),
        ("It happened on May 2, 2021.", "2021-05-02", D, True),
        ("1 000 000", "1,000,000", N, True),
        ("2, -2", "x = 2 and -2", T, True),
        ("2; -2", "$2, -2$", T, True),
        ("2, -2", "-2, 2", T, False),  # a list in the order in which it stands
        ("1,200, 3", "1200, 3.0", T, True),
        ("2, -2", "2", T, False),
    ],
)
def test_two_answers_are_the_same_or_not(wanted, given, kind, right):
    assert same(wanted, given, kind) is right


def test_formulas_are_compared_as_mathematics():
    pytest.importorskip("math_verify")
    assert same("x^2+2x+1", "(x+1)^2", F) is True
    assert same("x^2+2x+1", "(x+2)^2", F) is False
    assert same("1024", "2^{10}", N) is True
    assert same(r"2\sqrt{3}", r"\sqrt{12}", F) is True
    assert same("x = 5", "5", F) is True


def verdict(answer, reply, spec="", kind=T, **facts):
    (found,) = find_grading(spec, kind).verdicts([Task("t", prompt="q", answer=answer, facts=facts)], [reply])
    return found


def test_each_answer_is_compared_as_what_it_is():
    assert verdict("13", "7 + 6 = 13.") is True
    assert verdict("13", "7 + 6 = 13, or 14.") is False
    assert verdict("Paris", "The answer is Paris.") is True
    assert verdict("B", "The answer is (B).", kind=C) is True
    assert verdict("B", "Paris", options=("Rome", "Paris")) is True
    assert verdict("b c", "b c", accepted=("b c", "d")) is verdict("b c", "D", accepted=("b c", "d")) is True
    assert verdict("", "7") is None, "nobody knows"
    assert verdict("I", "I", kind=T) is True, "a letter is a text where no choices are listed"


def test_a_list_in_braces_is_compared_in_any_order():
    pytest.importorskip("math_verify")
    for reply in ("{2,-2}", "{-2, 2}", r"\boxed{\{-2, 2\}}", "The answer is {-2, 2}.", "2, -2"):
        assert verdict("{2, -2}", reply) is True, reply
    for reply in ("{2}", "{2, 2}", "{2, -3}", "2"):
        assert verdict("{2, -2}", reply) is False, reply


def test_a_comma_stands_before_decimals_where_the_set_has_it_so():
    def right(answer, reply):
        (found,) = find_grading("", N, commas=True).verdicts([Task("t", prompt="q", answer=answer)], [reply])
        return found

    for reply in ("Die Antwort ist 8,5.", "8,5", r"\boxed{8,5}", "#### 8,5", "3,25 + 5,25 = 8,5", "It is 8.5"):
        assert right("8.5", reply) is True, reply
    assert right("1234.5", "Das sind 1.234,5 m.") is True
    assert right("8.5", "8,4") is False
    assert verdict("8.5", "8,5", kind=N) is False, "in other sets it parts two numbers"


def test_as_text_a_number_in_a_sentence_is_not_looked_for():
    assert verdict("13", "7 + 6 = 13.", "text") is False
    assert verdict("13", " 13. ", "text") is True
    assert verdict("13", "It is 13.", "number") is True
    assert verdict("13", "13", "none") is None


def test_a_function_of_the_users_says_what_is_right(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "def longer(task, reply):\n    return len(reply) > len(task.answer) if reply else None\n"
        "def wrong(task, reply):\n    return 0.5\n"
        "def fails(task, reply):\n    return 1 // 0\n"
    )
    assert [verdict("ab", reply, f"{file}:longer") for reply in ("abc", "a", "")] == [True, False, None]
    with pytest.raises(RedQueenError, match=r"gave 0\.5: a verdict is True, False or None"):
        verdict("ab", "c", f"{file}:wrong")
    with pytest.raises(RedQueenError, match="raises ZeroDivisionError"):
        verdict("ab", "c", f"{file}:fails")
    with pytest.raises(RedQueenError, match="has no function 'nosuch'"):
        find_grading(f"{file}:nosuch", T)


def test_a_judge_is_refused_in_one_line():
    with pytest.raises(RedQueenError, match="a data set has no judge of its own"):
        find_grading("judge", T)


SQUARE = "Here it is:\n```python\ndef square(n):\n    return n * n\n```\nDone."
TESTS = ("assert square(3) == 9", "assert square(-2) > 3")


@pytest.mark.skipif(bool(jail.why_not()), reason="this machine has no jail")
@pytest.mark.parametrize(
    ("reply", "right"),
    [
        (SQUARE, True),
        (SQUARE.replace("n * n", "n * 3"), False),
        (SQUARE.replace("n * n", "n * n +"), False),
        (SQUARE.replace("square", "other"), False),
        (SQUARE.replace("return n * n", "raise ValueError"), False),
        (
            "```python\nclass A:\n    def __eq__(self, o):\n        return True\ndef square(n):\n    return A()\n```",
            False,
        ),
        ("", False),
    ],
)
def test_programs_are_run_against_their_tests(reply, right):
    assert verdict("", reply, "tests", tests=TESTS) is right


@pytest.mark.skipif(bool(jail.why_not()), reason="this machine has no jail")
@pytest.mark.parametrize(
    ("body", "right"), [("return x + sqrt(4)", True), ("return x", False), ("I do not know.", False)]
)
def test_a_reply_may_go_on_with_the_function_that_the_prompt_begins(body, right):
    prompt = 'def add(x: List) -> int:\n    """Return x plus 2."""\n'
    tests, setup = ("y = add(1)\nassert y == 3",), "from typing import List\nfrom math import sqrt"
    task = Task("t", prompt=prompt, facts={"tests": tests, "setup": setup})
    assert find_grading("tests", T).verdicts([task] * 2, [body, f"```python\n{prompt}    {body}\n```"]) == [right] * 2


def test_without_tests_nobody_knows():
    assert verdict("", SQUARE, "tests") is None
