"""Data sets of reasoning-gym as a domain: its levels, what is right, and what is refused in one line."""

from random import Random

import pytest

from redqueen.checks.worker import Undecided
from redqueen.cli.main import main
from redqueen.curricula.held_out import apart_from, problems_apart
from redqueen.measures.accuracy import held_out
from redqueen.questions.catalogue import find_questions
from redqueen.types import RedQueenError

TWO = "reasoning_gym:dataset=chain_sum(max_terms=2,max_digits=1)+gcd"
TINY = ["--model", "tiny:hidden=16,heads=2", "--max-completion-length", "4"]


@pytest.fixture(scope="module")
def domain():
    pytest.importorskip("reasoning_gym")
    return find_questions(TWO)


def test_each_data_set_is_a_level_with_its_settings(domain):
    assert domain.levels == ("chain_sum(max_terms=2, max_digits=1)", "gcd")
    sums = domain.problems(domain.levels[0], 20, Random(0))
    assert all(len(task.facts["metadata"]["expression"].split()) == 3 for task in sums)
    assert all(abs(int(task.answer)) <= 18 and task.kind == "chain_sum" for task in sums)
    assert {task.kind for task in domain.problems("gcd", 2, Random(0))} == {"gcd"}
    assert domain.problems("gcd", 0, Random(0)) == []
    with pytest.raises(RedQueenError, match=r"no level 'lcm': its levels are chain_sum.*, gcd"):
        domain.problems("lcm", 1, Random(0))


def test_the_librarys_own_scoring_says_what_is_right(domain):
    (task,) = domain.problems("gcd", 1, Random(3))
    wrong = str(int(task.answer) + 1)
    assert domain.right([task] * 4, [task.answer, wrong, "", f"it is {task.answer}"]) == [True, False, False, False]
    assert find_questions(f"{TWO},threshold=0.01").right([task], [f"it is {task.answer}"]) == [True]


def test_an_answer_without_a_verdict_is_not_right(domain):
    puzzles = find_questions("reasoning_gym:dataset=puzzle24,seconds=2")
    (task,) = puzzles.problems("puzzle24", 1, Random(0))
    with pytest.raises(Undecided):
        puzzles._gym(task, "9**9**9")
    assert puzzles.right([task, task], ["9**9**9", task.answer]) == [False, True]


def test_tests_and_training_are_kept_apart(domain):
    tests = held_out(domain, 16)
    level = domain.levels[0]  # of one digit, so that tests are met again
    assert len(apart_from(tests, domain.problems(level, 200, Random(1)))) < 200
    learned = problems_apart(tests, domain, level, 50, Random(1))
    assert len(learned) == 50 and apart_from(tests, learned) == learned


@pytest.mark.parametrize(
    ("dataset", "says"),
    [
        ("chain_sums", "no data set 'chain_sums'; did you mean chain_sum or "),
        ("zzzz", "no data set 'zzzz'; there are ab, acre, "),
        ("chain_sum(terms=2)", "no setting 'terms': it has .*max_terms"),
        ("gcd+composite", "composite cannot be used here"),
        ("chain-sum", "'chain-sum' names no data sets of reasoning-gym: write dataset=chain_sum[+]countdown"),
        ("chain_sum(3)", "names no data sets"),
        ("chain_sum(max_terms=open)", "names no data sets"),
        ("", "names no data sets"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(domain, dataset, says):
    with pytest.raises(RedQueenError, match=says) as refused:
        find_questions(f"reasoning_gym:dataset={dataset}")
    assert "\n" not in str(refused.value)


def test_without_the_library_it_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "reasoning_gym.py").write_text("raise ImportError")
    monkeypatch.syspath_prepend(tmp_path)  # the process in which it runs looks there too
    with pytest.raises(RedQueenError, match=r"need the extra \[gym\]: pip install 'redqueen\[gym\]'"):
        find_questions("reasoning_gym")


def test_a_bandit_trains_on_it_and_is_evaluated(domain, tmp_path, capsys):
    folder = str(tmp_path / "run")
    sizes = ["--steps", "2", "--tasks", "2", "--attempts", "2", "--problems", "2"]
    assert main(["train", "sec", *TINY, "--questions", TWO, *sizes, "--output", folder]) == 0
    capsys.readouterr()
    assert main(["evaluate", folder, "--matches", "2"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "on reasoning_gym, after 2 updates" in shown and "accuracy/gcd" in shown
