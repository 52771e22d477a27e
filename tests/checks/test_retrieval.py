"""The corpus and its file, search, and the checks of a proposed question: each fault by its own name."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections import Counter
from random import Random

import pytest

from redqueen.checks import retrieval
from redqueen.checks.numeric import Exact
from redqueen.checks.retrieval import (
    Corpus,
    Document,
    Fault,
    Gate,
    Rules,
    evidence,
    fault_counts,
    needs_documents,
    reading_faults,
)
from redqueen.types import RedQueenError, Task

DOCUMENTS = [
    Document("nile", "The Nile flows north to Cairo.", "Nile"),
    Document("rhine", "The Rhine flows to the sea."),
    Document("empty", ""),
    Document("twin-b", "Castor and Pollux"),
    Document("twin-a", "Castor and Pollux"),
]
REPLY = "I know.\n<question>Into which city on the delta does the longest river of Africa flow?</question>"
QUERIES = ["longest river africa", "nile delta"]


@pytest.fixture(scope="module")
def corpus():
    pytest.importorskip("bm25s")
    return Corpus(DOCUMENTS)


def ids(documents):
    return [document.id for document in documents]


def test_search_gives_what_shares_words_and_nothing_else(corpus):
    assert ids(corpus.search("Where does the NILE flow, Cairo?")) == ["nile", "rhine"]
    assert ids(corpus.search("nile", count=1)) == ["nile"]
    assert corpus.search("zebra") == () and corpus.search("?!") == () and corpus.search("") == ()
    with pytest.raises(RedQueenError, match="1 document or more"):
        corpus.search("nile", count=0)


def test_equal_documents_keep_the_order_of_the_corpus(corpus):
    assert ids(corpus.search("pollux")) == ["twin-b", "twin-a"]
    assert ids(corpus.search("pollux", count=1)) == ["twin-b"]
    many = [Document(str(number), "owl " * (1 + number % 2)) for number in range(100)]
    order = [*range(1, 100, 2), *range(0, 100, 2)]  # those that say it twice come first
    assert ids(Corpus(many).search("owl", count=100)) == [str(number) for number in order]


def test_spellings_of_one_word_and_scripts_without_spaces_are_found():
    pytest.importorskip("bm25s")
    texts = {
        "nfc": "un caf\u00e9 noir",
        "full": "Ｔokyo",
        "zh": "北京是中国的首都。",
        "ja": "東京タワー",
        "ko": "서울 특별시",
    }
    found = Corpus([Document(id, text) for id, text in texts.items()])
    queries = {"cafe\u0301": "nfc", "tokyo": "full", "首都": "zh", "ﾀﾜｰ": "ja", "서울": "ko"}
    assert {query: ids(found.search(query)) for query in queries} == {query: [id] for query, id in queries.items()}


def test_words_of_plain_text_are_as_they_always_were():
    text = "The Nile's 3.5 km_long k7-b2, (NO) e-mail!? x=1\ty\n\x0b~"
    assert retrieval._words(text) == re.findall(r"\w+", text.casefold())


def test_rare_words_count_more(corpus):
    assert ids(corpus.search("to the sea"))[0] == "rhine"


def test_searching_prints_and_logs_nothing(capfd, caplog):
    pytest.importorskip("bm25s")
    with caplog.at_level(logging.DEBUG):
        Corpus(DOCUMENTS).search("nile")
    assert capfd.readouterr() == ("", "") and not caplog.records


def test_a_corpus_comes_from_lines_of_json(tmp_path):
    pytest.importorskip("bm25s")
    file = tmp_path / "corpus.jsonl"
    lines = [
        json.dumps({"id": "a", "text": "red fox", "title": "Fox", "more": 1}),
        "",
        json.dumps({"id": "b", "text": "owl"}),
    ]
    file.write_text("\n".join(lines) + "\n")
    assert Corpus.from_file(file).documents == (Document("a", "red fox", "Fox"), Document("b", "owl"))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2 of .* is not JSON"),
        (f'{{"id": 1{"0" * 5000}}}', "line 2 of .* is not JSON"),
        ("[" * 100_000, "line 2 of .* is not JSON"),
        ("[1]", "line 2 of .* has no 'id'"),
        ('{"id": "b"}', "line 2 of .* has no 'text'"),
        ('{"id": 3, "text": "x"}', "line 2 of .* 'id' that is not a string: 3"),
        ('{"id": "b", "text": "x", "title": null}', "line 2 of .* 'title' that is not a string"),
        ('{"id": "a", "text": "x"}', "several documents, the first 'a'"),
    ],
)
def test_a_broken_line_is_named(tmp_path, line, says):
    file = tmp_path / "corpus.jsonl"
    file.write_text('{"id": "a", "text": "red fox"}\n' + line + "\n")
    with pytest.raises(RedQueenError, match=says) as raised:
        Corpus.from_file(file)
    assert "\n" not in str(raised.value)


def test_a_missing_file_and_an_empty_corpus_are_errors(tmp_path):
    with pytest.raises(RedQueenError) as raised:
        Corpus.from_file(tmp_path / "nowhere.jsonl")
    assert str(raised.value) == (
        f"the corpus {tmp_path / 'nowhere.jsonl'} cannot be read (No such file or directory): name a file with a "
        'document a line, {"id": "...", "text": "..."}'
    )
    (tmp_path / "latin.jsonl").write_bytes(b'{"id": "a", "text": "caf\xe9"}')
    with pytest.raises(RedQueenError, match="is not UTF-8 text: byte 24 is wrong"):
        Corpus.from_file(tmp_path / "latin.jsonl")
    for documents in ([], [Document("a", "...")]):
        with pytest.raises(RedQueenError, match="with a word"):
            Corpus(documents)


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(RedQueenError, match=r"redqueen\[search\]"):
        Corpus(DOCUMENTS)


def test_a_good_proposal_has_no_fault():
    assert Rules().faults(REPLY, "Cairo", QUERIES, DOCUMENTS[:1]) == ()
    assert Rules().question(REPLY) == "Into which city on the delta does the longest river of Africa flow?"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"reply": "Into which city does it flow?"}, Fault.NO_QUESTION),
        ({"reply": "<question>  </question>"}, Fault.NO_QUESTION),
        ({"reply": "<question>" + REPLY[REPLY.index("I") :]}, Fault.SEVERAL_QUESTIONS),
        ({"reply": REPLY + REPLY}, Fault.SEVERAL_QUESTIONS),
        ({"reply": "<question>" + "ever so long " * 80 + "?</question>"}, Fault.TOO_LONG),
        ({"reply": "<question>Into which city does the longest river flow?</question>"}, Fault.TOO_FEW_WORDS),
        ({"reply": REPLY.replace("delta", "delta (cairo)")}, Fault.HOLDS_ANSWER),
        ({"queries": QUERIES[:1]}, Fault.TOO_FEW_QUERIES),
        ({"queries": []}, Fault.TOO_FEW_QUERIES),
        ({"queries": [*QUERIES, " Nile  DELTA"]}, Fault.REPEATED_QUERY),
        ({"found": []}, Fault.NOTHING_FOUND),
    ],
)
def test_each_fault_has_its_own_name(change, fault):
    good = {"reply": REPLY, "answer": "Cairo", "queries": QUERIES, "found": DOCUMENTS[:1]}
    assert Rules().faults(**{**good, **change}) == (fault,)


def test_a_short_question_is_short_in_both_ways():
    reply = "<question>Which?</question>"
    assert Rules().faults(reply, "Cairo", QUERIES, DOCUMENTS) == (Fault.TOO_SHORT, Fault.TOO_FEW_WORDS)
    assert Rules(shortest=1, words=1).faults(reply, "Cairo", QUERIES, DOCUMENTS) == ()


def test_the_same_query_twice_is_both_repeated_and_too_few():
    assert Rules().faults(REPLY, "Cairo", ["nile", "nile"], DOCUMENTS) == (Fault.TOO_FEW_QUERIES, Fault.REPEATED_QUERY)


def test_the_answer_in_a_query_is_refused_when_asked():
    queries = ["cairo river", "nile"]
    assert Rules().faults(REPLY, "Cairo", queries, DOCUMENTS) == ()
    assert Rules(refuse_answer_in_query=True).faults(REPLY, "Cairo", queries, DOCUMENTS) == (Fault.ANSWER_IN_QUERY,)


def test_an_answer_within_a_word_counts_unless_whole_words_are_asked_for():
    assert Rules().faults(REPLY, "long", QUERIES, DOCUMENTS) == (Fault.HOLDS_ANSWER,)  # longest
    assert Rules(whole_words=True).faults(REPLY, "long", QUERIES, DOCUMENTS) == ()
    assert Rules(whole_words=True).faults(REPLY, "Africa", QUERIES, DOCUMENTS) == (Fault.HOLDS_ANSWER,)


def test_a_task_without_an_answer_cannot_be_checked():
    with pytest.raises(RedQueenError, match="no text"):
        Rules().faults(REPLY, " ", QUERIES, DOCUMENTS)


def test_evidence_is_what_was_found_amid_noise_from_elsewhere():
    elsewhere = [Document(str(i), "noise") for i in range(10)] + DOCUMENTS[:2]
    shown = evidence([DOCUMENTS[0], DOCUMENTS[0]], elsewhere, Random(5))
    assert Counter(ids(shown))["nile"] == 1 and len(shown) == 5 == len(set(ids(shown)))
    assert shown == evidence([DOCUMENTS[0]] * 2, elsewhere, Random(5))
    places = {ids(evidence(DOCUMENTS[:1], elsewhere, Random(seed))).index("nile") for seed in range(60)}
    assert places == set(range(5))
    assert ids(evidence(DOCUMENTS[:1], DOCUMENTS[:1], Random(0))) == ["nile"]
    with pytest.raises(RedQueenError, match="0 or above"):
        evidence([], [], Random(0), noise=-1)


def reads_cairo(question, documents):
    return "Cairo" if any("Cairo" in document.text for document in documents) else ""


def test_documents_like_others_are_those_that_share_their_words():
    texts = {"a": "The second of k7 is m3.", "b": "The second of k7 is p4.", "c": "The rank of b2 is x1.", "d": "No."}
    corpus = Corpus(Document(name, text) for name, text in texts.items())
    first, second = corpus.documents[:2]
    assert ids(corpus.like([first], 1)) == ["b"]
    assert ids(corpus.like([first])) == ["b", "c"]
    assert ids(corpus.like([first, second])) == ["c"]
    assert corpus.like([]) == []


def test_the_gate_passes_only_what_the_reader_finds_in_the_evidence():
    task = Task("t", prompt="Which city?", answer="cairo")
    elsewhere = DOCUMENTS[1:]
    gate = Gate(reads_cairo, Exact())
    assert gate.faults(task, DOCUMENTS[:1], elsewhere, Random(0)) == ()
    assert gate.faults(task, DOCUMENTS[1:2], elsewhere, Random(0)) == (Fault.NOT_ANSWERED,)
    never_asked = Gate(lambda question, documents: 1 / 0, Exact())
    assert never_asked.faults(task, [], DOCUMENTS, Random(0)) == (Fault.NOTHING_FOUND,)
    wrong = Gate(lambda question, documents: "Luxor", Exact())
    assert wrong.faults(task, DOCUMENTS[:1], elsewhere, Random(0)) == (Fault.ANSWERED_OTHERWISE,)
    assert reading_faults(task, [], "Cairo", Exact()) == (Fault.NOTHING_FOUND,)


def test_a_reader_that_raises_is_never_a_pass():
    def broken(question, documents):
        raise TimeoutError("no reader")

    with pytest.raises(TimeoutError):
        Gate(broken, Exact()).faults(Task("t", answer="x"), DOCUMENTS, [], Random(0))


def test_faults_are_counted_as_shares():
    faults = [(), (Fault.NO_QUESTION,), (Fault.NO_QUESTION, Fault.NOTHING_FOUND), ()]
    assert fault_counts(faults) == {"valid_share": 0.5, "rejected_no_question": 0.5, "rejected_nothing_found": 0.25}
    assert fault_counts([]) == {}


def test_questions_answered_without_documents_need_none():
    assert needs_documents(0.0) and needs_documents(0.09) and not needs_documents(0.1) and not needs_documents(1.0)
