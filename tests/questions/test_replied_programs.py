"""The program in a reply."""

import pytest

from redqueen.questions.replied_programs import program_in

F = "def f(n):\n    return n"
BLOCK = f"```python\n{F}\n```"


def test_a_program_is_the_last_block_of_python_or_the_whole_reply():
    assert program_in(f"Here it is:\n{BLOCK}\nDone.") == program_in(F) == F
    assert program_in("I do not know.") == program_in("x = 1") == program_in("```\ndef (\n```") == ""


@pytest.mark.parametrize(
    "reply",
    [
        f"{BLOCK}\nUsage:\n```python\nprint(f(3))\n```",
        f"{BLOCK}\nTests:\n```python\ndef test_f():\n    assert f(1) == 1\n```",
        f"{BLOCK}\nRun it:\n```bash\npython a.py\n```",
        f'```python title="a.py"\n{F}\n```',
        f"~~~python\n{F}\n~~~",
        f"```python\n{F}",
        BLOCK.replace("\n", "\r\n"),
        "1. Do\n   ```python\n   def f(n):\n       return n\n   ```",
        f"Here it is:\n\n{F}",
        f"Here it is:\n\n{F}\n\nIt returns n.",
        f"Code: {BLOCK}",
    ],
)
def test_the_block_that_defines_what_is_tested_is_the_program(reply):
    assert program_in(reply, names=["f"]) == F


def test_a_function_may_be_a_lambda():
    assert program_in("```python\nf = lambda n: n\n```", names=["f"]) == "f = lambda n: n"


def test_earlier_blocks_go_along_where_their_names_are_read():
    helper = "```python\ndef g(n):\n    return n\n```"
    assert program_in(f"{helper}\nThen\n```python\ndef f(n):\n    return g(n)\n```", names=["f"]) == (
        "def g(n):\n    return n\n\ndef f(n):\n    return g(n)"
    )
    assert program_in(f"A draft:\n{helper}\nBetter:\n{BLOCK}", names=["f"]) == F


def test_a_body_follows_the_function_that_the_prompt_begins():
    prompt = 'def f(n):\n    """ Give n. """\n'
    wanted = f"{prompt}\n    m = n\n    return m"
    for body in ("    m = n\n    return m", "m = n\n    return m", "m = n\nreturn m"):
        assert program_in(body, prompt, ["f"]) == program_in(f"```python\n{body}\n```", prompt, ["f"]) == wanted
