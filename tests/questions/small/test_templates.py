"""Templates: what they make, how a rationale and its problem are read, and what is shown of them."""

from random import Random

import pytest

from redqueen.questions.catalogue import having
from redqueen.questions.small.sums import Sums
from redqueen.questions.small.templates import TEMPLATES, Explained, Templates
from redqueen.types import RedQueenError, Refusal, Task

DOMAIN = Templates()


def test_each_set_of_concepts_has_an_easy_and_a_hard_rationale():
    by_concepts = {}
    for template in TEMPLATES:
        by_concepts.setdefault(template.concepts, []).append(template.hard)
    assert len(TEMPLATES) == 8
    assert list(by_concepts.values()) == [[False, True]] * 4


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.rationale)
def test_the_value_of_a_template_is_that_of_its_expression(template):
    for task in DOMAIN.problems(template.rationale, 30, Random(0)):
        assert int(task.answer) == eval(task.facts["expression"]) >= 0  # digits and signs of our own making
        assert task.facts["concepts"] == template.concepts


def test_a_problem_is_read_with_its_answer_and_its_true_rationale():
    invitation = DOMAIN.invite("times a sum", [], 0)
    assert invitation.prompt == "Write a problem about plus and times."
    (task,) = DOMAIN.read([invitation], ["times then add: 4*(2+3)"])
    assert (task.prompt, task.answer, task.kind) == ("What is 4*(2+3)?", "20", "times a sum")
    assert task.facts["rationale"] == "times a sum"
    assert task.facts["stated"] == "times then add"


def test_what_is_no_problem_about_the_concepts_is_refused():
    invitation = DOMAIN.invite("take", [], 0)
    texts = [
        "take: 7-2",
        "7-2",
        "take: 7-",
        "add: 7+2",
        "take: 2-7",
        "take twice: 9-1-1-1",
        "take: 7-0",
        "",
        "take: 7--2",
    ]
    read = DOMAIN.read([invitation] * len(texts), texts)
    found = [each.reason if isinstance(each, Refusal) else each.answer for each in read]
    bad = "malformed"
    assert found == ["5", bad, bad, "other concepts", "negative", bad, bad, bad, bad]


def test_an_invitation_shows_the_concepts_and_an_explanation_is_asked_of_the_problem_alone():
    (task,) = DOMAIN.problems("take a sum", 1, Random(0))
    assert DOMAIN.invite("add", [task], 0).prompt == "Write a problem about plus and minus."
    asked = DOMAIN.explain(task)
    assert task.facts["expression"] in asked.prompt
    assert "take a sum" not in asked.prompt
    assert DOMAIN.written(task, "take a sum") == f"take a sum: {task.facts['expression']}"


def test_half_of_the_rationales_shown_are_the_true_ones_and_the_others_any():
    shown = [one for one in DOMAIN.demonstrations(16000, Random(0)) if one.role == "explainer"]
    true = sum(one.text == one.task.kind for one in shown) / len(shown)
    assert true == pytest.approx(0.5 + 0.5 / 8, abs=0.03)


def test_seeds_hold_every_kind_and_are_mostly_easy():
    seeds = DOMAIN.seeds()
    assert seeds == Templates().seeds()
    assert {task.kind for task in seeds} == set(DOMAIN.kinds)
    hard = {template.rationale for template in TEMPLATES if template.hard}
    assert sum(task.kind in hard for task in seeds) / len(seeds) < 0.3


def test_proposals_that_are_shown_can_be_read():
    shown = [one for one in DOMAIN.demonstrations(400, Random(2)) if one.role == "proposer"]
    assert len(shown) == 100
    assert all(isinstance(each, Task) for each in DOMAIN.read([o.task for o in shown], [o.text for o in shown]))


def test_a_domain_without_rationales_is_refused():
    assert having(DOMAIN, Explained) is DOMAIN
    with pytest.raises(
        RedQueenError, match=r"sums is not .*: it has no explain and no written and no rationales; .* templates$"
    ):
        having(Sums(), Explained)
