"""A data set as a question set: two parts that share no prompt, gold replies, preferences, and the set that ships."""

import json
import time
import warnings
from collections import Counter
from random import Random

import numpy as np
import pytest
import torch

from redqueen.contracts.questions import check_questions
from redqueen.credit.rewards import payoff, score
from redqueen.curricula.held_out import held_out_levels, training_levels
from redqueen.demonstrations.gold import gold_reply, with_gold
from redqueen.objectives.batch import pack_pairs
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.language.chat_format import ChatFormat
from redqueen.players.transformer.loading import load_model, tiny_tokenizer
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.protocols import Demonstrator
from redqueen.questions.asking import SOLVE
from redqueen.questions.catalogue import find_questions, having
from redqueen.questions.dataset import Dataset, instructions, pairs_apart, preferences, recitations
from redqueen.questions.small.sums import Sums
from redqueen.types import RedQueenError, Reply


def saved(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def pairs(count):
    return [{"prompt": f"Question {n}?", "completion": f"Reply {n}."} for n in range(count)]


def prompts(tasks):
    return {task.prompt for task in tasks}


@pytest.fixture
def twenty(tmp_path):
    return saved(tmp_path / "data.jsonl", pairs(20))


def test_a_tenth_is_held_out_and_the_parts_share_no_prompt(twenty):
    data = Dataset(twenty)
    train, held = (data.problems(level, count, Random(0)) for level, count in (("train", 18), ("held_out", 2)))
    assert data.levels == ("train", "held_out")
    assert len(prompts(train)) == 18 and len(prompts(held)) == 2
    assert not prompts(train) & prompts(held)
    assert {task.id for task in held} < {f"{twenty}, line {n}" for n in range(1, 21)}


def test_a_file_that_is_written_anew_changes_no_set_that_was_read_from_it(twenty, tmp_path):
    before = Dataset(twenty)
    saved(tmp_path / "data.jsonl", [{"prompt": f"Another {n}?", "completion": f"Other {n}."} for n in range(30)])
    assert prompts(before.problems("train", 18, Random(0))) < {f"Question {n}?" for n in range(20)}
    assert prompts(before.problems("held_out", 2, Random(0))) < {f"Question {n}?" for n in range(20)}
    assert prompts(Dataset(twenty).problems("train", 27, Random(0))) < {f"Another {n}?" for n in range(30)}


def test_rows_of_one_prompt_are_on_one_side_whatever_its_case(tmp_path):
    rows = [{"prompt": text, "completion": f"{n}"} for n in range(6) for text in (f"Is it {n}?", f"is  IT {n}? ")]
    for n, row in enumerate(rows):
        row["completion"] += f" {n}"
    data = Dataset(saved(tmp_path / "a.jsonl", rows), held_out=0.5)
    held = {task.prompt.split()[-1] for task in data.problems("held_out", 6, Random(0))}
    train = {task.prompt.split()[-1] for task in data.problems("train", 6, Random(0))}
    assert len(held) == len(train) == 3 and not held & train


def test_prompts_that_differ_in_the_space_of_an_expression_stay_on_one_side(tmp_path):
    sums = [f"What is {one}{sign}7?" for one in range(30) for sign in ("+", " + ")]
    data = Dataset(saved(tmp_path / "a.jsonl", [{"prompt": text, "answer": "7"} for text in sums]), 0.3)
    held, train = (
        {text.replace(" + ", "+") for text in prompts(data.problems(level, len(sums), Random(0)))}
        for level in ("held_out", "train")
    )
    assert held and train and not held & train
    tests = saved(tmp_path / "test.jsonl", [{"prompt": "What is 12 +7?", "answer": "19"}])
    with pytest.warns(UserWarning, match="2 of 60 problems to train on are also among the tests"):
        Dataset(data.path, test=tests)


def test_which_are_held_out_depends_on_the_seed_and_not_on_the_order(tmp_path):
    rows = pairs(20)
    one, other = saved(tmp_path / "a.jsonl", rows), saved(tmp_path / "b.jsonl", rows[::-1])

    def held(path, seed):
        return prompts(Dataset(path, 0.3, seed=seed).problems("held_out", 6, Random(0)))

    assert held(one, 0) == held(other, 0) != held(one, 1)


def test_a_file_of_tests_is_held_out_whole_and_what_it_shares_is_left_out(tmp_path, twenty):
    tests = saved(tmp_path / "test.jsonl", [{"prompt": "question 3?", "completion": "b"}, *pairs(30)[25:]])
    with pytest.warns(UserWarning, match="1 of 20 problems to train on are also among the tests") as seen:
        data = Dataset(twenty, test=tests)
    assert f"the first: {twenty}, line 4, as {tests}, line 1" in str(seen[0].message)
    assert seen[0].filename == __file__  # of whoever made it
    assert len(prompts(data.problems("train", 19, Random(0)))) == 19
    assert "Question 3?" not in prompts(data.problems("train", 19, Random(0)))
    assert len(prompts(data.problems("held_out", 6, Random(0)))) == 6


def test_bad_rows_and_repeated_ones_are_left_out_and_counted(tmp_path):
    rows = [*pairs(5), {"prompt": " ", "completion": "a"}, {"prompt": "x"}, *pairs(2)]
    path = saved(tmp_path / "a.jsonl", rows)
    with pytest.warns(UserWarning) as seen:
        data = Dataset(path, 0.2)
    assert [str(each.message) for each in seen] == [
        f"{path}: left out 2 rows that say the same as another one, the first: {path}, line 8, as {path}, line 1",
        f"{path}: left out 2 of 9 rows, the first: {path}, line 6: prompt is empty: write some text, or take the row "
        "out",
    ]
    assert {each.filename for each in seen} == {__file__}
    assert len(data.gold("train")) == 4 and len(data.gold("held_out")) == 1


def test_where_most_rows_are_bad_the_file_is_refused_unless_told_to_go_on(tmp_path):
    path = saved(tmp_path / "a.jsonl", [*pairs(3), *({"prompt": "", "completion": "a"} for _ in range(4))])
    with pytest.raises(RedQueenError, match=r"4 of 7 rows of .* cannot be used, the first: .*line 4: prompt is empty"):
        Dataset(path)
    with pytest.warns(UserWarning, match="left out 4 of 7 rows"):
        assert len(Dataset(path, 0.4, skip=True).gold("train")) == 2


@pytest.mark.parametrize(
    "rows, wanted",
    [
        ([{"id": 3, "label": True}], "no column that looks like a question: its columns are id, label; name it"),
        ([{"problem": f"{n}"} if n % 2 else {"prompt": f"{n}"} for n in range(8)], "holds two formats: 4 rows have"),
        ([], "is empty: write one question a row"),
        ([{"prompt": "a"}], "holds nothing to train on: it has 1 different question, of which 1 is held out"),
        (
            [{"prompt": "a"}, {"prompt": " "}],
            "; give it more questions, or a file to test on (--test FILE) (left out 1 of 2 rows, the first: ",
        ),
        (
            [{"prompt": "a", "answer": "1"}, {"prompt": "a", "answer": "2"}],
            "it has 1 different question in 2 rows, of which 1 is held out",
        ),
        ([{"prompt": "a", "split": "train"}] * 2, "names no row a test"),
    ],
)
def test_a_data_set_that_will_not_do_is_refused_in_one_line(tmp_path, rows, wanted):
    with pytest.raises(RedQueenError) as error:
        Dataset(saved(tmp_path / "a.jsonl", rows))
    assert wanted in str(error.value) and "\n" not in str(error.value)


def test_columns_are_named_where_their_names_are_unusual(tmp_path):
    rows = [{"frage": f"{n} + 1?", "antwort": n + 1, "id": n} for n in range(10)]
    data = Dataset(saved(tmp_path / "a.jsonl", rows), question="frage", answer="antwort")
    (task,) = data.problems("held_out", 1, Random(0))
    assert task.answer == str(int(task.prompt.split()[0]) + 1)
    assert "question = frage, answer = antwort; not used: id" in data.notes[1]
    with pytest.raises(RedQueenError, match="has no column 'nosuch' for question: it has frage, antwort, id"):
        Dataset(data.path, question="nosuch")


def test_a_column_says_what_is_trained_on_and_what_is_tested(tmp_path):
    rows = [{"problem": f"{n}?", "answer": n, "split": "test" if n < 3 else "train"} for n in range(9)]
    data = Dataset(saved(tmp_path / "a.jsonl", rows))
    assert prompts(data.problems("held_out", 3, Random(0))) == {"0?", "1?", "2?"}
    assert len(prompts(data.problems("train", 6, Random(0)))) == 6
    other = saved(tmp_path / "b.jsonl", [{"problem": row["problem"], "part": row["split"]} for row in rows])
    assert prompts(Dataset(other, split="part").problems("held_out", 3, Random(0))) == {"0?", "1?", "2?"}
    assert "3 held out (a share of 0.3)" in Dataset(other, 0.3).notes[0]


def test_what_a_test_repeats_is_left_out_of_training_and_not_of_the_tests(tmp_path):
    rows = [{"problem": f"{n}?", "answer": n, "split": "train"} for n in range(5)]
    rows += [{"problem": f"{n}?", "answer": n, "split": "test"} for n in (3, 4, 5, 5)]
    with pytest.warns(UserWarning) as seen:
        data = Dataset(saved(tmp_path / "a.jsonl", rows))
    assert "left out 1 row that says the same" in str(seen[0].message)
    assert "2 of 5 problems to train on are also among the tests" in str(seen[1].message)
    assert [len(prompts(data.problems(level, 3, Random(0)))) for level in ("train", "held_out")] == [3, 3]
    strange = saved(tmp_path / "b.jsonl", [*rows, {"problem": "x", "answer": 1, "split": "north"}])
    with pytest.raises(RedQueenError, match="says 'north': it says train or test"):
        Dataset(strange, split="split")


def test_a_saved_folder_with_train_and_test_has_both_parts(tmp_path):
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    table = datasets.Dataset.from_list([{"question": f"{n}?", "answer": f"So it is {n}.\n#### {n}"} for n in range(9)])
    parts = {"train": table.select(range(6)), "test": table.select(range(6, 9))}
    datasets.DatasetDict(parts).save_to_disk(str(tmp_path / "two"))
    data = find_questions(str(tmp_path / "two"))
    assert prompts(data.problems("held_out", 3, Random(0))) == {"6?", "7?", "8?"}
    assert prompts(Dataset(str(tmp_path / "two"), 0.5, split="test").problems("train", 9, Random(0))) < {
        "6?",
        "7?",
        "8?",
    }


def test_levels_and_categories_are_columns_that_are_named(tmp_path):
    rows = [{"problem": f"{n}?", "answer": n, "level": n % 3, "type": "ab"[n % 2]} for n in range(30)]
    data = Dataset(saved(tmp_path / "a.jsonl", rows), level="level", category="type")
    assert data.levels == ("0", "1", "2", "held_out") and data.kinds == ("a", "b")
    assert all(int(task.answer) % 3 == 1 for task in data.problems("1", 9, Random(0)))
    assert len(data.gold("train")) == 27
    plain = Dataset(data.path)
    assert plain.levels == ("train", "held_out") and plain.kinds == ("problem",)


@pytest.mark.parametrize(
    ("rows", "settings", "answers", "said"),
    [
        ([{"answer": "So 3 * 4 = 12.\n#### 12"}, {"answer": "#### 1,234"}], {}, ["12", "1,234"], "2 numbers"),
        (
            [{"solution": r"Thus $x = \boxed{\frac{1}{2}}$."}, {"solution": r"\boxed{x+1}"}],
            {},
            [r"\frac{1}{2}", "x+1"],
            "",
        ),
        (
            [{"solution": "Add them: 7 + 6 = 13."}, {"solution": "40 + 17 = 57"}],
            {},
            ["13", "57"],
            "2 numbers; of worked",
        ),
        ([{"answer": "x^2 + 2 = 0"}, {"answer": "x = 5"}], {}, ["x^2 + 2 = 0", "x = 5"], "2 formulas"),
        (
            [{"solution": f"First she takes 3 of them, and then the rest. So {n} are left."} for n in (5, 6)],
            {},
            ["5", "6"],
            "of worked solutions the final number",
        ),
        ([{"answer": "(B)", "choices": ["x", "y"]}, {"answer": "y", "choices": ["x", "y"]}], {}, ["B", "B"], "letters"),
        ([{"answer": n, "choices": ["x", "y"]} for n in (0, 1)], {}, ["A", "B"], "2 letters of choices"),
        ([{"answer": n, "choices": ["x", "y"]} for n in "ab"], {}, ["A", "B"], "2 letters of choices"),
        (
            [{"answer": f"The battle was fought in {n} near a town on the long coast."} for n in (1066, 1415)],
            {},
            [f"The battle was fought in {n} near a town on the long coast." for n in (1066, 1415)],
            "2 texts",
        ),
        ([{"answer": n, "choices": ["x", "y"]} for n in (1, 2)], {}, ["A", "B"], "2 letters of choices"),
        (  # as MMLU has them: an index, also where a choice is that number
            [{"answer": 2, "choices": ["8", "2", "24", "120"]}, {"answer": 0, "choices": ["2", "0", "3", "1"]}],
            {},
            ["C", "A"],
            "2 letters of choices",
        ),
        (  # in a table all are texts, of which some can be an index alone
            [{"answer": "2", "choices": ["8", "2", "24"]}, {"answer": "0", "choices": ["red", "green"]}],
            {},
            ["C", "A"],
            "2 letters of choices",
        ),
        ([{"answer": n, "choices": ["24", "12"]} for n in ("24", "12")], {}, ["A", "B"], "2 letters of choices"),
        ([{"answer": "1", "choices": ["2", "1"]} for _ in "ab"], {}, ["B", "B"], "2 letters of choices"),
        ([{"answer": "Paris"}, {"answer": "The answer is Rome."}], {}, ["Paris", "Rome"], "2 texts"),
        ([{"answer": 4}, {"answer": "5"}], {"compare": "text"}, ["4", "5"], "compared as texts"),
        ([{"answer": ["a b", "c d"]}, {"answer": "e f"}], {}, ["a b", "e f"], ""),
        ([{"answer": n} for n in ("8,5", "12", "1.234,75")], {}, ["8.5", "12", "1234.75"], "a comma before decimals"),
        ([{"answer": n} for n in ("1,234", "12", "5,678")], {}, ["1,234", "12", "5,678"], "3 numbers, such"),
        ([{"answer": n} for n in ("8,5", "12", "3.25")], {}, ["8,5", "12", "3.25"], "2 numbers, 1 text"),
    ],
)
def test_what_is_expected_is_found_in_the_answer_column(tmp_path, rows, settings, answers, said):
    path = saved(tmp_path / "a.jsonl", [{"problem": f"q{n}", **row} for n, row in enumerate(rows)])
    data = Dataset(path, 0.0, **settings)
    tasks = sorted(data.problems("train", len(rows), Random(0)), key=lambda task: task.id)
    assert [task.answer for task in tasks] == answers
    assert said in data.notes[2]
    assert data.right(tasks, answers) == [True] * len(rows)
    assert data.right(tasks, [""] * len(rows)) == [False] * len(rows)


def test_a_letter_beyond_the_choices_and_one_of_two_equal_choices_are_no_answers(tmp_path):
    choices = [("A", ["red", "blue"]), ("B", ["red", "blue"]), ("E", ["red", "blue"]), ("red", ["red", "red", "blue"])]
    rows = [{"question": f"q{n}", "answer": answer, "choices": each} for n, (answer, each) in enumerate(choices)]
    with pytest.warns(UserWarning, match="line 3: the answer 'E' is neither a letter nor one of the choices"):
        data = Dataset(saved(tmp_path / "a.jsonl", rows), 0.0)
    assert sorted(task.answer for task in data.problems("train", 2, Random(0))) == ["A", "B"]
    with pytest.raises(RedQueenError, match="the answer 'red' is 2 of the choices"):
        Dataset(saved(tmp_path / "b.jsonl", rows[3:]), 0.0)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", '{"question": "a", "answer": 1},\n' * 3, "line 1: this is not JSON"),
        ("a.jsonl", "[1, 2]\n[3, 4]\n", "line 1: this is not an object with columns: write"),
        ("a.json", '["a", "b"]', "row 1: this is not an object with columns: write"),
    ],
)
def test_a_file_of_which_no_row_can_be_read_says_why(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(RedQueenError, match=f"holds no row that can be used: .*{said}"):
        Dataset(str(tmp_path / name))


def test_half_of_a_character_is_named_and_its_row_left_out(tmp_path):
    rows = [{"question": f"q{n}", "answer": n} for n in range(4)]
    spoilt = [{"question": "cut \ud83d", "answer": 3}, {"question": "q", "answer": "\udc00"}]
    path = saved(tmp_path / "a.jsonl", [*rows, *spoilt, {"question": "\U0001f600", "answer": 7}])
    with pytest.warns(
        UserWarning, match=r"left out 2 of 7 rows, the first: .*line 5: it holds half of a character"
    ) as said:
        data = Dataset(path, 0.0)
    assert r"'\ud83d', which no model reads" in str(said[0].message)
    assert len({task.id for task in data.problems("train", 9, Random(0))}) == 5


def test_a_split_with_unknown_names_beside_train_and_test_is_refused(tmp_path):
    rows = [{"question": f"q{n}", "answer": n, "split": name} for n, name in enumerate(["train", "dev", "test_a"] * 4)]
    with pytest.raises(RedQueenError, match=r"says 'test_a': it says train or test; --columns ignore=split leaves"):
        Dataset(saved(tmp_path / "a.jsonl", rows))
    rows = [{**row, "split": name} for row, name in zip(rows, ["train", "easy"] * 6, strict=True)]
    assert "not used: split" in " ".join(Dataset(saved(tmp_path / "b.jsonl", rows)).notes)


def test_a_file_of_pairs_says_with_what_replies_are_compared(tmp_path):
    rows = [{"prompt": f"q{n}", "chosen": "a", "rejected": "b"} for n in range(4)]
    data = Dataset(saved(tmp_path / "a.jsonl", rows), 0.0)
    assert "a reply is right where it says what the chosen one says (--compare none" in " ".join(data.notes)


@pytest.mark.parametrize(
    ("rows", "compare", "verdict"),
    [
        ([("It is four plus five.", "no")], "", None),  # a sentence is no answer that others are held to
        ([("four", "no")], "", True),
        ([("four", "no")], "none", None),
        ([("It is four plus five.", "no")], "text", True),
        ([("four", "no"), ("five", "no"), ("It is six indeed.", "no")], "", True),
    ],
)
@pytest.mark.parametrize("labels", [False, True])
def test_what_was_chosen_is_a_right_answer_only_where_it_is_short(rows, compare, verdict, labels, tmp_path):
    pairs = [{"prompt": f"q{n}", "chosen": good, "rejected": bad} for n, (good, bad) in enumerate(rows)]
    called = [(each["prompt"], each[side], side == "chosen") for each in pairs for side in ("chosen", "rejected")]
    marked = [dict(zip(("prompt", "completion", "label"), each, strict=True)) for each in called]
    data = Dataset(saved(tmp_path / "a.jsonl", marked if labels else pairs), 0.0, compare=compare)
    asked = data.problems("train", len(marked if labels else pairs), Random(0))
    tasks = [task for task in asked if gold_reply(task)]
    assert sorted(map(gold_reply, tasks)) == sorted(good for good, _ in rows), "it is what is learned, in any case"
    right = data.right(tasks, [rows[0][0]] * len(tasks))
    assert right.count(verdict) == (len(tasks) if verdict is None else 1)
    assert {bool(task.answer) for task in tasks} == {verdict is not None}, "a reply that is cut off is wrong for these"


def test_of_several_answers_any_is_right(tmp_path):
    data = Dataset(saved(tmp_path / "a.jsonl", [{"question": "q", "answers": ["New York", "NYC"]}]), 0.0)
    assert data.right(data.problems("train", 3, Random(0)), ["nyc.", "The answer is New York.", "Paris"]) == [
        *(True, True, False)
    ]


def test_an_answer_that_cannot_be_compared_as_asked_is_said_in_one_line(tmp_path):
    path = saved(tmp_path / "a.jsonl", [{"problem": f"q{n}", "answer": "a word or two"} for n in range(4)])
    with pytest.raises(RedQueenError, match=r"4 of 4 rows .* the answer 'a word or two' is no number"):
        Dataset(path, compare="number")
    with pytest.raises(RedQueenError, match="is neither a letter nor one of the choices"):
        Dataset(path, compare="choice")
    with pytest.raises(RedQueenError, match="has no tests to run"):
        Dataset(path, compare="tests")
    with pytest.raises(RedQueenError, match="cannot be compared by 'number_like': say number, text"):
        Dataset(path, compare="number_like").right([], [])


def test_questions_alone_have_answers_that_can_be_found_and_no_verdicts(tmp_path):
    data = Dataset(saved(tmp_path / "a.jsonl", [{"problem": "3 + 4?"}, {"problem": "3 + 5?"}]), 0.5, compare="none")
    (task,) = data.problems("train", 1, Random(0))
    assert data.right([task], ["7"]) == [None]
    numbers = Dataset(data.path, 0.5, compare="number")
    assert numbers.extracted([task], ["So 3 + 4 is 7."]) == ["7"] and numbers.right([task], ["7"]) == [None]


@pytest.mark.slow
def test_a_hundred_thousand_rows_are_read_in_seconds(tmp_path):
    path = saved(
        tmp_path / "a.jsonl", ({"problem": f"What is {n} + {n % 7}?", "answer": n + n % 7} for n in range(100_000))
    )
    began = time.process_time()
    data = Dataset(path)
    assert len(data.problems("train", 90_000, Random(0))) == 90_000
    assert time.process_time() - began < 60
    assert Dataset(path)._loaded is data._loaded, "read once for all who ask"


def test_wrong_settings_are_refused(twenty):
    with pytest.raises(RedQueenError, match="at least 0 and below 1"):
        Dataset(twenty, held_out=1.0)
    with pytest.raises(RedQueenError, match="its parts are train"):
        Dataset(twenty, held_out=0.0).problems("held_out", 1, Random(0))


def test_columns_may_be_ignored(tmp_path):
    rows = [{"problem": "the same for all", "source": "web", **row} for row in pairs(4)]
    path = saved(tmp_path / "a.jsonl", rows)
    assert len(Dataset(path, 0.25, ignore="problem+source").gold("train")) == 3


def test_more_than_there_are_come_in_whole_rounds(twenty):
    data = Dataset(twenty)
    counts = Counter(one.task.id for one in data.demonstrations(40, Random(1)))
    assert len(counts) == 18 and set(counts.values()) == {2, 3}
    assert data.demonstrations(18, Random(1)) == data.demonstrations(18, Random(1))


def test_the_gold_reply_is_demonstrated_and_is_the_answer(twenty):
    for one in Dataset(twenty).demonstrations(18, Random(0)):
        number = one.task.prompt.removeprefix("Question ").removesuffix("?")
        assert (one.role, one.text, one.task.answer) == ("solver", f"Reply {number}.", f"Reply {number}.")


def test_an_exact_answer_is_right_as_text_or_as_a_number(tmp_path):
    rows = [{"prompt": f"{n} halves?", "completion": f"That is {n / 2}.", "answer": f"{n / 2}"} for n in range(1, 4)]
    data = Dataset(saved(tmp_path / "a.jsonl", rows), held_out=0.0)
    tasks = sorted(data.problems("train", 3, Random(0)), key=lambda task: task.prompt)
    assert data.right(tasks, ["1/2", "1", "1.6"]) == [True, True, False]
    assert data.right(tasks, ["", " ", "That is 1.5."]) == [False, False, True]


def test_prompts_alone_have_nothing_to_imitate_and_nothing_right(tmp_path):
    data = Dataset(saved(tmp_path / "a.jsonl", [{"prompt": "a"}, {"prompt": "b"}]))
    with pytest.raises(RedQueenError, match="demonstrations need replies, in a column completion or answer"):
        data.demonstrations(1, Random(0))
    assert data.right(data.problems("train", 2, Random(0)), ["a", ""]) == [None, None], "nobody knows what is right"
    with pytest.raises(RedQueenError, match="need the columns chosen and rejected"):
        data.preferences("train", 1, Random(0))


def test_preferences_become_pairs_in_the_learners_own_tokens(tmp_path):
    rows = [{"prompt": f"q{n}", "chosen": f"good {n}", "rejected": f"bad {n}"} for n in range(3)]
    data = Dataset(saved(tmp_path / "a.jsonl", rows), held_out=0.0)
    learner = TransformerPolicy(load_model("tiny:hidden=16,layers=1,heads=2", torch.float32, "cpu"), constrain=False)
    chosen, rejected = (
        score(play(matches, Random(0)), payoff)
        for matches in recitations(data.preferences("train", 3, Random(0)), learner)
    )
    batch = pack_pairs(chosen, rejected)
    assert batch.pairs.tolist() == [0, 0, 1, 1, 2, 2]
    for row in range(6):
        words = learner.format.decode(batch.tokens[row][batch.loss_weights[row] != 0].tolist())
        assert words.startswith("bad" if row % 2 else "good")


def test_no_pair_comes_twice_however_many_are_asked_for(tmp_path):
    rows = [{"prompt": f"q{n}", "chosen": f"good {n}", "rejected": f"bad {n}"} for n in range(10)]
    data = Dataset(saved(tmp_path / "a.jsonl", rows))
    found = data.preferences("train", 25, Random(0))
    assert sorted(pair.task.prompt for pair in found) == sorted(prompts(data.problems("train", 9, Random(0))))
    assert len(data.preferences("train", 4, Random(0))) == 4


def test_pairs_of_what_is_held_out_are_left_out(tmp_path):
    rows = [
        {"prompt": f"q{n}", "chosen": f"good {n} {m}", "rejected": f"bad {n} {m}"} for n in range(4) for m in range(2)
    ]
    data = Dataset(saved(tmp_path / "a.jsonl", rows), held_out=0.0)
    pairs = data.preferences("train", 8, Random(0))
    tests = {"train": [pair.task for pair in pairs if pair.task.prompt in ("q0", "q1")]}
    assert {pair.task.prompt for pair in pairs_apart(tests, pairs)} == {"q2", "q3"}
    with pytest.raises(RedQueenError, match="all pairs are of tasks that are held out"):
        pairs_apart({"train": [pair.task for pair in pairs]}, pairs)


@pytest.mark.parametrize("form", [{"completion": "It is 4."}, {"chosen": "It is 4.", "rejected": "5"}])
def test_beside_an_exact_answer_the_reply_is_what_is_gold(form, tmp_path):
    rows = [{"prompt": f"{n} + {4 - n}?", "answer": "4", **form} for n in range(4)]
    data = Dataset(saved(tmp_path / "a.jsonl", rows), held_out=0.0)
    tasks = with_gold(data, "problems", 4, {}, seed=0)
    assert [gold_reply(task) for task in tasks] == ["It is 4."] * 4
    assert data.right(tasks, ["4"] * 4) == [True] * 4
    shown = with_gold(data, "demonstrations", 4, {}, seed=0)
    assert [gold_reply(task) for task in shown] == ["It is 4."] * 4


def test_a_row_is_a_gold_answer_once(twenty):
    for source in ("problems", "demonstrations"):
        tasks = with_gold(Dataset(twenty), source, 50, {}, seed=0)
        assert len(tasks) == len({task.id for task in tasks}) == 18


TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if m.role == 'assistant' %}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def test_a_conversation_reaches_the_model_with_its_roles_and_only_the_last_reply_is_learned(tmp_path):
    said = [("system", "Be kind."), ("user", "Hi"), ("assistant", "Hello."), ("user", "Bye"), ("assistant", "See you.")]
    row = {"messages": [{"role": role, "content": text} for role, text in said]}
    data = Dataset(saved(tmp_path / "a.jsonl", [row]), held_out=0.0)
    (one,) = data.demonstrations(1, Random(0))
    assert one.task.prompt == "System: Be kind.\n\nUser: Hi\n\nAssistant: Hello.\n\nUser: Bye"
    (match,) = alone(SOLVE, [one.task], Saying(one.text))
    (episode,) = play([match], Random(0))
    reply = episode.turns[0].reply
    tokens = tiny_tokenizer()
    assert tokens.decode(reply.prompt_tokens) == (
        "<system>Be kind.<user>Hi<assistant>Hello.<|end|><user>Bye<assistant>"
    )
    assert tokens.decode(reply.tokens) == "See you.<|end|>"


