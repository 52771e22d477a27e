"""PPDPP: the card's vectors, what the scripted players do, critics that are rules or models, the best planner."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from redqueen.games.hagglers import Haggler, Speaker, answered, next_offer
from redqueen.games.price_talk import ADVISER, LINES, PriceTalk
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, Scripted, Uniform
from redqueen.recipes.games.ppdpp.measures import best_return, return_of
from redqueen.recipes.games.ppdpp.recipe import Config
from redqueen.recipes.games.ppdpp.steps import (
    LABELS,
    LOST,
    WORTH,
    Talks,
    about_state,
    beside,
    estimator,
    states_of,
    true_label,
    worth_of_turns,
)
from redqueen.settings.roles import Cast, Role
from redqueen.types import Match, RedQueenError, Trajectory
from tests.forged import FORGED, between_last_fences

GAME = PriceTalk()


class Seeds:
    def derived(self, *path):
        return 0


def talks(**changes):
    config = Config(**changes)
    return Talks(config, Cast(config, Seeds(), config.table_learning_rate))


def earned(*rewards):
    """A trajectory of an adviser with these rewards."""
    players = {"adviser": Uniform(), "buyer": Constant("I offer 3."), "seller": Constant("I ask 9.")}
    (episode,) = play([Match(replace(GAME, turns=len(rewards)), GAME.tasks()[0], players)], Random(0))
    own = tuple(turn for turn in episode.turns if turn.ask.seat.role == "adviser")
    return Trajectory(episode, own[0].ask.seat, own, np.array(rewards))


@pytest.mark.parametrize(
    ("rewards", "advantages"),
    [
        ((-0.1, -0.1, 0.5), (-0.9998, -0.0003, 1.0002)),
        ((-0.1, -0.1, -0.1), (-0.9998, -0.0003, 1.0002)),
        ((-0.5, -0.5, -0.5, 1.0), (-1.1615, -0.3877, 0.3869, 1.1623)),
        ((-0.5, -0.5, -0.5, -0.5), (-1.1615, -0.3877, 0.3869, 1.1623)),
        ((-0.1, 0.5), (-0.7071, 0.7071)),
        ((0.5,), (0.5,)),
    ],
)
def test_the_released_estimator_cannot_tell_a_deal_from_none(rewards, advantages):
    (found,) = estimator("episode", 0.999)([earned(*rewards)])
    assert found == pytest.approx(advantages, abs=1e-3)


def test_the_estimator_of_the_batch_compares_turns_of_one_number():
    won, lost = estimator("batch", 1.0)([earned(-0.1, 0.5), earned(-0.1, -1.0)])
    assert won == pytest.approx([2**-0.5] * 2, abs=1e-5)
    assert lost == pytest.approx([-(2**-0.5)] * 2, abs=1e-5)


@pytest.mark.parametrize(
    ("line", "offer", "price", "now"),
    [
        ("anchor", 0, 10, 1),
        ("anchor", 4, 9, 4),
        ("concede", 0, 10, 3),
        ("concede", 4, 9, 5),
        ("firm", 4, 9, 4),
        ("split", 3, 10, 7),
        ("concede", 6, 6, 6),
        ("walk", 4, 9, None),
    ],
)
def test_what_a_buyer_offers(line, offer, price, now):
    assert next_offer(line, offer, price) == now


def test_what_a_seller_answers():
    assert answered(6, 1, 7, 3) == {"Deal.": 1.0}
    assert answered(6, 1, 7, 7) == pytest.approx({"I leave.": 0.0, "I ask 7.": 1.0})
    assert answered(3, 0, 9, 3) == pytest.approx({"I leave.": 0.1, "I ask 8.": 0.54, "I ask 9.": 0.36})


def test_the_scripted_players_hear_what_they_need():
    players = {"adviser": Scripted(("concede",) * 8), "buyer": Speaker(1.0), "seller": Haggler()}
    episodes = play([Match(GAME, task, players) for task in GAME.tasks() for _ in range(40)], Random(0))
    assert {each.outcome.facts["history"][0] for each in episodes} == {"buyer: I offer 3."}
    offers = [line for line in episodes[0].outcome.facts["history"] if line.startswith("buyer")]
    assert offers == [f"buyer: I offer {3 + number}." for number in range(len(offers))]
    reserves = {each.task.facts["reserve"] for each in episodes if 0 < each.outcome.facts["price"] < 7}
    assert reserves == {3, 5}


def test_obedience_is_a_share():
    players = {"adviser": Constant("walk"), "buyer": Speaker(0.2), "seller": Haggler()}
    episodes = play([Match(GAME, GAME.tasks()[0], players) for _ in range(400)], Random(0))
    left = np.mean([each.outcome.facts["history"] == ("buyer: I leave.",) for each in episodes])
    assert left == pytest.approx(1 / len(LINES), abs=0.06)


def test_labels_of_a_talk():
    ends = {"seller: Deal.": ("good deal", "fair deal", "poor deal"), "seller: I ask 9.": ("no deal",) * 3}
    for end, labels in ends.items():
        states = [f"buyer: I offer 2.\nseller: I ask 9.\nbuyer: I offer {price}.\n{end}" for price in (4, 5, 8)]
        assert tuple(true_label(state, 10) for state in states) == labels
    assert [beside(label) for label in LABELS] == ["no deal", "poor deal", "no deal", "poor deal", "fair deal"]


def test_votes_of_the_scripted_critic():
    table = talks(noise=0.0)
    episodes = table.judged(play(table.matches(GAME.tasks() * 20), Random(0)), Random(0))
    for each in episodes:
        seat = next(seat for seat in each.seats if seat.role == "adviser")
        assert worth_of_turns(each)[seat].sum() == pytest.approx(return_of(each, 10))
        assert (true_label(states_of(each)[-1], 10) == LOST) == (each.outcome.facts["price"] == 0)
    noisy = talks(noise=1.0).judged(episodes, Random(0))
    assert {value for each in noisy for value in each.outcome.facts["worth"]} <= {
        WORTH[beside(name)] for name in LABELS
    }


def test_a_critic_in_prose_is_read_by_whole_labels():
    table = talks(critic_votes=3)
    table._critic = Constant("It is not a good deal, nor no deal; I would say: fair deal")
    (episode,) = table.judged(play(table.matches(GAME.tasks()[:1]), Random(0)), Random(0))
    assert set(episode.outcome.facts["worth"]) == {0.0}
    assert table.metrics([episode])["unread_votes"] == 1.0
    table._critic = Constant("Let me see. The label is: fair deal")
    (episode,) = table.judged([episode], Random(0))
    assert set(episode.outcome.facts["worth"]) == {0.5}


@pytest.mark.parametrize("text", FORGED)
def test_what_is_said_in_a_talk_cannot_speak_as_its_critic(text):
    state = f"adviser: firm\nbuyer: {text}\nseller: I ask 9."
    assert between_last_fences(about_state(state)) == [state]


def test_a_reply_after_which_the_planner_is_asked_again_earns_nothing_and_shifts_nothing():
    seats = {
        "adviser": Scripted(("oops", "anchor", "concede")),
        "buyer": Scripted(("I offer 1.", "I offer 2.")),
        "seller": Scripted(("I ask 9.", "Deal.")),
    }
    matches = [Match(PriceTalk(retries=1), GAME.tasks()[0], seats)]
    (judged,) = talks(noise=0.0).judged(play(matches, Random(0)), Random(0))
    assert worth_of_turns(judged)[ADVISER] == pytest.approx([0.0, -0.1, 1.0])
    assert return_of(judged, 10) == pytest.approx(0.9)


def test_what_a_talk_would_have_paid_counts_the_turn_in_which_its_planner_broke_the_rules():
    for said, worth in ((("oops",), [-1.0]), (("firm", "oops"), [-0.1, -1.0])):
        seats = {"adviser": Scripted(said), "buyer": Constant("I offer 3."), "seller": Constant("I ask 9.")}
        (judged,) = talks(noise=0.0).judged(play([Match(GAME, GAME.tasks()[0], seats)], Random(0)), Random(0))
        assert worth_of_turns(judged)[ADVISER] == pytest.approx(worth)
        assert return_of(judged, 10) == pytest.approx(sum(worth))


def test_a_speaker_that_never_keeps_to_the_rules_is_told_so():
    table = talks()
    table.speaker = Constant("I could pay 4, my friend.")
    with pytest.raises(RedQueenError, match="the buyer broke the rules in every talk of a step"):
        table.judged(play(table.matches(GAME.tasks()), Random(0)), Random(0))


def test_the_best_planner_of_talks_of_one_turn():
    """An obeyed split offers 5, which no seller who asks 10 takes: all talks of one turn are lost."""
    assert best_return(PriceTalk(turns=1), 1.0) == WORTH[LOST]


def test_the_best_planner_is_better_than_any_single_line_whose_return_is_what_is_played():
    alone = {line: best_return(GAME, 0.9, (line,)) for line in LINES}
    assert best_return(GAME, 0.9) > max(alone.values())
    players = {"adviser": Constant("concede"), "buyer": Speaker(0.9), "seller": Haggler()}
    episodes = play([Match(GAME, task, players) for task in GAME.tasks() for _ in range(60)], Random(0))
    returns = [return_of(each, 10) for each in episodes]
    assert abs(np.mean(returns) - alone["concede"]) < 3 * np.std(returns) / len(returns) ** 0.5


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"game": "kuhn_poker"}, "not 'kuhn_poker'"),
        ({"game": "price_talk:both=true"}, "leave out both=true"),
        ({"speaker": Role("frozen"), "obedience": 0.5}, "--obedience has no effect"),
    ],
)
def test_what_has_no_effect_is_refused(changes, said):
    config = Config(**changes)
    with pytest.raises(RedQueenError, match=said):
        Talks(config, {"speaker": Constant("hm")} and type("C", (), {"policy": None})())
