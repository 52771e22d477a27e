"""Ditto: who is asked what, what is learned of a reply, and what a file of characters must hold."""

import time
from random import Random

import pytest

from redqueen.contracts.recipes import check_resume, metrics, trained
from redqueen.credit.rewards import payoff, score
from redqueen.objectives.batch import pack_samples
from redqueen.objectives.imitation import Imitation
from redqueen.play.groups import attempts
from redqueen.players.transformer.policy import TransformerPolicy
from redqueen.recipes.self_training.ditto_roleplay import recipe as ditto
from redqueen.recipes.self_training.ditto_roleplay.measures import Unasked
from redqueen.recipes.self_training.ditto_roleplay.questions import Character, found_characters
from redqueen.recipes.self_training.ditto_roleplay.steps import (
    PLAY,
    Asked,
    Interviews,
    questions_in,
    request,
    told_of_profile,
    with_profile,
    without_profile,
)
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError

TINY = Learner(model="tiny:hidden=16,heads=2", max_completion_length=24)
A = Character("A", "a woodcutter", "A: home oak, tool axe", ("home?", "tool?"))
B = Character("B", "a fisher", "B: home reef, tool net")


@pytest.fixture
def says(monkeypatch):
    """A tiny model that writes two questions and says that its home is an oak."""
    told = {"interviewer": "1. net?\n- reef?\nnone", "character": "In an oak."}

    def write(policy, asks):
        replies = []
        for ask in asks:
            voice = policy._voice(ask)
            tokens = [*voice.chat.tokenizer.encode(told[ask.seat.role]), voice.chat.end]
            replies.append(voice.say(ask, policy.prompt(ask), tokens, [-1.0] * len(tokens), truncated=False))
        return replies

    monkeypatch.setattr(TransformerPolicy, "_write", write)
    return told


def replied(interviews, learner):
    asked = [Asked(A, "home?", True)]
    groups = attempts(PLAY, [with_profile(one) for one in asked], learner, 1, Random(0))
    return interviews.learned(score(groups, payoff), asked, learner)


def test_the_profile_is_in_view_and_the_row_holds_none_of_it(says):
    """Section 12: the training row holds "You are A", the question and the reply, with loss on the reply alone."""
    learner, asked = TINY.build_model(0), [Asked(A, "home?", True)]
    interviews = Interviews([A, B], 1, 1)
    (shown,), (credit,) = replied(interviews, learner)
    assert "axe" in with_profile(asked[0]).messages[0].text
    batch = pack_samples([shown], [1.0])
    row = learner.format.decode(batch.tokens[0].tolist())
    assert "You are A, a woodcutter." in row
    assert "home?" in row
    assert "axe" not in row
    own = batch.loss_weights[0] > 0
    assert learner.format.decode(batch.tokens[0][own].tolist()) == "In an oak."
    assert batch.loss_weights[0][own].tolist() == pytest.approx([1 / int(own.sum())] * int(own.sum()))
    assert bool(batch.recited[0][own].all())
    assert credit.tolist() == [1.0]
    assert interviews.metrics()["aided_logprob"] == -1.0


def test_a_character_is_asked_what_it_knows_and_what_only_its_partner_knows(says):
    asked = Interviews([A, B], 2, 1).asked(2, TINY.build_model(0), Random(0))
    of_a = [(each.question, each.known) for each in asked if each.character is A]
    assert sorted(of_a[:2]) == [("home?", True), ("tool?", True)]
    assert of_a[2][0] in ("net?", "reef?")
    assert of_a[2][1] is False
    of_b = [(each.question, each.known) for each in asked if each.character is B]
    assert sorted(of_b[:2]) == [("net?", True), ("reef?", True)]
    assert of_b[2][0] in A.questions


def test_without_contrastive_questions_none_is_asked(says):
    assert all(each.known for each in Interviews([A, B], 2, 0).asked(4, TINY.build_model(0), Random(0)))


def test_what_is_held_out_is_never_asked_and_what_was_said_to_it_is_rated_without_the_profile(says):
    learner, interviews = TINY.build_model(0), Interviews([A, B], 2, 1)
    held = interviews.hold_out(3, learner, Random(0))
    assert len(held) == 3 and len({(each.character.name, each.known) for each in held}) == 3
    later = [each for seed in range(9) for each in interviews.asked(2, learner, Random(seed))]
    assert not {(each.character.name, each.question) for each in held} & {
        (each.character.name, each.question) for each in later
    }
    assert {each.known for each in later if each.character is A} == {True, False}
    measure = Unasked(held, learner, 0, "wrong")
    before = measure()
    assert before["unasked_logprob"] < -1.0 and {"unasked_logprob/known", "unasked_logprob/unknown"} <= set(before)
    (shown,), _ = replied(interviews, learner)
    for _ in range(5):
        learner.update(pack_samples([shown], [1.0]), Imitation())
    assert measure()["unasked_logprob"] > before["unasked_logprob"]  # the same words after other questions


def test_a_character_with_one_question_is_asked_it(says):
    lone = Character("C", "a lone one", "C: home cave", ("home?",))
    interviews = Interviews([A, lone], 2, 1)
    held = interviews.hold_out(9, TINY.build_model(0), Random(0))
    assert not [each for each in held if each.character is lone and each.known]


def test_where_nothing_is_worth_learning_nothing_is_measured(says):
    says["character"] = ""
    learner = TINY.build_model(0)
    assert Unasked([Asked(A, "home?", True)], learner, 0, "wrong")() == {}


