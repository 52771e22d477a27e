"""Oracles by one word, and a judge who reads two answers."""

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest

from redqueen.questions.asked_judges import AskedJudge
from redqueen.questions.catalogue import find_questions
from redqueen.questions.fenced import texts_in
from redqueen.questions.judge_oracles import JudgedPairs
from redqueen.questions.small.growing import Growing
from redqueen.questions.small.matchups import Matchups
from redqueen.questions.small.sums import Sums
from redqueen.settings.finding import find_recipe
from redqueen.settings.limits import check_settings
from redqueen.settings.oracles import Heard, JudgeSettings, find_oracle
from redqueen.settings.speech import Speech
from redqueen.types import RedQueenError, Reply, Task

TASK = Task("q", "sum", "What is 1+1?", "2")


class Saying:
    """A judge that answers by a function of the prompt."""

    name = "judge"

    def __init__(self, word):
        self.word = word

    def reply(self, asks):
        return [Reply(self.word(ask.messages[-1].text, ask.seed), self.name) for ask in asks]


class Longest:
    """The longer answer is preferred."""

    def __call__(self, tasks, first, second, rng):
        return np.array([float(len(one) > len(other)) for one, other in zip(first, second, strict=True)])


def nobody(word, speech):
    raise AssertionError("nobody judges here")


def ask(oracle, first, second, task=TASK):
    return oracle([task], [first], [second], Random(0)).tolist()[0]


def test_a_domain_brings_its_own_oracle():
    domain = Matchups("biased")
    assert ask(find_oracle("questions", domain, nobody), "a", "b") == 0.9


def test_a_reward_model_is_believed_as_bradley_and_terry_do():
    oracle = find_oracle("questions", Growing(), nobody)
    (task,) = Growing().seeds()  # 1+1: 2 is worth 1.0, 7 is worth 0.5
    assert ask(oracle, "2", "7", task) == pytest.approx(1 / (1 + np.exp(-0.5)))


def test_a_check_lets_right_answers_win():
    oracle = find_oracle("questions", Sums(), nobody)
    task = Sums().task(1, 1)
    assert [ask(oracle, "2", "3", task), ask(oracle, "3", "2", task), ask(oracle, "3", "4", task)] == [1.0, 0.0, 0.5]


def test_an_oracle_of_ones_own_is_found_in_a_file():
    assert ask(find_oracle(f"{Path(__file__)}:Longest", Sums(), nobody), "long", "s") == 1.0


