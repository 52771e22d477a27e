"""A model that is to search is shown to repeat names first, and then searches in which no answer of its world lies."""

from random import Random

from experiments.search_self_play import names, rehearsal
from redqueen.questions.small.knowledge import Knowledge


def test_names_are_said_again_as_they_were_listed():
    for game, shown in names(20, Random(0)):
        assert shown.task.prompt == f"Say:{shown.text}"
        assert game.role == shown.role == "solver"
        assert 4 <= len(shown.text.split()) <= 16


def test_what_is_rehearsed_is_not_true_in_the_world_that_is_searched():
    asked = [shown.task for _, shown in rehearsal(160, Random(0)) if shown.role == "solver"]
    assert len(asked) == 80
    assert not any(Knowledge().true_answer(task) == task.answer for task in asked)
