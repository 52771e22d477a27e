"""`redqueen rescore`: recorded episodes by other rewards, checks and judges, and what is no function of the record."""

import json
from pathlib import Path

import numpy as np
import pytest

from redqueen.cli import rescoring
from redqueen.cli.main import main
from redqueen.measures.rescored import agreement, by_check, by_reward, farthest, rescored
from redqueen.players.scripted import Constant
from redqueen.questions.small.sums import Sums
from redqueen.records import episode_to_json
from redqueen.types import Ask, Episode, Message, Outcome, RedQueenError, Reply, Seat, Task, Turn

SOLVER = Seat("solver")
OWN = """
import random
import numpy as np

calls = []

def brevity(episode):
    return {seat: np.array([-float(len(episode.outcome.facts["reply"]))]) for seat in episode.seats}

def luck(episode):
    return {seat: np.array([random.random()]) for seat in episode.seats}

def order(episode):
    calls.append(episode.task.id)
    return {seat: np.array([float(len(calls))]) for seat in episode.seats}

def opinion(episode):
    return {seat: np.array([episode.outcome.facts["opinion"]]) for seat in episode.seats}

def number(episode):
    return 1

def by_name(episode):
    return {str(seat): np.array([1.0]) for seat in episode.seats}

def by_seat(episode, seat):
    return 1.0

class Times:
    def __init__(self, by: float = 1.0):
        self.by = by

    def __call__(self, episode):
        return {seat: self.by * values for seat, values in brevity(episode).items()}

class OfGroup:
    def of_group(self, group):
        return {}
"""


def episode(reply, answer="3", truncated=False, cut=()):
    task = Task("1+2", "sum", "1+2=?", answer)
    ask = Ask(SOLVER, (Message("game", "1+2=?"),))
    turns = (Turn(ask, Reply(reply, "learner", truncated=truncated)),)
    return Episode("single_reply", task, 0, turns, Outcome({SOLVER: 0.0}, {"reply": reply}), (SOLVER,))


def credit(earned):
    return {"solver": {"rewards": [earned], "advantages": [0.0]}}


