import numpy as np
import pytest

from redqueen.chance import derive
from redqueen.players.language.answers import Bracketed
from redqueen.players.language.chat_format import ChatFormat
from redqueen.players.language.saying import Mind, Voice, listed_replies
from redqueen.players.transformer.loading import tiny_tokenizer
from redqueen.types import Ask, Message, RedQueenError, Seat

CHAT = ChatFormat(tiny_tokenizer())
PROMPT = np.array([5, 6, 7])


def question(choices=("bet", "pass"), seed=0):
    return Ask(Seat("first"), (Message("game", "Your move?"),), choices, seed=seed)


def words(text, closed=True):
    return tuple(CHAT.tokenizer.encode(text)) + ((CHAT.end,) if closed else ())


def said(voice, text, closed=True, choices=("bet", "pass")):
    tokens = words(text, closed)
    return voice.say(question(choices), PROMPT, tokens, [-0.5] * len(tokens), not closed)


@pytest.mark.parametrize(
    ("text", "closed", "action", "thought", "malformed"),
    [
        ("I think so. [bet]", True, "bet", "I think so.", False),
        ("no brackets here", True, "", "no brackets here", True),
        ("I think so. [bet]", False, "", "I think so. [bet]", True),  # cut before its end
    ],
)
def test_the_action_is_taken_from_the_stated_format(text, closed, action, thought, malformed):
    reply = said(Voice("learner", 3, CHAT, Bracketed()), text, closed)
    assert (reply.text, reply.thought, reply.malformed) == (action, thought, malformed)
    assert reply.truncated is not closed


def test_what_is_said_before_the_action_is_told_from_what_was_thought():
    reply = said(Voice("learner", 3, CHAT, Bracketed()), "<think>A zebra.</think>I hold a king. [bet]", True)
    assert (reply.text, reply.working) == ("bet", "I hold a king.")
    assert reply.thought == "A zebra.\nI hold a king."
    for text in ("<think>A zebra. I hold a king. [bet]", "no brackets here"):
        assert said(Voice("learner", 3, CHAT), text, True).working == ""


@pytest.mark.parametrize(
    ("text", "closed", "action", "malformed"),
    [("  bet \n", True, "bet", False), ("bet", False, "bet", False), (" ", True, "", True)],
)
def test_without_a_format_the_whole_text_is_the_action(text, closed, action, malformed):
    reply = said(Voice("learner", 3, CHAT), text, closed)
    assert (reply.text, reply.thought, reply.malformed, reply.truncated) == (action, "", malformed, not closed)


def test_a_reply_carries_who_spoke_and_with_which_words():
    tokens = words("bet")
    reply = Voice("learner", 3, CHAT).say(question(), PROMPT, tokens, [-0.5] * len(tokens), False)
    assert (reply.player, reply.version) == ("learner", 3)
    assert reply.prompt_tokens.tolist() == [5, 6, 7]
    assert reply.tokens.tolist() == list(tokens)
    assert reply.tokens.dtype == np.int64
    assert reply.logprobs.tolist() == [-0.5] * len(tokens)
    assert reply.logprobs.dtype == np.float64
    assert reply.legal_tokens == ()


REPLIES = ((1, 9), (1, 2, 9), (3, 9))
LOGPROBS = tuple(np.log(row) for row in ([0.8, 0.25], [0.8, 0.75, 1.0], [0.2, 1.0]))


def test_a_mind_multiplies_the_words_of_each_reply():
    mind = Mind.of(PROMPT, REPLIES, LOGPROBS)
    assert mind.probabilities == pytest.approx((0.2, 0.6, 0.2))


def test_a_mind_s_probabilities_sum_to_one_whatever_was_rounded():
    mind = Mind.of(PROMPT, REPLIES, tuple(row - 0.01 for row in LOGPROBS))
    assert sum(mind.probabilities) == pytest.approx(1.0, abs=1e-15)


def test_listed_replies_are_chosen_with_their_probabilities():
    mind = Mind.of(PROMPT, REPLIES, LOGPROBS)
    voice, choices = Voice("learner", 3, CHAT), ("a", "ab", "c")
    replies = [voice.choose(question(choices, derive(1, n)), mind) for n in range(3000)]
    counts = np.array([sum(reply.text == choice for reply in replies) for choice in choices])
    expected = 3000 * np.array([0.2, 0.6, 0.2])
    assert ((counts - expected) ** 2 / expected).sum() < 13.8  # two degrees of freedom: once in a thousand
    for reply in replies[:20]:
        number = choices.index(reply.text)
        assert tuple(reply.tokens.tolist()) == REPLIES[number]
        assert reply.logprobs.tolist() == LOGPROBS[number].tolist()
        assert (reply.legal_tokens, reply.player, reply.version) == (REPLIES, "learner", 3)
        assert (reply.truncated, reply.malformed, reply.thought) == (False, False, "")
    assert voice.choose(question(choices, 7), mind).text == voice.choose(question(choices, 7), mind).text


def test_listed_replies_end_with_the_turn():
    replies = listed_replies(CHAT, ("bet", "better"))
    assert replies == (words("bet"), words("better"))
    with pytest.raises(RedQueenError, match="the same tokens"):
        listed_replies(CHAT, ("bet", "bet"))


@pytest.mark.parametrize(
    ("text", "answer", "told"),
    [
        ("42", "", "[42]"),
        ("I think so. [42]", "", "I think so. [42]"),
        ("So 6 times 7.", "42", "So 6 times 7.\n[42]"),
        ("<think>6 times 7</think>42", "", "<think>6 times 7</think>\n\n[42]"),
        ("", "", ""),
    ],
)
def test_a_demonstration_is_told_in_the_answer_format(text, answer, told):
    voice, ask = Voice("learner", 3, CHAT, Bracketed()), question(choices=())
    assert voice.in_format(ask, text, answer) == told
    assert Voice("learner", 3, CHAT).in_format(ask, text, answer) == text
    if told:
        assert voice.recite(ask, told, listed=False).text == "42"
