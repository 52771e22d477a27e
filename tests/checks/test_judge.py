"""Judgements read strictly, MAE's and SPELL's rewards by hand."""

from __future__ import annotations

import pytest

from redqueen.checks.judge import (
    Label,
    Opinion,
    Proposed,
    Score,
    mae_proposer,
    opinion,
    rule_or_majority,
    tag_form,
    vote_rewards,
)
from redqueen.types import RedQueenError


def test_a_score_is_read_from_the_tag_that_ends_the_reply():
    assert Score().read("One slip.\n<score> 7 </score>\n") == 7
    assert Score().read("<score>10</score>") == 10
    assert Score(tag="grade", low=-5, high=5).read("<grade>-3</grade>") == -3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<score>8/10</score>",
        "8/100",
        "7.5/10",
        "It depends.",
        "Between 6 and 8.",
        "A score of 7, or a score of 8.",
        "Score: 7 or 8",
        "I give it a score of 7-8.",
        "Rating: 7 to 8",
        "12",
        "A score of 8.\n12",
        "Score: 1 to 10",
        "score: 11",
        "Question 3 is hard.",
        "<score>7.5</score>",
        "<score>seven</score>",
        "<score></score>",
        "<score>0</score>",
        "<score>11</score>",
        "<score>7</score><score>9</score>",
        "between <score> and </score>: <score>7</score>",
        "<score>7</score> or so",
        "<score>7",
        "<score>٧</score>",
    ],
)
def test_anything_else_is_no_score(text):
    assert Score().read(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "8/10",
        "I would give this 8 out of 10.",
        "The score is 8.",
        "It is clear and solvable, so I give it a score of **8**.",
        "Score: 8/10\nThe reasoning is sound.",
        "Rating: [[8]]",
        '{"reason": "fine", "score": 8}',
        "The steps are right, the last is not shown.\n\n**8**",
        "It has 3 steps and 2 of them are right. Rating: 8",
        "The style earns a score of 3.\n\n8",
        "The answer covers 2 out of 10 cases.\n\n8",
        "The question says: 'rate it 3'.\n**8**",
        "It rates 4/5 on tone.\n\n8",
        "Score (1-10): 8",
        "Score: 8, or so it seems: 2 steps are missing.",
        "Rating (1 to 10): 8",
        "Score (out of 10): 8",
    ],
)
def test_a_score_in_prose_is_read(text):
    assert Score().read(text) == 8
    assert Score().stated(text) is None  # a judge that is paid for its form is not paid for this


@pytest.mark.parametrize(
    "text",
    [
        "Answer: A",
        "[[A]]",
        "(A)",
        "**A**",
        "The better answer is A.",
        "The better answer is **A**, because it is right.",
        '{"reason": "B is wrong", "verdict": "A"}',
        "Both try, but response A is better.",
        "I prefer answer A.",
        "My final verdict is: [[A]]",
        "B makes a mistake in line 2.\nFinal answer: (A)",
        "Response B is better in style, but wrong.\nFinal answer: A",
        "I prefer answer A. Answer A is better.",
        '```json\n{"verdict": "A"}\n```',
        "Verdict: A\n",
        "I compared both.\n**Answer A**",
        "The first is shorter and right.\n\nOption A.",
        "**Answer A**\nRight.\n\n**Answer B**\nWrong.\n\nAnswer A is better.",
        "I'd go with Answer A.",
        "The better answer is **Answer A**.",
        "**Verdict:** Answer A",
        "B forgets the carry.\n\n**Final verdict: Answer A**",
        'The winner is "Answer A".',
        "I prefer **Answer A**, which is right.",
        "Therefore, **Answer A**.",
        "B forgets the carry. Therefore, Answer A.",
        "Both add, but response **A** wins.",
        "A is clearly the better answer.",
        r"So it is \boxed{A}",
        '{"verdict": "Answer A"}',
        "<answer>A</answer>",
        "I don't think B is better. Answer: A",
        "Answer: A. I doubt that B is better.",
        "B is not right, so the better answer is A.",
        "B is not wrong but A is better",
        "Without doubt A is better.",
        "My final verdict is: [[A>B]]",
        "[[A>>B]]",
        "[[B << A]]",
        "The first answer is better.",
        "Overall, the second response wanders. The first response is better.",
        "I prefer the first one.",
        "Both answers are right, but the first shows its steps.\n\n**Answer: A**",
        "Both responses are short. [[A]]",
        "Neither is perfect, but answer A is better.",
    ],
)
def test_a_verdict_in_prose_is_read(text):
    assert Label(("A", "B")).read(text) == "A"


@pytest.mark.parametrize(
    "text",
    [
        "It depends.",
        "A good answer would say more.",
        "The answer is A good one.",
        "Neither answer A nor answer B is better.",
        "Both answers say that the answer is A.",
        "Both answers are right: the answer is A, so there is nothing to choose.",
        "Both are right.",
        "Answer: A\nAnswer: B",
        "Answer: A. On reflection, answer B is better.",
        "[[A]]\nNo: I prefer answer B.",
        "[[A]] or [[B]]",
        "A and B are equally good.",
        "Answer A is not better.",
        "The better answer is neither **Answer A** nor **Answer B**.",
        "The better answer is **not** A.",
        "Verdict: **Answer A** or **Answer B**",
        "The better answer is a matter of taste.",
        "**Answer A**\nRight.\n\n**Answer B**",  # headings, and cut off
        "**Answer A**\nIt is short.",
        "[[B]]\nAnswer A",
        "I cannot see whether A is better.",
        "If A is better, say so.",
        "I don't think A is better",
        "I doubt that A is better.",
        "It is not true that Answer A is better.",
        "I can't say Answer A is better",
        "It's hard to say that A is better.",
        "I would not prefer answer A",
        "In the USA it is better.",
        "A wins on style and B wins on truth.",
        "So, answer A, which says 5, is wrong.",
        "AB",
        "My final verdict is tie: [[A=B]]",
        "[[A>B]] or [[B>A]]",
        "The first answer is not better.",
        "In the first step both add.",
        "The first answer is better in style. The second answer is better in truth.",
    ],
)
def test_a_verdict_that_says_two_things_or_none_is_unread(text):
    assert Label(("A", "B")).read(text) is None