RECORDED = [
    ("0.0", episode("3"), credit(1.0)),
    ("0.1", episode("4444"), credit(0.0)),
    ("0.2", episode("55"), credit(0.0)),
    ("1.0", episode("3"), credit(0.5)),
    ("played.0", episode("777777"), {}),
]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = {"recipe": "grpo", "config": {}, "seed": 0, "schedule": {}, "versions": {}}
    (tmp_path / "run" / "episodes").mkdir(parents=True)
    (tmp_path / "run" / "config.json").write_text(json.dumps(settings))
    lines = [json.dumps({**episode_to_json(each), "credit": given}) for _, each, given in RECORDED[:3]]
    (tmp_path / "run" / "episodes" / "step_000000.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "own.py").write_text(OWN)


def said(capsys, *words):
    status = main(["rescore", "run", *words])
    shown = capsys.readouterr()
    return status, " ".join((shown.out + shown.err).split())


def test_pairs_of_one_task_and_step_say_how_two_scores_go_together():
    """By hand: of three attempts in step 0 the old score tells two pairs apart and the new one three; step 1 has no
    pair, and what a person played earned nothing."""

    def brevity(episode):
        return {SOLVER: np.array([-float(len(episode.outcome.facts["reply"]))])}

    found = rescored(RECORDED, by_reward(brevity, "brevity"))
    (solver,) = agreement(found)
    assert (solver.scored, solver.unknown) == (5, 0)
    assert (solver.same, solver.opposite, solver.only_then, solver.only_now) == (2, 0, 0, 1)
    assert (solver.then, solver.now) == (pytest.approx(1.5 / 4), -2.0)
    # ranks by thirds of 4: then 7/8, 1/4, 1/4, 5/8; now 3/4, 1/8, 3/8, 3/4
    assert solver.correlation == pytest.approx(float(np.corrcoef([7, 2, 2, 5], [6, 1, 3, 6])[0, 1]))
    assert [each.name for each in farthest(found, 9)] == ["0.0", "0.1", "0.2", "1.0"]


def test_a_check_is_asked_about_each_recorded_reply():
    cut = ("2.0", episode("3", truncated=True), {})
    found = by_check(Sums())([(name, each) for name, each, _ in [*RECORDED[:2], cut]])
    assert found == [{SOLVER: 1.0}, {SOLVER: 0.0}, {SOLVER: 0.0}]
    with pytest.raises(RedQueenError, match="no recorded task has an answer"):
        by_check(Sums())([("0.0", episode("3", answer=""))])


def test_a_reward_of_one_s_own_and_one_that_is_shipped(run, capsys):
    status, shown = said(capsys, "--with", "own.py:brevity", "--write", "scores.jsonl")
    assert status == 0
    assert "what was learned from 0.333" in shown and "the same now -2.333" in shown
    assert "pairs in the same order 2 of 2" in shown
    lines = [json.loads(line) for line in Path("scores.jsonl").read_text().splitlines()]
    assert lines[1] == {"episode": "0.1", "task": "1+2", "seat": "solver", "then": 0.0, "now": -4.0}
    assert "the same now -4.667" in said(capsys, "--with", "own.py:Times:2")[1]
    assert "the same now 0.050" in said(capsys, "--with", "format")[1]


def test_of_a_talk_each_seat_is_named_with_what_it_said_itself(run, capsys):
    sender, receiver = Seat("sender"), Seat("receiver")
    said_by = [(sender, "ask"), (receiver, "red"), (sender, "thanks"), (receiver, "blue")]
    turns = tuple(Turn(Ask(seat, (Message("game", "?"),)), Reply(text)) for seat, text in said_by)
    talk = Episode("talk", Task("t", "k"), 0, turns, Outcome({sender: 1.0, receiver: 1.0}, {}), (sender, receiver))
    earned = [{str(s): {"rewards": [x, 0.0], "advantages": [0.0, 0.0]} for s in talk.seats} for x in (1.0, 2.0)]
    lines = [json.dumps({**episode_to_json(talk), "credit": each}) for each in earned]
    Path("run/episodes/step_000000.jsonl").write_text("\n".join(lines) + "\n")
    shown = said(capsys, "--with", "payoff")[1]
    assert "0.0 sender +1.000 then, +1.000 now thanks" in shown
    assert "0.0 receiver +1.000 then, +1.000 now blue" in shown


def test_a_judge_who_answers_in_prose_is_read_and_one_who_says_nothing_is_refused(run, capsys, monkeypatch):
    monkeypatch.setattr(rescoring, "find_player", lambda who, game: Constant(f"Well.\n\nScore: {who}"))
    assert "the same now 8.000" in said(capsys, "--with", "judge:8")[1]
    status, shown = said(capsys, "--with", "judge:none")
    assert status == 2 and "says nothing that can be read of any of 3 recorded replies" in shown


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--with", "own.py:luck"), "is no function of the record: of episode 0.0"),
        (("--with", "own.py:order"), "is no function of the record: of episode 0.0 it says 1 for solver, then 6"),
        (("--with", "own.py:opinion"), "cannot be computed from the record of episode 0.0: KeyError"),
        (("--with", "own.py:OfGroup"), "is a reward of a group"),
        (("--with", "own.py:number"), "reward number must give {seat: numbers}, one for each turn of the seat, not 1"),
        (("--with", "own.py:by_seat"), "'own.py:by_seat' takes episode, seat: a reward is a function of one episode"),
        (("--with", "own.py:by_name"), "reward by_name says nothing of the seat solver"),
        (("--with", "own.py:nobody"), "has no 'nobody'; its classes and functions are brevity, luck, order, opinion"),
        (("--with", "own.py:brevty"), "has no 'brevty'; did you mean brevity?"),
        (("--with", "payof"), "did you mean payoff"),
        (("--with", "judge"), "say which: --with judge:RUN"),
        (("--with", "payoff", "--repeats", "2"), "are of a judge"),
        (
            ("--with", "judge:nobody", "--write", "no/scores.jsonl"),
            "cannot write no/scores.jsonl",
        ),  # before it is asked
    ],
)
def test_what_says_nothing_of_a_record_is_refused_in_one_line(words, complaint, run, capsys):
    status, shown = said(capsys, *words)
    assert status == 2 and complaint in shown
