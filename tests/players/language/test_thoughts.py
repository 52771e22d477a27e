"""Thoughts in the marks of the models in use: what is said, with a thought that is closed, not closed, and empty."""

from dataclasses import replace

import pytest

from redqueen.players.language.answers import Boxed
from redqueen.players.language.chat_format import ChatFormat
from redqueen.players.language.saying import Voice
from redqueen.players.language.thoughts import HARMONY, MARKS, in_marks, marks_in, marks_named
from redqueen.players.transformer.loading import tiny_tokenizer
from redqueen.texts import THINK, opened_before, parted
from redqueen.types import Ask, Message, RedQueenError, Seat, Turn

SEAT = Seat("solver")
ASKED = Ask(SEAT, (Message("game", "6 * 7?"),))
HEAD = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
OPENING = "{% if add_generation_prompt %}<|im_start|>assistant\n"
# as gpt-oss: a reply is a message in a channel, and the last one of a chat ends otherwise than those before
CHANNELS = (
    "{% for m in messages %}{% if m.role == 'assistant' %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}"
    "{{ '<|return|>' if loop.last and not add_generation_prompt else '<|end|>' }}"
    "{% else %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant{% endif %}{# <|channel|>analysis<|message|> #}"
)
MAGISTRAL = HEAD + OPENING + "{% endif %}{# [THINK] #}"
COMMAND = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ '<|START_RESPONSE|>' if m.role == 'assistant' }}"
    "{{ m.content }}{{ '<|END_RESPONSE|>' if m.role == 'assistant' }}<|im_end|>\n{% endfor %}" + OPENING + "{% endif %}"
)
SEED = HEAD + OPENING + "{% endif %}{% set begin = '<seed:think>' %}"
GEMMA = HEAD + OPENING + "{{ '' if enable_thinking else '<|channel>thought\n<channel|>' }}{% endif %}"
APRIEL = HEAD + OPENING + "Here are my reasoning steps:\n{% endif %}"
MUSE = (
    "{% for m in messages %}<|start|>{{ m.role }}{{ ' to=user' if m.role == 'assistant' }}<|message|>{{ m.content }}"
    "<|return|>{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}{# to=self<|message|> #}"
)
R1 = HEAD + OPENING + "<think>\n{% endif %}"
GRANITE = HEAD + OPENING + "{% endif %}{# <think></think><response></response> #}"
ANALYSIS, FINAL = "<|channel|>analysis<|message|>", "<|start|>assistant<|channel|>final<|message|>"

# a template, a reply with {} for the thought, and the same cut off in it
SHAPES = {
    "gpt-oss": (CHANNELS, f"{ANALYSIS}{{}}<|end|>{FINAL}It is \\boxed{{{{42}}}}.", f"{ANALYSIS}{{}}"),
    "Magistral": (MAGISTRAL, "[THINK]{}[/THINK]It is \\boxed{{42}}.", "[THINK]{}"),
    "Command": (
        COMMAND,
        "<|START_THINKING|>{}<|END_THINKING|><|START_RESPONSE|>It is \\boxed{{42}}.<|END_RESPONSE|>",
        "<|START_THINKING|>{}",
    ),
    "Seed-OSS": (SEED, "<seed:think>{}</seed:think>It is \\boxed{{42}}.", "<seed:think>{}"),
    "Gemma 4": (GEMMA, "<|channel>thought\n{}<channel|>It is \\boxed{{42}}.", "<|channel>thought\n{}"),
    "Apriel": (APRIEL, "{}\n[BEGIN FINAL RESPONSE]\nIt is \\boxed{{42}}.\n[END FINAL RESPONSE]", "{}"),
    "DeepSeek-R1": (R1, "{}</think>\n\nIt is \\boxed{{42}}.", "{}"),
    "Muse Glimmer": (
        MUSE,
        " to=self<|message|>{}<|eom|><|start|>assistant to=user<|message|>It is \\boxed{{42}}.",
        " to=self<|message|>{}",
    ),
    "Granite": (GRANITE, "<think>{}</think><response>It is \\boxed{{42}}.</response>", "<think>{}"),
}
SPECIAL = ["<|im_start|>", "<|im_end|>", "<|start|>", "<|channel|>", "<|message|>", "<|return|>", "[THINK]", "[/THINK]"]


def made(template, **settings):
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": SPECIAL})
    tokenizer.chat_template = template
    return ChatFormat(tokenizer, **settings)


def said(chat, text, answer=None, ask=ASKED):
    tokens = [*chat.tokenizer.encode(text), chat.end]
    return Voice("learner", 0, chat, answer).say(ask, chat.prompt(ask), tokens, [-1.0] * len(tokens), False)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("answer", [None, Boxed()])
def test_a_thought_is_known_by_the_template_and_is_no_part_of_what_is_said(shape, answer):
    template, closed, begun = SHAPES[shape]
    chat = made(template)
    reply = said(chat, closed.format("7 * 6 is \\boxed{41}, no, 42."), answer)
    assert reply.text == ("42" if answer else "It is \\boxed{42}.")
    assert reply.thought.startswith("7 * 6 is \\boxed{41}, no, 42.") and not reply.malformed
    assert "41" in chat.decode(reply.tokens)  # the record and the loss keep it
    assert said(chat, closed.format(""), answer).text == reply.text
    unclosed = said(chat, begun.format("7 * 6 is \\boxed{42}"), answer)
    assert (unclosed.text, unclosed.malformed) == ("", True)


