"""What the attempts of a group say."""

from redqueen.credit.outcomes import answers
from redqueen.types import Ask, Episode, Outcome, Reply, Seat, Task, Turn


def test_an_answer_is_found_in_a_reply_where_its_task_says_of_what_kind_it_is():
    def of(reply, **facts):
        task = Task("t", prompt="3+4?", facts=facts)
        turn = Turn(Ask(Seat("solver"), ()), Reply(reply))
        return Episode("g", task, 0, (turn,), Outcome({}, {"reply": reply}), (Seat("solver"),))

    assert answers([of("3 + 4 = 7.", answered_as="number"), of("3 + 4 = 7.")]) == ["7", "3 + 4 = 7."]
    assert answers([of("It is Paris.\nParis", answered_as="choice", options=("Rome", "Paris"))]) == ["B"]
