from random import Random

import pytest

from experiments.search_self_play import AgainstRivals, Ungated
from redqueen.games.tools import ToolReply
from redqueen.measures.proposals import Proposals
from redqueen.play.groups import attempts, authors, grouped, with_facts
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, Scripted
from redqueen.questions.asking import SOLVE, read, tasks_among
from redqueen.questions.small.knowledge import Knowledge, asked
from redqueen.recipes.proposers.search_self_play.steps import Grounds, Pool
from redqueen.types import Match, RedQueenError, Refusal, Task

WORLD = Knowledge()
WORDS = {
    tuple(document.text.split()[index].rstrip(".") for index in (1, 3, 5)) for document in WORLD.documents.documents
}


def fact(relation):
    """(subject, object) of a fact of this relation."""
    return next((subject, thing) for kind, subject, thing in sorted(WORDS) if kind == relation)


def proposals(*scripts):
    """Each an answer and what a proposer says one after the other."""
    game = ToolReply("proposer", (WORLD.search,))
    matches = []
    for answer, *texts in scripts:
        invitation = WORLD.invite("question", (), WORLD.wanted.index(answer))
        matches.append(Match(game, invitation, {"proposer": Scripted(tuple(texts))}))
    return grouped(play(matches, Random(0)), 1)


def checked(grounds, made):
    return grounds.checked(read(WORLD, made), made, Random(0))


SUBJECT, RANK = fact("rank")
OTHER = next(subject for kind, subject, thing in sorted(WORDS) if kind == "rank" and thing != RANK)
SEARCH = f"<search> rank of {SUBJECT}</search>"
GOOD = (RANK, SEARCH, f"<question>What is the rank of {SUBJECT}?</question>")
WRONG = (RANK, SEARCH, f"<question>What is the rank of {OTHER}?</question>")  # somebody else's rank
UNREAD = (RANK, f"<question>What is the rank of {SUBJECT}?</question>")  # nothing was looked up


def test_a_question_that_its_evidence_answers_passes_and_all_others_are_refused():
    found = checked(Grounds(WORLD), proposals(GOOD, WRONG, UNREAD, (RANK, "What?")))
    assert (found[0].prompt, found[0].answer) == (f"What is the rank of {SUBJECT}?", RANK)
    assert found[1:] == [Refusal("not_answered"), Refusal("too_few_queries"), Refusal("no_question")]


def test_planted_wrong_questions_are_refused():
    """Of every kind of fault: wrong somebody, wrong relation, more hops than were looked up, several questions."""
    planted = [WRONG] * 5
    planted += [(RANK, SEARCH, f"<question>What is the colour of {SUBJECT}?</question>")] * 5
    planted += [(RANK, SEARCH, f"<question>What is the rank of the opponent of {SUBJECT}?</question>")] * 5
    planted += [(RANK, SEARCH, GOOD[2] + GOOD[2])] * 5
    planted += [(RANK, SEARCH, f"<question>What is the rank of {SUBJECT} if it is {RANK}?</question>")] * 5
    assert all(isinstance(each, Refusal) for each in checked(Grounds(WORLD), proposals(*planted)))


def test_without_the_gate_the_rules_alone_decide():
    found = checked(Ungated(WORLD), proposals(GOOD, WRONG, UNREAD))
    assert [isinstance(each, Task) for each in found] == [True, True, False]


def test_rivals_of_the_evidence_show_that_a_question_has_several_answers():
    """Somebody's two seconds have different ranks; the proposer found one of them."""
    seconds = [subject for kind, subject, _ in WORDS if kind == "second"]
    ranks = {subject: thing for kind, subject, thing in WORDS if kind == "rank"}
    twofold = sorted(person for person in set(seconds) if seconds.count(person) == 2)
    ways = [(p, s) for p in twofold for kind, subject, s in sorted(WORDS) if (kind, subject) == ("second", p)]
    ambiguous = [
        (ranks[s], f"<search> {p} second {s}</search><search> rank {s}</search>", asked(["rank", "second"], p))
        for p, s in ways
        if s in ranks and not WORLD.true_answer(Task("", "question", asked(["rank", "second"], p), ranks[s]))
    ]
    plain = [(RANK, SEARCH, f"What is the rank of {SUBJECT}?")]
    made = proposals(*((a, s, f"<question>{q}</question>") for a, s, q in ambiguous + plain))
    noise, rivals = checked(Grounds(WORLD, noise=0), made), checked(AgainstRivals(WORLD, noise=0), made)
    assert sum(isinstance(each, Task) for each in noise) == 1 + 2  # the evidence of most shows both
    assert [isinstance(each, Task) for each in rivals] == [False] * len(ambiguous) + [True]
    assert rivals.count(Refusal("several_answers")) == 2


