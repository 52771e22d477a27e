"""Hidden state: who sees the condition, when the gate opens and what it tells, tries, illegal replies."""

from itertools import combinations
from random import Random

import pytest

from redqueen.contracts import games as contract
from redqueen.games.catalogue import find_game
from redqueen.games.hidden_state import DECODER, PATIENT, THERAPIST, HiddenState, unlike
from redqueen.games.talk import number_of
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, FirstChoice, Scripted
from redqueen.types import Match, RedQueenError, Reply

GAME = HiddenState()
ORDER = ("s5", "s3", "s2", "s1", "s4", "s6", "s7", "s8")
SIX = ("s1", "s2", "s3", "s4", "s5", "s6")


def knows(task, seat):
    return (task.facts["condition"], task.facts["trait"]) if seat == PATIENT else ()


def talk(game, therapist, patient=Constant("yes"), decoder=FirstChoice(), task=0):
    cast = {"therapist": Scripted(therapist), "patient": patient, "decoder": decoder}
    (episode,) = play([Match(game, game.tasks()[task], cast)], Random(0))
    return episode


def asks(episode, seat):
    return [turn.ask.messages[0].text for turn in episode.turns if turn.ask.seat == seat]


@pytest.mark.parametrize("rules", ["", ":gate=off,tries=3", ":gate=released,symptoms=5,conditions=3"])
def test_the_game_keeps_the_contract(rules):
    contract.check_game(find_game(f"hidden_state{rules}"), knows=knows)


def test_conditions_are_few_symptoms_apart_from_each_other_and_a_patient_has_one_more():
    assert [len(own) for own in GAME.marked] == [3] * 6
    assert max(len(one & other) for one, other in combinations(GAME.marked, 2)) == 1
    assert len(GAME.tasks()) == 6 * 5
    for task in GAME.tasks():
        assert task.facts["trait"] not in GAME.marked[task.facts["condition"]]
    assert len(set(HiddenState(symptoms=4, conditions=4).marked)) == 4  # where all have two in common


def test_the_patient_alone_sees_what_it_has():
    game = HiddenState(gate="off", first=2)
    wrong = talk(game, ("s1", "s2", "c2"))
    own = " ".join(f"s{number + 1}" for number in sorted(GAME.marked[0]))
    assert asks(wrong, PATIENT)[0].startswith(f"You are a patient with c1: {own}; you also have s")
    assert asks(wrong, PATIENT)[1].endswith("Have you s2?")
    assert asks(wrong, THERAPIST)[-1].endswith("So far: s1 yes; s2 yes. Which condition is it?")
    assert set(wrong.outcome.scores.values()) == {0.0}
    assert set(talk(game, ("s1", "s2", "c1")).outcome.scores.values()) == {1.0}


def test_a_component_is_off_below_nine_tenths():
    assert unlike((0.95, 0.88, 0.97, 0.91, 0.93)) == [1]  # four parts of a profile and behaviour: one hint
    assert unlike((0.9, 1.0)) == []
    mine, other = GAME.marked[0], GAME.marked[1]
    assert set(unlike(GAME.similarities(0, 1))) == mine ^ other
    assert unlike(GAME.similarities(0, 0)) == []


def test_the_gate_opens_at_once_for_a_belief_that_is_right():
    episode = talk(GAME, ("s1", "s2", "s3", "s4", "c1"), decoder=Constant("c1"))
    assert len(episode.outcome.facts["history"]) == 4
    assert episode.outcome.facts["beliefs"] == ("c1",)


@pytest.mark.parametrize("gate", ["on", "released"])
def test_the_gate_opens_after_five_more_questions_whatever_is_believed(gate):
    game = HiddenState(symptoms=12, gate=gate)
    questions = tuple(f"s{number + 1}" for number in range(9))
    episode = talk(game, (*questions, "c1"), decoder=Constant("c2"))
    assert len(episode.outcome.facts["history"]) == 4 + 5
    assert episode.outcome.facts["beliefs"] == ("c2",) * 5


def test_what_a_seat_is_shown_depends_on_what_it_remembers():
    episode = talk(HiddenState(tries=2), (*ORDER, "c2", "c1"), Said(), Constant("c2"))
    last = asks(episode, THERAPIST)[-1]
    told = "So far: s5 yes; s3 yes; s2 yes; s1 yes; look at "
    assert told in last
    assert last.endswith("c2 rated 3. Which condition is it?")
    assert "look at" not in " ".join(asks(episode, DECODER))
    assert "you believed c2; s4 yes; you believed c2" in asks(episode, DECODER)[-1]
    assert asks(episode, PATIENT)[1].endswith(". So far: s5 yes. Have you s3?")
    forgets = talk(HiddenState(remember=False), (*ORDER, "c2"), Said(), Constant("c2"))
    assert asks(forgets, THERAPIST)[-1].endswith(
        "So far: s1 yes; s2 yes; s3 yes; s4 yes; s5 yes; s6 yes; s7 yes; s8 yes. Which condition is it?"
    )
    assert "So far: s1 yes; s2 yes; s3 yes; s5 yes. Look at s" in asks(forgets, THERAPIST)[4]


