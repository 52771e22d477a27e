"""What the attempts of a group say."""

import numpy as np

from redqueen.credit.learnability import Tent
from redqueen.credit.outcomes import answers, doubt, verdicts, vote
from redqueen.questions.labels import held_to_label
from redqueen.types import Ask, Episode, Group, Outcome, Reply, Seat, Task, Turn


def test_an_answer_is_found_in_a_reply_where_its_task_says_of_what_kind_it_is():
    def of(reply, **facts):
        task = Task("t", prompt="3+4?", facts=facts)
        turn = Turn(Ask(Seat("solver"), ()), Reply(reply))
        return Episode("g", task, 0, (turn,), Outcome({}, {"reply": reply}), (Seat("solver"),))

    assert answers([of("3 + 4 = 7.", answered_as="number"), of("3 + 4 = 7.")]) == ["7", "3 + 4 = 7."]
    assert answers([of("It is Paris.\nParis", answered_as="choice", options=("Rome", "Paris"))]) == ["B"]


def test_votes_count_values():
    """1/2 and 0.5 are one answer, which outvotes 2."""
    seat = Seat("solver")

    def of(reply):
        turn = Turn(Ask(seat, ()), Reply(reply))
        return Episode("g", Task("t", answer="0.50"), 0, (turn,), Outcome({}, {"reply": reply}), (seat,))

    group = Group(0, Task("t"), tuple(map(of, ("2", "1/2", "0.5", "2", "0.5"))))
    assert (vote(group).answer, vote(group).share) == ("0.5", 0.6)
    assert verdicts(held_to_label([group])[0]).tolist() == [0.0, 1.0, 1.0, 0.0, 1.0]


def test_of_fewer_than_two_attempts_that_count_the_doubt_is_unknown():
    seat = Seat("solver")

    def of(reply, cut):
        turn = Turn(Ask(seat, ()), Reply(reply, truncated=cut))
        return Episode("g", Task("t"), 0, (turn,), Outcome({}, {"reply": reply}), (seat,))

    def group(*cut):
        return Group(0, Task("t"), tuple(of(str(at), each) for at, each in enumerate(cut)))

    tent = Tent()
    groups = [group(*[True] * 4), group(*[True] * 3, False), group(True, True, False, False)]
    assert np.isnan(doubt(tent.at, groups, "unknown")).tolist() == [True, True, False]
    assert doubt(tent.at, groups, "unknown")[2] == 1.0
    assert doubt(tent.at, groups, "wrong").tolist() == [tent.at(0.0), tent.at(0.25), tent.at(0.25)]
