"""Chat templates of the shapes in use: with thoughts, without a system role, without an opening of the reply."""

import numpy as np
import pytest

from redqueen.players.language.answers import Boxed
from redqueen.players.language.chat_format import ChatFormat
from redqueen.players.language.saying import Voice
from redqueen.players.transformer.loading import tiny_tokenizer
from redqueen.types import Ask, Message, RedQueenError, Reply, Seat, Turn

SEAT = Seat("solver")
HEAD = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
OPENING = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
# as Qwen3: an argument turns thinking off, and earlier thoughts are left out
QWEN = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'assistant' and '</think>' in m.content %}{{ m.content.split('</think>')[-1].lstrip('\n') }}"
    "{% else %}{{ m.content }}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
# as DeepSeek-R1: the template opens the thought
R1 = HEAD + "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
# as Gemma: no system role
GEMMA = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    + HEAD
    + OPENING
)
# as Mistral: the user's message opens the reply, whatever is asked
MISTRAL = (
    "{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
    "{% else %}{{ m.content }}<|end|>{% endif %}{% endfor %}"
)
# as SmolVLM, a model that sees: a message is a list of texts and images, and a plain text would be left out
SEEING = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% for part in m.content %}{% if part.type == 'text' %}"
    "{{ part.text }}{% endif %}{% endfor %}<|im_end|>\n{% endfor %}" + OPENING
)
# as Llava: what the assistant said must be a list, the user's may be either
LLAVA = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}"
    "{{ (m.content | first).text.strip() }}{% elif m.content is string %}{{ m.content }}"
    "{% else %}{{ m.content[0].text }}{% endif %}<|im_end|>\n{% endfor %}" + OPENING
)
UNOPENED = HEAD  # the opening of the reply was forgotten


def made(template, **settings):
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    tokenizer.chat_template = template
    return ChatFormat(tokenizer, **settings)


def shown(chat, *messages, past=()):
    return chat.tokenizer.decode(chat.prompt(Ask(SEAT, messages, past=past)))


def game(text):
    return Message("game", text)


def said(chat, ask, text, answer=None, truncated=False):
    tokens = chat.reply_tokens(text)
    voice = Voice("learner", 0, chat, answer)
    return voice.say(ask, chat.prompt(ask), tokens, [-1.0] * len(tokens), truncated)


def test_arguments_reach_the_template_as_it_spells_them():
    question = game("6 * 7?")
    assert shown(made(QWEN), question) == "<|im_start|>user\n6 * 7?<|im_end|>\n<|im_start|>assistant\n"
    off = made(QWEN, arguments={"enable_thinking": False})
    assert shown(off, question).endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")
    assert not off.opens_thought
    with pytest.raises(RedQueenError, match="a plain prompt has no chat template to which enable_thinking could be"):
        made(None, arguments={"enable_thinking": False})
    with pytest.raises(RedQueenError, match="does not read 'enable_thinkin': did you mean enable_thinking"):
        made(QWEN, arguments={"enable_thinkin": False})
    with pytest.raises(RedQueenError, match="the model's chat template does not read 'enable_thinking': leave it out"):
        made(R1, arguments={"enable_thinking": False})


def test_a_token_that_the_model_does_not_know_is_refused():
    chat = made(QWEN, vocabulary=100)
    with pytest.raises(RedQueenError, match=r"writes .* as token \d+, and the model knows tokens below 100"):
        shown(chat, game("6 * 7?"))
    assert shown(made(QWEN, vocabulary=10_000), game("6 * 7?"))


@pytest.mark.parametrize(
    ("template", "text"), [(QWEN, "<think>6 * 7 = 42</think>\\boxed{42}"), (R1, "6 * 7</think>\\boxed{42}")]
)
def test_a_boxed_answer_is_found_after_the_thought_and_not_in_it(template, text):
    chat, ask = made(template), Ask(SEAT, (game("6 * 7?"),))
    reply = said(chat, ask, text, Boxed())
    assert (reply.text, reply.malformed) == ("42", False)
    assert "6 * 7" in reply.thought
    inside = text.replace("</think>\\boxed{42}", " so \\boxed{42}")
    assert said(chat, ask, inside, Boxed()).malformed
    assert said(chat, ask, inside).malformed  # also where the whole reply is the answer


def test_without_an_answer_format_the_reply_is_what_follows_the_thought():
    chat, ask = made(R1), Ask(SEAT, (game("Ask something."),))
    reply = said(chat, ask, "Let me see.</think>\n\nWhat is 2 + 2?")
    assert (reply.text, reply.thought) == ("What is 2 + 2?", "Let me see.")
    assert chat.decode(reply.tokens).startswith("Let me see.</think>")  # the record and the loss keep it


