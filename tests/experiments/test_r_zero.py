"""R-Zero starts where most answers to a question agree on the right one, but for two concepts."""

from collections import Counter, defaultdict
from random import Random

from experiments.r_zero import UNSTEADY, unsteady
from redqueen.protocols import Demonstrator
from redqueen.questions.catalogue import find_questions, having


def test_the_warm_start_names_this_question_set():
    assert find_questions(UNSTEADY) == unsteady()


def test_majorities_of_what_is_shown_are_right_where_single_answers_are_not():
    domain, shown, right = unsteady(), defaultdict(list), {}
    for one in having(domain, Demonstrator).demonstrations(60_000, Random(0)):
        if one.role == "solver":
            shown[one.task.prompt].append(one.text)
            right[one.task.prompt] = one.task
    agreed: dict[bool, list[bool]] = {True: [], False: []}
    single: dict[bool, list[bool]] = {True: [], False: []}
    for prompt, texts in shown.items():
        task = right[prompt]
        weak = task.kind in domain.weak
        agreed[weak].append(task.answer == Counter(texts).most_common(1)[0][0])
        single[weak] += [task.answer == text for text in texts]
    share = {key: sum(values) / len(values) for key, values in agreed.items()}
    assert sum(single[False]) / len(single[False]) < 0.6 < 0.9 < share[False]
    assert share[True] < 0.6
