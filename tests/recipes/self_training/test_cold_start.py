"""A cold start shows the conversations that self-play will hold, at a rate that falls from the whole."""

import json
from dataclasses import replace
from random import Random

import pytest

from redqueen.demonstrations.rehearsal import Equipped, lessons, with_tools
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.questions.catalogue import find_questions
from redqueen.questions.small.sums import Sums
from redqueen.recipes.self_training import cold_start
from redqueen.records import episode_from_json
from redqueen.runs.run import Run, Schedule, read_metrics
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError, Reply

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=4, learning_rate=1e-3)


def rates(monkeypatch, folder, **changes):
    found, update = [], TransformerPolicy.update

    def spied(policy, batch, objective):
        found.append(policy.learning_rate / 1e-3)
        return update(policy, batch, objective)

    monkeypatch.setattr(TransformerPolicy, "update", spied)
    config = cold_start.Config(learner=TINY, demonstrations_per_step=2, problems=1, **changes)
    cold_start.train(config, Run(folder, 0, Schedule(100, 100)))
    return found


@pytest.mark.parametrize(("rest", "wanted"), [(500, [1.0, 0.775, 0.55, 0.325]), (2, [1.0, 1.0, 1.0, 0.55])])
def test_the_rate_falls_from_the_whole_to_a_tenth_also_where_steps_are_few(rest, wanted, tmp_path, monkeypatch):
    assert rates(monkeypatch, tmp_path, steps=4, rest=rest) == pytest.approx(wanted)


def test_tools_are_called_where_the_domain_has_any(tmp_path, monkeypatch):
    rates(monkeypatch, tmp_path, questions="knowledge", steps=1)
    lines = (tmp_path / "episodes" / "step_000000.jsonl").read_text().splitlines()
    turns = [turn for line in lines for turn in episode_from_json(json.loads(line)).turns]
    shown = " ".join(message.text for turn in turns for message in turn.ask.messages)
    assert "<information>The " in shown and "<search>words</search> finds documents." in shown
    learner = TransformerPolicy.__new__(TransformerPolicy)
    assert isinstance(with_tools(find_questions("knowledge"), learner), Equipped)
    assert with_tools(find_questions("sums"), learner) is learner