class Said:
    name = "patient"

    def reply(self, asks):
        return [Reply("3" if "fit" in ask.messages[0].text else "yes", self.name) for ask in asks]


def test_a_hint_names_a_symptom_that_was_not_asked_about_and_not_what_is_wrong():
    off = sorted(GAME.marked[0] ^ GAME.marked[1])
    episode = talk(GAME, (*SIX, "s7", "s8", "c1"), decoder=Constant("c2"))
    hinted = [text for text in asks(episode, THERAPIST) if "look at" in text.rpartition("; ")[2]]
    assert len(hinted) == 4  # then nothing is left to be asked
    places = [next((each for each in off if each >= asked), off[0]) for asked in (4, 5, 6, 7)]
    assert [text.rpartition("look at ")[2].split(".")[0] for text in hinted] == [f"s{place + 1}" for place in places]
    assert not any("look" in text for text in asks(episode, PATIENT) + asks(episode, DECODER))


def test_the_released_gate_tells_nothing():
    game = HiddenState(gate="released")
    episode = talk(game, (*SIX, "s7", "s8", "c1"), decoder=Constant("c2"))
    assert len(episode.outcome.facts["history"]) == 8
    assert not any("look" in text for text in asks(episode, THERAPIST))
    assert "beliefs" not in asks(talk(HiddenState(gate="off"), (*SIX[:4], "c1")), THERAPIST)[-1]


@pytest.mark.parametrize(
    ("ratings", "named", "kept"), [((6, 8, 7, 9), 4, "c4"), ((9, 9), 1, "c1"), ((6, 8, 8, 7, 1, 0), 6, "c2")]
)
def test_conditions_are_tried_until_one_is_rated_nine_and_the_first_of_the_highest_counts(ratings, named, kept):
    game = HiddenState(gate="off", first=1, tries=6)
    patient = Scripted(("yes", *map(str, ratings)))
    episode = talk(game, ("s1", "c1", "c2", "c3", "c4", "c5", "c6"), patient)
    assert len(episode.outcome.facts["named"]) == named
    assert episode.outcome.facts["diagnosis"] == kept
    assert max(episode.outcome.scores.values()) == float(kept == "c1")


def test_an_honest_rating_is_ten_for_the_own_condition_alone():
    assert [GAME.fit(each, 0) for each in range(6)] == [10] + [
        round(10 * len(GAME.marked[each] & GAME.marked[0]) / 3) for each in range(1, 6)
    ]


@pytest.mark.parametrize(
    ("therapist", "patient", "decoder", "at_fault"),
    [
        (("why?",), Constant("yes"), Constant("c1"), THERAPIST),
        (("s1", "s1"), Constant("yes"), Constant("c1"), THERAPIST),
        ((*SIX[:4], "s5"), Constant("yes"), Constant("c1"), THERAPIST),
        (("s1",), Constant("perhaps"), Constant("c1"), PATIENT),
        (SIX[:4], Constant("no"), Constant("c9"), DECODER),
    ],
)
def test_whoever_breaks_the_rules_ends_the_talk(therapist, patient, decoder, at_fault):
    episode = talk(GAME, therapist, patient, decoder)
    assert episode.outcome.facts["forfeit"] == str(at_fault)
    assert episode.outcome.facts["diagnosis"] == ""
    assert set(episode.outcome.scores.values()) == {0.0}


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"gate": "ajar"}, "the gate of hidden_state is on, released, off, not 'ajar'"),
        ({"marks": 8}, "at least 1 symptom and fewer than the 2 to 16"),
        ({"symptoms": 17}, "at least 1 symptom and fewer than the 2 to 16"),
        ({"conditions": 57}, "2 to 56 conditions of 3 among 8"),
        ({"first": 9}, "asks about 1 to 8 symptoms at first"),
        ({"extra": -1}, "0 or more after"),
        ({"tries": 7}, "1 to 6 conditions can be tried"),
    ],
)
def test_rules_that_make_no_game_are_refused(rules, message):
    with pytest.raises(RedQueenError, match=message):
        HiddenState(**rules)


def test_a_number_is_read_from_a_name():
    assert [number_of(each) for each in ("s1", "c12")] == [0, 11]