class Saying:
    """Recites with a chat template that shows the roles."""

    name = "learner"

    def __init__(self, text):
        tokenizer = tiny_tokenizer()
        tokenizer.chat_template = TEMPLATE
        self.format = ChatFormat(tokenizer)
        self.text = text

    def reply(self, asks):
        return [
            Reply(
                self.text,
                prompt_tokens=self.format.prompt(ask),
                tokens=np.array(self.format.reply_tokens(self.text)),
            )
            for ask in asks
        ]


def test_what_ships_is_three_hundred_short_instructions_none_twice():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = instructions()
    gold = [*data.gold("train"), *data.gold("held_out")]
    assert [len(data.gold(level)) for level in data.levels] == [270, 30]
    assert len({one.task.prompt for one in gold}) == len({one.text for one in gold}) == 300
    assert all(10 <= len(one.text.split()) <= 60 for one in gold)
    assert having(data, Demonstrator) is data


def test_the_pairs_that_ship_are_the_same_instructions_with_another_answer_each():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = preferences()
    pairs = [pair for level in data.levels for pair in data.preferences(level, 300, Random(0))]
    shown = {one.task.prompt: one.text for level in data.levels for one in instructions().gold(level)}
    assert {pair.task.prompt: pair.chosen for pair in pairs} == shown
    assert all(pair.rejected.strip() and pair.rejected != pair.chosen for pair in pairs)


