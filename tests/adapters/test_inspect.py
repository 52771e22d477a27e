"""Tasks of Inspect on a file, asked of a tiny model and of one whose replies are written here."""

import gc

import pytest

from redqueen.adapters.inspect import marks
from redqueen.players.transformer.loading import tiny_model, tiny_tokenizer
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.types import RedQueenError

pytest.importorskip("inspect_ai")

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own warnings
TASK = """
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes, match
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import bash

@task
def sums():
    samples = [Sample(input=f"What is {n} + {n}?", target=str(2 * n)) for n in range(4)]
    return Task(dataset=samples, solver=generate(max_tokens=8), scorer=[includes(), match()], epochs=2)
"""


class Written:
    """A model that says the sum after a word, but for 2 + 2."""

    tokenizer = tiny_tokenizer()
    context = 4096

    def __init__(self):
        self.asked, self.batches = [], 0

    def rate(self, rows):
        raise AssertionError("nothing is rated")

    def go_on(self, prompts, wanted):
        self.batches += 1
        said = []
        for prompt, each in zip(prompts, wanted, strict=True):
            text = self.tokenizer.decode(prompt)
            number = int(text.split(" + ")[0].split()[-1])
            self.asked.append((text, each))
            said.append(tuple(self.tokenizer.encode(f"it is {2 * number if number != 2 else 5}")))
        return said


@pytest.fixture(autouse=True)
def collected():
    """What the library leaves open warns here, where its warnings are ignored, and not in a later test."""
    yield
    gc.collect()


@pytest.fixture
def file(tmp_path):
    place = tmp_path / "task.py"
    place.write_text(TASK)
    return place


@pytest.mark.slow
def test_each_sample_is_asked_and_scored_by_the_tasks_own_scorers(file):
    model = Written()
    found = marks(model, [str(file)], seed=3)
    assert [(mark.task, mark.figure, mark.value, mark.each) for mark in found] == [
        ("sums", "includes", 0.75, (1.0, 1.0, 0.0, 1.0)),
        ("sums", "match", 0.75, (1.0, 1.0, 0.0, 1.0)),
    ]
    assert len(model.asked) == 8  # two epochs
    assert model.batches < 8  # requests that come together are answered together
    assert {text for text, _ in model.asked} == {f"What is {n} + {n}?" for n in range(4)}
    assert {(each.limit, each.temperature) for _, each in model.asked} == {(8, 0.0)}


def test_a_limit_takes_the_first_samples(file):
    assert [len(mark.each) for mark in marks(Written(), [str(file)], most=2)] == [2, 2]


def test_a_policy_is_asked(file):
    found = marks(TransformerPolicy(tiny_model(seed=3), learns=False).verbatim(), [str(file)])
    assert [(mark.figure, len(mark.each)) for mark in found] == [("includes", 4), ("match", 4)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "[Nn]o inspect tasks"),
        (TASK.replace("task\ndef", "task\nundefined\ndef"), "cannot run|[Nn]o inspect tasks"),
        (
            TASK.replace("solver=generate", "solver=[use_tools(bash()), generate()], other=generate"),
            "cannot run|failed",
        ),
        (
            TASK.replace("solver=generate(max_tokens=8)", "solver=[use_tools(bash()), generate()]"),
            "offers its model tools",
        ),
    ],
)
def test_a_file_that_cannot_be_run_is_one_line(tmp_path, text, said):
    place = tmp_path / "other.py"
    place.write_text(text)
    with pytest.raises(RedQueenError, match=said) as raised:
        marks(Written(), [str(place)])
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there_is_one_line():
    with pytest.raises(RedQueenError, match=r"there is no task file gone\.py"):
        marks(Written(), ["gone.py"])


def test_shots_are_the_tasks_own(file):
    with pytest.raises(RedQueenError, match="leave out --suite-shots"):
        marks(Written(), [str(file)], shots=2)
