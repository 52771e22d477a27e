"""The language of the comparison, and that a step on loops makes repeats less likely."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest

from experiments.ditto import LENGTH, TEXT, Language, Writer
from redqueen.demonstrations.loops import consecutive, distances, looped
from redqueen.objectives.batch import pack
from redqueen.objectives.repetition import PseudoRepetition


def test_so_many_sentences_repeat_as_is_said():
    rng = Random(0)
    texts = [Language().text(rng) for _ in range(400)]
    assert all(len(text) == TEXT and all(len(each.split()) == LENGTH for each in text) for text in texts)
    assert np.mean([consecutive(text) for text in texts]) == pytest.approx(0.15, abs=0.02)


def test_the_likeliest_word_follows_a_word_as_often_as_is_said():
    rng, language = Random(1), Language(3)
    sentences = [sentence.strip(" .").split() for _ in range(1000) for sentence in set(language.text(rng))]
    after = [other for words in sentences for one, other in pairwise(words) if one == "board"]
    shares = sorted((after.count(word) / len(after) for word in set(after)), reverse=True)
    assert shares == pytest.approx([0.55, 0.25, 0.15, 0.05], abs=0.05)


def test_a_few_steps_on_loops_make_repeats_less_likely():
    writer, rng = Writer(0), Random(0)
    tasks = Language().tasks(4, rng)
    loops = looped(writer.read(tasks), {writer.end}, 60, Random(5))
    batch = pack(loops, [distances(loop) for loop in loops])

    def chance():
        found = writer.learner.likelihoods(batch).logprobs.exp()
        return float(found[(batch.loss_weights != 0) & (batch.advantages < 0)].mean())

    before = chance()
    for _ in range(3):
        writer.avoid_loops(tasks, PseudoRepetition(0.0), rng)
    assert chance() < before
