"""MentalArena: honest patients, turns that are learned, what ratings overstate, what can be found, learning."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.contracts.recipes import metrics, trained
from redqueen.credit.rewards import payoff, score, spoken_by
from redqueen.games.hidden_state import DECODER, PATIENT, THERAPIST, HiddenState
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, FirstChoice, Scripted, Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.recipes.games.mental_arena import recipe
from redqueen.recipes.games.mental_arena.measures import Diagnoses, best_share
from redqueen.recipes.games.mental_arena.recipe import Config
from redqueen.recipes.games.mental_arena.steps import Honest, Talks, game_of, honest, turns_with
from redqueen.runs.run import read_final
from redqueen.types import Match, RedQueenError

GAME = HiddenState()


def talk(game, therapist, patient, decoder=Constant("c1", "learner"), task=0):
    cast = {"therapist": Scripted(therapist, "learner"), "patient": patient, "decoder": decoder}
    (episode,) = play([Match(game, game.tasks()[task], cast)], Random(0))
    return episode


def test_an_honest_patient_says_what_it_has_and_how_well_a_condition_fits():
    game = HiddenState(gate="off", first=8, tries=6)
    for task in game.tasks():
        order = tuple(f"s{number}" for number in range(1, 9)) + tuple(f"c{number}" for number in range(1, 7))
        cast = {"therapist": Scripted(order), "patient": Honest(game), "decoder": FirstChoice()}
        (episode,) = play([Match(game, task, cast)], Random(0))
        facts, own = episode.outcome.facts, task.facts["condition"]
        yes = {number for number, line in enumerate(facts["history"]) if line.endswith("yes")}
        assert yes == game.marked[own] | {task.facts["trait"]}
        assert facts["diagnosis"] == f"c{own + 1}"
        assert facts["ratings"] == tuple(game.fit(each, own) for each in range(own + 1))


def test_s1_is_not_found_in_s12():
    assert honest(GAME, "You are a patient with c1: s11 s12; you also have s3. So far: s1 yes. Have you s1?") == "no"
    assert honest(GAME, "You are a patient with c1: s1 s12; you also have s3. Have you s1?") == "yes"


def learned(episode, keep="right", shown=False, seat=None):
    """What is learned of a talk that the learner spoke whole: the texts, in order of seats and turns."""
    talks = Talks(HiddenState(tries=2) if keep == "rated" else GAME, Constant("c1", "learner"), False, keep)
    own = spoken_by(Constant("", "learner"), score([episode], payoff))
    turns = turns_with(own, talks.credit(own, shown))
    return [each.turns[0].reply.text for each in turns if seat is None or each.seat == seat]


def test_of_a_talk_that_is_right_its_questions_answers_and_last_belief_are_learned():
    wrong_first = Scripted(("c2", "c1"), "learner")
    episode = talk(GAME, ("s1", "s2", "s3", "s4", "s5", "c1"), Constant("yes", "learner"), wrong_first)
    assert learned(episode, seat=THERAPIST) == ["s1", "s2", "s3", "s4", "s5", "c1"]
    assert learned(episode, seat=PATIENT) == ["yes"] * 5
    assert learned(episode, seat=DECODER) == ["c1"]  # not the wrong one before


def test_of_a_talk_that_is_wrong_nothing_is_learned_unless_all_are_kept():
    episode = talk(GAME, ("s1", "s2", "s3", "s4", "c3"), Constant("yes", "learner"))
    assert learned(episode) == []
    assert learned(episode, keep="all", seat=THERAPIST) == ["s1", "s2", "s3", "s4", "c3"]
    assert learned(episode, keep="all", seat=DECODER) == []
    broken = talk(GAME, ("s1", "nothing"), Constant("yes", "learner"))
    assert learned(broken, keep="all") == []


def test_what_was_not_legal_is_not_learned_of_a_talk_that_is_right():
    game = HiddenState(gate="off", retries=1)
    episode = talk(game, ("Hm.", "s1", "s2", "s3", "s4", "c1"), Constant("yes", "learner"))
    assert learned(episode, seat=THERAPIST) == ["s1", "s2", "s3", "s4", "c1"]


def test_the_best_of_one_try_stands_beside_no_talk_of_several():
    for tries, known in ((1, True), (2, False)):
        talks = Talks(HiddenState(tries=tries), Uniform("learner"), True, "right")
        assert bool(Diagnoses(talks, matches=4).basis()["no_gate/diagnosed"].references) is known


def test_a_talk_is_kept_for_its_rating_whether_it_is_right_or_not():
    game = HiddenState(gate="off", tries=2)
    for ratings, kept in ((("8", "9"), True), (("8", "7"), False)):
        episode = talk(game, ("s1", "s2", "s3", "s4", "c2", "c3"), Scripted(("no",) * 4 + ratings, "learner"))
        texts = learned(episode, keep="rated", seat=THERAPIST)
        assert texts == (["s1", "s2", "s3", "s4", "c3"] if kept else [])
    talks = Talks(game, Constant("c1"), False, "rated")
    episode = talk(game, ("s1", "s2", "s3", "s4", "c2", "c3"), Scripted(("no",) * 4 + ("8", "9"), "learner"))
    assert talks.metrics([episode]) == {
        "talks_kept": 1.0,
        "kept_right": 0.0,
        "overrated": 9 - game.fit(2, 0),
    }


def test_a_last_symptom_that_is_left_is_not_learned():
    game = HiddenState(first=8, gate="off")
    order = tuple(f"s{number}" for number in range(1, 9))
    talks = Talks(game, Constant("c1", "learner"), False, "right")
    own = spoken_by(Constant("", "learner"), score([talk(game, (*order, "c1"), Honest(game))], payoff))
    (therapist,) = own
    assert [each.turns[0].reply.text for each in turns_with(own, talks.credit(own, False))] == [*order[:7], "c1"]
    assert len(therapist.turns) == 9


def test_a_shown_patient_speaks_the_learners_own_tokens_and_is_learned_in_every_talk():
    learner = TabularPolicy()
    talks = Talks(GAME, learner, False, "right")
    episodes = play(talks.matches(GAME.tasks(), learner), Random(0))
    own = spoken_by(learner, score(episodes, payoff))
    assert {each.seat for each in own} == {PATIENT}
    assert all(turn.reply.recited for each in own for turn in each.turns)
    assert all(credit.min() == 1.0 for credit in talks.credit(own, True))


def test_the_best_share_by_hand():
    two = HiddenState(symptoms=3, conditions=2, marks=1, first=1, gate="off")
    # c1 and c2 are one symptom each: a patient has its own and one of the two others
    assert len(two.tasks()) == 4
    assert best_share(two, 1) == pytest.approx(3 / 4)  # asked about what one condition has
    assert best_share(GAME, 0) == pytest.approx(1 / 6)
    assert best_share(GAME, 5) == 1.0


def test_the_best_share_is_reached_by_no_other_order_of_questions():
    """Four questions in a fixed order, the likeliest condition after: below what the adaptive best comes to."""
    has = {task.id: GAME.marked[task.facts["condition"]] | {task.facts["trait"]} for task in GAME.tasks()}
    conditions = {task.id: task.facts["condition"] for task in GAME.tasks()}

    def share(order):
        cells = {}
        for name, own in has.items():
            cells.setdefault(tuple(each in own for each in order), []).append(conditions[name])
        return sum(max(map(cell.count, cell)) for cell in cells.values()) / len(has)

    fixed = [share(order) for order in ((0, 1, 2, 3), (1, 2, 4, 7), (0, 3, 5, 6), (2, 3, 6, 7))]
    assert max(fixed) <= best_share(GAME, 4) == pytest.approx(29 / 30)


def test_measures_of_a_uniform_player():
    talks = Talks(GAME, Uniform(), True, "right")
    found = Diagnoses(talks, 240)()
    assert found["diagnosed"] == pytest.approx(1 / 6, abs=0.08)
    assert found["no_gate/questions"] == 4.0
    assert 4.0 < found["questions"] < 8.0
    assert found["truthful"] == 1.0
    limited = Diagnoses(talks, 240)
    limited.limit(30)
    assert limited.basis()["diagnosed"].count == 2


QUICK = Config(steps=45, updates=15, tasks=160, measured=60)


@pytest.mark.slow
def test_a_table_learns_to_find_the_condition(tmp_path):
    game = "hidden_state:remember=false,symptoms=5,conditions=3,marks=2,first=3"
    run = trained(recipe, replace(QUICK, game=game, patient="rule"), tmp_path)
    final = read_final(run.folder)
    assert final["diagnosed"] > 0.8  # chance is 1 in 3
    assert final["truthful"] == 1.0
    kept = [line["talks_kept"] for line in metrics(run) if "talks_kept" in line]
    assert kept == sorted(kept)


def test_the_patient_is_taught_first(tmp_path):
    game = "hidden_state:remember=false,symptoms=4,conditions=2,marks=2,first=2"
    run = trained(recipe, replace(QUICK, game=game, steps=15), tmp_path)
    assert read_final(run.folder)["truthful"] > 0.95
    assert 0.3 < read_final(run.folder)["diagnosed"] < 0.7  # the therapist has not learned yet


def test_nothing_is_learned_where_no_talk_is_kept(tmp_path):
    config = replace(QUICK, steps=2, updates=1, tasks=1, keep="rated", game="hidden_state:tries=2", patient="rule")
    run = trained(recipe, config, tmp_path, seed=5)
    assert all(np.isfinite(line["loss"]) for line in metrics(run))


@pytest.mark.parametrize(
    ("game", "keep", "message"),
    [
        ("kuhn_poker", "right", "the talks are those of hidden_state"),
        ("hidden_state", "rated", "--keep rated needs ratings"),
    ],
)
def test_what_cannot_be_kept_is_refused(game, keep, message):
    with pytest.raises(RedQueenError, match=message):
        game_of(game, keep)
