"""ExPO: which answers are explained, what becomes of an explanation, and the two losses."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.contracts.recipes import metrics, trained
from redqueen.credit.group_rewards import correct
from redqueen.credit.rewards import payoff, score
from redqueen.play.groups import attempts
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.questions.asking import SOLVE, graded
from redqueen.questions.catalogue import find_questions
from redqueen.recipes.credit.expo import recipe as expo
from redqueen.recipes.credit.expo import steps
from redqueen.recipes.credit.expo.objective import inner_algorithm, pairs
from redqueen.recipes.credit.expo.steps import ANSWER_FIRST, Explanations, answer_first, with_answer
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError, Task

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=8)
SUMS = find_questions("sums")
TASKS = SUMS.problems("2_digits", 3, Random(0))


@pytest.fixture
def told(monkeypatch):
    """A tiny model that says the answer where it stands in its prompt, and "0" elsewhere."""

    def write(policy, asks):
        replies = []
        for ask in asks:
            shown = ask.messages[-1].text.partition("The answer is ")[2].partition(".")[0]
            voice = policy._voice(ask)
            tokens = [*voice.chat.tokenizer.encode(shown or "0"), voice.chat.end]
            replies.append(voice.say(ask, policy.prompt(ask), tokens, [-1.0] * len(tokens), truncated=False))
        return replies

    monkeypatch.setattr(TransformerPolicy, "_write", write)
    return TINY.build_model(0)


def tried(learner, tasks=TASKS, count=2):
    return graded(SUMS, attempts(SOLVE, tasks, learner, count, Random(1)))


def explanations(positive="own", where="all-failed"):
    return Explanations(SUMS, {"tests": TASKS}, positive, where, 2, "wrong")


def test_the_answer_and_the_request_stand_behind_the_question():
    asked = with_answer(Task("t", prompt="What is 17+25?", answer="24"))
    assert asked.prompt.startswith("What is 17+25?\n\nThe answer is 24. Explain")


def test_an_explanation_is_a_reply_to_the_question_alone(told):
    explain = explanations()
    shown = explain(tried(told), told, Random(2))
    assert [each.turns[0].reply.text for each in shown] == [task.answer for task in TASKS]
    for each, task in zip(shown, TASKS, strict=True):
        text = told.format.decode(each.turns[0].reply.prompt_tokens.tolist())
        assert "The answer is" not in text
        assert task.prompt in text
        assert each.turns[0].reply.recited
    figures = explain.metrics()
    assert (figures["all_failed"], figures["explained"], figures["answer_first"]) == (1.0, 1.0, 0.0)
    assert figures["attempt_logprob"] == -1.0
    assert figures["explanation_logprob"] < 0.0


@pytest.mark.parametrize("thought", ["", "<think>\nzebra\n</think>\n\n"])
def test_the_answer_is_rated_after_the_explanation_and_after_an_attempt(told, monkeypatch, thought):
    """A token at place n of a reply is given the log-probability -n: after 1, +, 1, a line break, ab, a line break the
    answer stands at 6 and 7, and a thought moves it by its tokens; after x and a line break at 2 and 3."""
    said = iter(["x", "x", f"{thought}1+1\nab\n42"])

    def write(policy, asks):
        replies = []
        for ask in asks:
            voice = policy._voice(ask)
            tokens = [*voice.chat.tokenizer.encode(next(said) + "\n7" * ("Explain" not in ask.messages[-1].text))]
            replies.append(
                voice.say(
                    ask, policy.prompt(ask), [*tokens, voice.chat.end], [-1.0] * (len(tokens) + 1), truncated=False
                )
            )
        return replies

    def rated(learner, trajectories):
        return [[-np.arange(float(len(turn.reply.tokens))) for turn in each.turns] for each in trajectories]

    monkeypatch.setattr(TransformerPolicy, "_write", write)
    monkeypatch.setattr(steps, "reference_logprobs", rated)
    task = replace(TASKS[0], answer="42")
    groups = tried(told, [task])
    shown = score(attempts(SOLVE, [with_answer(task)], told, 1, Random(0)), payoff)
    figures = steps.likelihoods(told, [replace(shown[0], group=groups[0].number)], groups)
    assert figures["answer_after_explanation"] == -6.5 - len(told.format.tokenizer.encode(thought))
    assert figures["answer_after_attempt"] == -2.5


@pytest.mark.parametrize(
    ("said", "before", "answer"),
    [
        ("1+1\n42", "1+1\n", "42"),
        ("back 6-5=1+1=2", "back 6-5=1+1=", "2"),
        ("on stuck", "on ", "stuck"),
        ("The answer is: \\boxed{7}", "The answer is: ", "\\boxed{7}"),
        ("42", "", "42"),
        ("it is =", "", "it is ="),
    ],
)
def test_the_answer_is_the_last_line_or_the_end_of_the_only_one(said, before, answer):
    assert steps.answer_parted(said) == (before, answer)


def test_a_group_that_somebody_solved_needs_no_explanation(told):
    nought = replace(TASKS[0], id="0+0", prompt="What is 0+0?", answer="0")
    groups = tried(told, [nought, TASKS[0]])
    assert [each.group for each in explanations()(groups, told, Random(2))] == [groups[1].number]
    assert len(explanations(where="everywhere")(groups, told, Random(2))) == 2
    assert explanations("none")(groups, told, Random(2)) == []


def test_an_explanation_that_comes_to_another_answer_is_not_learned(told):
    wrong = replace(TASKS[0], answer="7")  # its check is by the answer, which is told: so it is right
    assert len(explanations()(tried(told, [wrong]), told, Random(2))) == 1
    mute = replace(TASKS[0], answer="a. b")  # of which "a" is said
    explain = explanations()
    assert explain(tried(told, [mute]), told, Random(2)) == []
    assert explain.metrics()["explained"] == 0.0


def test_the_loss_of_grpo_counts_demonstrations_by_their_coefficient(told):
    groups = tried(told)
    shown = explanations()(groups, told, Random(2))
    own = score(groups, correct)
    estimate, pack, _ = inner_algorithm("grpo", 0.1, told)
    batch = pack(own, estimate(own, shown), shown, 0.05)
    taught = batch.recited.any(dim=1)
    assert int(taught.sum()) == len(shown)
    assert float(batch.loss_weights[taught].sum()) == pytest.approx(0.05)
    assert float(batch.loss_weights[~taught].sum()) == pytest.approx(1.0)


def test_the_pairs_of_dpo_are_an_explanation_and_a_wrong_attempt_at_one_prompt(told):
    groups = tried(told)
    shown = explanations()(groups, told, Random(2))
    own = score(groups, correct)
    chosen, rejected = pairs(own, shown)
    assert [each.turns[0].reply.text for each in rejected] == ["0"] * 3
    estimate, pack, _ = inner_algorithm("dpo", 0.1, told)
    assert [float(each[0]) for each in estimate(own, shown)] == [-1.0, 0.0] * 3
    batch = pack(own, [], shown, 0.0)
    assert batch.pairs.tolist() == [0, 0, 1, 1, 2, 2] or sorted(batch.pairs.tolist()) == [0, 0, 1, 1, 2, 2]
    for one, other in zip(chosen, rejected, strict=True):
        assert np.array_equal(one.turns[0].reply.prompt_tokens, other.turns[0].reply.prompt_tokens)


def test_a_right_attempt_is_never_rejected(told):
    nought = replace(TASKS[0], id="0+0", prompt="What is 0+0?", answer="0")
    groups = tried(told, [nought])
    shown = explanations(where="everywhere")(groups, told, Random(2))
    assert pairs(score(groups, correct), shown).chosen == []


def test_an_answer_before_the_last_line_is_seen(told):
    (group,) = tried(told, [TASKS[0]], 2)
    (one, _) = score([group], correct)

    def said(text):
        turn = replace(one.turns[0], reply=replace(one.turns[0].reply, text=text, working=""))
        return replace(one, turns=(turn,), episode=replace(one.episode, turns=(turn,)))

    answer = TASKS[0].answer
    assert answer_first(said(f"It is {answer}\nas 1+1=2\n{answer}"))
    assert not answer_first(said(f"1+1=2\nso {answer}"))
    assert not answer_first(said(f"{answer}1 is too many\n{answer}"))
    assert not answer_first(said(f"0.{answer} and {answer}.5 are others\n{answer}"))
    assert answer_first(said(f"It is {answer}.\n{answer}"))
    assert ANSWER_FIRST.past(0.9)


@pytest.mark.parametrize("inner", ["grpo", "dpo"])
def test_the_known_answers_are_learned_and_without_them_nothing_is(inner, told, tmp_path):
    """GRPO alone gets no gradient where all fail; with explanations both losses learn."""

    def losses(positive):
        config = expo.Config(learner=TINY, inner=inner, positive=positive, steps=3, tasks=3, attempts=2, problems=2)
        return [line["gradient_norm"] for line in metrics(trained(expo, config, tmp_path / positive))]

    assert max(losses("none")) == 0.0
    assert min(losses("own")) > 0.0


def test_expert_solutions_are_refused_where_there_are_none(told):
    with pytest.raises(RedQueenError, match="has answers and no worked solutions"):
        explanations("expert")(tried(told), told, Random(2))


def test_expert_solutions_are_recited(told):
    worked = replace(TASKS[0], facts={**TASKS[0].facts, "gold": "step by step"})
    (shown,) = explanations("expert")(tried(told, [worked]), told, Random(2))
    assert shown.turns[0].reply.text == "step by step"
    assert shown.turns[0].reply.recited


def test_a_step_whose_rows_have_no_worked_solutions_goes_on_where_others_have_them(tmp_path):
    rows = [f'{{"question": "{at}+5?", "answer": "{at + 5}"' for at in range(8)]
    rows[0] += ', "completion": "0+5=5\\nThe answer is 5"'
    (tmp_path / "some.jsonl").write_text("\n".join(f"{row}}}" for row in rows))
    config = expo.Config(
        TINY, str(tmp_path / "some.jsonl"), positive="expert", steps=16, tasks=1, attempts=2, problems=1
    )
    shown = ["explanation_logprob" in line for line in metrics(trained(expo, config, tmp_path / "run"))]
    assert any(shown) and not all(shown)


def test_a_file_without_answers_stops_with_one_line(tmp_path):
    (tmp_path / "open.jsonl").write_text("".join(f'{{"question": "What is {at}+1?"}}\n' for at in range(8)))
    config = expo.Config(learner=TINY, questions=str(tmp_path / "open.jsonl"), steps=1, problems=2)
    with pytest.raises(RedQueenError, match="does not know what is right"):
        trained(expo, config, tmp_path)


def test_answers_that_are_never_explained_ring_and_explained_ones_do_not(told):
    mute = replace(TASKS[0], answer="a. b")
    unheard, heard = explanations(), explanations()
    for _ in range(6):
        unheard(tried(told, [mute]), told, Random(2))
        heard(tried(told), told, Random(2))
    assert [line.partition(":")[0] for line in unheard.alarms()] == ["unexplained"]
    assert heard.alarms() == []
