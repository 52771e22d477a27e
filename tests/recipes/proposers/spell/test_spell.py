"""SPELL: whose result is compared with whose, what grows, and runs that go on after a kill with their memory."""

import json
from collections import Counter
from dataclasses import replace
from itertools import cycle
from random import Random

import pytest

from experiments.spell import Ungrounded
from redqueen.credit.advantages.statistics import per_kind_or_group
from redqueen.credit.group_rewards import Stated
from redqueen.credit.rewards import score
from redqueen.play.groups import attempts, with_facts
from redqueen.players.scripted import Constant
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.questions.asking import PROPOSE, SOLVE, said
from redqueen.questions.small.documents import LOOKUP, TWO_STEPS, Documents
from redqueen.recipes.proposers.spell import recipe as spell
from redqueen.recipes.proposers.spell import steps
from redqueen.recipes.proposers.spell.recipe import Config, train
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=8)
SMALL = Config(
    TINY,
    questions="redqueen.questions.small.documents:Documents",
    steps=2,
    truncated_score="graded",
    clusters=4,
    proposals=3,
    tasks=2,
    rounds=2,
    attempts=4,
    votes=3,
    problems=2,
)


class AnyReadable:
    """Documents in which every reply is a question: a model that was never warmed up asks none."""

    def __init__(self):
        self.inner = Documents()
        self.name, self.kinds, self.levels = "any", self.inner.kinds, self.inner.levels
        self.stages = self.inner.stages

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def read(self, invitations, replies):
        texts = [f"{sum(map(ord, reply))}? 7" for reply in replies]
        return self.inner.read(invitations, texts)


def odd(task, answer):
    """A rule that finds half of all answers right."""
    return len(answer) % 2 == 1


def run_of(folder, config, watchers=(), record=2, grounding=True):
    run = Run(folder, 1, Schedule(evaluate_every=10, checkpoint_every=2, record_episodes=record), watchers)
    train(config, run, None if grounding else Ungrounded(Documents()))
    return run


def lines_of(run):
    return [{key: value for key, value in line.items() if key != "time"} for line in read_metrics(run.folder)]


@pytest.fixture
def chancy(monkeypatch):
    """A model that was never warmed up neither ends what it says nor says anything that can be read."""
    monkeypatch.setattr(spell, "read", lambda domain, groups: domain.read([each.task for each in groups], said(groups)))
    monkeypatch.setattr(steps, "answered", lambda played, truncated="wrong": said(played))
    monkeypatch.setattr(spell, "find_documented", lambda spec: AnyReadable())
    monkeypatch.setattr(steps, "Covers", lambda: odd)


def test_questions_are_compared_with_their_kind_and_answers_with_their_task():
    domain = Documents(two_steps=0.5)
    kinds = (LOOKUP, LOOKUP, TWO_STEPS, TWO_STEPS)
    invitations = [domain.invite_about(number, 0, kind, (), number) for number, kind in enumerate(kinds)]
    questions = attempts(PROPOSE, invitations, Constant("king? 7"), 1, Random(0))
    tasks = [domain.task(0, 0, LOOKUP, name, "7") for name in ("king", "board")]
    answers = attempts(SOLVE, tasks, Constant("7"), 2, Random(0))
    marks = [1.0, 0.0, 0.5, 0.5, 1.0, 0.0, 1.0, 1.0]
    told = with_facts([*questions, *answers], [{"mark": mark} for mark in marks])
    found = [float(each[0]) for each in per_kind_or_group(score(told, Stated("mark")))]
    # z-scores of two values by the unbiased deviation are +-1 / sqrt 2
    assert found == pytest.approx([0.7071, -0.7071, 0, 0, 0.7071, -0.7071, 0, 0], abs=1e-4)


def test_a_run_goes_on_where_nothing_can_be_read(tmp_path):
    one_token = replace(TINY, max_completion_length=1)  # is no question with its answer
    lines = lines_of(run_of(tmp_path, replace(SMALL, learner=one_token)))
    assert [line["proposals/refused/malformed"] for line in lines] == [1.0, 1.0]
    assert [line["reward/proposer"] for line in lines] == [-1.0, -1.0]
    assert [line["clusters/stage"] for line in lines] == [0.0, 0.0]


