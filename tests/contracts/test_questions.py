"""Every shipped question set keeps the contract, and whatever breaks it is told in one line."""

from dataclasses import dataclass, field
from random import Random

import pytest

from redqueen.checks.sandbox import jail
from redqueen.contracts.questions import check_questions
from redqueen.protocols import Demonstrator, Proposable, has
from redqueen.questions.catalogue import QUESTIONS, find_questions, having, shipped_with
from redqueen.questions.small.sums import Sums
from redqueen.types import RedQueenError, Refusal, Task

NONSENSE = ("", "   ", "I would rather not.", "\x00\ud7ff", "1" * 3000, "<question></question>", "((((")
NOBODY_PROPOSES = ("matchups", "known", "chain", "done", "cued", "roled", "paired", "rhymes", "translation", "worked")
WITHOUT_DEMONSTRATIONS = ("matchups", "known")
SHOWING_REPLIES_ALONE = ("instructions", "preferences")
WITH_AN_EXTRA = ("reasoning_gym",)  # which is the name of its library too
# an answer is right there only with the way to it, which a task's own answer leaves out
ANSWERS = {"variants": lambda task: f"on 0+{task.answer}={task.answer}"}
PROPOSERS = {"red_team": "attacker", "step_traces": "generator", "growing": "rewriter"}
NAMES = [name for name in QUESTIONS if name != "dataset"]  # which needs a file


@pytest.fixture(scope="module", params=NAMES)
def questions(request):
    return found(request.param)


def found(name):
    if name in WITH_AN_EXTRA:
        pytest.importorskip(name)
    if name == "programs" and jail.why_not():
        pytest.skip(jail.why_not())
    return find_questions(name)


@pytest.mark.slow
def test_it_keeps_the_contract(questions):
    name = questions.name
    answers = {"answer": ANSWERS[name]} if name in ANSWERS else {}
    said = check_questions(questions, proposer=PROPOSERS.get(name, "proposer"), **answers)
    assert said.startswith(f"{name} keeps the contract of question sets: ")
    assert said.endswith("nobody proposes tasks to it") == (name in NOBODY_PROPOSES)
    assert ("no proposal tried" in said) == (name in SHOWING_REPLIES_ALONE)


def test_nonsense_is_refused_for_a_reason(questions):
    for kind in questions.kinds if has(questions, Proposable) else ():
        for each in questions.read([questions.invite(kind, questions.seeds()[:1], 0)] * len(NONSENSE), NONSENSE):
            assert isinstance(each, Refusal) and each.reason


def test_its_demonstrations_are_many_of_each_role_and_of_the_chance_given(questions):
    if questions.name in WITHOUT_DEMONSTRATIONS:
        with pytest.raises(RedQueenError, match="no demonstrations"):
            having(questions, Demonstrator)
        return
    shown = having(questions, Demonstrator).demonstrations(60, Random(3))
    assert len(shown) == 60
    assert shown == having(questions, Demonstrator).demonstrations(60, Random(3))
    assert len({one.role for one in shown}) >= (
        1 if questions.name in (*NOBODY_PROPOSES, *SHOWING_REPLIES_ALONE) else 2
    )
    assert all(one.task.prompt and one.text for one in shown)


@pytest.mark.parametrize("name", NAMES)
def test_what_the_classes_tell_of_proposing_is_so(name):
    assert (name in shipped_with(Proposable)) == (name not in NOBODY_PROPOSES)
    if name in NOBODY_PROPOSES:
        with pytest.raises(RedQueenError, match=r"is not a question set to which tasks may be proposed \(Proposable\)"):
            having(found(name), Proposable)
    else:
        assert having(found(name), Proposable).kinds


def test_what_is_taught_to_a_set_without_proposals_has_none_either():
    assert not has(find_questions("verified:chain"), Proposable)
    assert has(find_questions("verified:sums"), Proposable)


def test_a_question_set_that_is_not_there_gets_one_clear_line():
    with pytest.raises(RedQueenError, match="there is no question set 'summs'; did you mean sums"):
        find_questions("summs")
    with pytest.raises(RedQueenError, match="has no parameter 'digit'"):
        find_questions("sums:digit=3")
    with pytest.raises(RedQueenError, match="is not a question set: KuhnPoker has no levels and no problems"):
        find_questions("redqueen.games.kuhn_poker:KuhnPoker")


# --- sets that break the contract -------------------------------------------------------------