def test_it_keeps_the_contract_of_question_sets():
    data = instructions()
    assert "keeps the contract" in check_questions(data)
    for level in data.levels:
        problems = data.problems(level, 12, Random(level))
        assert len(problems) == 12 and problems == data.problems(level, 12, Random(level))
        assert all(data.right(problems, [task.answer for task in problems]))
        assert not any(data.right(problems, ["" for _ in problems]))


def test_a_part_that_is_held_out_is_not_trained_on_and_is_all_that_is_tested():
    assert training_levels(instructions()) == ("train",)
    assert held_out_levels(instructions()) == ("held_out",)
    assert training_levels(Sums(digits=2)) == held_out_levels(Sums(digits=2)) == ("1_digits", "2_digits")


# Files as they come


def file_of(folder, name, text, encoding="utf-8"):
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return str(path)


ROWS = [(f"{first} + {second}?", first + second) for first in range(2, 8) for second in range(2, 6)]


def test_a_number_that_is_none_is_missing(tmp_path):
    """Of each file the six rows of NaN are left out, in one line."""
    shown = [(question, answer if number % 4 else "NaN") for number, (question, answer) in enumerate(ROWS)]
    lines = "".join(
        json.dumps({"question": question, "answer": 0}).replace("0}", f"{answer}}}") + "\n"
        for question, answer in shown
    )
    table = "question,answer\n" + "".join(f"{question},{answer}\n" for question, answer in shown)
    for path in (file_of(tmp_path, "a.jsonl", lines), file_of(tmp_path, "a.csv", table)):
        with pytest.warns(UserWarning, match="left out 6 of 24 rows"):
            found = Dataset(path)
        assert all(task.answer not in ("nan", "NaN") for task in found.problems("train", 99, Random(0)))


