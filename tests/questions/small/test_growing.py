"""Sums that grow: what a rewriter may write, and how near an answer comes."""

from random import Random

import pytest

from redqueen.games.single_reply import SingleReply
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.questions.catalogue import having
from redqueen.questions.small.growing import (
    BROADER,
    DEEPER,
    Evolving,
    Growing,
    SumRule,
    find_reward_model,
    nearness,
    rewritten,
)
from redqueen.questions.small.variants import Variants
from redqueen.types import RedQueenError, Refusal, Task


@pytest.mark.parametrize(
    ("answer", "reward"),
    [
        *(("12", 1.0), (" 12 ", 1.0), ("9", 0.7), ("15", 0.7), ("22", 0.0), ("99", 0.0)),
        *(("-12", 0.0), ("", 0.0), ("twelve", 0.0), ("9" * 30, 0.0), ("²", 0.0), ("1 2", 0.0)),
    ],
)
def test_nearness_by_hand(answer, reward):
    assert nearness(12, answer) == pytest.approx(reward)


def test_deeper_adds_a_number_and_broader_changes_them():
    rng = Random(0)
    deeper = rewritten((3, 5), DEEPER, 5, rng)
    assert (deeper[:2], len(deeper)) == ((3, 5), 3)
    assert len(rewritten((3, 5, 2), BROADER, 5, rng)) == 3


def test_the_rule_rewrites_as_it_is_told():
    domain = Growing()
    (task,) = domain.read([Task("x")], ["3+5+2"])
    invitations = [domain.evolve(task, DEEPER, 0), domain.evolve(task, BROADER, 1)]
    assert [each.prompt for each in invitations] == ["Longer than 3+5+2.", "Another like 3+5+2."]
    episodes = play(alone(SingleReply("rewriter"), invitations, SumRule(5)), Random(0))
    children = domain.read(invitations, [episode.outcome.facts["reply"] for episode in episodes])
    assert children[0].facts["numbers"][:3] == [3, 5, 2]
    assert [child.facts["difficulty"] for child in children] == [4, 3]
    assert children[0].answer == str(sum(children[0].facts["numbers"]))


def test_the_rule_refuses_what_it_cannot_read():
    with pytest.raises(RedQueenError, match="rewrites sums"):
        play(alone(SingleReply("rewriter"), [Task("x", prompt="Write a poem.")], SumRule(5)), Random(0))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("3", "malformed"),
        ("3+", "malformed"),
        ("3+15", "malformed"),
        ("3-1", "malformed"),
        ("1+1+1+1+1+1", "too large"),
        ("1+6", "too large"),
    ],
)
def test_what_is_no_sum_of_this_grammar_is_refused(text, reason):
    assert Growing().read([Task("x")], [text]) == [Refusal(reason)]


def test_problems_have_the_difficulty_of_their_level():
    domain = Growing(longest=4)
    assert domain.levels == ("2_numbers", "3_numbers", "4_numbers")
    for size, level in enumerate(domain.levels, start=2):
        tasks = domain.problems(level, 20, Random(0))
        assert {task.facts["difficulty"] for task in tasks} == {size}
        assert domain.rewards(tasks, [task.answer for task in tasks]) == [1.0] * 20
        assert all(domain.right(tasks, [task.answer for task in tasks]))
    with pytest.raises(RedQueenError, match="no level"):
        domain.problems("9_numbers", 1, Random(0))


def test_demonstrations_have_the_stated_skill():
    domain = Growing(skill=(0.6, 0.45, 0.3, 0.2))
    shown = [each for each in domain.demonstrations(6000, Random(0)) if each.role == "solver"]
    for size, skill in zip(range(2, 6), domain.skill, strict=True):
        of_size = [each for each in shown if each.task.facts["difficulty"] == size]
        right = sum(domain.right([each.task for each in of_size], [each.text for each in of_size])) / len(of_size)
        assert right == pytest.approx(skill + (1 - skill) / 6, abs=0.06)  # a last number of 0 may be left out


def test_a_domain_that_does_not_evolve_is_refused_by_name():
    assert having(Growing(), Evolving) == Growing()
    with pytest.raises(
        RedQueenError, match=r"variants is not .*: it has no evolve and no rewriter and no rewards; .* growing$"
    ):
        having(Variants(), Evolving)


def test_a_reward_model_is_the_domains_own_or_the_users(tmp_path):
    domain = Growing()
    tasks = domain.problems("2_numbers", 2, Random(0))
    assert find_reward_model("", domain)(tasks, ["x", tasks[1].answer]) == [0.0, 1.0]
    file = tmp_path / "mine.py"
    file.write_text("class Long:\n    def __call__(self, tasks, answers):\n        return [len(a) for a in answers]\n")
    assert find_reward_model(f"{file}:Long", domain)(tasks, ["a", "abc"]) == [1, 3]
    file.write_text("def long(tasks, answers):\n    return [len(a) for a in answers]\n")
    assert find_reward_model(f"{file}:long", domain)(tasks, ["a", "abc"]) == [1, 3]
    file.write_text("class Mute:\n    pass\n")
    with pytest.raises(RedQueenError, match="cannot be called"):
        find_reward_model(f"{file}:Mute", domain)