def test_a_template_without_a_system_role_shows_its_text_to_the_user():
    chat = made(GEMMA, system="Be brief.")
    assert shown(chat, game("6 * 7?")) == "<|im_start|>user\nBe brief.\n\n6 * 7?<|im_end|>\n<|im_start|>assistant\n"


def test_a_template_that_does_not_open_the_reply_gets_its_own_opening():
    assert shown(made(UNOPENED), game("6 * 7?")) == "<|im_start|>user\n6 * 7?<|im_end|>\n<|im_start|>assistant\n"
    assert made(UNOPENED).opening == "<|im_start|>assistant\n"
    assert made(MISTRAL).opening == made(QWEN).opening == made(R1).opening == ""
    assert shown(made(MISTRAL), game("6 * 7?")) == "[INST] 6 * 7? [/INST]"


@pytest.mark.parametrize("template", [SEEING, LLAVA])
def test_a_template_of_images_and_texts_shows_what_is_said(template):
    chat = made(template, system="Be brief.")
    ask = Ask(SEAT, (game("6 * 7?"),))
    asked = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n6 * 7?<|im_end|>\n<|im_start|>assistant\n"
    assert shown(chat, game("6 * 7?")) == asked
    assert chat.tokenizer.decode([chat.end]) == "<|im_end|>"
    reply = said(chat, ask, "42")
    later = (game("6 * 7?"), Message("solver", "42"), game("Sure?"))
    assert shown(chat, *later, past=(Turn(ask, reply),)) == (
        f"{asked}42<|im_end|>\n<|im_start|>user\nSure?<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_template_that_shows_nothing_of_the_user_is_refused():
    deaf = "{% for m in messages %}<|im_start|>{{ m.role }}<|im_end|>{% endfor %}" + OPENING
    with pytest.raises(RedQueenError, match="shows nothing of what the user says: mend it in the model's folder, or"):
        made(deaf)
    assert shown(made(deaf, raw=True), game("6 * 7?")) == "6 * 7?\n"


def test_a_template_that_cannot_show_a_conversation_says_so_in_one_line():
    broken = "{{ raise_exception('roles must alternate') }}"
    with pytest.raises(
        RedQueenError, match=r"cannot show a conversation of user \(roles must alternate\): --raw-prompt"
    ):
        made(broken)


def two_turns(chat):
    """The prompt of the second turn, the first of which was thought about, and the first reply."""
    ask = Ask(SEAT, (game("6 * 7?"),))
    reply = said(chat, ask, "<think>hard</think>It is 42.")
    later = (game("6 * 7?"), Message("solver", reply.text), game("Sure?"))
    return chat.prompt(Ask(SEAT, later, past=(Turn(ask, reply),))), reply


def test_kept_thoughts_extend_the_tokens_and_stripped_ones_are_rendered_anew():
    chat = made(QWEN)
    prompt, reply = two_turns(chat)
    before = np.concatenate([reply.prompt_tokens, reply.tokens])
    assert prompt[: len(before)].tolist() == before.tolist()
    chat = made(QWEN, keeps_thoughts=False)
    prompt, _ = two_turns(chat)
    assert chat.tokenizer.decode(prompt) == (
        "<|im_start|>user\n6 * 7?<|im_end|>\n<|im_start|>assistant\nIt is 42.<|im_end|>\n"
        "<|im_start|>user\nSure?<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_stripped_turn_shows_all_that_was_said_and_not_only_the_answer():
    chat = made(QWEN, keeps_thoughts=False)
    ask = Ask(SEAT, (game("6 * 7?"),))
    reply = said(chat, ask, "<think>hard</think>So: \\boxed{42}", Boxed())
    assert reply.text == "42"
    later = (game("6 * 7?"), Message("solver", "42"), game("Sure?"))
    assert "So: \\boxed{42}" in shown(chat, *later, past=(Turn(ask, reply),))


def test_a_wording_holds_what_is_asked():
    chat = made(QWEN, wording="You are a teacher.\n{prompt}\nBe careful.")
    assert "user\nYou are a teacher.\n6 * 7?\nBe careful.<|im_end|>" in shown(chat, game("6 * 7?"))
    past = Turn(Ask(SEAT, (game("6 * 7?"),)), Reply("42"))
    assert shown(chat, game("6 * 7?"), Message("solver", "42"), game("Sure?"), past=(past,)).count("teacher") == 1


def test_marks_of_thoughts_that_are_special_tokens_are_read():
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<think>", "</think>"]})
    chat = ChatFormat(tokenizer)
    tokens = tokenizer.encode("<think>hm</think>42")
    assert chat.decode(tokens) == "<think>hm</think>42"
    reply = Voice("learner", 0, chat).say(Ask(SEAT, (game("?"),)), np.zeros(1), tokens, [0.0] * len(tokens), False)
    assert (reply.text, reply.thought) == ("42", "hm")
