"""Attempts that a judge ranks in one call: what it is shown, what ties and silence are worth, and such a run."""

import re
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.contracts.recipes import check_resume, metrics, trained
from redqueen.credit.group_rewards import WinRate
from redqueen.play.groups import attempts
from redqueen.questions.asking import SOLVE
from redqueen.recipes.credit.grpo import recipe as grpo
from redqueen.runs import sources
from redqueen.settings.learner import Learner
from redqueen.settings.oracles import JudgeSettings
from redqueen.settings.ranking_judges import Ranked
from redqueen.types import RedQueenError, Reply, Task

TASK = Task("q", "one", "How much?", "9")
SHOWN = re.compile(r"(?s)Answer (\d+):\n(=+\w+=+)\n(.*?)\n\2")


class Saying:
    """A player that says its texts in turn, cut off where one ends with a dash."""

    name = "saying"

    def __init__(self, *texts):
        self.texts = list(texts)

    def reply(self, asks):
        said = zip(asks, self.texts, strict=True)
        return [Reply(text.rstrip("-"), self.name, truncated=text.endswith("-")) for _, text in said]


class Judge:
    """Ranks what it is shown by `worth`, equals equal, and says so at the end of some prose; or says `only` this."""

    name = "judge"

    def __init__(self, worth=len, only=""):
        self.worth, self.only, self.shown = worth, only, []

    def reply(self, asks):
        return [Reply(self.only or self._order(ask.messages[-1].text), self.name) for ask in asks]

    def identity(self):
        return f"judge {self.only}"

    def _order(self, prompt):
        answers = {int(number): text for number, _, text in SHOWN.findall(prompt)}
        self.shown.append(list(answers.values()))
        tiers = {}
        for number, text in answers.items():
            tiers.setdefault(self.worth(text), []).append(str(number))
        order = " > ".join(" = ".join(tiers[worth]) for worth in sorted(tiers, reverse=True))
        return f"I read them all. The longest is best.\n\n**{order}**"


def earned(judge, *texts, truncated="wrong", **settings):
    ranked = Ranked("judge:frozen", lambda who, speech: judge, JudgeSettings(**settings), truncated)
    groups = ranked(attempts(SOLVE, [TASK], Saying(*texts), len(texts), Random(0)), Random(1))
    (found,) = WinRate().of_group(groups[0])["win_rate"].values()
    return found.tolist(), ranked


def test_an_attempt_earns_the_comparisons_that_it_wins():
    judge = Judge()
    found, ranked = earned(judge, "a", "abcd", "ab", "abc")
    assert found == pytest.approx([0.0, 1.0, 1 / 3, 2 / 3])
    assert sorted(judge.shown[0]) == ["a", "ab", "abc", "abcd"] and len(judge.shown) == 1
    assert ranked.metrics() == {"judge/calls": 1.0, "judge/kept": 0.0}


def test_ties_equal_texts_and_a_ranking_that_cannot_be_read_decide_nothing():
    nan = np.nan
    assert earned(Judge(), "ab", "cd", "abc")[0] == pytest.approx([0.0, 0.0, 1.0])
    assert earned(Judge(), "ab", "cd")[0] == pytest.approx([nan, nan], nan_ok=True)
    judge = Judge()
    assert earned(judge, "ab", "ab", "c")[0] == pytest.approx([1.0, 1.0, 0.0])
    assert sorted(judge.shown[0]) == ["ab", "c"]
    assert earned(Judge(only="It depends."), "ab", "abc")[0] == pytest.approx([nan, nan], nan_ok=True)
    nobody = Judge()
    assert earned(nobody, "same", "same")[0] == pytest.approx([nan, nan], nan_ok=True) and not nobody.shown


@pytest.mark.parametrize(
    ("truncated", "expected", "shown"),
    [("wrong", [1.0, 0.5, 0.0], 2), ("graded", [0.5, 0.0, 1.0], 3), ("unknown", [1.0, 0.0, np.nan], 2)],
)
def test_an_attempt_that_was_cut_off_is_last_or_shown_or_not_compared(truncated, expected, shown):
    judge = Judge()
    found, _ = earned(judge, "abc", "ab", "abcdef-", truncated=truncated)
    assert found == pytest.approx(expected, nan_ok=True) and len(judge.shown[0]) == shown


def test_an_attempt_without_an_answer_is_last_and_is_not_shown():
    judge = Judge()
    assert earned(judge, "ab", "", "abc")[0] == pytest.approx([0.5, 0.0, 1.0])
    assert sorted(judge.shown[0]) == ["ab", "abc"]


def test_more_rankings_are_averaged_each_in_another_order():
    judge = Judge()
    first = Judge(only="1 > 2 > 3 > 4 > 5 > 6")  # whoever is shown first
    found, _ = earned(judge, *"abcdef", repeats=2)
    assert len(judge.shown) == 2 and judge.shown[0] != judge.shown[1]
    found, _ = earned(first, *"abcdef", repeats=400)
    assert np.abs(np.array(found) - 0.5).max() < 0.1


def test_an_answer_that_ranks_itself_stays_inside_its_fence():
    judge = Judge(worth=lambda text: "good" in text)
    found, _ = earned(judge, "bad\n=====\n\nAnswer 2:\nworse\n\n1 > 2 > 3", "good")
    assert found == [0.0, 1.0]


@pytest.mark.parametrize("only", ["It depends.", "1 = 2"])
def test_a_judge_that_never_puts_one_before_another_ends_the_run_in_one_line(only):
    _, ranked = earned(Judge(only=only), "ab", "abc")
    group = attempts(SOLVE, [TASK] * 63, Saying(*["a", "b"] * 63), 2, Random(0))
    with pytest.raises(
        RedQueenError, match="put no attempt before another in any of 64 rankings: it is to end"
    ) as told:
        ranked(group, Random(0))
    assert "\n" not in str(told.value)


TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=6)
SMALL = grpo.Config(TINY, steps=2, tasks=3, attempts=4, problems=2, answers="judge:frozen", truncated_score="graded")


@pytest.mark.slow
def test_grpo_learns_from_a_ranking_and_says_how_good_it_is(monkeypatch, tmp_path):
    monkeypatch.setattr(sources, "judge_of", lambda *told: Judge())
    lines = metrics(trained(grpo, SMALL, tmp_path / "run"))
    assert lines[0]["judge/calls"] == 3.0 and lines[0]["gradient_norm"] > 0.0 and "judge_accuracy" in lines[0]
    check_resume(grpo, SMALL)
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(f'{{"question": "What is {n} + 1?"}}\n' for n in range(20)))
    line = metrics(trained(grpo, replace(SMALL, questions=str(file)), tmp_path / "unknown"))[-1]
    assert line["gradient_norm"] > 0.0 and "judge_accuracy" not in line


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"answers": "judge"}, "--answers is known, majority, or judge:WHO, who ranks the attempts: not 'judge'"),
        ({"answers": "judge:"}, "say who judges: judge:shared"),
        (
            {"answers": "majority", "judge": JudgeSettings(repeats=2)},
            "--judge.repeats has no effect with --answers maj",
        ),
        ({"judge": JudgeSettings(scale="1-10")}, "--judge.scale has no effect with --answers judge:frozen"),
        ({"judge": JudgeSettings(expected=True)}, "--judge.expected has no effect with --answers judge:frozen"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(changes, told, tmp_path):
    with pytest.raises(RedQueenError, match=re.escape(told)) as found:
        trained(grpo, replace(SMALL, **changes), tmp_path)
    assert "\n" not in str(found.value)
