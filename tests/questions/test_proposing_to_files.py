"""New problems for a file of questions: invited in natural language, read from tags, and unknown where nobody knows."""

import json
from random import Random

import pytest

from redqueen.contracts.questions import check_questions
from redqueen.credit.outcomes import verdicts
from redqueen.measures.proposals import Proposals
from redqueen.play.groups import attempts
from redqueen.players.scripted import Constant
from redqueen.protocols import Proposable
from redqueen.questions.asking import PROPOSE, SOLVE, graded, read
from redqueen.questions.catalogue import having
from redqueen.questions.dataset import Dataset
from redqueen.questions.small.documents import Documented
from redqueen.questions.small.facts import Informed
from redqueen.questions.small.growing import Evolving
from redqueen.questions.small.templates import Explained
from redqueen.questions.small.variants import Varying
from redqueen.types import RedQueenError, Refusal, Task

NEW = "<question>What is 9 + 9?</question>"


def saved(path, **more):
    rows = [
        {"problem": f"What is {n} + 4?", "answer": n + 4, **{k: v[n % len(v)] for k, v in more.items()}}
        for n in range(20)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Dataset(str(path))


@pytest.fixture
def sums(tmp_path):
    return saved(tmp_path / "a.jsonl")


@pytest.fixture
def texts(tmp_path):
    return saved(tmp_path / "b.jsonl", context=["Text one.", "Text two.", "Text three."])


def test_it_keeps_the_contract_of_question_sets_that_take_proposals(sums):
    assert "2 levels, 1 kind" in check_questions(having(sums, Proposable))


def test_proposing_starts_from_the_training_problems(sums):
    assert {task.id for task in sums.seeds()} == {task.id for task in sums.problems("train", 18, Random(0))}
    prompt = sums.invite("problem", sums.seeds()[:2], 0).prompt
    assert all(f"<question>{task.prompt}</question>" in prompt for task in sums.seeds()[:2])
    assert sums.invite("problem", (), 3).prompt.count("<question>What is") == 3
    assert sums.invite("problem", (), 3) != sums.invite("problem", (), 4)


def test_of_a_new_problem_nobody_knows_the_answer_and_no_alarm_says_it_is_wrong(sums):
    invitation = sums.invite("problem", (), 0)
    proposals = attempts(PROPOSE, [invitation] * 8, Constant(f"Here: {NEW}"), 1, Random(0))
    written = read(sums, proposals)
    assert [each.prompt for each in written] == ["What is 9 + 9?"] * 8 and written[0].answer == ""
    tries = graded(sums, attempts(SOLVE, written[:1], Constant("It is 18."), 4, Random(0)))
    assert [each is None for each in sums.right(written, ["18"] * 8)] == [True] * 8
    assert verdicts(tries[0]).tolist() != verdicts(tries[0]).tolist(), "NaN: unknown"
    health = Proposals(sums)
    figures = health.voted(written[:1], tries, written[:1])
    assert "label_accuracy" not in figures and not [text for text in health.alarms() if "label" in text]


def test_a_retold_problem_keeps_its_answer_and_nobody_knows_whether_it_is_true(sums):
    assert having(sums, Varying) is sums
    asked = sums.vary("3 + 4 = 7.", "7", 0)
    assert "3 + 4 = 7." in asked.prompt
    (told,) = sums.read([asked], [NEW])
    assert told.answer == "7" and sums.right([told], ["So it is 7."]) == [True]
    assert sums.true_answer(told) is None
    assert sums.true_answer(Task("x", prompt="What is 3 + 4?")) == "7"


def test_a_rewritten_problem_is_worth_what_replies_agree_on(sums):
    assert having(sums, Evolving) is sums
    seed = sums.seeds()[0]
    assert seed.prompt in sums.evolve(seed, "deeper", 0).prompt
    assert sums.evolve(seed, "deeper", 0).prompt != sums.evolve(seed, "broader", 0).prompt
    (new,) = sums.read([sums.evolve(seed, "deeper", 0)], [NEW])
    assert sums.rewards([new] * 4, ["It is 18.", "18", "17", "?"]) == [0.5, 0.5, 0.25, 0.0]
    assert sums.rewards([seed] * 2, [seed.answer, "none"]) == [1.0, 0.0]
    with pytest.raises(RedQueenError, match="--rewriter frozen"):
        sums.rewriter()


def test_problems_after_a_text_come_with_their_proposers_answer(texts):
    assert having(texts, Informed) is texts
    assert sorted(texts.passages()) == ["Text one.", "Text three.", "Text two."]
    asked = texts.invite_after("Text one.", 0)
    assert asked.prompt.startswith("Text one.")
    first, second = texts.read([asked, asked], [f"{NEW}<answer>The answer is 18.</answer>", NEW])
    assert (first.prompt, first.answer, second) == ("What is 9 + 9?", "18", Refusal("no answer"))
    assert texts.right([first], ["18."]) == [True]


def test_questions_about_texts_are_answered_among_others_and_without(texts):
    assert having(texts, Documented) is texts
    asked = texts.invite_about(1, 2, "problem", (), 0)
    own = asked.prompt.split("\n")[0]
    (task,) = texts.read([asked], [f"{NEW}<answer>18</answer>"])
    assert all(text in task.prompt for text in texts.passages()) and task.prompt.endswith("What is 9 + 9?")
    (alone,) = texts.read([texts.invite_about(1, 0, "problem", [task], 1)], [f"{NEW}<answer>18</answer>"])
    assert [text for text in texts.passages() if text in alone.prompt] == [own]
    assert texts.closed_book(task).prompt == "What is 9 + 9?"
    assert task.facts["cluster"] == 1 and "18" in texts.compared(task, "eighteen").prompt
    assert "Asked already:\n- What is 9 + 9?" in texts.invite_about(1, 0, "problem", [task], 1).prompt


def test_problems_come_from_concepts_by_a_rationale(tmp_path):
    data = saved(tmp_path / "c.jsonl", concepts=[["adding", "four"], "numbers"])
    assert having(data, Explained) is data
    seed = next(seed for seed in data.seeds() if "four" in seed.facts["concepts"])
    asked = data.invite("problem", [seed], 0)
    assert "adding, four" in asked.prompt and seed.prompt not in asked.prompt
    (made,) = data.read([asked], [data.written(seed, "Add four to a number.")])
    assert (made.prompt, made.facts["rationale"]) == (seed.prompt, "Add four to a number.")
    assert seed.prompt in data.explain(seed).prompt and "adding, four" in data.explain(seed).prompt
    assert data.read([asked], [NEW]) == [Refusal("no rationale")]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [(Informed, "column context"), (Documented, "column context"), (Explained, "column concepts")],
)
def test_what_a_file_lacks_is_said_by_its_column(sums, wanted, said):
    with pytest.raises(RedQueenError, match=f"need a {said} \\(--columns"):
        having(sums, wanted)


def test_without_short_answers_nothing_can_be_retold(tmp_path):
    path = tmp_path / "d.jsonl"
    path.write_text("".join(json.dumps({"prompt": f"Say {n}"}) + "\n" for n in range(4)))
    with pytest.raises(RedQueenError, match="that a retold problem could keep: they need a column answer"):
        having(Dataset(str(path)), Varying)
    rows = [{"prompt": f"Say {n}", "answer": f"{n} " * (13 if n < 3 else 2)} for n in range(5)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(RedQueenError, match=r"could keep: [23] of [45] have more than 12 words"):
        having(Dataset(str(path), 0.2), Varying)