def test_an_object_that_can_be_called_is_an_oracle_as_it_is(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(
        "from functools import partial\n"
        "class By:\n    def __init__(self, chance): self.chance = chance\n"
        "    def __call__(self, tasks, first, second, rng): return [self.chance for _ in tasks]\n"
        "def drawn(chance, tasks, first, second, rng): return [chance for _ in tasks]\n"
        "ready, part = By(0.75), partial(drawn, 0.25)\n"
    )
    assert ask(find_oracle(f"{path}:ready", Sums(), nobody), "a", "b") == 0.75
    assert ask(find_oracle(f"{path}:part", Sums(), nobody), "a", "b") == 0.25


def test_a_function_of_a_file_is_an_oracle_and_one_of_other_arguments_makes_one(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(
        "def short(tasks, first, second, rng): return [float(len(a) < len(b)) for a, b in zip(first, second)]\n"
        "def plus(tasks, first, second, rng, more=0.5): return [more for _ in tasks]\n"
        "def rest(tasks, first, second, rng, **more): return [0.5 for _ in tasks]\n"
        "def made(chance: float = 0.25): return lambda tasks, first, second, rng: [chance for _ in tasks]\n"
        "import functools\nhalf = functools.partial(made, chance=0.5)\n"
        "def asked(first, second): return 'A'\n"
    )
    assert ask(find_oracle(f"{path}:short", Sums(), nobody), "a", "long") == 1.0
    assert ask(find_oracle(f"{path}:plus", Sums(), nobody), "a", "b") == 0.5
    assert ask(find_oracle(f"{path}:rest", Sums(), nobody), "a", "b") == 0.5
    assert ask(find_oracle(f"{path}:half", Sums(), nobody), "a", "b") == 0.5
    assert ask(find_oracle(f"{path}:made", Sums(), nobody), "a", "b") == 0.25
    assert ask(find_oracle(f"{path}:made:0.75", Sums(), nobody), "a", "b") == 0.75
    with pytest.raises(RedQueenError, match="missing a required argument: 'first'; it takes first, second"):
        find_oracle(f"{path}:asked", Sums(), nobody)


def test_a_judge_is_asked_in_both_orders():
    first_always = Saying(lambda prompt, seed: "A")
    assert ask(find_oracle("judge:frozen", Sums(), lambda word, speech: first_always), "x", "y") == 0.5
    honest = Saying(lambda prompt, seed: "A" if "\nx\n" in prompt.partition("Answer B")[0] else "B")
    assert ask(find_oracle("judge:frozen", Sums(), lambda word, speech: honest), "x", "y") == 1.0
    assert ask(find_oracle("judge:frozen", Sums(), lambda word, speech: honest), "y", "x") == 0.0


def test_the_word_says_who_judges():
    asked = []

    def seat(word, speech):
        asked.append(word)
        return Saying(lambda prompt, seed: "A")

    find_oracle("judge:http://localhost/v1#m", Sums(), seat)
    assert asked == ["http://localhost/v1#m"]
    with pytest.raises(
        RedQueenError, match=r"a judge is a model, and mine\.py:Judge is code: name it --oracle mine\.py"
    ):
        find_oracle("judge:mine.py:Judge", Sums(), seat)
    for word in ("judge", "judge:", "judge:adapter", "judge:separate"):
        with pytest.raises(RedQueenError, match="say who judges"):
            find_oracle(word, Sums(), nobody)


def test_what_is_no_oracle_is_refused():
    with pytest.raises(RedQueenError, match="no preference oracle 'domian'"):
        find_oracle("domian", Sums(), nobody)
    with pytest.raises(RedQueenError, match="is no preference oracle"):
        find_oracle("redqueen.settings.oracles:_LEARNING", Sums(), nobody)
    with pytest.raises(RedQueenError, match="is named --oracle judge:http://host/v1#m"):
        find_oracle("http://host/v1#m", Sums(), nobody)


def test_an_oracle_that_never_has_a_verdict_stops_the_run_in_one_line():
    mute = Heard(lambda tasks, first, second, rng: np.full(len(tasks), np.nan), "judge:frozen", patience=10)
    tasks = [Task(str(n)) for n in range(5)]
    assert np.isnan(mute(tasks, ["a"] * 5, ["b"] * 5, Random(0))).all()
    with pytest.raises(RedQueenError, match="the oracle judge:frozen has no verdict on any of 10 pairs of answers"):
        mute(tasks, ["a"] * 5, ["b"] * 5, Random(0))


def test_a_judge_whose_replies_are_all_cut_off_is_told_to_be_given_more_tokens():
    class Judge:
        name = "judge"

        def reply(self, asks):
            return [Reply("The first answer seems to", self.name, truncated=True) for _ in asks]

    oracle = find_oracle("judge:frozen", Sums(), lambda who, speech: Judge())
    with pytest.raises(RedQueenError, match=r"of 64 pairs.*; 128 of 128 replies of the judge were cut off"):
        oracle([Task(str(n), prompt="?") for n in range(64)], ["a"] * 64, ["b"] * 64, Random(0))


def test_a_judge_who_says_nothing_is_found_out_before_all_pairs_are_asked_about():
    asked = []

    def silent(tasks, first, second, rng):
        asked.extend(task.id for task in tasks)
        return np.full(len(tasks), np.nan)

    tasks = [Task(str(n // 28)) for n in range(896)]  # 28 pairs of each problem
    with pytest.raises(RedQueenError, match="no verdict on any of 64 pairs"):
        Heard(silent, "judge:frozen")(tasks, ["a"] * 896, ["b"] * 896, Random(0))
    assert len(asked) == 64 and len(set(asked)) == 32, "two pairs of each problem, not three problems alone"


def test_what_is_asked_about_in_parts_has_its_own_verdicts():
    def known(tasks, first, second, rng):
        return np.array([float(one) for one in first])

    chances = [str(n / 200) for n in range(200)]
    heard = Heard(known, "judge:frozen")
    assert heard([Task("q")] * 200, chances, ["x"] * 200, Random(0)).tolist() == [n / 200 for n in range(200)]


def test_one_verdict_is_enough_to_be_listened_to():
    found = iter([0.5, *[np.nan] * 20])
    oracle = Heard(lambda tasks, first, second, rng: np.array([next(found) for _ in tasks]), "questions")
    for _ in range(4):
        oracle([Task(str(n)) for n in range(5)], ["a"] * 5, ["b"] * 5, Random(0))


def test_the_silence_of_an_oracle_is_counted_and_rings_above_one_half():
    """90 silent pairs of 200 ring nothing; 210 of 320 are surely more than half."""

    def first_speaks(tasks, first, second, rng):
        return np.array([np.nan if one == "?" else 1.0 for one in first])

    def asked(heard, silent, speaking):
        texts = ["?"] * silent + ["x"] * speaking
        heard([Task("q")] * len(texts), texts, ["y"] * len(texts), Random(0))
        return heard.metrics()

    heard = Heard(first_speaks, "judge:frozen")
    assert asked(heard, 0, 3) == {}
    assert asked(heard, 40, 57) == {"oracle/unread": 40 / 97}
    assert heard.metrics() == {}, "nobody was asked since"
    assert asked(heard, 50, 50) == {"oracle/unread": 0.5} and heard.alarms() == []
    resumed = Heard(first_speaks, "judge:frozen")
    resumed.restore(json.loads(json.dumps(heard.state())))
    for each in (heard, resumed):
        assert asked(each, 120, 0) == {"oracle/unread": 1.0, "alarm/oracle": 1.0}
        assert each.alarms() == ["oracle: 210 of the last 320 pairs that the oracle compared have no verdict"]


def test_what_a_judge_says_in_prose_is_a_verdict_and_it_depends_is_none():
    for words in ("Answer: A", "[[A]]", "(A)", "**A**", "The better answer is A.", '{"verdict": "A"}'):
        assert ask(JudgedPairs(AskedJudge(Saying(lambda prompt, seed, words=words: words), "j")), "x", "y") == 1.0
    for words in ("It depends.", "A or B", "Answer: A. On reflection, answer B is better."):
        assert np.isnan(ask(JudgedPairs(AskedJudge(Saying(lambda prompt, seed, words=words: words), "j")), "x", "y"))


def test_a_file_prefers_what_is_right_and_says_nothing_where_nobody_knows(tmp_path):
    file = tmp_path / "sums.jsonl"
    file.write_text("".join(json.dumps({"question": f"{n} + 1?", "answer": n + 1}) + "\n" for n in range(20)))
    questions = find_questions(str(file))
    (task,) = questions.problems("train", 1, Random(0))
    oracle = find_oracle("questions", questions, no_judge)
    wins = oracle([task] * 3, [task.answer, "no", task.answer], ["no", task.answer, task.answer], Random(0))
    assert wins.tolist() == [1.0, 0.0, 0.5]
    alone = tmp_path / "alone.jsonl"
    alone.write_text("".join(json.dumps({"question": f"{n} + 1?"}) + "\n" for n in range(20)))
    questions = find_questions(str(alone))
    with pytest.raises(RedQueenError, match="the oracle questions has no verdict on any of 64 pairs"):
        find_oracle("questions", questions, no_judge)(
            questions.problems("train", 64, Random(0)), ["1"] * 64, ["2"] * 64, Random(0)
        )


def no_judge(who, speech):
    raise AssertionError("nobody is asked")


FIRST_ALWAYS = Saying(lambda prompt, seed: "A")


def judged(**settings):
    return find_oracle("judge:frozen", Sums(), lambda word, speech: FIRST_ALWAYS, JudgeSettings(**settings))


@pytest.mark.parametrize("settings", [{}, {"scale": "1-9"}])
def test_a_reply_that_says_nothing_loses_and_no_judge_is_asked(settings):
    """As one that ended within its thoughts; the judge likes it best."""
    shown = []

    def likes_silence(prompt, seed):
        *_, first, second = ["", *texts_in(prompt)]
        shown.append((first, second))
        return "9" if settings and not second else "1" if settings else "B" if first else "A"

    oracle = find_oracle("judge:frozen", Sums(), lambda *_: Saying(likes_silence), JudgeSettings(**settings))
    task = Sums().task(1, 1)
    found = oracle([task] * 4, ["2", "", " \n", "2"], ["", "2", "", "3"], Random(0))
    assert found.tolist() == [1.0, 0.0, 0.5, 0.5]
    assert shown and not any("" in each for each in shown)
    assert oracle([task], [""], ["2"], Random(0)).tolist() == [0.0]


def test_settings_without_effect_are_refused():
    for spec, settings, flag in (
        ("questions", JudgeSettings(budget=3), "--judge.budget has no effect with --oracle questions"),
        ("questions", JudgeSettings(speech=Speech(temperature=0.5)), "--judge.temperature has no effect"),
        (f"{__file__}:Longest", JudgeSettings(scale="1-5"), "--judge.scale has no effect"),
        ("reward:x", JudgeSettings(rubric="r.txt"), "--judge.rubric has no effect with --oracle reward:x"),
        ("judge:frozen", JudgeSettings(device="cpu"), "--judge.device has no effect with --oracle judge:frozen"),
        ("judge:frozen", JudgeSettings(expected=True, repeats=2), "--judge.repeats has no effect with --judge.exp"),
        ("judge:frozen", JudgeSettings(expected=True, speech=Speech(stop=("x",))), "--judge.stop has no effect with"),
        (
            "judge:http://localhost:1/v1#m",
            JudgeSettings(expected=True, speech=Speech(max_completion_length=9)),
            "--judge.max-completion-length has no effect with --judge.expected, with which a judge writes no reply",
        ),
        ("judge:shared", JudgeSettings(cache="x"), "judge:shared changes as it learns: leave --judge.cache out"),
    ):
        with pytest.raises(RedQueenError, match=flag):
            find_oracle(spec, Sums(), nobody, settings)


@pytest.mark.parametrize("scale", ["10", "10-1", "1-", "a-b", "0-1000"])
def test_a_scale_is_two_numbers(scale):
    with pytest.raises(RedQueenError, match=r"--judge\.scale is two whole numbers, the lower first, as in 1-10"):
        judged(scale=scale)


def test_a_rubric_is_a_text_file(tmp_path):
    with pytest.raises(RedQueenError, match="cannot read the rubric"):
        judged(rubric=str(tmp_path / "none.txt"))
    (tmp_path / "empty.txt").write_text(" \n")
    with pytest.raises(RedQueenError, match="is empty: say in it what makes an answer better"):
        judged(rubric=str(tmp_path / "empty.txt"))
    (tmp_path / "short.txt").write_text("Prefer the shorter one.")
    heard = []
    seat = Saying(lambda prompt, seed: heard.append(prompt) or "A")
    oracle = find_oracle(
        "judge:frozen", Sums(), lambda word, speech: seat, JudgeSettings(rubric=str(tmp_path / "short.txt"))
    )
    ask(oracle, "x", "y")
    assert all(prompt.startswith("Prefer the shorter one.") for prompt in heard)


def test_what_an_oracle_counts_is_in_its_state():
    oracle = judged()
    ask(oracle, "x", "y")
    assert oracle.metrics() == {"judge/calls": 2.0, "judge/kept": 0.0}
    other = judged()
    other.restore(oracle.state())
    assert other.metrics() == oracle.metrics()
    assert find_oracle("questions", Sums(), nobody).metrics() == {}


def test_a_classifier_must_be_named_and_be_there():
    with pytest.raises(RedQueenError, match=r"name the model: --oracle reward: and a folder or a name on the hub"):
        find_oracle("reward:", Sums(), nobody)
    with pytest.raises(RedQueenError, match=r"there is no model folder \./nowhere"):
        find_oracle("pairs:./nowhere", Sums(), nobody)


def test_a_judge_that_says_one_thing_has_no_earlier_thoughts():
    with pytest.raises(RedQueenError, match=r"^--judge\.history has no effect: a judge says one thing"):
        check_settings(find_recipe("spo").Config(judge=JudgeSettings(speech=Speech(history="strip"))))
