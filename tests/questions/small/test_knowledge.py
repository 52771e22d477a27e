import json
from random import Random

import pytest

from redqueen.checks.retrieval import Document
from redqueen.demonstrations.rehearsal import turns_of
from redqueen.questions.small.knowledge import PEOPLE, RULES, THINGS, Knowledge, asked, follow, hops
from redqueen.types import RedQueenError, Refusal, Task

WORLD = Knowledge()


def facts(world=WORLD):
    return [document.text.rstrip(".").split() for document in world.documents.documents]


def test_a_world_has_500_facts_and_is_made_from_its_seed():
    assert len(WORLD.documents.documents) == 500
    assert facts(Knowledge()) == facts(WORLD)
    assert facts(Knowledge(seed=1)) != facts(WORLD)
    assert {words[1] for words in facts()} == {*PEOPLE, *THINGS}


def test_everyone_is_the_opponent_of_one_and_nobody_his_own():
    pairs = [(words[3], words[5]) for words in facts() if words[1] == "opponent"]
    assert sorted(one for one, _ in pairs) == sorted(other for _, other in pairs)
    assert len({one for one, _ in pairs}) == 100
    assert all(one != other for one, other in pairs)


def test_a_question_is_followed_hop_by_hop():
    known = {("a1", "second"): {"b2", "c3"}, ("b2", "rank"): {"x1"}, ("c3", "rank"): {"x1"}, ("a1", "place"): {"y1"}}
    assert follow("What is the rank of the second of a1?", known) == {"x1"}
    assert follow("What is the second of a1?", known) == {"b2", "c3"}
    assert follow("What is the rank of a1?", known) == set()
    assert follow("Where is a1?", known) == set()
    assert hops("What is the rank of the second of a1?") == 2
    assert hops("What is a1?") == 0
    assert asked(["rank", "second"], "a1") == "What is the rank of the second of a1?"


def test_the_true_answer_is_the_only_one_if_there_is_one():
    task = WORLD.problem(2, Random(3))
    assert WORLD.true_answer(task) == task.answer
    other = next(answer for answer in WORLD.wanted if answer != task.answer)
    assert WORLD.true_answer(Task("x", "question", task.prompt, other)) == task.answer
    seconds = [words[3] for words in facts() if words[1] == "second"]
    twofold = next(person for person in seconds if seconds.count(person) == 2)
    two = Task("x", "question", f"What is the second of {twofold}?", "a0")
    assert WORLD.true_answer(two) == ""
    assert WORLD.true_answer(Task("x", "question", "Who is it?", "a0")) == ""


def test_the_reader_finds_one_answer_or_none():
    documents = [Document("1", "The rank of k7 is m3."), Document("2", "The opponent of b2 is k7.")]
    assert WORLD.reader("What is the rank of the opponent of b2?", documents) == "m3"
    assert WORLD.reader("What is the rank of the opponent of b2?", documents[:1]) == ""
    assert WORLD.reader("What is the rank of k7?", [*documents, Document("3", "The rank of k7 is n4.")]) == ""
    assert WORLD.reader("Who is it?", documents) == ""
    two_ways = [*documents, Document("4", "The opponent of b2 is c3.")]  # of c3 no rank is told
    assert WORLD.reader("What is the rank of the opponent of b2?", two_ways) == ""


def test_answers_may_be_sentences():
    task = Task("x", "question", "What is the rank of k7?", "m3")
    said = ["m3", " m3", "The rank of k7 is m3.", "The rank of k7 is n4.", "m3 or n4", ""]
    assert WORLD.right([task] * 6, said) == [True, True, True, False, False, False]


def test_what_is_proposed_is_read_with_the_answer_that_was_asked_for():
    invitation = WORLD.invite("question", (), 0)
    assert invitation.answer == WORLD.wanted[0]
    assert invitation.answer in invitation.prompt
    good = "<question>What is the rank of the opponent of b2?</question>"
    task, refused = WORLD.read([invitation] * 2, [good, "What is it?"])
    assert (task.prompt, task.answer, task.facts["hops"]) == (good[10:-11], WORLD.wanted[0], 2)
    assert refused == Refusal("malformed")


def test_problems_have_the_hops_of_their_level_and_one_answer():
    for number, level in enumerate(WORLD.levels, start=1):
        for task in WORLD.problems(level, 20, Random(1)):
            assert hops(task.prompt) == number
            assert WORLD.true_answer(task) == task.answer
    assert WORLD.problems("2_hops", 3, Random(1)) == WORLD.problems("2_hops", 3, Random(1))


def test_demonstrations_search_and_are_right_as_often_as_they_should_be():
    shown = WORLD.demonstrations(1200, Random(0))
    proposals = [each for each in shown if each.role == "proposer"]
    assert len(proposals) == 600
    assert all(each.text.startswith(f"<search> {each.task.answer}</search>") for each in proposals)
    read = WORLD.read(
        [each.task for each in proposals], [turns_of(each.text, (WORLD.search,))[-1] for each in proposals]
    )
    ones = [WORLD.true_answer(task) == task.answer for task in read if task.facts["hops"] == 1]
    more = [WORLD.true_answer(task) == task.answer for task in read if task.facts["hops"] > 1]
    assert 0.8 < len(ones) / len(read) < 0.95
    assert sum(ones) / len(ones) > 0.85
    assert 0.35 < sum(more) / len(more) < 0.75
    solutions = [each for each in shown if each.role == "solver" and each.task.facts["hops"] == 2]
    right = WORLD.right(
        [each.task for each in solutions], [turns_of(each.text, (WORLD.search,))[-1] for each in solutions]
    )
    assert 0.2 < sum(right) / len(right) < 0.45


