"""Questions that need their text, verdicts that count, and what each of them earns."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.credit.rewards import score
from redqueen.measures.proposals import Proposals
from redqueen.play.groups import attempts, authors, with_facts
from redqueen.players.scripted import Constant
from redqueen.questions.asking import JUDGE, PROPOSE, SOLVE, tasks_among
from redqueen.questions.small.documents import LOOKUP, Documents
from redqueen.recipes.proposers.spell.steps import (
    CLOSED_BOOK,
    ClusterMemory,
    Grounds,
    Rewards,
    Verifying,
    verdicts,
)
from redqueen.types import Refusal, Reply, Task

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
    return attempts(SOLVE, tasks, Says(*words), len(words), Random(0))


def comparisons(responses):
    return Verifying(DOMAIN).asked(responses)


def judged(responses, *words):
    return attempts(JUDGE, comparisons(responses), Says(*words), len(words), Random(0))


def agreed(responses, judgements):
    return Verifying(DOMAIN).agreed(responses, judgements)


def worth(responses, judgements):
    """What responses are worth, and the verdicts that teach something."""
    verifying, rewards = Verifying(DOMAIN), Rewards()
    told = verifying.heard(responses, judgements)
    voted = sorted(verifying.drawn(99, Random(0)), key=lambda group: group.number)
    earned = score(told, rewards.solver), score(voted, rewards.judge)
    return tuple([float(each.rewards[0]) for each in side] for side in earned)


def grounded(written, responder):
    return Grounds(DOMAIN).checked(written, responder, Random(0))


def test_a_question_that_is_answered_without_its_text_is_refused_and_no_other_is():
    lookups = [DOMAIN.problems("6_lines", 40, Random(1))[n] for n in range(40)]
    sums = [DOMAIN.task(5, 0, LOOKUP, f"{n % 9}+{n // 9}", str(n % 9 + n // 9)) for n in range(20)]
    malformed = Refusal("malformed")
    written = grounded([*sums, malformed, *lookups], KnowsSums())
    assert written == [*[Refusal(CLOSED_BOOK)] * 20, malformed, *lookups]
    assert grounded([], KnowsSums()) == []


def test_a_responder_that_breaks_lets_no_question_pass():
    with pytest.raises(RuntimeError, match="down"):
        grounded([QUESTION], Broken())


def test_each_answer_is_compared_once_and_silence_never():
    asked = comparisons(answered("7", " 7 ", "seven", "", "8"))
    assert [task.prompt.splitlines()[2] for task in asked] == ["7", "seven", "8"]


def test_verdicts_are_yes_no_or_nothing():
    judgements = judged(answered("7"), "YES", "no", "NOT SURE", "yes and NO", "8/10", "")
    (group,) = judgements
    assert verdicts(group) == [True, False, None, None, None, None]


def test_an_answer_is_right_by_the_rule_or_by_the_majority():
    responses = answered("7", "seven", "8", "")
    values, _ = worth(responses, judged(responses, "YES", "YES", "NO"))
    assert values == [1.0, 1.0, 1.0, 0.0]  # a verifier that is mostly for it makes even 8 right
    values, _ = worth(responses, judged(responses, "NO", "NO", "YES"))
    assert values == [1.0, 0.0, 0.0, 0.0]
    values, _ = worth(responses, judged(responses, "YES", "NO"))
    assert values == [1.0, 0.0, 0.0, 0.0]


def test_a_verdict_earns_where_most_agree_with_it_and_with_the_rule():
    responses = answered("7", "seven")
    _, worths = worth(responses, judged(responses, "YES", "YES", "maybe", "NO"))
    assert worths == []  # 2 of 4 are no majority
    _, worths = worth(responses, judged(responses, "YES", "YES", "YES", "maybe", "NO"))
    assert worths == [1.0, 1.0, 1.0, -1.0, 0.0]  # of 7: the rule does not know that seven is 7
    _, worths = worth(responses, judged(responses, "NO", "NO", "YES"))
    assert worths == [1.0, 1.0, 0.0]  # of seven


def test_a_verifier_that_always_says_yes_earns_nothing():
    responses = answered("7", "8", "seven")
    _, worths = worth(responses, judged(responses, *["YES"] * 8))
    assert worths == []


def test_a_verifier_is_audited_by_what_the_answers_mean():
    responses = answered("7", "seven", "8")
    shares, truths = agreed(responses, judged(responses, "YES", "NO", "YES", "YES", "maybe"))
    assert shares == [0.6] * 3  # what cannot be read is no YES
    assert truths == [True, True, False]
    assert agreed(responses, judged(responses, "maybe"))[0] == [None] * 3


def solved(tasks, *marks, parents=()):
    """A group at each task, with these verdicts."""
    groups = attempts(SOLVE, tasks, Constant("7"), len(marks[0]), Random(0), parents)
    return with_facts(groups, [{"right": each} for row in marks for each in row])


def paid(written, *marks):
    """What proposals earn, from the verdicts on the attempts at those that became tasks."""
    proposals = attempts(PROPOSE, [Task(f"i{n}") for n in range(len(written))], Constant("?"), 1, Random(1))
    parents = authors(proposals, written)
    responses = solved(tasks_among(written), *marks, parents=parents) if marks else []
    return [float(each.rewards[0]) for each in score(proposals, Rewards().proposer(proposals, written, responses))]


def test_what_a_question_earns_is_the_cards_vector():
    written = [DOMAIN.task(5, 0, LOOKUP, f"n{k}", "7") for k in range(9)]
    rows = [[True] * k + [False] * (8 - k) for k in range(9)]
    bell = [0.0, 0.0796, 0.3247, 0.7548, 1.0, 0.7548, 0.3247, 0.0796, 0.0]
    assert paid(written, *rows) == pytest.approx(bell, abs=1e-4)
    mixed = [Refusal(CLOSED_BOOK), written[4], Refusal("malformed")]
    assert paid(mixed, rows[4]) == [-0.5, 1.0, -1.0]
    assert np.isnan(paid([QUESTION], [None] * 8)[0])
    assert paid([]) == []


def test_questioners_are_invited_to_each_kind_at_the_stage_of_each_cluster():
    domain = Documents(two_steps=0.5)
    memory = ClusterMemory(domain, 3)
    memory.observe(solved([domain.task(1, 0, LOOKUP, "king", "7")], [True, True]))
    invitations = memory.invited(2, Random(0))
    assert [task.kind for task in invitations] == ["lookup", "lookup", "two_steps", "two_steps"]
    assert all(task.facts["stage"] == memory.stage(task.facts["cluster"]) for task in invitations)
    assert all(("Asked: king." in task.prompt) == (task.facts["cluster"] == 1) for task in invitations)
    assert len({task.id for task in invitations}) == 4


def test_groups_are_drawn_whole_and_never_too_many():
    verifying = Verifying(DOMAIN)
    responses = answered("7", tasks=[DOMAIN.task(5, 0, LOOKUP, f"n{k}", "7") for k in range(5)])
    verifying.heard(responses, judged(responses, "YES", "YES", "NO"))
    for most, expected in ((0, 0), (2, 0), (3, 1), (8, 2), (99, 5)):
        drawn = verifying.drawn(most, Random(1))
        assert len({group.task.id for group in drawn}) == len(drawn) == expected
        assert all(len(group.attempts) == 3 for group in drawn)
    assert len({verifying.drawn(3, Random(seed))[0].task.id for seed in range(40)}) == 5
    verifying.check()
    assert verifying.drawn(99, Random(1)) == []


def test_a_responder_that_says_nothing_is_wrong_and_is_not_judged():
    responses = attempts(SOLVE, [QUESTION], Constant(""), 2, Random(0))
    assert comparisons(responses) == []
    assert worth(responses, []) == ([0.0, 0.0], [])
    assert agreed(responses, []) == ([], [])


def test_alarms_look_at_the_question_and_not_at_the_text_around_it():
    """The text is another each time and holds the answer."""
    asked = [DOMAIN.task(cluster, 0, LOOKUP, "king", "7") for cluster in range(8)]
    assert len({task.prompt for task in asked}) == 8
    written, tries = [*asked, Refusal("malformed")], solved(asked, *[[True, False]] * 8)
    figures = Proposals(DOMAIN, DOMAIN.true_answer).check(Grounds(DOMAIN).without_texts(written), tries)
    assert figures["proposals/distinct_share"] == 1 / 8
    assert figures["proposals/leak_share"] == 0.0


def test_verdicts_that_cannot_be_read_are_counted_and_are_no_majority():
    responses = answered("8")
    judgements = judged(responses, "YES", *["hm"] * 7)
    verifying = Verifying(DOMAIN)
    verifying.heard(responses, judgements)
    assert verifying.check()["verdicts/unread"] == 7 / 8
    assert "verdicts/unread" not in verifying.check()  # of a step without verdicts
    assert agreed(responses, judgements)[0] == [1 / 8]
    assert worth(responses, judgements)[0] == [0.0]
    assert worth(responses, judged(responses, *["YES"] * 5, *["hm"] * 3))[0] == [1.0]


def test_an_alarm_rings_where_most_verdicts_cannot_be_read():
    responses = answered("8", "9", "seven")

    def after(*words):
        verifying = Verifying(DOMAIN)
        verifying.heard(responses, judged(responses, *words))
        return verifying.check(), verifying.alarms()

    assert after("YES", *["hm"] * 7)[1] == ["unread verdicts: 88% of 24 verdicts say neither YES nor NO"]
    figures, alarms = after(*["hm"] * 8)
    assert figures["alarm/unread_verdicts"] == 1.0
    assert "unread verdicts: 100% of 24 verdicts say neither YES nor NO" in alarms
    assert after(*["NO"] * 3, *["hm"] * 5)[1] == []  # 15 of 24 may be chance
    assert after(*["NO"] * 5, *["hm"] * 3)[1] == []


def test_half_an_answer_is_wrong_and_is_not_judged():
    class CutOff(Says):
        def reply(self, asks):
            return [replace(each, truncated=True) for each in super().reply(asks)]

    responses = attempts(SOLVE, [QUESTION], CutOff("7"), 2, Random(0))
    assert comparisons(responses) == []
    assert worth(responses, [])[0] == [0.0, 0.0]
    assert worth(answered("7"), [])[0] == [1.0]


@pytest.mark.parametrize(("truncated", "found"), [("wrong", False), ("graded", True), ("unknown", None)])
def test_half_an_answer_counts_as_is_asked_for(truncated, found):
    class CutOff(Says):
        def reply(self, asks):
            return [replace(each, truncated=True) for each in super().reply(asks)]

    (group,) = attempts(SOLVE, [QUESTION], CutOff("7"), 2, Random(0))
    verifying = Verifying(DOMAIN, truncated=truncated)
    assert len(verifying.asked([group])) == (truncated == "graded")
    (told,) = verifying.heard([group], [])
    assert [each.outcome.facts["right"] for each in told.attempts] == [found] * 2


def test_a_judge_that_can_learn_from_no_verdict_is_told_of():
    responses = answered("7", tasks=[DOMAIN.task(5, 0, LOOKUP, f"n{k}", "7") for k in range(5)])

    def after(allowed, steps, learns=True):
        verifying = Verifying(DOMAIN, learns)
        for _ in range(steps):
            verifying.heard(responses, judged(responses, "YES", "YES", "NO"))
            verifying.drawn(allowed, Random(1))
            verifying.check()
        return verifying.alarms()

    assert after(2, 4) == after(2, 5, learns=False) == after(3, 5) == []
    (message,) = after(2, 5)
    assert "a step allows 2 of its verdicts" in message and "one answer has 3 (--votes)" in message


def test_of_a_verdict_that_was_cut_off_only_a_word_alone_counts():
    class CutOff(Says):
        def reply(self, asks):
            return [replace(each, truncated=True) for each in super().reply(asks)]

    judge = CutOff("The answer is YES", "I looked.\nYES")
    (group,) = attempts(JUDGE, [Task("t", "judgement", "Is it the same?")], judge, 2, Random(0))
    assert verdicts(group) == [None, True]