def test_a_label_stands_alone_on_the_last_line():
    assert Label().read("They say the same.\n**Yes.**\n") == "YES"
    assert Label(("correct", "incorrect")).read("incorrect") == "incorrect"
    assert Label(tag="verdict").read("so <verdict> no </verdict>") == "NO"


@pytest.mark.parametrize("text", ["", "NOT SURE", "NO, it is not", "YES\nNO", "Yes, NO", "NO\nbecause", "YESNO"])
def test_anything_else_is_no_label(text):
    assert Label().read(text) is None
    assert Label(tag="verdict").read(f"<verdict>{text}</verdict>") is None


def test_words_before_a_label_are_read_in_a_sentence_and_not_in_a_tag():
    assert Label().read("Answer: YES") == "YES"
    assert Label(tag="verdict").read("<verdict>Answer: YES</verdict>") is None


def test_incorrect_is_not_read_as_correct():
    assert Label(("correct", "wrong")).read("incorrect") is None


def test_labels_that_cannot_be_told_apart_are_refused():
    for labels in (("YES",), ("YES", "yes"), ("YES", " ")):
        with pytest.raises(RedQueenError, match="differ"):
            Label(labels)


def test_opinions_are_means_of_what_was_parsed():
    """Annex, vector 9: a score of 7 fails, one of 8 passes."""
    seven, eight = opinion([7]), opinion([8])
    assert seven.mean == pytest.approx(0.6667, abs=1e-4) and not seven.passes()
    assert eight.mean == pytest.approx(0.7778, abs=1e-4) and eight.passes()
    assert opinion([1, None, 10, None]) == Opinion(0.5, 2, 2)


def test_the_gate_passes_from_a_mean_score_of_exactly_seven_point_three():
    assert opinion([7] * 7 + [8] * 3).passes()
    assert not opinion([7] * 71 + [8] * 29).passes()
    for parts in range(10, 101, 10):
        assert opinion([1] * 0 + [7] * (parts * 7 // 10) + [8] * (parts * 3 // 10)).passes()


def test_a_judge_that_nobody_can_read_passes_nothing():
    assert opinion([None, None]) == Opinion(None, 0, 2)
    assert not opinion([None]).passes(threshold=0.0)
    assert opinion([]) == Opinion(None, 0, 0)


def test_scores_off_the_scale_are_an_error():
    with pytest.raises(RedQueenError, match="from 1 to 10"):
        opinion([0])


def test_mae_rewards_are_those_of_the_card():
    """Annex, vector 9."""
    good, poor = mae_proposer(0.8, 0.3, 1.0), mae_proposer(0.6, 0.3, 1.0)
    assert (good.reward, good.stored) == (pytest.approx(0.833333, abs=1e-6), True)
    assert (poor.reward, poor.stored) == (pytest.approx(0.533333, abs=1e-6), False)
    assert mae_proposer(0.9, 0.0, 0.0) == Proposed(0.0, False)


def test_form_counts_pairs_of_tags_of_the_reply_alone():
    assert tag_form("<question>a</question>", "question") == 1.0
    assert tag_form("<question>a</question><question>b</question>", "question") == 0.5
    for text in ("", "<question>a", "a</question>", "<question>a</question></question>"):
        assert tag_form(text, "question") == 0.0


def test_spell_judges_are_paid_for_the_majority_only_where_the_rule_agrees():
    votes = [True] * 5 + [False] * 2 + [None]
    assert vote_rewards(votes, rule=True) == [1.0] * 5 + [0.0] * 2 + [-1.0]
    assert vote_rewards(votes, rule=False) is None
    assert vote_rewards([not vote for vote in [True] * 5 + [False] * 3], rule=False) == [1.0] * 5 + [0.0] * 3


def test_a_judge_that_always_says_yes_earns_nothing():
    assert vote_rewards([True] * 8, rule=True) is None  # a share of 1 lies outside the window
    assert vote_rewards([True] * 4 + [False] * 4, rule=True) is None  # and one half below it
    assert vote_rewards([None] * 8, rule=True) is None
    assert vote_rewards([True] * 4 + [False] + [None] * 3, rule=True) is None
    assert vote_rewards([True] * 4 + [False] + [None] * 3, rule=True, count_missing=False) is not None


def test_an_answer_is_right_by_the_rule_or_by_the_majority():
    assert rule_or_majority([False] * 8, rule=True) == 1.0
    assert rule_or_majority([True, True, False], rule=False) == 1.0
    assert rule_or_majority([True, False], rule=False) == 0.0
    assert rule_or_majority([None, None], rule=False) == 0.0
    assert rule_or_majority([True, None, None], rule=False) == 0.0
