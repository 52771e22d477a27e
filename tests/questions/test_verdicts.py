"""What nobody knows is no score, and is left out of a share and counted beside it."""

import numpy as np

from redqueen.questions.verdicts import as_scores, share_right


def test_an_unknown_verdict_is_a_score_that_is_not_a_number():
    np.testing.assert_equal(as_scores([True, None, False]), [1.0, np.nan, 0.0])


def test_the_share_is_of_the_verdicts_that_are_known():
    assert share_right("accuracy", [True, False]) == {"accuracy": 0.5}
    assert share_right("accuracy", [True, None, None, None]) == {"accuracy": 1.0, "accuracy_unknown": 0.75}
    assert share_right("accuracy", [None]) == {"accuracy_unknown": 1.0}
    assert share_right("accuracy", []) == {}