def test_solvable_questions_make_texts_longer_up_to_the_last_stage(tmp_path, chancy):
    stages = [line["clusters/stage"] for line in lines_of(run_of(tmp_path / "grows", replace(SMALL, steps=4)))]
    assert 0 < stages[0] < stages[-1] <= 3
    held = lines_of(run_of(tmp_path / "held", replace(SMALL, steps=2, stages=(0, 0))))
    assert [line["clusters/stage"] for line in held] == [0.0, 0.0]


def test_questions_are_made_until_there_are_enough(tmp_path, chancy):
    (enough,) = lines_of(run_of(tmp_path / "one", replace(SMALL, steps=1, tasks=1), grounding=False))
    (more,) = lines_of(run_of(tmp_path / "more", replace(SMALL, steps=1, tasks=99, rounds=3), grounding=False))
    answered = [line["episodes"] - 3 * rounds for line, rounds in ((enough, 1), (more, 3))]  # 3 questions a round
    assert answered[0] in (4, 8, 12)  # 4 answers to each question, but for those that are all alike
    assert answered[0] < answered[1] <= 36


def test_a_question_that_is_answered_without_its_text_costs_half(tmp_path, chancy):
    config = replace(SMALL, steps=1, rounds=1, proposals=4)
    (filtered,) = lines_of(run_of(tmp_path / "on", config))
    (free,) = lines_of(run_of(tmp_path / "off", config, grounding=False))
    refused = filtered["proposals/refused/closed book"]
    assert 0 < refused < 1
    assert "proposals/refused/closed book" not in free
    assert -0.5 * refused <= filtered["reward/proposer"] < 1.0 - refused


def test_verdicts_are_at_most_an_eighth_of_the_answers(tmp_path, chancy, monkeypatch):
    monkeypatch.setattr(steps, "vote_rewards", lambda given, rule: [float(place % 2) for place in range(len(given))])
    config = replace(SMALL, steps=1, proposals=4, tasks=99, rounds=2, attempts=8)
    run_of(tmp_path, config, record=999, grounding=False)
    records = [json.loads(line) for line in (tmp_path / "episodes" / "step_000000.jsonl").read_text().splitlines()]
    roles = Counter(record["seats"][0][0] for record in records)
    assert roles["proposer"] == 8
    assert roles["solver"] % 8 == 0
    assert roles["judge"] == roles["solver"] // 8 // 3 * 3  # whole groups of three


@pytest.mark.slow
def test_a_run_goes_on_after_a_kill_with_its_memory(tmp_path, chancy):
    class Killer:
        def begin(self, run, start, count):
            pass

        def step(self, line):
            if line["step"] == 2:
                raise KeyboardInterrupt

        def end(self, run):
            pass

    config = replace(SMALL, steps=4)
    whole = run_of(tmp_path / "whole", config)
    with pytest.raises(KeyboardInterrupt):
        run_of(tmp_path / "killed", config, [Killer()])
    again = run_of(tmp_path / "killed", config)
    assert lines_of(again) == lines_of(whole)
    weights = "checkpoints/step_000004/learner/model.safetensors"
    assert (again.folder / weights).read_bytes() == (whole.folder / weights).read_bytes()


def test_stages_that_are_not_there_and_domains_without_documents_are_refused(tmp_path):
    with pytest.raises(RedQueenError, match="--stages 4 4: the last stage of documents is 3"):
        run_of(tmp_path / "a", replace(SMALL, stages=(4, 4)))
    with pytest.raises(RedQueenError, match=r"have it: dataset, documents$"):
        run_of(tmp_path / "b", replace(SMALL, questions="sums"))


def test_an_article_may_be_an_answer(tmp_path, monkeypatch):
    said = cycle(["king the", "king a", "king 7"])
    monkeypatch.setattr(
        TransformerPolicy, "reply", lambda policy, asks: [policy.recite(ask, next(said)) for ask in asks]
    )
    (line,) = lines_of(run_of(tmp_path, replace(SMALL, steps=1, proposals=3, rounds=1), grounding=False))
    assert line["proposals/valid_share"] == 1.0
    assert 0.0 < line["proposals/solve_rate"] < 1.0