def test_a_reader_that_is_a_player_decides():
    yes, no, silent = Constant(RANK), Constant("something"), Constant("")
    assert isinstance(checked(Grounds(WORLD, yes), proposals(GOOD))[0], Task)
    assert checked(Grounds(WORLD, no), proposals(GOOD)) == [Refusal("answered_otherwise")]
    assert checked(Grounds(WORLD, silent), proposals(GOOD)) == [Refusal("not_answered")]


def test_a_reader_sees_the_evidence_amid_that_of_others_and_not_the_answer():
    seen = []

    class Reader:
        name = "reader"

        def reply(self, asks):
            seen.extend(ask.messages[0].text for ask in asks)
            return Constant(RANK).reply(asks)

    other = next((subject, thing) for kind, subject, thing in sorted(WORDS) if kind == "colour")
    elsewhere = (RANK, f"<search> colour of {other[0]}</search>", "What?")
    checked(Grounds(WORLD, Reader(), noise=4), proposals(GOOD, elsewhere))
    (shown,) = seen
    lines = shown.split("\n")
    assert f"The rank of {SUBJECT} is {RANK}." in lines
    assert f"The colour of {other[0]} is {other[1]}." in lines
    assert lines[-1] == f"What is the rank of {SUBJECT}?"
    assert len(lines) <= 1 + 2 + 4


def test_a_reader_that_breaks_lets_nothing_pass():
    class Broken:
        name = "broken"

        def reply(self, asks):
            raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        checked(Grounds(WORLD, Broken()), proposals(GOOD))


def test_an_audit_counts_hops_and_wrong_questions():
    grounds = Grounds(WORLD)
    made = proposals(GOOD, WRONG)
    audit = grounds.audited(made, read(WORLD, made), checked(grounds, made))
    assert audit == {"accepted": 0.5, "accepted/right": 1.0, "accepted/hops": 1.0, "asked/wrong": 0.5}
    assert grounds.audited([], [], []) == {}


def test_what_passes_and_is_wrong_shows_in_the_health_of_the_proposer():
    made = proposals(GOOD, WRONG, (RANK, "What?"))
    passed = checked(Ungated(WORLD), made)
    tries = attempts(SOLVE, tasks_among(passed), Constant("x"), 2, Random(0), authors(made, passed))
    tries = with_facts(tries, [{"right": right} for right in (True, False, False, False)])
    figures = Proposals(WORLD, WORLD.true_answer).check(passed, tries)
    assert figures["proposals/label_accuracy"] == 0.5
    assert figures["proposals/solve_rate"] == 0.25
    assert figures["proposals/valid_share"] == pytest.approx(2 / 3)


def test_a_corpus_of_one_s_own_needs_a_reader(tmp_path):
    (tmp_path / "docs").write_text('{"id": "1", "text": "a"}')
    (tmp_path / "answers").write_text("a")
    with pytest.raises(RedQueenError, match="--reader"):
        Grounds(Knowledge(corpus=str(tmp_path / "docs"), answers=str(tmp_path / "answers")))


def test_a_corpus_of_one_s_own_is_asked_by_the_rules_of_the_paper(tmp_path):
    (tmp_path / "docs").write_text('{"id": "1", "text": "a"}')
    (tmp_path / "answers").write_text("a")
    own = Knowledge(corpus=str(tmp_path / "docs"), answers=str(tmp_path / "answers"))
    assert (own.rules.words, own.rules.queries) == (10, 2)
    assert (WORLD.rules.words, WORLD.rules.queries) == (6, 1)
    short = "<question>Which rank has the opponent of b2?</question>"
    assert [str(each) for each in WORLD.rules.faults(short, "m3", ["b2"], ["x"])] == []
    assert [str(each) for each in own.rules.faults(short, "m3", ["b2"], ["x"])] == ["too_few_words", "too_few_queries"]


def test_one_question_with_two_answers_is_two_tasks_in_the_pool_and_in_its_group():
    world = Knowledge()
    question = "<question>What is the rank of the opponent of b2?</question>"
    invitations = [Task("one", answer="m3"), Task("two", answer="m4"), Task("three", answer="m3")]
    one, other, again = world.read(invitations, [question] * 3)
    assert one.prompt == other.prompt and one.id == again.id != other.id
    pool = Pool(steps=99)
    pool.add([one, other, again], "proposer", step=0)
    assert {task.answer for task in pool.draw(40, Random(0))} == {"m3", "m4"}
    assert len(pool) == 2
    assert [world.right([task], ["m4"]) for task in (one, other)] == [[False], [True]]
