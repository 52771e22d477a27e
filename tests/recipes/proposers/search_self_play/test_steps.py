from random import Random

import numpy as np
import pytest

from redqueen.games.tools import ToolReply
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, Scripted
from redqueen.questions.small.knowledge import Knowledge, asked
from redqueen.recipes.proposers.search_self_play.steps import Grounds
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
    return play(matches, Random(0))


SUBJECT, RANK = fact("rank")
OTHER = next(subject for kind, subject, thing in sorted(WORDS) if kind == "rank" and thing != RANK)
SEARCH = f"<search> rank of {SUBJECT}</search>"
GOOD = (RANK, SEARCH, f"<question>What is the rank of {SUBJECT}?</question>")
WRONG = (RANK, SEARCH, f"<question>What is the rank of {OTHER}?</question>")  # somebody else's rank
UNREAD = (RANK, f"<question>What is the rank of {SUBJECT}?</question>")  # nothing was looked up


def test_a_question_that_its_evidence_answers_passes_and_all_others_are_refused():
    found = Grounds(WORLD).checked(proposals(GOOD, WRONG, UNREAD, (RANK, "What?")), Random(0))
    assert (found[0].prompt, found[0].answer) == (f"What is the rank of {SUBJECT}?", RANK)
    assert found[1:] == [Refusal("not_answered"), Refusal("too_few_queries"), Refusal("no_question")]


def test_planted_wrong_questions_are_refused():
    """Of every kind of fault: wrong somebody, wrong relation, more hops than were looked up, several questions."""
    planted = [WRONG] * 5
    planted += [(RANK, SEARCH, f"<question>What is the colour of {SUBJECT}?</question>")] * 5
    planted += [(RANK, SEARCH, f"<question>What is the rank of the opponent of {SUBJECT}?</question>")] * 5
    planted += [(RANK, SEARCH, GOOD[2] + GOOD[2])] * 5
    planted += [(RANK, SEARCH, f"<question>What is the rank of {SUBJECT} if it is {RANK}?</question>")] * 5
    assert all(isinstance(each, Refusal) for each in Grounds(WORLD).checked(proposals(*planted), Random(0)))


def test_without_the_gate_the_rules_alone_decide():
    found = Grounds(WORLD, gate="none").checked(proposals(GOOD, WRONG, UNREAD), Random(0))
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
        if s in ranks and WORLD.oracle(Task("", "question", asked(["rank", "second"], p), ranks[s])) is False
    ]
    plain = [(RANK, SEARCH, f"What is the rank of {SUBJECT}?")]
    found = {
        gate: Grounds(WORLD, gate=gate, noise=0).checked(
            proposals(*((a, s, f"<question>{q}</question>") for a, s, q in ambiguous + plain)), Random(0)
        )
        for gate in ("noise", "rivals")
    }
    assert sum(isinstance(each, Task) for each in found["noise"]) == 1 + 2  # the evidence of most shows both
    assert [isinstance(each, Task) for each in found["rivals"]] == [False] * len(ambiguous) + [True]
    assert found["rivals"].count(Refusal("several_answers")) == 2


def test_a_reader_that_is_a_player_decides():
    yes, no, silent = Constant(RANK), Constant("something"), Constant("")
    assert isinstance(Grounds(WORLD, yes).checked(proposals(GOOD), Random(0))[0], Task)
    assert Grounds(WORLD, no).checked(proposals(GOOD), Random(0)) == [Refusal("answered_otherwise")]
    assert Grounds(WORLD, silent).checked(proposals(GOOD), Random(0)) == [Refusal("not_answered")]


def test_a_reader_sees_the_evidence_amid_that_of_others_and_not_the_answer():
    seen = []

    class Reader:
        name = "reader"

        def reply(self, asks):
            seen.extend(ask.messages[0].text for ask in asks)
            return Constant(RANK).reply(asks)

    other = next((subject, thing) for kind, subject, thing in sorted(WORDS) if kind == "colour")
    elsewhere = (RANK, f"<search> colour of {other[0]}</search>", "What?")
    Grounds(WORLD, Reader(), noise=4).checked(proposals(GOOD, elsewhere), Random(0))
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
        Grounds(WORLD, Broken()).checked(proposals(GOOD), Random(0))


def test_an_audit_counts_hops_and_wrong_questions():
    grounds = Grounds(WORLD)
    made = proposals(GOOD, WRONG)
    audit = grounds.audited(made, grounds.checked(made, Random(0)))
    assert audit == {"accepted": 0.5, "accepted/right": 1.0, "accepted/hops": 1.0, "asked/wrong": 0.5}
    assert grounds.audited([], []) == {}


def test_what_passes_and_is_wrong_shows_in_the_health_of_the_proposer():
    grounds = Grounds(WORLD, gate="none")
    written = grounds.checked(proposals(GOOD, WRONG, (RANK, "What?")), Random(0))
    looked = grounds.looked_at(written, np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert [each.answer_right for each in looked] == [True, False, None]
    assert [each.solve_rate for each in looked[:2]] == [0.5, 0.0] and looked[2].refused


def test_a_corpus_of_one_s_own_needs_a_reader(tmp_path):
    (tmp_path / "docs").write_text('{"id": "1", "text": "a"}')
    (tmp_path / "answers").write_text("a")
    with pytest.raises(RedQueenError, match="--reader"):
        Grounds(Knowledge(corpus=str(tmp_path / "docs"), answers=str(tmp_path / "answers")))
