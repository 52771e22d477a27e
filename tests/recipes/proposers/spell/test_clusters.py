"""What is remembered of each cluster, and how that makes its texts grow."""

import json
from random import Random

import pytest

from redqueen.play.groups import attempts, with_facts
from redqueen.players.scripted import Constant
from redqueen.questions.asking import SOLVE
from redqueen.questions.catalogue import find_questions
from redqueen.questions.small.documents import Documents
from redqueen.recipes.proposers.spell.steps import ClusterMemory
from redqueen.types import RedQueenError, Task

QUESTIONS = Documents()


def asked(cluster, name):
    return Task(f"{cluster} {name}", "lookup", f"What is {name}?", "7", {"cluster": cluster, "question": name})


def tried(task, *scores):
    (group,) = attempts(SOLVE, [task], Constant("7"), len(scores), Random(0))
    return with_facts([group], [{"right": each} for each in scores])[0]


def filled():
    memory = ClusterMemory(QUESTIONS, 4)
    for number in range(4):
        memory.observe([tried(asked(1, f"n{number}"), 1.0, 0.0)])
    memory.observe([tried(asked(2, "m"), 1.0, 1.0)])
    return memory


def test_a_cluster_remembers_its_last_three_solvable_questions():
    memory = filled()
    assert [task.facts["question"] for task in memory.before(1)] == ["n1", "n2", "n3"]
    assert [len(memory.before(cluster)) for cluster in range(4)] == [0, 3, 1, 0]
    assert [memory.stage(cluster) for cluster in range(4)] == [0, 3, 1, 0]


def test_a_question_that_nobody_solves_or_nobody_finishes_is_not_remembered():
    memory = ClusterMemory(QUESTIONS, 2)
    memory.observe([tried(asked(0, "a"), 0.0, 0.0), tried(asked(1, "b"), None, None)])
    assert memory.before(0) == memory.before(1) == ()
    memory.observe([tried(asked(0, "a"), 0.01, 0.01), tried(asked(1, "b"), None, 1.0)])
    assert [memory.stage(0), memory.stage(1)] == [1, 1]


def test_stages_begin_and_end_where_they_are_told():
    memory = ClusterMemory(QUESTIONS, 1, stages=(1, 2))
    assert memory.stage(0) == 1
    for name in "abc":
        memory.observe([tried(asked(0, name), 1.0, 1.0)])
    assert memory.stage(0) == 2
    fixed = ClusterMemory(QUESTIONS, 1, stages=(0, 0))
    fixed.observe([tried(asked(0, "a"), 1.0, 1.0)])
    assert fixed.stage(0) == 0
    assert fixed.metrics() == {"clusters/stage": 0.0, "clusters/longest": 1.0}


def test_clusters_are_drawn_without_replacement():
    assert sorted(ClusterMemory(QUESTIONS, 4).draw(9, Random(0))) == [0, 1, 2, 3]
    assert len(set(ClusterMemory(QUESTIONS, 50).draw(9, Random(0)))) == 9


def test_what_is_remembered_survives_a_checkpoint():
    memory, other = filled(), ClusterMemory(QUESTIONS, 4)
    other.observe([tried(asked(0, "forgotten"), 1.0, 1.0)])
    other.restore(json.loads(json.dumps(memory.state())))
    assert other.state() == memory.state()
    assert other.before(1) == memory.before(1)
    assert other.metrics() == memory.metrics() == {"clusters/stage": 1.0, "clusters/longest": 0.25}


@pytest.mark.parametrize("settings", [{"clusters": 0}, {"clusters": 1, "size": 0}, {"clusters": 1, "stages": (2, 1)}])
def test_a_memory_that_makes_no_sense_is_refused(settings):
    with pytest.raises(RedQueenError, match="1 cluster"):
        ClusterMemory(QUESTIONS, **settings)


def test_a_stage_that_no_cluster_can_reach_is_refused():
    assert ClusterMemory(QUESTIONS, 1, size=2, stages=(1, 3)).stage(0) == 1
    with pytest.raises(RedQueenError, match="no text of stage 3 follows from one of stage 1"):
        ClusterMemory(QUESTIONS, 1, size=1, stages=(1, 3))
    with pytest.raises(RedQueenError, match="--stages 2 4: the last stage of documents is 3"):
        ClusterMemory(QUESTIONS, 1, stages=(2, 4))


def test_a_file_has_a_stage_for_each_of_its_texts(tmp_path):
    file = tmp_path / "texts.jsonl"
    rows = [{"question": f"What is {n}?", "answer": f"{n}", "context": f"Text {n % 5} says {n}."} for n in range(40)]
    file.write_text("\n".join(map(json.dumps, rows)))
    texts = find_questions(str(file))
    memory = ClusterMemory(texts, 1, stages=(0, 3))
    assert memory.stage(0) == 0
    shown = [texts.invite_about(0, stage, texts.kinds[0], (), 0).facts["shown"] for stage in range(4)]
    assert [text.count("says") for text in shown] == [1, 2, 3, 4]
    with pytest.raises(RedQueenError, match=f"the last stage of .* is {texts.stages - 1}$"):
        ClusterMemory(texts, 1, size=99, stages=(0, 99))
