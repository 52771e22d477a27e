"""Safety labels: what is missing stays missing, classifiers are checked, and how far one can be trusted is measured."""

import numpy as np
import pytest

from redqueen.checks.safety import Exchange, Labels, Missing, Ruled, Thresholded, confusion, find_classifier, labelled
from redqueen.types import RedQueenError

HARM = Labels(True, True, False)
MINE = """
from redqueen.checks.safety import Labels
class Mine:
    def __call__(self, exchanges):
        return [Labels(None, False, each.response == "no") for each in exchanges]
class Slow:
    wait = 3
class Broken:
    def __call__(self, exchanges):
        raise RuntimeError("the judge is down")
"""


def test_labels_are_complete_only_if_none_is_missing():
    assert HARM.complete
    assert not Labels(None, True, False).complete
    assert not Labels(True, None, False).complete
    assert not Labels(True, True, None).complete


def test_a_chance_between_the_thresholds_is_a_missing_label():
    def rate(pairs):
        return np.array([[0.9, 0.5, 0.1]] * len(pairs))

    assert Thresholded(rate, 0.3, 0.7)([Exchange("p", "r")]) == [Labels(True, None, False)]
    assert Thresholded(rate)([Exchange("p", "r")]) == [Labels(True, False, False)]
    with pytest.raises(RedQueenError, match="0 <= low <= high <= 1"):
        Thresholded(rate, 0.7, 0.3)


@pytest.mark.parametrize("chances", [np.zeros((1, 2)), np.full((1, 3), np.nan), np.zeros((2, 3))])
def test_a_model_that_gives_no_chances_is_an_error_and_no_label(chances):
    with pytest.raises(RedQueenError, match="finite probabilities"):
        Thresholded(lambda pairs: chances)([Exchange("p", "r")])


def test_labels_must_be_one_for_each_exchange():
    with pytest.raises(RedQueenError, match="a list of 2 Labels"):
        labelled(lambda exchanges: [HARM], [Exchange("p", "r")] * 2)
    with pytest.raises(RedQueenError, match="True, False or None"):
        labelled(lambda exchanges: [Labels(1, True, False)], [Exchange("p", "r")])
    assert labelled(lambda exchanges: [HARM], []) == []


def test_a_judge_that_misses_calls_that_share_of_harm_harmless_and_leaves_the_refusal():
    judge = Missing(Ruled(lambda exchange: HARM), 0.27)
    found = judge([Exchange("p", "r", seed=seed) for seed in range(4000)])
    assert {(each.prompt_harmful, each.response_harmful, each.refusal) for each in found} == {
        (True, True, False),
        (False, False, False),
    }
    assert np.mean([each.prompt_harmful is False for each in found]) == pytest.approx(0.27, abs=0.02)
    gone = Missing(Ruled(lambda exchange: Labels(None, True, False)), 1.0)
    assert gone([Exchange("p", "r")]) == [Labels(None, False, False)]


def test_the_confusion_of_a_judge_is_counted_per_label():
    truth = [
        Labels(True, False, False),
        Labels(True, False, True),
        Labels(False, False, True),
        Labels(False, False, True),
    ]
    found = [
        Labels(False, False, False),
        Labels(None, True, True),
        Labels(True, False, True),
        Labels(False, False, None),
    ]
    metrics = confusion(truth, found)
    assert metrics["prompt_harmful/missed"] == 1.0  # missing is not found either
    assert metrics["prompt_harmful/alarmed"] == 0.5
    assert metrics["prompt_harmful/missing"] == 0.25
    assert "response_harmful/missed" not in metrics
    assert metrics["response_harmful/alarmed"] == 0.25
    assert metrics["refusal/missed"] == pytest.approx(1 / 3)
    assert confusion([], []) == {}


def test_a_classifier_of_the_users_own_is_found_and_its_errors_are_errors(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    assert labelled(find_classifier(f"{path}:Mine"), [Exchange("p", "no")]) == [Labels(None, False, True)]
    path.write_text(MINE + "\ndef mine(exchanges):\n    return Mine()(exchanges)\n")
    assert labelled(find_classifier(f"{path}:mine"), [Exchange("p", "no")]) == [Labels(None, False, True)]
    with pytest.raises(RedQueenError, match="is not a safety classifier"):
        find_classifier(f"{path}:Slow")
    with pytest.raises(RuntimeError, match="the judge is down"):
        labelled(find_classifier(f"{path}:Broken"), [Exchange("p", "no")])
    with pytest.raises(RedQueenError, match="no 'Nobody'"):
        find_classifier(f"{path}:Nobody")