def test_every_demonstrated_question_passes_the_rules():
    for each in WORLD.demonstrations(100, Random(2)):
        if each.role == "proposer":
            reply = turns_of(each.text, (WORLD.search,))[-1]
            found = WORLD.documents.search(each.task.answer, 2)
            assert RULES.faults(reply, each.task.answer, [each.task.answer], found) == ()


# Documents of the user's own


@pytest.fixture
def own(tmp_path):
    lines = [{"id": str(n), "text": text} for n, text in enumerate(("Mary wrote Frankenstein.", "Bram wrote Dracula."))]
    (tmp_path / "docs.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    (tmp_path / "answers.txt").write_text("Mary\n\nBram\n")
    (tmp_path / "questions.jsonl").write_text(json.dumps({"question": "Who wrote Dracula?", "answer": "Bram"}) + "\n")
    return {"corpus": str(tmp_path / "docs.jsonl"), "answers": str(tmp_path / "answers.txt")}, tmp_path


def test_a_corpus_of_one_s_own_is_searched_and_asked_about(own):
    files, folder = own
    domain = Knowledge(**files)
    assert domain.wanted == ("Mary", "Bram")
    assert domain.search("dracula") == "Bram wrote Dracula."
    assert domain.levels == ()
    assert domain.true_answer(Task("x", prompt="Who wrote Dracula?", answer="Bram")) is None
    held = Knowledge(**files, questions=str(folder / "questions.jsonl"))
    assert [task.answer for task in held.problems("questions", 9, Random(0))] == ["Bram"]


def test_a_file_that_is_missing_is_one_clear_line(own):
    files, folder = own
    with pytest.raises(RedQueenError, match=r"the corpus .*nowhere.* cannot be read"):
        _ = Knowledge(corpus=str(folder / "nowhere"), answers=files["answers"]).documents
    with pytest.raises(RedQueenError, match=r"the answers .*nowhere.* cannot be read"):
        _ = Knowledge(corpus=files["corpus"], answers=str(folder / "nowhere")).wanted
    with pytest.raises(RedQueenError, match="needs a file of answers"):
        Knowledge(corpus=files["corpus"])
    with pytest.raises(RedQueenError, match="belong to a corpus"):
        Knowledge(questions="q.jsonl")
    (folder / "bad.jsonl").write_text('{"question": "Who?"}\n')
    with pytest.raises(RedQueenError, match="line 1 of"):
        Knowledge(**files, questions=str(folder / "bad.jsonl")).problems("questions", 1, Random(0))
    (folder / "bad.jsonl").write_text(
        '{"question": "Who\u2028?", "answer": "I"}\n\n{"question": null, "answer": null}\n'
    )
    with pytest.raises(RedQueenError, match="line 3 of"):
        Knowledge(**files, questions=str(folder / "bad.jsonl")).problems("questions", 1, Random(0))
    (folder / "empty").write_text("\n")
    with pytest.raises(RedQueenError, match="is empty"):
        _ = Knowledge(corpus=files["corpus"], answers=str(folder / "empty")).wanted


def test_a_world_needs_facts():
    with pytest.raises(RedQueenError, match="at least 50 facts"):
        Knowledge(facts=10)


@pytest.mark.parametrize(
    ("gold", "said", "right"),
    [
        ("m3", "m3", True),
        ("m3", "The rank of k7 is m3.", True),
        ("m3", "The rank of k7 is m3, I think", False),
        ("m3", "is am3", False),
        ("This is Spinal Tap", "This is Spinal Tap", True),
        ("Life is Beautiful", "The film is Life is Beautiful.", True),
        ("Beautiful", "The film is Life is Beautiful.", True),
        ("?", "", False),
    ],
)
def test_an_answer_is_right_by_itself_or_at_the_end_of_a_sentence(gold, said, right):
    assert WORLD.right([Task("t", answer=gold)], [said]) == [right]


def test_an_answer_to_ask_for_needs_a_word(tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"id": "1", "text": "The king is old."}\n')
    (tmp_path / "answers.txt").write_text("old\n?!\n")
    world = Knowledge(corpus=str(tmp_path / "corpus.jsonl"), answers=str(tmp_path / "answers.txt"))
    with pytest.raises(RedQueenError, match=r"line 2 of .*answers.txt has no word or number"):
        world.wanted  # noqa: B018


def test_a_search_shows_titles(tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"id": "1", "text": "It was founded in 1824.", "title": "Acme Press"}\n')
    (tmp_path / "answers.txt").write_text("1824\n")
    world = Knowledge(corpus=str(tmp_path / "corpus.jsonl"), answers=str(tmp_path / "answers.txt"))
    assert world.search("Acme Press") == "Acme Press: It was founded in 1824."
