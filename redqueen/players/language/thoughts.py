"""How models mark what they think: the marks in use, found in a chat template or named by the user.

`<think>` (DeepSeek, Qwen, GLM, Kimi, MiniMax, Nemotron), with a `<response>` after it (Granite 3.3), `[THINK]`
(Magistral), channels (gpt-oss, Gemma 4, Muse Glimmer), `<|START_THINKING|>` (Command), `<seed:think>` (Seed-OSS),
sentences (Granite 3.2, Apriel), and `<thinking>`, `<reasoning>`, `<thought>` where a template names them.
"""

from __future__ import annotations

from redqueen.texts import THINK, Marks, opened_before, parted
from redqueen.types import RedQueenError

NO_THOUGHTS = Marks("", "")
HARMONY = Marks(
    "<|channel|>analysis<|message|>",
    "<|end|>",
    lead="<|start|>assistant<|channel|>final<|message|>",
    # an endpoint that leaves out special tokens leaves "analysis...assistantfinal..."
    begins=r"<\|channel\|>(?:analysis|commentary)[^<]*<\|message\|>|\Aanalysis(?=\S)",
    ends=r"<\|end\|>|<\|call\|>|(?=<\|start\|>assistant<\|channel\|>final)|assistantfinal",
    around=r"<\|start\|>assistant|<\|channel\|>final[^<]*(?:<\|constrain\|>\w*)?<\|message\|>|<\|return\|>|<\|end\|>",
)
MUSE = Marks(
    " to=self<|message|>",
    "<|eom|>",
    lead="<|start|>assistant to=user<|message|>",
    begins=r"(?:<\|start\|>assistant)? ?to=self<\|message\|>",
    around=r"(?:<\|start\|>assistant)? ?to=user<\|message\|>",
)
GEMMA = Marks("<|channel>thought\n", "<channel|>", begins=r"<\|channel>(?:thought)?\n?")
COMMAND = Marks(
    "<|START_THINKING|>",
    "<|END_THINKING|>",
    lead="<|START_RESPONSE|>",
    around=r"<\|(?:START|END)_(?:RESPONSE|TEXT)\|>",
)
GRANITE = Marks("<think>", "</think>", lead="<response>", around="</?response>")
GRANITE_SENTENCES = Marks("Here is my thought process:", "Here is my response:")
APRIEL = Marks(
    "Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]", around=r"\[(?:BEGIN|END) FINAL RESPONSE\](?:<\|end\|>)?"
)
MARKS = (
    HARMONY,
    MUSE,
    GEMMA,
    COMMAND,
    APRIEL,
    GRANITE,
    GRANITE_SENTENCES,
    Marks("<seed:think>", "</seed:think>"),
    Marks("[THINK]", "[/THINK]"),
    THINK,
    Marks("<thinking>", "</thinking>"),
    Marks("<reasoning>", "</reasoning>"),
    Marks("<thought>", "</thought>"),
)


def marks_in(template: str) -> Marks:
    """The marks of thoughts that a chat template names; those of `<think>` where it names none."""
    named = (marks for marks in MARKS if marks.beginning.search(template) or (marks.lead and marks.lead in template))
    return next(named, THINK)


def marks_named(words: str) -> Marks:
    """The marks in words: `OPEN...CLOSE`, or `none` where nothing is a thought. Raises RedQueenError for others."""
    if words == "none":
        return NO_THOUGHTS
    begins, dots, ends = words.replace("\\n", "\n").partition("...")
    if not dots or not begins.strip() or not ends.strip() or begins.strip() == ends.strip():
        raise RedQueenError(
            f"what marks a thought is written OPEN...CLOSE, as in '<reasoning>...</reasoning>', or none: not {words!r}"
        )
    alike = (marks for marks in MARKS if (marks.open.strip(), marks.close.strip()) == (begins.strip(), ends.strip()))
    return next(alike, Marks(begins.strip(), ends.strip()))


def in_marks(text: str, marks: Marks, lead: str = "") -> str:
    """A text whose thoughts stand in `<think>`, as a model with these marks writes it, with `lead` before what it says
    where it does not think. A text with the marks in it stays as it is."""
    if marks in (THINK, NO_THOUGHTS) or marks.beginning.search(text) or marks.unframed(text) != text:
        return text
    thought, said = parted(text)
    if said is None:
        return text
    return f"{marks.open}{thought}{marks.close}{marks.lead}{said}" if thought else lead + said


def in_opened(text: str, marks: Marks, on_new_line: bool) -> str:
    """A text in these marks as it goes on after a prompt that has opened a thought: without the opening of its own, or,
    where it does not think, after an empty thought as Qwen 3's template writes it. `on_new_line` is whether the prompt
    ends with the end of a line."""
    if begun := marks.beginning.match(text.lstrip()):
        rest = text.lstrip()[begun.end() :]
        return rest.removeprefix("\n") if on_new_line else rest
    return text if opened_before(text, marks) else f"\n{marks.close}\n\n{text}"
