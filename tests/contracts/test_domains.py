"""What every domain keeps, and a user's own should: its answers are right, nonsense is refused, nothing is by chance
but what is given."""

from random import Random

import pytest

from redqueen.checks.sandbox import jail
from redqueen.questions.catalogue import DOMAINS, demonstrator, find_domain, find_open_domain
from redqueen.types import RedQueenError, Refusal, Task

WITH_THE_WAY = ("variants",)  # an answer is right there only with the way to it, which a task's own answer leaves out
NONSENSE = ("", "   ", "I would rather not.", "\x00\ud7ff", "1" * 3000, "<question></question>", "((((")


# their questions are given: nobody proposes any
ASKED_FOR_NOTHING = ("matchups", "known", "chain", "instructions", "preferences", "reasoning_gym")
WITHOUT_DEMONSTRATIONS = ("matchups", "known", "reasoning_gym")
WITH_AN_EXTRA = ("reasoning_gym",)  # which is the name of its library too


@pytest.fixture(scope="module", params=[name for name in DOMAINS if name != "dataset"])  # which needs a file
def domain(request):
    return found(request.param)


def found(name, find=find_domain):
    if name in WITH_AN_EXTRA:
        pytest.importorskip(name)
    if name == "programs" and jail.why_not():
        pytest.skip(jail.why_not())
    return find(name)


def answers(tasks):
    return [task.answer for task in tasks]


def test_it_starts_from_a_task_of_each_kind_whose_answer_is_right(domain):
    seeds = domain.seeds()
    assert {task.kind for task in seeds} == set(domain.kinds)
    assert domain.right(seeds, answers(seeds)) == [domain.name not in WITH_THE_WAY] * len(seeds)


def test_the_answers_of_its_problems_are_right_and_the_chance_is_the_one_given(domain):
    for level in domain.levels:
        problems = domain.problems(level, 12, Random(level))
        assert len(problems) == 12
        assert domain.right(problems, answers(problems)) == [domain.name not in WITH_THE_WAY] * 12
        assert domain.problems(level, 12, Random(level)) == problems


def test_no_answer_is_no_right_answer(domain):
    problems = [task for level in domain.levels for task in domain.problems(level, 4, Random(level))]
    for text in NONSENSE:
        assert not any(domain.right(problems, [text] * len(problems)))


def test_nonsense_is_refused_for_a_reason_and_breaks_nothing(domain):
    for kind in domain.kinds:
        invitation = domain.invite(kind, domain.seeds()[:1], 0)
        assert isinstance(invitation, Task) and invitation.prompt and invitation.kind == kind
        for each in domain.read([invitation] * len(NONSENSE), NONSENSE):
            assert isinstance(each, Refusal) and each.reason


def test_a_proposer_is_invited_where_there_is_nothing_to_show(domain):
    for kind in domain.kinds:
        invitation = domain.invite(kind, (), 0)
        assert isinstance(invitation, Task) and invitation.prompt and invitation.kind == kind


def test_nothing_is_read_from_nothing(domain):
    assert domain.read([], []) == []
    assert domain.right([], []) == []


def test_what_may_be_shown_to_a_proposer_are_kinds_of_the_domain(domain):
    for kind in domain.kinds:
        assert domain.sources(kind) and set(domain.sources(kind)) <= set(domain.kinds)


def test_its_demonstrations_are_many_of_each_role_and_of_the_chance_given(domain):
    if domain.name in WITHOUT_DEMONSTRATIONS:
        with pytest.raises(RedQueenError, match="no demonstrations"):
            demonstrator(domain)
        return
    shown = demonstrator(domain).demonstrations(60, Random(3))
    assert len(shown) == 60
    assert shown == demonstrator(domain).demonstrations(60, Random(3))
    assert len({one.role for one in shown}) >= (1 if domain.name in ASKED_FOR_NOTHING else 2)
    assert all(one.task.prompt and one.text for one in shown)


@pytest.mark.parametrize("name", [name for name in DOMAINS if name != "dataset"])
def test_where_tasks_are_proposed_a_domain_that_takes_none_is_refused(name):
    if name in ASKED_FOR_NOTHING:
        with pytest.raises(RedQueenError, match="is closed, so nobody can propose tasks to it"):
            found(name, find_open_domain)
    else:
        assert find_open_domain(name).kinds == find_domain(name).kinds


def test_a_domain_that_is_not_there_gets_one_clear_line():
    with pytest.raises(RedQueenError, match="there is no domain 'summs'; did you mean sums"):
        find_domain("summs")
    with pytest.raises(RedQueenError, match="has no parameter 'digit'"):
        find_domain("sums:digit=3")
    with pytest.raises(RedQueenError, match="is not a domain"):
        find_domain("redqueen.games.kuhn_poker:KuhnPoker")