def test_the_names_of_columns_may_have_spaces_around_them(tmp_path):
    table = " question ; answer\n" + "".join(f"{question};{answer}\n" for question, answer in ROWS)
    assert len(Dataset(file_of(tmp_path, "a.csv", table)).gold("train")) == 22


def test_a_message_may_be_written_as_parts_of_text(tmp_path):
    def row(kind):
        parts = [{"type": kind, "text": "What is"}, {"type": "text", "text": "2 + 3?"}]
        return json.dumps({"messages": [{"role": "user", "content": parts}, {"role": "assistant", "content": "5"}]})

    found = Dataset(file_of(tmp_path, "a.jsonl", row("text") + "\n" + row("text").replace("3", "4")), held_out=0.0)
    assert {task.prompt for task in found.problems("train", 2, Random(0))} == {"What is\n2 + 3?", "What is\n2 + 4?"}
    with pytest.raises(RedQueenError, match="the content of message 1 of messages must be text, not"):
        Dataset(file_of(tmp_path, "b.jsonl", row("image")))


def test_a_question_within_an_object_is_named_where_none_is_found(tmp_path):
    text = "".join(json.dumps({"id": n, "data": {"prompt": q, "gold": str(a)}}) + "\n" for n, (q, a) in enumerate(ROWS))
    path = file_of(tmp_path, "a.jsonl", text)
    with pytest.raises(RedQueenError, match=r"its columns are id, data, data.prompt; name it"):
        Dataset(path)
    assert len(Dataset(path, question="data.prompt", answer="data.gold").gold("train")) == 22


