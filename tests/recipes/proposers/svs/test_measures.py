from math import log

import pytest

from redqueen.games.single_reply import SingleReply
from redqueen.players.tabular import TabularPolicy
from redqueen.recipes.proposers.svs.measures import AnswerEntropy
from redqueen.settings.learner import Learner
from redqueen.types import Task

SOLVE = SingleReply("solver")
TASKS = [Task(f"t{number}", prompt=f"Pick {number}.", choices=("a", "b", "c", "d")) for number in range(3)]


def test_a_uniform_choice_of_four_has_an_entropy_of_log_four():
    assert AnswerEntropy("x", SOLVE, TabularPolicy(1.0), TASKS)() == {"entropy/x": pytest.approx(log(4))}


def test_it_is_the_same_at_every_measurement_and_near_log_vocabulary_for_random_weights():
    policy = Learner(model="tiny", max_completion_length=4).build_model(0)
    measure = AnswerEntropy("solver", SOLVE, policy, [Task("t", prompt="What is 1+1?")])
    first, again = measure(), measure()
    assert first == again
    assert 0.8 * log(768) < first["entropy/solver"] <= log(768)