@dataclass(frozen=True)
class Doubles:
    """What is twice a number? Each argument breaks one thing."""

    broken: str = ""
    name: str = field(default="doubles", init=False)

    @property
    def levels(self):
        return ("small", "small") if self.broken == "levels" else ("small", "large")

    def problems(self, level, count, rng):
        if self.broken == "raises":
            raise KeyError(level)
        most = 20 if level == "small" else 2000
        chance = Random() if self.broken == "chance" else rng
        numbers = [chance.randrange(most) for _ in range(count - (self.broken == "count"))]
        return [self.task(number) for number in numbers]

    def task(self, number):
        name = "one" if self.broken == "ids" else f"double {number}"
        answer = "" if self.broken == "unknown" else str(2 * number)
        shown = answer if self.broken == "leak" else str(number)
        return Task(name, "double", f"What is twice {shown}?", answer)

    def right(self, tasks, answers):
        if self.broken == "unknown":
            return [None for _ in tasks]
        found = [task.answer == answer.strip() for task, answer in zip(tasks, answers, strict=True)]
        if self.broken == "wrong":
            return [not each for each in found]
        if self.broken == "anything":
            return [True for _ in found]
        if self.broken == "numbers":
            return [float(each) for each in found]
        return found[1:] if self.broken == "one short" else found


@dataclass(frozen=True)
class Asked:
    """Doubles to which tasks may be proposed."""

    broken: str = ""
    name: str = field(default="asked", init=False)
    kinds: tuple = field(default=("double",), init=False)
    levels: tuple = field(default=("small",), init=False)

    def problems(self, level, count, rng):
        return Doubles().problems(level, count, rng)

    def right(self, tasks, answers):
        return Doubles().right(tasks, answers)

    def seeds(self):
        return [] if self.broken == "seeds" else [Doubles().task(1)]

    def sources(self, kind):
        return ("triple",) if self.broken == "sources" else ("double",)

    def invite(self, kind, references, number):
        return Task("same" if self.broken == "invitations" else f"invitation {number}", kind, "Write a number.")

    def read(self, invitations, replies):
        if self.broken == "half a list":
            return []
        return [self.read_one(reply.strip()) for reply in replies]

    def read_one(self, text):
        if self.broken == "raises":
            return Doubles().task(int(text))
        if self.broken == "takes all":
            return Task(f"asked {text}", "double", f"What is twice {text}?", text)
        if text.isdecimal() and len(text) < 5:
            return Doubles().task(int(text))
        return Refusal("" if self.broken == "no reason" else "malformed")


@dataclass(frozen=True)
class Half:
    """A set that is asked for tasks and cannot read them."""

    name: str = field(default="half", init=False)
    levels: tuple = field(default=("small",), init=False)

    def problems(self, level, count, rng):
        return Doubles().problems(level, count, rng)

    def right(self, tasks, answers):
        return Doubles().right(tasks, answers)

    def seeds(self):
        return [Doubles().task(1)]

    def invite(self, kind, references, number):
        return Task(f"invitation {number}", kind, "Write a number.")


def test_sets_that_keep_it_are_told_so_in_one_line():
    assert check_questions(Doubles(), hidden=True) == (
        "doubles keeps the contract of question sets: 2 levels; nobody proposes tasks to it"
    )
    assert check_questions(Doubles("unknown")).startswith("doubles keeps the contract")
    assert check_questions(Asked()).endswith("1 level, 1 kind, no proposal tried, as no demonstration shows one")
    assert check_questions(Sums()).endswith("20 proposals tried")


@pytest.mark.parametrize(
    ("questions", "says"),
    [
        (object(), "object is no question set: it has no name and no levels and no problems and no right"),
        (Doubles("levels"), "levels of doubles must differ"),
        (Doubles("raises"), "problems() of doubles raises KeyError ('small')"),
        (Doubles("chance"), "other problems of the level 'small' for the same rng: take all chance from it"),
        (Doubles("count"), "gives 11 problems of the level 'small' where 12 are asked for"),
        (Doubles("ids"), "gives two different tasks the id 'one': an id names one task"),
        (Doubles("leak"), "holds the answer"),
        (Doubles("wrong"), "wrong, which is the answer of its own task"),
        (Doubles("anything"), "calls '' right"),
        (Doubles("numbers"), "is True, False or None (unknown), not 1.0"),
        (Doubles("one short"), "right() gives one on each"),
        (Half(), "half has seeds and invite but no kinds and no sources and no read: have all of them"),
        (Asked("seeds"), "asked has no seed of the kind 'double'"),
        (Asked("sources"), "must be among its kinds, unlike ('triple',)"),
        (Asked("invitations"), "gives two invitations the id 'same': make their number part of it"),
        (Asked("half a list"), "read() gives a Task or Refusal for each"),
        (Asked("raises"), "read() of asked raises ValueError"),
        (Asked("takes all"), "makes a task of an empty reply"),
        (Asked("no reason"), "a refusal of asked has no reason"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_breaks_it_is_said_in_one_line(questions, says):
    with pytest.raises(AssertionError) as raised:
        check_questions(questions, hidden=True)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_half_a_protocol_is_refused_where_it_is_asked_for_too():
    with pytest.raises(
        RedQueenError, match=r"half is not .*: it has no kinds and no sources and no read; shipped sets"
    ):
        having(Half(), Proposable)
