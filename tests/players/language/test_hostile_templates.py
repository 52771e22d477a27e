"""Templates of a folder that would run without end, fill the memory, or say other things than transformers shows."""

import time

import pytest

from redqueen.players.language import chat_templates as templates
from redqueen.players.language.chat_format import ChatFormat
from redqueen.players.language.chat_templates import TooDear, rendered
from redqueen.players.transformer.loading import tiny_tokenizer
from redqueen.types import RedQueenError

TALK = [{"role": "user", "content": "what is 1 + 1?"}, {"role": "assistant", "content": "é 2 < 3"}]
SHOWN = "{% for m in messages %}{{ m.content }}{% endfor %}"
TIME = {
    "loops in loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "a power": "{{ 10 ** (10 ** 9) }}",
    "a power that is only compared": "{% if 7 ** (7 ** 11) > 3 %}{% endif %}",
    "a list of lists compared": "{% set n = namespace(a=[1], b=[1]) %}{% for i in range(60) %}"
    "{% set n.a = [n.a, n.a] %}"
    "{% set n.b = [n.b, n.b] %}{% endfor %}{{ n.a == n.b }}",
    "macros that call twice": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}"
    "{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "products": "{% for a in [1, 2] * 9999999 %}{% for b in [1, 2] * 9999999 %}{% endfor %}{% endfor %}",
}
SIZE = {
    "tojson 31 times": "{{ messages" + " | tojson" * 31 + " }}",
    "doubled in a loop": "{% set n = namespace(x='ab') %}{% for i in range(60) %}"
    "{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
    "a text times a number": "{{ 'ab' * 9999999999 }}",
    "a list times a number": "{{ [0] * 9999999999 }}",
    "padding": "{{ '%9999999999d' % 1 }}",
    "padding by a format": "{{ '{:>9999999999}'.format(1) }}",
    "centred": "{{ 'x' | center(9999999999) }}",
    "indented": "{{ 'x\ny' | indent(9999999999) }}",
    "filled": "{{ 'x'.zfill(9999999999) }}",
    "an indented object": "{{ messages | tojson(indent=9999999999) }}",
    "replaced": "{% set n = namespace(x='a') %}{% for i in range(40) %}"
    "{% set n.x = n.x.replace('a', 'aa') %}{% endfor %}{{ n.x }}",
    "a list in a list": "{% set n = namespace(a=[1]) %}{% for i in range(60) %}"
    "{% set n.a = [n.a, n.a] %}{% endfor %}{{ n.a }}",
    "blocks of text": "{% for a in range(99999) %}{{ 'x' * 9999 }}{% endfor %}",
}
DEEP = {
    "macros without end": "{% macro f(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}",
    "brackets": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "ifs": "{% if 1 %}" * 3000 + "{% endif %}" * 3000,
    "a list in itself": "{{ messages" + "[0]" * 5000 + " }}",
    "an include of itself": "{% include 'x' %}",
}


def made(template):
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = template
    return tokenizer


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(templates, "SECONDS", 1.0)
    for worker in templates._WORKERS.values():
        worker.close()
    templates._WORKERS.clear()
    yield
    for worker in templates._WORKERS.values():
        worker.close()
    templates._WORKERS.clear()


@pytest.mark.slow
@pytest.mark.parametrize("template", TIME.values(), ids=TIME)
def test_a_template_without_end_is_one_line(template):
    began = time.process_time()
    with pytest.raises(TooDear, match="takes more than") as refused:
        ChatFormat(made(template + SHOWN))
    assert "\n" not in str(refused.value) and "--raw-prompt True" in str(refused.value)
    assert time.process_time() - began < 2.0  # none of it is spent here


@pytest.mark.slow
@pytest.mark.parametrize("template", SIZE.values(), ids=SIZE)
def test_a_template_that_makes_too_much_is_one_line(template):
    with pytest.raises(
        RedQueenError, match=r"takes more than|makes .* characters|cannot show|shows nothing"
    ) as refused:
        ChatFormat(made(template + SHOWN))
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 400


@pytest.mark.slow
@pytest.mark.parametrize("template", DEEP.values(), ids=DEEP)
def test_a_template_that_is_too_deep_is_one_line(template):
    with pytest.raises(RedQueenError) as refused:
        ChatFormat(made(template + SHOWN))
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 400


@pytest.mark.slow
def test_after_a_template_was_ended_the_next_is_shown():
    with pytest.raises(TooDear):
        rendered(made(TIME["a power"]), TALK)
    assert rendered(made(SHOWN), TALK) == TALK[0]["content"] + TALK[1]["content"]


def test_the_limit_of_length_is_of_characters(monkeypatch):
    monkeypatch.setattr(templates, "LONGEST", len("what is 1 + 1?é 2 < 3"))
    assert templates.render({"conversation": TALK, "template": SHOWN, "settings": {}})["text"].endswith("3")
    assert templates.render({"conversation": TALK, "template": SHOWN + "x", "settings": {}}) == {"length": 22}


@pytest.mark.slow
@pytest.mark.parametrize(
    "template",
    [
        SHOWN,
        "{{ messages | tojson }}{{ eos_token }}{{ pad_token }}",
        "{% for m in messages %}{% if loop.index > 1 %}{% break %}{% endif %}{{ m.role }}{% endfor %}",
        "{% generation %}{{ messages[1].content }}{% endgeneration %}{{ add_generation_prompt }}",
        "{{ dict(a=1) }}{{ tools is none }}{{ documents }}{{ enable_thinking }}{{ names[1] }}",
    ],
)
def test_a_conversation_is_shown_as_transformers_shows_it(template):
    arguments = {"enable_thinking": False, "names": ["a", "b"]}
    tokenizer = made(template)
    known = tokenizer.apply_chat_template(TALK, tokenize=False, add_generation_prompt=True, **arguments)
    assert rendered(tokenizer, TALK, True, arguments) == known


def test_what_a_template_raises_is_told():
    with pytest.raises(ValueError, match="no system message"):
        rendered(made("{{ raise_exception('no system message') }}"), TALK)


def test_a_tokenizer_with_a_format_of_its_own_keeps_it():
    class Own:
        def apply_chat_template(self, turns, tokenize, add_generation_prompt):
            return f"{len(turns)} {add_generation_prompt}"

    assert rendered(Own(), TALK, True) == "2 True"
