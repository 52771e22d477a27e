"""Ten replies as a reader sees them: what was asked and said, which answer was found in it, what was expected, and the
verdict. Shown before the first step, so that an answer format that nobody reads does not cost a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from redqueen.credit.outcomes import cut_off
from redqueen.play.groups import episodes_of
from redqueen.protocols import Questions, ReadsAnswers, has
from redqueen.questions.asking import said
from redqueen.types import Group

SHOWN = 10
LONGEST = 160  # characters of a text that is shown
_MANY = 0.25  # share of replies, from which something is said about them
_VERDICTS = {True: "right", False: "wrong", None: "unknown"}


@dataclass(frozen=True)
class Answered:
    """A reply to a question. `extracted` is "" where no answer was found, `expected` where none is known."""

    question: str
    reply: str
    extracted: str
    expected: str
    verdict: bool | None
    cut_off: bool = False
    tests: int = 0  # that a reply is to pass, in place of an answer


def answered_questions(questions: Questions, groups: Sequence[Group]) -> list[Answered]:
    """The attempts of graded groups."""
    episodes = episodes_of(groups)
    tasks, replies = [episode.task for episode in episodes], said(episodes)
    found = questions.extracted(tasks, replies) if has(questions, ReadsAnswers) else replies
    return [
        Answered(
            task.prompt,
            " ".join((reply.thought, reply.text)).strip(),
            extracted,
            task.answer,
            episode.outcome.facts["right"],
            cut_off(episode),
            len(task.facts.get("tests", ())),
        )
        for task, extracted, episode in zip(tasks, found, episodes, strict=True)
        for reply in [episode.turns[-1].reply]
    ]


def expected_in_words(answer: str, tests: int, known: bool = False) -> str:
    """What is expected of a reply: an answer in quotes, or the number of tests; where neither is there, nothing if a
    verdict is `known` all the same."""
    if tests:
        return "1 test" if tests == 1 else f"{tests} tests"
    return f'"{_short(answer)}"' if answer else "none" if known else "unknown"


def as_text(found: Sequence[Answered]) -> str:
    """Ten of the replies, to as many different questions as there are, and a line on all of them."""
    attempts: dict[str, list[Answered]] = {}
    for each in found:
        attempts.setdefault(each.question, []).append(each)
    rounds = [[each for each in one if each] for one in zip_longest(*attempts.values())]
    step = max(1, len(attempts) // SHOWN)
    shown = [*rounds[0][::step], *chain.from_iterable(rounds[1:])][:SHOWN] if rounds else []
    return "\n".join([*map(_shown, shown), _summary(found)])


def _shown(each: Answered) -> str:
    ended = " (cut off)" if each.cut_off else ""
    wanted = expected_in_words(each.expected, each.tests, each.verdict is not None)
    return "\n".join(
        [
            f"asked     {_short(each.question, end=True)}",
            f"replied   {_short(each.reply) or '(nothing)'}{ended}",
            f"          answer {_quoted(each.extracted)}, expected {wanted}: {_VERDICTS[each.verdict]}",
        ]
    )


def _short(text: str, end: bool = False) -> str:
    """The text in one line; of a long one its beginning and end, or its end alone."""
    line = " ".join(text.split())
    if len(line) <= LONGEST:
        return line
    return f"... {line[-LONGEST:]}" if end else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"


def _quoted(text: str) -> str:
    return f'"{_short(text)}"' if text else "none"


def _summary(found: Sequence[Answered]) -> str:
    """How many of all replies are right, unreadable, cut off and unknown, and what would help."""
    count = len(found)
    right = sum(each.verdict is True for each in found)
    unread = sum(not each.extracted for each in found)
    cut = sum(each.cut_off for each in found)
    unknown = sum(each.verdict is None for each in found)
    parts = [f"of {count} replies {right} are right" if unknown < count else f"{count} replies"]
    parts += [f"{unread} without a readable answer"] if unread else []
    parts += [f"{cut} cut off"] if cut else []
    parts += [f"{unknown} without a verdict"] if unknown else []
    return ", ".join(parts) + _advice(count, right, unread, cut, unknown)


def _advice(count: int, right: int, unread: int, cut: int, unknown: int) -> str:
    if cut > _MANY * count:
        return ": allow longer replies, --max-completion-length"
    if unread > _MANY * count:
        return ": ask for a form that is read, such as --answer boxed, or say how to read them, --compare"
    if unknown == count:
        return ": without answers learn from majorities (grpo --answers majority) or a judge (--answers judge:WHO)"
    if right == 0:
        return ": nothing to learn from until some are right; compare answer and expected above"
    if right == count:
        return ": nothing to learn that is not known already; take harder questions"
    return ""