@pytest.mark.parametrize(
    ("answer", "said"), [("\\boxed{", "holds a box that is never closed"), ("???", "has nothing to compare")]
)
def test_an_answer_that_no_reply_could_give_is_a_fault(tmp_path, answer, said):
    path = file_of(tmp_path, "a.jsonl", "".join(json.dumps({"question": q, "answer": answer}) + "\n" for q, _ in ROWS))
    with pytest.raises(RedQueenError, match=f"24 of 24 rows of .* cannot be used, the first: .*{said}"):
        Dataset(path)


def test_a_text_that_is_not_utf_8_is_told_what_would_be_right(tmp_path):
    with pytest.raises(RedQueenError, match=r"not UTF-8 text: byte 16 is wrong; save it as UTF-8"):
        Dataset(file_of(tmp_path, "a.csv", "question,answer\nü,1\n", "latin-1"))


def test_a_part_of_a_saved_folder_that_is_empty_is_one_line(tmp_path):
    datasets = pytest.importorskip("datasets")
    table = datasets.Dataset.from_dict({"question": [q for q, _ in ROWS], "answer": [str(a) for _, a in ROWS]})
    folder = tmp_path / "saved"
    datasets.DatasetDict({"train": table, "test": table.select([])}).save_to_disk(str(folder))
    with pytest.raises(RedQueenError, match=r"a part of .*saved is empty, .* such as .*saved/train") as error:
        Dataset(str(folder))
    assert "\n" not in str(error.value)
    assert len(Dataset(str(folder / "train")).gold("train")) == 22