def test_questions_are_lines_that_end_with_a_question_mark():
    assert questions_in("Here:\n1. Where?\n2) Who?\n- Why?\nWhy\n1. Where?", 9) == ("Where?", "Who?", "Why?")
    assert questions_in("1. Where?\n2. Who?", 1) == ("Where?",)
    assert "A can answer and B cannot" in request(A, B, 2).prompt


def test_a_thought_is_learned_and_one_of_the_profile_or_without_end_is_not(says):
    learner = TINY.build_model(0)
    for reply, learned in (
        ("<think>\nAn oak.\n</think>\n\nIn an oak.", 1.0),
        ("<think>\nThe profile says oak.\n</think>\n\nIn an oak.", 0.0),
        ("<think>\nAn oak. In an oak.", 0.0),
    ):
        says["character"] = reply
        (shown,), (credit,) = replied(Interviews([A, B], 1, 1), learner)
        assert credit.tolist() == [learned], reply
        assert learner.format.decode(shown.turns[0].reply.tokens.tolist()).startswith(reply)


@pytest.mark.parametrize("reply", ["My profile says oak.", "The text does not say.", "", " "])
def test_what_is_empty_or_speaks_of_the_profile_is_not_learned(says, reply):
    says["character"] = reply
    interviews = Interviews([A, B], 1, 1)
    _, (credit,) = replied(interviews, TINY.build_model(0))
    assert credit.tolist() == [0.0]
    assert interviews.metrics()["kept_share"] == 0.0
    assert interviews.alarms()[0].startswith("nothing kept: only 0% of the replies")


def test_a_healthy_reply_speaks_of_no_profile_and_rings_nothing(says):
    assert not told_of_profile("I am in the text business.")
    interviews = Interviews([A, B], 1, 1)
    replied(interviews, TINY.build_model(0))
    interviews.metrics()
    assert interviews.alarms() == []
    assert "axe" not in without_profile(Asked(A, "home?", True)).messages[0].text


def test_it_learns_what_is_said(says, tmp_path):
    config = ditto.Config(learner=TINY, steps=2, updates=2, tasks=3, replies_per_update=4, problems=1)
    lines = metrics(trained(ditto, config, tmp_path))
    assert all(line["gradient_norm"] > 0.0 for line in lines)
    assert lines[0]["contrastive"] == pytest.approx(2 / 5, abs=0.1)


@pytest.mark.slow
def test_it_goes_on_after_a_kill_where_replies_are_learned():
    """The contract's replies of four tokens are cut off, and left out."""
    config = ditto.Config(TINY, updates=2, tasks=2, replies_per_update=4, truncated_score="graded")
    check_resume(ditto, config)


def test_a_reply_that_was_cut_off_is_left_out_or_learned(tmp_path):
    settings = {"learner": Learner(model=TINY.model, max_completion_length=2), "steps": 1, "tasks": 2}
    (line,) = metrics(trained(ditto, ditto.Config(**settings), tmp_path / "left"))
    assert (line["kept_share"], line["gradient_norm"]) == (0.0, 0.0)
    (line,) = metrics(trained(ditto, ditto.Config(**settings, truncated_score="graded"), tmp_path / "learned"))
    assert line["kept_share"] > 0.5 and line["gradient_norm"] > 0.0


def test_a_file_of_characters_is_read(tmp_path):
    file = tmp_path / "who.jsonl"
    file.write_text(
        '{"name": "Ada", "description": "a miller.", "profile": "Ada lives in a mill."}\n\n'
        '{"name": "Bo", "description": "a sailor", "profile": "On a ship.", "questions": ["Where?"]}\n'
    )
    ada, bo = found_characters(str(file))
    assert ada == Character("Ada", "a miller", "Ada lives in a mill.")
    assert (ada.brief, bo.questions) == ("You are Ada, a miller.", ("Where?",))
    assert len(found_characters("")) == 12


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"name": "Ada"}', "is no character: a row is as"),
        ("Ada", "is no character"),
        ('{"name": "A", "description": "b", "profile": "c", "questions": "Where?"}', "is no character"),
        ('{"name": "A", "description": "b", "profile": "c"}', "holds 1 characters: two are the least"),
        ('{"name": "A", "description": "b", "profile": "c"}\n' * 2, "names a character twice"),
        ("", "holds 0 characters"),
    ],
)
def test_other_files_are_refused_in_one_line(text, complaint, tmp_path):
    (tmp_path / "who.jsonl").write_text(text)
    with pytest.raises(RedQueenError, match=complaint) as refused:
        found_characters(str(tmp_path / "who.jsonl"))
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(RedQueenError, match="cannot read the characters of"):
        found_characters(str(tmp_path / "nobody.jsonl"))


@pytest.mark.parametrize("reply", ["\n" * 200_000, "-\n" * 100_000, "1." + "\n" * 200_000, "? " * 100_000 + "x"])
def test_a_long_reply_without_questions_is_read_at_once(reply):
    began = time.process_time()
    assert questions_in(reply, 3) == ()
    assert time.process_time() - began < 1.5


def test_questions_stand_in_lines_with_or_without_points():
    reply = "Here:\n1. Who?\n - What?  \n*\nWhere is it?\n\n\n  When?\nNothing.\n-?"
    assert questions_in(reply, 9) == ("Who?", "What?", "Where is it?", "When?", "-?")