def test_what_is_thought_in_channels_ends_no_reply_and_later_prompts_go_on_after_it():
    chat = made(CHANNELS)
    assert chat.tokenizer.decode([chat.end]) == "<|return|>"
    reply = said(chat, f"{ANALYSIS}hard<|end|>{FINAL}42")
    later = (Message("game", "6 * 7?"), Message("solver", "42"), Message("game", "Sure?"))
    prompt = chat.tokenizer.decode(chat.prompt(Ask(SEAT, later, past=(Turn(ASKED, reply),))))
    end = "<|start|>user<|message|>Sure?<|end|><|start|>assistant"
    assert prompt.endswith(f"<|start|>assistant{ANALYSIS}hard<|end|>{FINAL}42<|return|>{end}")
    chat = made(CHANNELS, keeps_thoughts=False)
    prompt = chat.tokenizer.decode(chat.prompt(Ask(SEAT, later, past=(Turn(ASKED, reply),))))
    assert prompt.endswith(f"<|end|>{FINAL}42<|end|>{end}")


def test_a_written_reply_is_learned_in_the_marks_of_the_model():
    def learned(template, text):
        chat = made(template)
        return chat.tokenizer.decode(chat.reply_tokens(text, written=True)[:-1])

    assert learned(CHANNELS, "42") == "<|channel|>final<|message|>42"
    assert learned(CHANNELS, "<think>hm</think>42") == f"{ANALYSIS}hm<|end|>{FINAL}42"
    assert learned(MAGISTRAL, "<think>hm</think>42") == "[THINK]hm[/THINK]42"
    assert learned(COMMAND, "42") == "<|START_RESPONSE|>42"
    assert made(R1).reply_tokens("42") == made(HEAD).reply_tokens("42")  # as sampled: the thought goes on
    assert learned(R1, "hm</think>42") == "hm</think>42"
    assert learned(R1, "<think>\nhm\n</think>\n\n42") == "hm\n</think>\n\n42"  # the prompt has the opening and its line
    assert learned(R1, "<think>hm</think>42") == "hm</think>42"
    assert learned(R1, "42") == "\n</think>\n\n42"  # after the prompt, what Qwen 3 writes where nothing is thought
    assert learned(R1, "It is <think>hm</think>42") == "\n</think>\n\nIt is <think>hm</think>42"
    assert made(CHANNELS).decode(made(CHANNELS).reply_tokens("say <|im_end|>")) == (
        "<|channel|>final<|message|>say < |im_end|>"  # any other special token is broken up still
    )


def test_what_is_written_after_a_prompt_that_opens_a_thought_is_said_and_not_thought():
    voice = Voice("learner", 0, made(R1))
    plain, listed = voice.recite(ASKED, "42", False), voice.recite(replace(ASKED, choices=("42", "43")), "42", True)
    assert [(each.text, each.thought) for each in (plain, listed)] == [("42", "")] * 2
    assert plain.tokens.tolist() == listed.tokens.tolist()
    whole = voice.recite(ASKED, "<think>\nhm\n</think>\n\n42", False)
    assert (whole.text, whole.thought) == ("42", "hm")


@pytest.mark.parametrize(
    ("words", "text", "thought", "answer"),
    [
        ("<reasoning>...</reasoning>", "<reasoning>hm</reasoning>42", "hm", "42"),
        ("<reasoning>...</reasoning>", "<reasoning>hm", "<reasoning>hm", None),
        ("<thinking>...</thinking>", "<thinking></thinking>\n42", "", "42"),
        ("[T]...[/T]", "[T]a[/T]x[T]b[/T]y", "a\nb", "xy"),
        ("none", "<think>hm</think>42", "", "<think>hm</think>42"),
        # an endpoint that leaves special tokens out
        ("<|channel|>analysis<|message|>...<|end|>", "analysisWe multiply.assistantfinal42", "We multiply.", "42"),
        ("<|channel|>analysis<|message|>...<|end|>", "analysisWe multiply.", "analysisWe multiply.", None),
        ("<|channel|>analysis<|message|>...<|end|>", "<|channel|>final <|constrain|>json<|message|>42", "", "42"),
    ],
)
def test_marks_that_the_user_names(words, text, thought, answer):
    assert parted(text, marks=marks_named(words)) == (thought, answer)


@pytest.mark.parametrize("words", ["think", "...", "<a>...", "|...|"])
def test_marks_that_cannot_be_read_are_refused(words):
    with pytest.raises(RedQueenError, match=r"is written OPEN\.\.\.CLOSE, as in '<reasoning>"):
        marks_named(words)


def test_a_template_names_its_marks_and_a_plain_one_those_of_think():
    assert marks_in("") == marks_in(HEAD) == marks_in("{{ '<|user|>' }}<|end|>") == THINK
    assert marks_in(CHANNELS) == HARMONY
    assert all(marks_in(f"{marks.open} {marks.lead}").open == marks.open for marks in MARKS)


def test_a_thought_that_the_prompt_of_an_endpoint_opened_is_recognised_by_its_end():
    assert opened_before("hm</think>42") and not opened_before("<think>hm</think>42") and not opened_before("42")


def test_texts_in_other_marks_stay_as_they_are():
    text = f"{ANALYSIS}hm<|end|>{FINAL}42"
    assert in_marks(text, HARMONY) == text
    assert in_marks("<think>never closed", HARMONY) == "<think>never closed"
    assert in_marks("<think>hm</think>42", THINK) == "<think>hm</think>42"
