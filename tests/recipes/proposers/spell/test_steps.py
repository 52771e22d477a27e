"""Questions that need their text, verdicts that count, and what each of them earns."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.checks.numeric import Covers
from redqueen.credit.advantages.keys import by_task_and_role
from redqueen.credit.filters import some_groups
from redqueen.credit.rewards import payoff, score
from redqueen.measures.health import ProposerHealth
from redqueen.play.lockstep import play
from redqueen.play.seating import alone
from redqueen.players.scripted import Constant
from redqueen.questions.asking import JUDGE, SOLVE
from redqueen.questions.small.documents import LOOKUP, Documents
from redqueen.recipes.proposers.spell.steps import (
    CLOSED_BOOK,
    ClusterMemory,
    agreed,
    asked_about,
    comparisons,
    grounded,
    questions_worth,
    seen,
    unread,
    verdicts,
    worth,
)
from redqueen.types import Refusal, Reply

DOMAIN = Documents()
QUESTION = DOMAIN.task(5, 0, LOOKUP, "king", "7")


class Says:
    """These words in turn, again and again."""

    name = "says"

    def __init__(self, *words):
        self.words = words

    def reply(self, asks):
        return [Reply(self.words[number % len(self.words)], self.name) for number in range(len(asks))]


class KnowsSums:
    """Who can add, and looks nothing up."""

    name = "knows_sums"

    def reply(self, asks):
        texts = [ask.messages[-1].text for ask in asks]
        assert not any("Notes" in text for text in texts), "a closed book is closed"
        sums = [text.removeprefix("Question: ").split("+") for text in texts]
        return [Reply(str(sum(map(int, each))) if len(each) == 2 else "unknown", self.name) for each in sums]


class Broken:
    name = "broken"

    def reply(self, asks):
        raise RuntimeError("the endpoint is down")


def answered(*words, tasks=(QUESTION,)):
    return play(alone(SOLVE, tasks, Says(*words), len(words)), Random(0))


def judged(attempts, *words):
    return play(alone(JUDGE, comparisons(DOMAIN, attempts), Says(*words), len(words)), Random(0))


def test_a_question_that_is_answered_without_its_text_is_refused_and_no_other_is():
    lookups = [DOMAIN.problems("6_lines", 40, Random(1))[n] for n in range(40)]
    sums = [DOMAIN.task(5, 0, LOOKUP, f"{n % 9}+{n // 9}", str(n % 9 + n // 9)) for n in range(20)]
    malformed = Refusal("malformed")
    written = grounded(DOMAIN, [*sums, malformed, *lookups], KnowsSums(), Covers(), Random(0))
    assert written == [*[Refusal(CLOSED_BOOK)] * 20, malformed, *lookups]
    assert grounded(DOMAIN, [], KnowsSums(), Covers(), Random(0)) == []


def test_a_responder_that_breaks_lets_no_question_pass():
    with pytest.raises(RuntimeError, match="down"):
        grounded(DOMAIN, [QUESTION], Broken(), Covers(), Random(0))


def test_each_answer_is_compared_once_and_silence_never():
    asked = comparisons(DOMAIN, answered("7", " 7 ", "seven", "", "8"))
    assert [task.prompt.splitlines()[1] for task in asked] == [
        f"Is {answer} the same? YES or NO." for answer in ("7", "seven", "8")
    ]


def test_verdicts_are_yes_no_or_nothing():
    judgements = judged(answered("7"), "YES", "no", "NOT SURE", "yes and NO", "8/10", "")
    (found,) = verdicts(judgements).values()
    assert found == [True, False, None, None, None, None]


def test_an_answer_is_right_by_the_rule_or_by_the_majority():
    attempts = answered("7", "seven", "8", "")
    values, _ = worth(DOMAIN, attempts, judged(attempts, "YES", "YES", "NO"), Covers())
    assert values == [1.0, 1.0, 1.0, 0.0]  # a verifier that is mostly for it makes even 8 right
    values, _ = worth(DOMAIN, attempts, judged(attempts, "NO", "NO", "YES"), Covers())
    assert values == [1.0, 0.0, 0.0, 0.0]
    values, _ = worth(DOMAIN, attempts, judged(attempts, "YES", "NO"), Covers())
    assert values == [1.0, 0.0, 0.0, 0.0]


def test_a_verdict_earns_where_most_agree_with_it_and_with_the_rule():
    attempts = answered("7", "seven")
    _, worths = worth(DOMAIN, attempts, judged(attempts, "YES", "YES", "maybe", "NO"), Covers())
    assert np.isnan(worths).all()  # 2 of 4 are no majority
    _, worths = worth(DOMAIN, attempts, judged(attempts, "YES", "YES", "YES", "maybe", "NO"), Covers())
    assert worths[:5] == [1.0, 1.0, 1.0, -1.0, 0.0]
    assert np.isnan(worths[5:]).all()  # the rule does not know that seven is 7
    _, worths = worth(DOMAIN, attempts, judged(attempts, "NO", "NO", "YES"), Covers())
    assert np.isnan(worths[:3]).all()
    assert worths[3:] == [1.0, 1.0, 0.0]


def test_a_verifier_that_always_says_yes_earns_nothing():
    attempts = answered("7", "8", "seven")
    _, worths = worth(DOMAIN, attempts, judged(attempts, *["YES"] * 8), Covers())
    assert len(worths) == 24
    assert np.isnan(worths).all()


def test_a_verifier_is_audited_by_what_the_answers_mean():
    attempts = answered("7", "seven", "8")
    shares, truths = agreed(DOMAIN, attempts, judged(attempts, "YES", "NO", "YES", "YES", "maybe"))
    assert shares == [0.6] * 3  # what cannot be read is no YES
    assert truths == [True, True, False]
    assert agreed(DOMAIN, attempts, judged(attempts, "maybe"))[0] == [None] * 3


def test_what_a_question_earns_is_the_cards_vector():
    written = [DOMAIN.task(5, 0, LOOKUP, f"n{k}", "7") for k in range(9)]
    scores = np.array([[1.0] * k + [0.0] * (8 - k) for k in range(9)])
    bell = [0.0, 0.0796, 0.3247, 0.7548, 1.0, 0.7548, 0.3247, 0.0796, 0.0]
    assert questions_worth(written, scores) == pytest.approx(bell, abs=1e-4)
    mixed = [Refusal(CLOSED_BOOK), written[4], Refusal("malformed")]
    assert questions_worth(mixed, scores[4:5]) == [-0.5, 1.0, -1.0]
    assert np.isnan(questions_worth([QUESTION], np.full((1, 8), np.nan))[0])
    assert questions_worth([], np.zeros((0, 8))) == []


def test_questioners_are_invited_to_each_kind_at_the_stage_of_each_cluster():
    domain, memory = Documents(two_steps=0.5), ClusterMemory(3)
    memory.observe([domain.task(1, 0, LOOKUP, "king", "7")], np.ones((1, 2)))
    invitations = asked_about(domain, memory, 2, Random(0))
    assert [task.kind for task in invitations] == ["lookup", "lookup", "two_steps", "two_steps"]
    assert all(task.facts["stage"] == memory.stage(task.facts["cluster"]) for task in invitations)
    assert all(("Asked: king." in task.prompt) == (task.facts["cluster"] == 1) for task in invitations)
    assert len({task.id for task in invitations}) == 4


def test_groups_are_drawn_whole_and_never_too_many():
    tasks = [DOMAIN.task(5, 0, LOOKUP, f"n{k}", "7") for k in range(5)]
    trajectories = score(answered("7", "8", "9", tasks=tasks), payoff)
    for most, expected in ((0, 0), (2, 0), (3, 3), (8, 6), (99, 15)):
        drawn = some_groups(trajectories, by_task_and_role, most, Random(1))
        assert len(drawn) == expected
        assert len({each.episode.task.id for each in drawn}) == expected // 3
    assert some_groups([], by_task_and_role, 8, Random(1)) == []


def test_a_responder_that_says_nothing_is_wrong_and_is_not_judged():
    attempts = play(alone(SOLVE, [QUESTION], Constant(""), 2), Random(0))
    assert comparisons(DOMAIN, attempts) == []
    assert worth(DOMAIN, attempts, [], Covers()) == ([0.0, 0.0], [])
    assert agreed(DOMAIN, attempts, []) == ([], [])


def test_alarms_look_at_the_question_and_not_at_the_text_around_it():
    """The text is another each time and holds the answer."""
    asked = [DOMAIN.task(cluster, 0, LOOKUP, "king", "7") for cluster in range(8)]
    assert len({task.prompt for task in asked}) == 8
    figures = ProposerHealth().check(seen(DOMAIN, [*asked, Refusal("malformed")], np.full((8, 2), 0.5)))
    assert figures["proposals/distinct_share"] == 1 / 8
    assert figures["proposals/leak_share"] == 0.0


def test_verdicts_that_cannot_be_read_are_counted_and_are_no_majority():
    attempts = answered("8")
    judgements = judged(attempts, "YES", *["hm"] * 7)
    assert unread(judgements) == {"verdicts/unread": 7 / 8}
    assert agreed(DOMAIN, attempts, judgements)[0] == [1 / 8]
    assert worth(DOMAIN, attempts, judgements, Covers())[0] == [0.0]
    assert worth(DOMAIN, attempts, judged(attempts, *["YES"] * 5, *["hm"] * 3), Covers())[0] == [1.0]
    assert unread([]) == {}


def test_half_an_answer_is_wrong_and_is_not_judged():
    class CutOff(Says):
        def reply(self, asks):
            return [replace(each, truncated=True) for each in super().reply(asks)]

    attempts = play(alone(SOLVE, [QUESTION], CutOff("7"), 2), Random(0))
    assert comparisons(DOMAIN, attempts) == []
    assert worth(DOMAIN, attempts, [], Covers())[0] == [0.0, 0.0]
    assert worth(DOMAIN, answered("7"), [], Covers())[0] == [1.0]
