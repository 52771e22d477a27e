"""The tests of a program as a row writes them."""

import pytest

from redqueen.questions.tests_in_rows import CannotBeRun, asserts_in, setup_in

CHECK = """
METADATA = {"author": "jt"}

def check(candidate):
    assert candidate(1) == 2, "one"
    for x in range(3):
        assert candidate(x) == x + 1
    assert candidate([2]) == [3]
"""


def test_statements_of_assert_are_tests_of_their_own():
    assert asserts_in(["assert f(1) == 2", "assert f(\n  2) == 3"], "") == ("assert f(1) == 2", "assert f(\n  2) == 3")
    assert asserts_in("x = f(1)\nassert x == 2", "") == ("x = f(1)\nassert x == 2",)


def test_what_a_function_asserts_of_literals_is_a_test_of_its_own():
    assert asserts_in("def test_it():\n    assert f(1) == 2", "") == ("assert f(1) == 2",)
    first, second, rest = asserts_in(CHECK, "inc")
    assert (first, second) == ("assert inc(1) == 2", "assert inc([2]) == [3]")
    assert rest.endswith("for x in range(3):\n        assert candidate(x) == x + 1\ncheck(inc)")


def test_a_function_that_the_tests_define_themselves_is_left_in_its_text():
    (whole,) = asserts_in("def g(x):\n    return f(x)\nassert g(1) == 2\nx = 1", "")
    assert "assert g(1) == 2" in whole


@pytest.mark.parametrize(
    "line", ["from solution import f", "from .solution import f", "import pytest", "from main import *"]
)
def test_imports_that_a_sandbox_can_do_without_are_dropped(line):
    assert asserts_in(f"{line}\n\ndef test_it():\n    assert f(1) == 2", "") == ("assert f(1) == 2",)


def test_modules_of_the_sandbox_stay():
    assert asserts_in("import random\nassert f(random.random()) < 1", "") == (
        "import random\nassert f(random.random()) < 1",
    )


@pytest.mark.parametrize(
    ("tests", "reason"),
    [
        ("assert f(2) = 3", "'assert f\\(2\\) = 3' is no Python"),
        ("import pytest\nassert f(1) == pytest.approx(2)", "they need the module 'pytest'"),
        ("def check(candidate):\n    import numpy as np\n    assert candidate(1) == np.ones(2)", "the module 'numpy'"),
    ],
)
def test_tests_that_no_program_can_pass_are_refused(tests, reason):
    with pytest.raises(CannotBeRun, match=reason):
        asserts_in(tests, "f")


def test_what_the_question_defines_besides_the_function_stands_before_the_program():
    question = "import re\n\ndef enc(s):\n    return s[::-1]\n\ndef dec(s: str):\n    ''' Decode. '''\n"
    assert setup_in(None, question, "dec") == "import re\ndef enc(s):\n    return s[::-1]"
    assert setup_in(["import math"], "Write f.", "") == "import math"
