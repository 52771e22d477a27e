"""A small sequence classifier from a folder: labels by name, order kept, too long refused."""

import numpy as np
import pytest

from redqueen.checks.safety import Exchange, Thresholded
from redqueen.players.transformer.classifier import LABELS, SequenceClassifier
from redqueen.players.transformer.loading import tiny_tokenizer
from redqueen.types import RedQueenError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("classifier"), ("refusal", "other", "prompt_harmful", "response_harmful"))


def saved(place, names):
    import torch
    from transformers import LlamaConfig, LlamaForSequenceClassification

    tokenizer = tiny_tokenizer()
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        pad_token_id=tokenizer.eos_token_id,
        id2label=dict(enumerate(names)),
        label2id={name: number for number, name in enumerate(names)},
        problem_type="multi_label_classification",
    )
    LlamaForSequenceClassification(config).save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


def test_chances_come_in_the_order_of_the_labels_whatever_the_models_order(folder):
    classifier = SequenceClassifier(str(folder))
    pairs = [("a request", "ok"), ("b", "no, never"), ("c c c", "ok")]
    chances = classifier(pairs)
    assert chances.shape == (3, len(LABELS))
    assert ((chances > 0) & (chances < 1)).all()
    assert np.concatenate([classifier([pair]) for pair in pairs]) == pytest.approx(chances, abs=1e-5)
    logits = classifier._model(**classifier._tokenizer(["b"], ["no, never"], return_tensors="pt")).logits[0]
    expected = 1 / (1 + np.exp(-logits.detach().numpy()))
    assert chances[1] == pytest.approx(expected[[2, 3, 0]], abs=1e-5)
    assert classifier([]).shape == (0, 3)


def test_it_is_a_safety_classifier_behind_thresholds(folder):
    (labels,) = Thresholded(SequenceClassifier(str(folder)))([Exchange("a", "b")])
    assert labels.complete


def test_what_is_too_long_is_refused_and_not_cut(folder):
    with pytest.raises(RedQueenError, match="more than the 4 that the safety classifier reads"):
        SequenceClassifier(str(folder), longest=4)([("a long request indeed", "ok")])


def test_a_model_without_the_labels_and_a_folder_without_a_model_are_refused(tmp_path):
    with pytest.raises(RedQueenError, match="has no label refusal: its id2label names"):
        SequenceClassifier(str(saved(tmp_path / "other", ("prompt_harmful", "response_harmful"))))
    with pytest.raises(RedQueenError, match="there is no model folder"):
        SequenceClassifier(str(tmp_path / "nothing"))
