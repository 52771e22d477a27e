"""PasoDoble: what a problem pays, who learns when, and runs that go on after a kill with their buffer."""

from dataclasses import dataclass, field, replace

import pytest

from redqueen.questions.small.facts import Facts
from redqueen.recipes.proposers.pasodoble.recipe import Config, train
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError, Refusal, Task

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=8)
SMALL = Config(
    TINY, questions="redqueen.questions.small.facts:Facts", steps=2, passages=2, proposals=3, attempts=4, problems=2
)
CHANCY = replace(SMALL, questions=f"{__file__}:Chancy")


@dataclass(frozen=True)
class Chancy:
    """A problem has three answers to choose from, one of which a random reply hits one time in three; `refused` of four
    proposals is none."""

    refused: str = ""
    facts: Facts = field(default_factory=Facts, repr=False)
    name: str = field(default="chancy", repr=False)
    kinds: tuple[str, ...] = field(default=("sum",), repr=False)
    levels: tuple[str, ...] = field(default=("one_digit",), repr=False)

    def seeds(self):
        return self.facts.seeds()

    def sources(self, kind):
        return self.facts.sources(kind)

    def invite(self, kind, references, number):
        return self.facts.invite(kind, references, number)

    def passages(self):
        return self.facts.passages()

    def invite_after(self, passage, number):
        return replace(self.facts.invite_after(passage, number), choices=("one", "two", "three", "four"))

    def read(self, invitations, replies):
        return [
            Refusal("leak")
            if reply == self.refused
            else Task(f"{one.id} {reply}", "sum", f"{number} {reply}", "red", choices=("red", "green", "blue"))
            for number, (one, reply) in enumerate(zip(invitations, replies, strict=True))
        ]

    def right(self, tasks, answers):
        return [answer == task.answer for task, answer in zip(tasks, answers, strict=True)]

    def true_answer(self, task):
        return "red"

    def problems(self, level, count, rng):
        return self.facts.problems(level, count, rng)


def run_of(folder, config, watchers=()):
    run = Run(folder, 1, Schedule(evaluate_every=10, checkpoint_every=2, record_episodes=2), watchers)
    train(config, run)
    return run


def lines_of(run):
    return [{key: value for key, value in line.items() if key != "time"} for line in read_metrics(run.folder)]


def test_a_run_goes_on_where_nothing_can_be_read(tmp_path):
    lines = lines_of(run_of(tmp_path, SMALL))
    assert [line["proposals/valid_share"] for line in lines] == [0.0, 0.0]
    assert [line["valid_share"] for line in lines] == [0.0, 0.0]
    assert all(line[name] == 0.0 for line in lines for name in ("gradient_norm", "proposer/gradient_norm"))


def test_online_both_learn_at_every_step(tmp_path):
    lines = lines_of(run_of(tmp_path, replace(CHANCY, steps=3)))
    assert all(line["proposer/gradient_norm"] > 0 for line in lines)
    assert sum(line["gradient_norm"] > 0 for line in lines) >= 2  # a step may bring nothing to the solver
    assert all("buffer/held" not in line for line in lines)


def test_offline_one_stands_still_while_the_other_learns(tmp_path):
    lines = lines_of(run_of(tmp_path, replace(CHANCY, steps=8, phase=2)))
    proposing = [line["proposer/gradient_norm"] > 0 for line in lines]
    solving = [line["gradient_norm"] > 0 for line in lines]
    assert proposing == [True, True, False, False] * 2
    assert solving == [False, False, True, True] * 2
    held = [line["buffer/held"] for line in lines]
    assert 0 < held[0] < held[1]


def test_a_run_goes_on_after_a_kill_with_its_buffer(tmp_path):
    class Killer:
        def begin(self, run, start, count):
            pass

        def step(self, line):
            if line["step"] == 4:
                raise KeyboardInterrupt

        def end(self, run):
            pass

    config = replace(CHANCY, steps=6, phase=2)
    whole = run_of(tmp_path / "whole", config)
    with pytest.raises(KeyboardInterrupt):
        run_of(tmp_path / "killed", config, [Killer()])
    again = run_of(tmp_path / "killed", config)
    assert lines_of(again) == lines_of(whole)
    weights = "checkpoints/step_000006/learner/model.safetensors"
    assert (again.folder / weights).read_bytes() == (whole.folder / weights).read_bytes()


def test_a_domain_without_passages_is_refused(tmp_path):
    with pytest.raises(RedQueenError, match=r"have it: dataset, facts$"):
        run_of(tmp_path, replace(SMALL, questions="sums"))


def test_refusals_pay_nothing_while_problems_do(tmp_path):
    (line,) = lines_of(run_of(tmp_path, replace(CHANCY, questions=f"{__file__}:Chancy:refused=four", steps=1)))
    refused = line["proposals/refused/leak"]
    assert 0.0 < refused < 1.0
    assert 0.0 < line["proposer/reward/proposer"] <= (1.0 - refused) * 1.1
