"""Data sets of reasoning-gym as a domain: its levels, what is right, and what is refused in one line."""

from random import Random

import pytest

from redqueen.checks.worker import Undecided
from redqueen.cli.main import main
from redqueen.curricula.held_out import apart_from, held_out, problems_apart
from redqueen.questions.catalogue import find_proposable, find_questions
from redqueen.types import RedQueenError, Refusal, Task

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


@pytest.mark.slow
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


@pytest.mark.slow
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


CHOOSING = "reasoning_gym:dataset=chain_sum(min_terms=2,max_terms=3,max_digits=2)+gcd+gsm_symbolic"


@pytest.fixture(scope="module")
def choosing(domain):
    return find_proposable(CHOOSING)


def test_a_proposer_chooses_the_numbers_of_the_librarys_curriculum_and_a_seed(choosing):
    assert choosing.kinds == ("chain_sum", "gcd")  # gsm_symbolic has no curriculum
    invitation = choosing.invite("chain_sum", choosing.seeds()[:1], 5)
    assert invitation.prompt == (
        "Choose a problem of chain_sum. Write num_terms=N num_digits=N seed=N with num_terms from 2 to 3, num_digits "
        "from 1 to 2, seed below 10000.\nAsked before: num_terms=2 num_digits=1 seed=0"
    )
    written = "num_terms=3 num_digits=2 seed=41"
    replies = [written, "num_terms = 3, num_digits = 2, seed = 41", written.replace("3", "2")]
    first, again, other = choosing.read([invitation] * 3, replies)
    assert first == again and first.id == "chain_sum num_terms=3 num_digits=2 seed=41" != other.id
    terms = first.facts["metadata"]["expression"].split()
    assert len(terms) == 5 and all(10 <= int(term) < 100 for term in terms[::2])
    assert first.answer == str(eval(first.facts["metadata"]["expression"]))
    assert choosing.right([first, first], [first.answer, "0.5"]) == [True, False]


def test_a_problem_that_nobody_proposed_is_not_among_what_was_asked_before(choosing):
    (dealt,) = choosing.problems(choosing.levels[0], 1, Random(0))
    assert choosing.invite("chain_sum", [dealt], 5) == choosing.invite("chain_sum", [], 5)


@pytest.mark.parametrize(
    ("reply", "refusal"),
    [
        ("num_terms=3 seed=1", "malformed"),
        ("num_digits=2 num_terms=3 seed=1", "malformed"),
        ("what is 2 + 2?", "malformed"),
        ("num_terms=4 num_digits=2 seed=1", "out of bounds"),
        ("num_terms=3 num_digits=0 seed=1", "out of bounds"),
        ("num_terms=3 num_digits=2 seed=10000", "out of bounds"),
        ("num_terms=3 num_digits=2 seed=-1", "out of bounds"),
    ],
)
def test_a_choice_that_cannot_be_made_is_refused(choosing, reply, refusal):
    invitation = choosing.invite("chain_sum", [], 0)
    assert choosing.read([invitation], [reply]) == [Refusal(refusal)]


def test_numbers_that_do_not_go_together_are_refused(domain):
    two = "number_sequence(min_value=90,max_value=100)+number_sequence(min_value=900,max_value=1000)"
    sequences = find_proposable(f"reasoning_gym:dataset={two}")
    invitation = sequences.invite("number_sequence", [], 0)
    assert "min_value from 90 to 900, max_value from 100 to 1000" in invitation.prompt
    turned = "terms=8 min_value=900 max_value=100 max_complexity=2 seed=1"
    assert sequences.read([invitation], [turned]) == [Refusal("not made")]


def test_solutions_and_choices_are_shown_for_warm_starts(choosing):
    shown = choosing.demonstrations(9, Random(1))
    chosen = [each for each in shown if each.role == "proposer"]
    assert len(chosen) == 3
    assert all(isinstance(task, Task) for each in chosen for task in choosing.read([each.task], [each.text]))
    solved = [each for each in shown if each.role == "solver"]
    assert all(choosing.right([each.task for each in solved], [each.text for each in solved]))


def test_a_data_set_without_a_curriculum_takes_no_proposals(domain):
    with pytest.raises(RedQueenError, match="gsm_symbolic of reasoning-gym has no curriculum of numbers"):
        find_proposable("reasoning_gym:dataset=gsm_symbolic")


@pytest.mark.slow
def test_a_bandit_trains_on_it_and_is_evaluated(domain, tmp_path, capsys):
    folder = str(tmp_path / "run")
    sizes = ["--steps", "2", "--tasks", "2", "--attempts", "2", "--problems", "2"]
    assert main(["train", "sec", *TINY, "--questions", TWO, *sizes, "--output", folder]) == 0
    capsys.readouterr()
    assert main(["evaluate", folder, "--matches", "2"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "on reasoning_gym, after 2 updates" in shown and "accuracy/gcd" in shown