@pytest.mark.parametrize(("empty", "full"), [("test", "train"), ("train", "test")])
def test_a_part_of_a_set_on_the_hub_that_is_empty_is_one_line(monkeypatch, empty, full):
    rows = [{"question": question, "answer": answer} for question, answer in ROWS]
    monkeypatch.setattr("redqueen.questions.data_rows._on_the_hub", lambda _: {full: rows, empty: []})
    with pytest.raises(RedQueenError, match=f"the part {empty} of some/set is empty: --columns split={full} holds out"):
        Dataset("some/set")
    assert len(Dataset("some/set", split=full).gold("train")) == 22


@pytest.mark.parametrize("blank", ["", None, []])
def test_a_column_that_is_empty_in_every_row_is_named_and_not_used(tmp_path, blank):
    path = saved(tmp_path / "data.jsonl", [{"question": f"{number}?", "answer": blank} for number in range(20)])
    told = find_questions(str(path)).notes
    assert any("empty in every row, and not used: answer" in line for line in told)
    assert any("no answers" in line for line in told)
    with pytest.raises(RedQueenError, match="is empty in every row: name another one"):
        find_questions(f"dataset:path={path},answer=answer")


def test_short_sentences_that_end_on_a_number_expect_that_number_and_names_stay(tmp_path):
    def first(answer):
        path = saved(tmp_path / "data.jsonl", [{"question": f"{n}?", "answer": answer.format(n)} for n in range(20)])
        return find_questions(f"dataset:path={path}").problems("train", 1, Random(0))[0].answer

    assert first("It is {}.").isdecimal()
    assert first("Room {}").startswith("Room")


