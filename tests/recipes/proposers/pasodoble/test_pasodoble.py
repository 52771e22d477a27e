"""PasoDoble: what a problem pays, who learns when, and runs that go on after a kill with their buffer."""

from dataclasses import dataclass, field, replace
from math import isnan, nan

import numpy as np
import pytest

from redqueen.credit.learnability import solve_rate
from redqueen.credit.outcomes import verdicts
from redqueen.play.groups import episodes_of
from redqueen.questions.asking import graded, said
from redqueen.questions.small.facts import Facts
from redqueen.recipes.proposers.pasodoble import recipe as pasodoble
from redqueen.recipes.proposers.pasodoble import steps
from redqueen.recipes.proposers.pasodoble.recipe import Config, limits_reward, train
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError, Refusal

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=8)
SMALL = Config(
    TINY, questions="redqueen.questions.small.facts:Facts", steps=2, passages=2, proposals=3, attempts=4, problems=2
)


@dataclass(frozen=True)
class Chancy:
    """Facts in which any reply is a problem of its own, and right is what has an odd number of signs."""

    facts: Facts = field(default_factory=Facts)
    name: str = "chancy"
    kinds: tuple[str, ...] = ("sum",)
    levels: tuple[str, ...] = ("one_digit",)

    def seeds(self):
        return self.facts.seeds()

    def sources(self, kind):
        return self.facts.sources(kind)

    def invite(self, kind, references, number):
        return self.facts.invite(kind, references, number)

    def passages(self):
        return self.facts.passages()

    def invite_after(self, passage, number):
        return self.facts.invite_after(passage, number)

    def read(self, invitations, replies):
        return [
            replace(self.facts.task("deck", "19"), id=f"{one.id} {reply}", prompt=f"{number} {reply}")
            for number, (one, reply) in enumerate(zip(invitations, replies, strict=True))
        ]

    def right(self, tasks, answers):
        return [len(answer) % 2 == 1 for answer in answers]

    def true_answer(self, task):
        return self.facts.true_answer(task)

    def problems(self, level, count, rng):
        return self.facts.problems(level, count, rng)


def read_whole(domain, proposals):
    return domain.read([each.task for each in episodes_of(proposals)], said(proposals))


@pytest.fixture
def chancy(monkeypatch):
    """A model that was never warmed up neither ends what it says nor says anything that can be read."""
    monkeypatch.setattr(pasodoble, "find_questions_with", lambda spec, wanted: Chancy())
    monkeypatch.setattr(pasodoble, "scores", verdicts)
    for module in (pasodoble, steps):
        monkeypatch.setattr(module, "rate", lambda group: solve_rate(verdicts(group)))
    monkeypatch.setattr(pasodoble, "read", read_whole)
    monkeypatch.setattr(pasodoble, "held_to_label", lambda groups: graded(Chancy(), groups))


def run_of(folder, config, watchers=()):
    run = Run(folder, 1, Schedule(evaluate_every=10, checkpoint_every=2, record_episodes=2), watchers)
    train(config, run)
    return run


def lines_of(run):
    return [{key: value for key, value in line.items() if key != "time"} for line in read_metrics(run.folder)]


def reward(rate, diversity, gate=True):
    return limits_reward([rate], np.array([diversity]), gate)[0]


@pytest.mark.parametrize(
    ("rate", "diversity", "paid"),
    [(0.5, 1.0, 0.8), (1.0, 1.0, 0.3), (2 / 6, 0.6, 0.886667), (1 / 6, 1.0, 0.0), (0.5, 0.3, 0.0), (0.2, 1.0, 0.0)],
)
def test_what_a_problem_pays_is_the_cards_vector(rate, diversity, paid):
    assert reward(rate, diversity) == pytest.approx(paid, abs=1e-6)


def test_without_the_gate_a_problem_that_nobody_solves_pays_best():
    rates = [0.0, 1 / 6, 2 / 6, 0.5, 1.0]
    assert limits_reward(rates, np.ones(5), gate=False) == pytest.approx([1.3 - rate for rate in rates])
    assert max(rates, key=lambda rate: reward(rate, 1.0)) == 2 / 6


def test_an_unknown_pass_rate_is_no_reward_at_all():
    assert isnan(reward(nan, 1.0))
    assert isnan(reward(nan, 1.0, gate=False))


def test_a_run_goes_on_where_nothing_can_be_read(tmp_path):
    lines = lines_of(run_of(tmp_path, SMALL))
    assert [line["proposals/valid_share"] for line in lines] == [0.0, 0.0]
    assert [line["valid_share"] for line in lines] == [0.0, 0.0]
    assert all(line[name] == 0.0 for line in lines for name in ("gradient_norm", "proposer/gradient_norm"))


def test_online_both_learn_at_every_step(tmp_path, chancy):
    lines = lines_of(run_of(tmp_path, replace(SMALL, steps=3)))
    assert all(line["proposer/gradient_norm"] > 0 for line in lines)
    assert sum(line["gradient_norm"] > 0 for line in lines) >= 2  # a step may bring nothing to the solver
    assert all("buffer/held" not in line for line in lines)


def test_offline_one_stands_still_while_the_other_learns(tmp_path, chancy):
    lines = lines_of(run_of(tmp_path, replace(SMALL, steps=8, phase=2)))
    proposing = [line["proposer/gradient_norm"] > 0 for line in lines]
    solving = [line["gradient_norm"] > 0 for line in lines]
    assert proposing == [True, True, False, False] * 2
    assert solving == [False, False, True, True] * 2
    held = [line["buffer/held"] for line in lines]
    assert 0 < held[0] < held[1]


def test_a_run_goes_on_after_a_kill_with_its_buffer(tmp_path, chancy):
    class Killer:
        def begin(self, run, start, count):
            pass

        def step(self, line):
            if line["step"] == 4:
                raise KeyboardInterrupt

        def end(self, run):
            pass

    config = replace(SMALL, steps=6, phase=2)
    whole = run_of(tmp_path / "whole", config)
    with pytest.raises(KeyboardInterrupt):
        run_of(tmp_path / "killed", config, [Killer()])
    again = run_of(tmp_path / "killed", config)
    assert lines_of(again) == lines_of(whole)
    weights = "checkpoints/step_000006/learner/model.safetensors"
    assert (again.folder / weights).read_bytes() == (whole.folder / weights).read_bytes()


def test_a_domain_without_passages_is_refused(tmp_path):
    with pytest.raises(RedQueenError, match=r"there is dataset or facts$"):
        run_of(tmp_path, replace(SMALL, questions="sums"))


def test_refusals_pay_nothing_beside_problems_that_do(tmp_path, monkeypatch, chancy):
    @dataclass(frozen=True)
    class HalfRefused(Chancy):
        def read(self, invitations, replies):
            found = super().read(invitations, replies)
            return [each if number % 2 else Refusal("leak") for number, each in enumerate(found)]

    monkeypatch.setattr(pasodoble, "find_questions_with", lambda spec, wanted: HalfRefused())
    (line,) = lines_of(run_of(tmp_path, replace(SMALL, steps=1)))
    assert line["proposals/refused/leak"] == 0.5
    assert 0.0 < line["proposer/reward/proposer"] <= 0.5 * 1.1