def sums_in_a_file(folder):
    rows = [{"question": f"What is {n}+1?", "answer": n + 1} for n in range(20)]
    (folder / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(folder / "sums.jsonl")


def test_a_share_shows_how_problems_of_a_file_are_proposed(tmp_path):
    file, run = sums_in_a_file(tmp_path), tmp_path / "run"
    config = cold_start.Config(
        learner=TINY, questions=file, demonstrations_per_step=8, problems=1, steps=3, proposals=0.25
    )
    cold_start.train(config, Run(run, 0, Schedule(100, 100, record_episodes=99)))
    questions, shown = find_questions(file), []
    for path in sorted((run / "episodes").iterdir()):
        shown += [episode_from_json(json.loads(line)) for line in path.read_text().splitlines()]
    proposed = [each for each in shown if each.turns[0].ask.seat.role == "proposer"]
    assert len(proposed) == 6 and len(shown) == 24, "two of eight in each of three steps"
    trained = {task.prompt for task in questions.seeds()}
    for each in proposed:
        (written,) = questions.read([each.task], [each.turns[0].reply.text])
        assert written.prompt in trained and written.prompt not in each.task.prompt
        assert 1 <= each.task.prompt.count("</question>\n") <= 3


def test_proposals_are_shown_of_files_alone(tmp_path):
    learner = TINY.build_model(0)
    with pytest.raises(RedQueenError, match="sums is not a question set that shows how its own tasks would have been"):
        lessons("sums", "", learner, {}, 0.5).draw(4, Random(0))
    only = tmp_path / "one.jsonl"
    only.write_text('{"question": "What is 1+1?", "answer": 2}\n')
    with pytest.raises(RedQueenError, match="has no two problems of a kind"):
        lessons(f"dataset:path={only},held_out=0", "", learner, {}, 0.5).draw(4, Random(0))


def recited(folder):
    """Role and text of each demonstration of the first step, as its tokens read."""
    policy = TINY.build_model(0)
    lines = (folder / "episodes" / "step_000000.jsonl").read_text().splitlines()
    turns = [turn for line in lines for turn in episode_from_json(json.loads(line)).turns]
    return [(turn.ask.seat.role, policy.format.decode(turn.reply.tokens.tolist()), turn.reply.text) for turn in turns]


def test_a_solver_is_shown_in_its_answer_format_and_a_proposer_without_one(tmp_path):
    learner = replace(TINY, answer="boxed")
    config = cold_start.Config(learner=learner, demonstrations_per_step=8, problems=1, steps=1, questions="sums")
    cold_start.train(config, Run(tmp_path, 0, Schedule(100, 100, record_episodes=8)))
    told = recited(tmp_path)
    assert {role for role, _, _ in told} == {"proposer", "solver"}
    for role, text, found in told:
        assert text == (f"\\boxed{{{found}}}" if role == "solver" else found)
        assert found


def test_whole_replies_of_a_file_come_to_their_answer_in_the_format(tmp_path):
    file = tmp_path / "worked.jsonl"
    rows = [{"question": f"What is {n} + 1?", "completion": f"Add one.\n#### {n + 1}"} for n in range(20)]
    file.write_text("\n".join(map(json.dumps, rows)))
    learner = replace(TINY, answer="boxed")
    config = cold_start.Config(learner=learner, demonstrations_per_step=2, problems=1, steps=1, questions=str(file))
    cold_start.train(config, Run(tmp_path / "run", 0, Schedule(100, 100, record_episodes=8)))
    for _, text, found in recited(tmp_path / "run"):
        assert text == f"Add one.\n#### {found}\n\\boxed{{{found}}}"
        assert found.isdigit()


@pytest.mark.parametrize(("truncated", "accuracy"), [("wrong", 0.0), ("graded", 1.0), ("unknown", None)])
def test_an_answer_that_was_cut_off_is_measured_as_it_is_said_to_be(truncated, accuracy, tmp_path, monkeypatch):
    def reply(policy, asks):
        return [Reply("7", policy.name, truncated=True) for _ in asks]

    monkeypatch.setattr(TransformerPolicy, "reply", reply)
    monkeypatch.setattr(Sums, "right", lambda sums, tasks, answers: [True for _ in tasks])
    config = cold_start.Config(TINY, "sums", 1, 2, problems=2, truncated_score=truncated)
    cold_start.train(config, Run(tmp_path, 0, Schedule(100, 100)))
    assert read_metrics(tmp_path)[0].get("accuracy") == accuracy


def shown_lengths(folder):
    """Tokens of each reply that the first step learned from."""
    lines = (folder / "episodes" / "step_000000.jsonl").read_text().splitlines()
    turns = [turn for line in lines for turn in episode_from_json(json.loads(line)).turns]
    return [len(turn.reply.tokens) for turn in turns]


@pytest.mark.parametrize("limit", [4, 64])
def test_demonstrations_longer_than_a_reply_may_be_ring(limit, tmp_path):
    learner = replace(TINY, max_completion_length=limit)
    config = cold_start.Config(learner=learner, demonstrations_per_step=8, problems=1, steps=2, questions="sums")
    cold_start.train(config, Run(tmp_path, 0, Schedule(100, 100, record_episodes=8)))
    line, lengths = read_metrics(tmp_path)[0], shown_lengths(tmp_path)
    long = sum(each > limit for each in lengths)
    assert (long > 0) == (limit == 4)
    assert line.get("demonstrations/too_long", 0.0) == long / len(lengths)
    assert line.get("alarm/demonstrations_too_long", 0.0) == (limit == 4)
    told = f"the longest has {max(lengths)} tokens: their like will be cut off; raise --max-completion-length"
    assert any(told in text for text in line.get("alarms", [])) == (limit == 4)


def test_moves_that_are_chosen_from_a_list_are_never_too_long(tmp_path):
    config = cold_start.Config(
        learner=replace(TINY, max_completion_length=1), game="acting:site", demonstrations_per_step=4, steps=1
    )
    cold_start.train(config, Run(tmp_path, 0, Schedule(100, 100, record_episodes=8)))
    assert max(shown_lengths(tmp_path)) > 1
    assert not any("too_long" in name for name in read_metrics(tmp_path)[0])


def test_loops_are_taken_away_between_imitations(tmp_path, monkeypatch):
    """Each step is an update by imitation and one by DITTO's loss; without the setting only the first."""
    done = []
    update = TransformerPolicy.update
    monkeypatch.setattr(
        TransformerPolicy,
        "update",
        lambda self, batch, objective, **more: (
            done.append(type(objective).__name__) or update(self, batch, objective, **more)
        ),
    )
    learner = Learner("tiny:hidden=16,layers=1", max_completion_length=96)
    config = cold_start.Config(learner, questions="instructions", steps=2, demonstrations_per_step=8, problems=2)
    cold_start.train(replace(config, loops=0.5), Run(tmp_path / "with", 0))
    assert done == ["Imitation", "PseudoRepetition"] * 2
    line = read_metrics(tmp_path / "with")[-1]
    assert line["loops/repetition_loss"] > 0.0
    done.clear()
    cold_start.train(config, Run(tmp_path / "without", 0))
    assert done == ["Imitation"] * 2
    with pytest.raises(RedQueenError, match="no --loops"):
        cold_start.train(replace(config, questions="sums", loops=0.5), Run(tmp_path / "bare", 0))