def test_an_answer_whose_thoughts_never_close_is_none(tmp_path):
    rows = [{"question": f"{n}?", "answer": "<think>hm</think> 4" if n else "<think>hm"} for n in range(20)]
    with pytest.warns(UserWarning, match="the thoughts of the answer never close: write </think>"):
        questions = find_questions(saved(tmp_path / "data.jsonl", rows))
    assert {task.answer for task in questions.problems("train", 5, Random(0))} == {"4"}


def test_what_would_surprise_is_noted(tmp_path):
    long = "Because it likes company, and there is nothing that it would rather do than be added to it."
    rows = [{"question": f"Why {n}?", "answer": f"{n}: {long}"} for n in range(9)]
    assert "hardly any reply says the same" in Dataset(saved(tmp_path / "long.jsonl", rows)).notes[-1]
    rows = [{"question": f"{n}+1?", "answer": n + 1} for n in range(9)]
    assert len(Dataset(saved(tmp_path / "good.jsonl", rows)).notes) == 3
    twice = Dataset(saved(tmp_path / "twice.jsonl", [*rows, {"question": "2+1?", "answer": 4}]))
    assert "1 question with several answers that differ, the first: " in twice.notes[-1]
    assert f"{twice.path}, line 10, as {twice.path}, line 3" in twice.notes[-1]
    for equal in ("3.0", "6/2"):
        same = Dataset(saved(tmp_path / "same.jsonl", [*rows, {"question": "2+1?", "answer": equal}]))
        assert not [note for note in same.notes if "that differ" in note], "3 written otherwise is no other answer"
    alone = Dataset(saved(tmp_path / "alone.jsonl", [{"question": f"{n}+1?"} for n in range(9)]))
    assert "votes are on whole replies (--compare number" in alone.notes[-1]


