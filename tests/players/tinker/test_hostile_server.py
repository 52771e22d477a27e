"""A server of the Tinker API that answers with what cannot be: one line each."""

import math
from types import SimpleNamespace

import pytest

from redqueen.players.tinker.heard import rated_row, rated_rows, said, saved_path
from redqueen.types import RedQueenError

WHERE = "http://127.0.0.1:1"
CONNECTION = SimpleNamespace(where=WHERE, vocabulary=100)


def rows(*values):
    return SimpleNamespace(loss_fn_outputs=[{"logprobs": SimpleNamespace(data=each)} for each in values], metrics={})


def sampled(tokens=(1, 2), logprobs=(-1.0, -0.5), stop="stop", count=1):
    sequence = SimpleNamespace(tokens=list(tokens), logprobs=logprobs and list(logprobs), stop_reason=stop)
    return SimpleNamespace(sequences=[sequence] * count)


def test_what_was_asked_for_is_given_back():
    assert [each.tolist() for each in rated_rows(rows([-1.0, -math.inf], [0]), [2, 1], WHERE)] == [
        [-1.0, -math.inf],
        [0.0],
    ]
    assert rated_row([None, -1.0, -2.0], 3, WHERE).tolist() == [-1.0, -2.0]
    assert rated_row([-1.0, -2.0], 3, WHERE).tolist() == [-1.0, -2.0]
    assert said(sampled(), 2, CONNECTION) == ((1, 2), (-1.0, -0.5), False)
    assert said(sampled(stop="length"), 2, CONNECTION)[2]
    assert saved_path(SimpleNamespace(path="tinker://a/b"), WHERE) == "tinker://a/b"


@pytest.mark.parametrize(
    ("output", "what"),
    [
        (rows(), "0 rows were rated where 1 were sent"),
        (rows([-1.0, -1.0], [-1.0, -1.0]), "2 rows"),
        (rows([-1.0]), "1 log-probabilities of 2 tokens"),
        (rows([-1.0] * 100_000), "100000 log-probabilities of 2 tokens"),
        (rows([-1.0, math.nan]), "not nan"),
        (rows([-1.0, 0.5]), "not 0.5"),
        (rows([-1.0, math.inf]), "not inf"),
        (rows([-1.0, None]), "not None"),
        (rows([-1.0, "x\x1b[31m"]), "not 'x"),
        (rows([-1.0, [-1.0]]), "not"),
        (rows([-1.0, 10**400]), "not 1000"),
        (SimpleNamespace(loss_fn_outputs=[{}], metrics={}), "without log-probabilities"),
        (SimpleNamespace(loss_fn_outputs=None, metrics=None), "0 rows"),
    ],
)
def test_log_probabilities_that_cannot_be_are_one_line(output, what):
    with pytest.raises(RedQueenError, match="gave an answer that cannot be") as refused:
        rated_rows(output, [2], WHERE)
    assert what in str(refused.value)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("values", [None, [], [-1.0], [None, None, -1.0], [-1.0, -1.0, -1.0, -1.0], "ab", 3])
def test_a_rated_prompt_that_cannot_be_is_one_line(values):
    with pytest.raises(RedQueenError, match="gave an answer that cannot be"):
        rated_row(values, 3, WHERE)


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (sampled(count=0), "0 replies"),
        (sampled(count=2), "2 replies"),
        (sampled(logprobs=None), "no log-probabilities"),
        (sampled(logprobs=(-1.0,)), "1 log-probabilities of 2 tokens"),
        (sampled(logprobs=(-1.0, math.nan)), "not nan"),
        (sampled(logprobs=(-1.0, None)), "not None"),
        (sampled(tokens=(1, 100)), "the token 100 is none of the 100"),
        (sampled(tokens=(1, -1)), "the token -1"),
        (sampled(tokens=(1, 2.0)), "the token 2.0"),
        (sampled(tokens=(1, True)), "the token True"),
        (sampled(tokens=(1, "a")), "the token 'a'"),
        (sampled(tokens=[1] * 3, logprobs=[-1.0] * 3), "a reply of 3 tokens where 2 were allowed"),
        (sampled(tokens=[1] * 1_000_000, logprobs=[-1.0]), "a reply of 1000000 tokens"),
    ],
)
def test_a_reply_that_cannot_be_is_one_line(answer, what):
    with pytest.raises(RedQueenError) as refused:
        said(answer, 2, CONNECTION)
    assert what in str(refused.value)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("path", [None, "", "x" * 2000, "a\nb", 3])
def test_a_path_that_cannot_be_is_one_line(path):
    with pytest.raises(RedQueenError, match="the path of what was saved"):
        saved_path(SimpleNamespace(path=path), WHERE)
