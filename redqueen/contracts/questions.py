"""What every question set must satisfy. `check_questions(MyQuestions())` returns one line that says all is well, or
raises an AssertionError with one line that says what is wrong and what would be right.

    shape        a name, levels and kinds that differ, and all of `Proposable` or nothing of it
    problems     as many as are asked for, the same for the same chance; one id never names two different tasks
    right        one verdict for each answer, in any company; a task's own answer is right or unknown, and what nobody
                 would call an answer is not right
    proposals    seeds of each kind; invitations that show something, each with an id of its own; a Task or a Refusal
                 for whatever was written, however strange; a task that was read has a right answer, or an unknown one
    walls        with `hidden`, no prompt holds its answer

Proposals are tried with the demonstrations of the set's proposers, where it has any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import TypeVar

from redqueen.checks.leaks import leaks
from redqueen.protocols import Demonstrator, Proposable, Questions, has, lacking, members
from redqueen.types import Refusal, Task

COUNT = 12  # problems of each level
SHOWN = 60  # demonstrations
MOST_LEVELS = 20  # looked at
RUBBISH = ("", "   ", "????", "I would rather not.", "\x00\ud7ff", "<question></question>", "((((", "1" * 10_000)
T = TypeVar("T")
Answer = Callable[[Task], str]  # a right reply to a task


def own_answer(task: Task) -> str:
    return task.answer


def check_questions(
    questions: Questions, answer: Answer = own_answer, hidden: bool = False, proposer: str = "proposer"
) -> str:
    """One line that says all is well. `answer` gives a right reply to a task, where `Task.answer` alone is none;
    `hidden` says that a prompt should not hold its answer; `proposer` is the role whose demonstrations are proposals.
    Raises AssertionError at the first fault."""
    check_shape(questions)
    check_problems(questions, hidden)
    check_right(questions, answer)
    levels = _counted(len(questions.levels), "level")
    if not has(questions, Proposable):
        return f"{questions.name} keeps the contract of question sets: {levels}; nobody proposes tasks to it"
    check_kinds(questions, answer)
    check_invitations(questions)
    check_reading(questions)
    tried = check_proposals(questions, answer, hidden, proposer)
    kinds = _counted(len(questions.kinds), "kind")
    proposals = f"{_counted(tried, 'proposal')} tried" if tried else "no proposal tried, as no demonstration shows one"
    return f"{questions.name} keeps the contract of question sets: {levels}, {kinds}, {proposals}"


def check_shape(questions: Questions) -> None:
    """All of `Questions`, all or nothing of what `Proposable` adds, a name, and levels that differ."""
    missing = lacking(questions, Questions)
    assert not missing, f"{type(questions).__name__} is no question set: it has no {' and no '.join(missing)}"
    assert isinstance(questions.name, str), f"the name of a question set is a string, not {questions.name!r}"
    assert questions.name, "a question set has a name"
    _check_names(questions, "levels", questions.levels)
    added = [name for name in members(Proposable) if name not in members(Questions)]
    missing = [name for name in lacking(questions, Proposable) if name in added]
    offered = [name for name in added if name not in missing]
    assert not offered or not missing, (
        f"{questions.name} has {' and '.join(offered)} but no {' and no '.join(missing)}: have all of them, so that "
        "tasks can be proposed to it, or none"
    )


def _check_names(questions: Questions, what: str, names: Sequence[str]) -> None:
    assert isinstance(names, tuple), f"{what} of {questions.name} must be a tuple, not {type(names).__name__}"
    assert names, f"{questions.name} has no {what}: name one at least"
    assert all(isinstance(name, str) and name for name in names), (
        f"{what} of {questions.name} must be strings that are not empty, not {names!r:.80}"
    )
    assert len(set(names)) == len(names), f"{what} of {questions.name} must differ, unlike {names!r:.80}"


def check_problems(questions: Questions, hidden: bool = False) -> None:
    """As many problems of each level as are asked for, the same ones for the same chance, each with something to show;
    one id never names two different tasks."""
    known: dict[str, Task] = {}
    for level in _levels(questions):
        problems = _tried(questions, "problems", level, partial(_problems, questions, level))
        assert len(problems) == COUNT, (
            f"{questions.name} gives {len(problems)} problems of the level {level!r} where {COUNT} are asked for"
        )
        assert problems == _problems(questions, level), (
            f"{questions.name} gives other problems of the level {level!r} for the same rng: take all chance from it"
        )
        _check_tasks(questions, problems, hidden)
        for task in problems:
            other = known.setdefault(task.id, task)
            assert other == task, (
                f"{questions.name} gives two different tasks the id {task.id!r:.60}: an id names one task"
            )


def check_right(questions: Questions, answer: Answer = own_answer) -> None:
    """One verdict for each answer, which is the same in other company; own answers are right or unknown, rubbish is
    never right."""
    assert list(questions.right([], [])) == [], f"{questions.name} has verdicts on no answers: right([], []) is []"
    problems = [task for level in _levels(questions) for task in _problems(questions, level)[:4]]
    _check_own(questions, problems, answer)
    for text in RUBBISH:
        found = _verdicts(questions, problems, [text] * len(problems))
        called = [task for task, each in zip(problems, found, strict=True) if each and text.strip() != task.answer]
        assert not called, f"{questions.name} calls {text!r:.40} right for {called[0].id!r:.60}: it is not an answer"


def _check_own(questions: Questions, tasks: Sequence[Task], answer: Answer) -> None:
    """The answers of these tasks are right or unknown."""
    answers = [answer(task) for task in tasks]
    found = _verdicts(questions, tasks, answers)
    for task, text, each in zip(tasks, answers, found, strict=True):
        assert each is not False, (
            f"{questions.name} calls {text!r:.60} wrong, which is the answer of its own task {task.id!r:.60}: it must "
            "be right (pass `answer` where a reply holds more than Task.answer), or unknown (None)"
        )
    again = _verdicts(questions, tasks[::-1], answers[::-1])
    assert found == again[::-1], f"{questions.name} judges an answer otherwise in other company: go answer by answer"


def _verdicts(questions: Questions, tasks: Sequence[Task], answers: Sequence[str]) -> list[bool | None]:
    found = _tried(questions, "right", answers[0] if answers else "", lambda: list(questions.right(tasks, answers)))
    assert len(found) == len(tasks), (
        f"{questions.name} gave {len(found)} verdicts on {len(tasks)} answers: right() gives one on each"
    )
    strange = [each for each in found if not (each is None or isinstance(each, bool))]
    assert not strange, f"a verdict of {questions.name} is True, False or None (unknown), not {strange[0]!r:.40}"
    return found


def check_kinds(questions: Proposable, answer: Answer = own_answer) -> None:
    """Kinds that differ, a seed of each with a right or unknown answer, and sources among the kinds."""
    _check_names(questions, "kinds", questions.kinds)
    seeds = _tried(questions, "seeds", "", questions.seeds)
    _check_tasks(questions, seeds)
    missing = [kind for kind in questions.kinds if kind not in {task.kind for task in seeds}]
    assert not missing, f"{questions.name} has no seed of the kind {missing[0]!r}: seeds() gives one of each kind"
    assert questions.seeds() == seeds, f"{questions.name} gives other seeds each time: they are always the same"
    _check_own(questions, seeds, answer)
    for kind in questions.kinds:
        sources = questions.sources(kind)
        assert sources, f"{questions.name} shows nothing to a proposer of {kind!r}: sources({kind!r}) names kinds"
        assert set(sources) <= set(questions.kinds), (
            f"sources({kind!r}) of {questions.name} must be among its kinds, unlike {sources!r:.80}"
        )


def check_invitations(questions: Proposable) -> None:
    """Invitations to each kind, with references and without: of that kind, with something to show, and an id by their
    number."""
    for kind in questions.kinds:
        shown = [seed for seed in questions.seeds() if seed.kind in questions.sources(kind)][:1]
        for references in ((), shown):
            first, second = (
                _tried(questions, "invite", kind, partial(questions.invite, kind, references, number))
                for number in (0, 1)
            )
            _check_tasks(questions, [first, second])
            assert first.kind == kind, f"an invitation of {questions.name} to {kind!r} has the kind {first.kind!r}"
            assert first.id != second.id, (
                f"{questions.name} gives two invitations the id {first.id!r:.60}: make their number part of it"
            )
            assert first == questions.invite(kind, references, 0), (
                f"{questions.name} gives another invitation to {kind!r} each time: it depends on its arguments alone"
            )


def check_reading(questions: Proposable) -> None:
    """A Task or a Refusal for each reply, however strange; what is empty is refused."""
    assert questions.read([], []) == [], f"{questions.name} reads tasks from no replies: read([], []) is []"
    for kind in questions.kinds:
        invitation = questions.invite(kind, (), 0)
        for text in RUBBISH:
            (each,) = _read(questions, [invitation], [text])
            assert text.strip() or isinstance(each, Refusal), (
                f"{questions.name} makes a task of an empty reply: read() gives a Refusal with a reason"
            )


def check_proposals(
    questions: Proposable, answer: Answer = own_answer, hidden: bool = False, proposer: str = "proposer"
) -> int:
    """How many proposals were tried: what the set's demonstrations show of proposers. A task that was read has a right
    or unknown answer."""
    shown = questions.demonstrations(SHOWN, Random(0)) if has(questions, Demonstrator) else []
    shown = [one for one in shown if one.role == proposer]
    written = _read(questions, [one.task for one in shown], [one.text for one in shown])
    tasks = [each for each in written if isinstance(each, Task)]
    _check_tasks(questions, tasks, hidden)
    _check_own(questions, tasks, answer)
    return len(shown)


def _read(questions: Proposable, invitations: Sequence[Task], replies: Sequence[str]) -> list[Task | Refusal]:
    found = _tried(questions, "read", replies[0] if replies else "", lambda: questions.read(invitations, replies))
    assert len(found) == len(replies), (
        f"{questions.name} read {len(found)} tasks from {len(replies)} replies: read() gives a Task or Refusal for each"
    )
    for each in found:
        assert isinstance(each, Task | Refusal), f"read() of {questions.name} gives Task or Refusal, not {each!r:.40}"
        if isinstance(each, Refusal):
            assert each.reason, f"a refusal of {questions.name} has no reason: say it in a word or two"
        else:
            assert each.kind in questions.kinds, (
                f"{questions.name} read a task of the kind {each.kind!r}, which is not among its kinds"
            )
    return found


def _check_tasks(questions: Questions, tasks: Sequence[Task], hidden: bool = False) -> None:
    for task in tasks:
        assert isinstance(task, Task), f"{questions.name} must give Task objects, not {task!r:.40}"
        assert task.id, f"{questions.name} gives a task without an id: an id names one task"
        assert task.prompt or task.messages, f"{questions.name} gives the task {task.id!r:.60} without a prompt"
        assert not (hidden and leaks(task.prompt, task.answer)), (
            f"the prompt of {task.id!r:.60} in {questions.name} holds the answer {task.answer!r:.40}"
        )


def _tried(questions: Questions, method: str, given: str, call: Callable[[], T]) -> T:
    """What the call gives. Where it raises, an AssertionError in one line."""
    try:
        return call()
    except Exception as error:
        said = " ".join(str(error).split())
        raise AssertionError(
            f"{method}() of {questions.name} raises {type(error).__name__} ({said:.80}) for {given!r:.40}: it must not"
        ) from error


def _problems(questions: Questions, level: str) -> list[Task]:
    return questions.problems(level, COUNT, Random(level))


def _levels(questions: Questions) -> tuple[str, ...]:
    return questions.levels[:MOST_LEVELS]


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