def test_a_column_split_that_calls_every_row_a_test_is_said_to_be_split_anew(tmp_path):
    rows = [{"problem": f"{n}?", "answer": n, "Split": "Test"} for n in range(20)]
    data = Dataset(path := saved(tmp_path / "a.jsonl", rows))
    assert f"{path}: its column Split calls every row a test; they are split anew" in "\n".join(data.notes)
    assert (len(data.gold("train")), len(data.gold("held_out"))) == (18, 2)
    other = saved(tmp_path / "b.jsonl", [{"problem": f"{n} + 1?", "answer": n + 1} for n in range(5)])
    tested = Dataset(other, test=path)  # as the line advises
    assert len(tested.gold("held_out")) == 20 and "split anew" not in "\n".join(tested.notes)


def test_a_file_whose_questions_are_all_among_the_tests_is_refused_for_that(tmp_path):
    path = saved(tmp_path / "a.jsonl", [{"problem": f"{n}?", "answer": n} for n in range(5)])
    other = saved(tmp_path / "b.jsonl", [{"problem": f"{n}?", "answer": n} for n in range(9)])
    with pytest.raises(RedQueenError, match="all 5 of its questions are among the tests"):
        Dataset(path, test=other)


def test_questions_longer_than_allowed_are_left_out_and_counted(tmp_path):
    rows = [{"problem": f"{n} {'x' * n}?", "answer": n} for n in range(10, 20)]
    path = saved(tmp_path / "a.jsonl", rows)
    with pytest.warns(match="left out 5 of 10 rows, whose questions are longer than 18 characters"):
        kept = Dataset(path, longest=18, held_out=0.2)
    assert sorted(int(task.answer) for task in kept.all_tasks()) == [10, 11, 12, 13, 14]


def test_pairs_that_stand_there_both_ways_round_or_against_their_scores_are_named(tmp_path):
    rows = [{"prompt": f"Say {n}.", "chosen": f"It is {n}.", "rejected": f"No {n}."} for n in range(6)]
    turned = [{**rows[n], "chosen": rows[n]["rejected"], "rejected": rows[n]["chosen"]} for n in (1, 4)]
    path = saved(tmp_path / "turned.jsonl", [*rows, *turned])
    said = " ".join(Dataset(path).notes)
    assert f"both ways round: 2, the first in {path}, line 2 and {path}, line 7;" in said
    scored = [{**row, "chosen_score": 2 + (n < 5), "rejected_score": 3} for n, row in enumerate(rows)]
    path = saved(tmp_path / "scored.jsonl", scored)
    assert f"has the lower score: 1, the first in {path}, line 6;" in " ".join(Dataset(path).notes)
    clean = " ".join(Dataset(saved(tmp_path / "clean.jsonl", rows)).notes)
    assert "both ways" not in clean and "lower score" not in clean


@pytest.mark.parametrize("compare", ["", "text", "number"])
def test_a_chosen_reply_is_held_to_what_it_says_after_its_thoughts(compare, tmp_path):
    rows = [{"prompt": f"q{n}", "chosen": f"<think>not {n}, 9</think>4{n}", "rejected": "5"} for n in range(4)]
    data = Dataset(saved(tmp_path / "a.jsonl", rows), 0.0, compare=compare)
    tasks = sorted(data.problems("train", 4, Random(0)), key=lambda task: task.prompt)
    assert [task.answer for task in tasks] == ["40", "41", "42", "43"]
    assert data.right(tasks, ["40", "41", "9", "not 3, 9"]) == [True, True, False, False]
    pairs = data.preferences("train", 4, Random(0))
    assert {pair.chosen for pair in pairs} == {row["chosen"] for row in rows}


def test_a_chosen_reply_that_is_to_be_a_number_and_is_none_is_named(tmp_path):
    worked = [{"prompt": f"q{n}", "chosen": f"It is {n}.", "rejected": "no"} for n in range(4)]
    data = Dataset(saved(tmp_path / "a.jsonl", worked), 0.0, compare="number")
    tasks = sorted(data.problems("train", 4, Random(0)), key=lambda task: task.prompt)
    assert data.right(tasks, ["0", "so 1", "3", "It is 3."]) == [True, True, False, True]
    with pytest.raises(RedQueenError, match="the answer 'Hello!' is no number"):
        Dataset(saved(tmp_path / "b.jsonl", [{"prompt": "Hi.", "chosen": "Hello!", "rejected": "5"}]), compare="number")
