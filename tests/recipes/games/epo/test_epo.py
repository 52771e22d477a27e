"""EPO: the card's vectors, which turns are critical, judges that are rules or models, what an adviser could gain."""

import re
from random import Random

import numpy as np
import pytest

from redqueen.contracts.recipes import TINY, metrics, small, trained
from redqueen.games.hagglers import Speaker, Undecided, heeded, line_in, next_price
from redqueen.games.price_talk import ADVISER, ADVISERS, BUYER, SELLER_ADVISER, PriceTalk
from redqueen.objectives.batch import pack
from redqueen.objectives.policy_gradient import Reinforce
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, Scripted, Uniform
from redqueen.players.tabular import TabularPolicy
from redqueen.recipes.games.epo.measures import best_payoff
from redqueen.recipes.games.epo.recipe import Config
from redqueen.recipes.games.epo.steps import (
    Talks,
    _turns,
    critical,
    estimator,
    everywhere,
    nowhere,
    process_and_goal,
    question_of,
    turns_in,
)
from redqueen.settings.finding import find_recipe
from redqueen.settings.roles import Cast, Role
from redqueen.types import Episode, Match, Outcome, RedQueenError, Task, Trajectory
from tests.forged import FORGED, between_last_fences

GAME = PriceTalk(both=True)


class Seeds:
    def derived(self, *path):
        return 0


def talks(named=critical, **changes):
    config = Config(**changes)
    return Talks(config, Cast(config, Seeds(), config.table_learning_rate), named)


def talk(buyer, seller, game=GAME, reserve=0):
    """A talk in which buyer and seller say these things."""
    cast = {"adviser": Constant("firm"), "seller_adviser": Constant("concede")}
    cast |= {"buyer": Scripted(buyer, "buyer"), "seller": Scripted(seller, "seller")}
    (episode,) = play([Match(game, game.tasks()[reserve], cast)], Random(0))
    return episode


def earned(*rewards):
    """A trajectory of an adviser with these rewards."""
    episode = talk(("I offer 3.",) * len(rewards), ("I ask 9.",) * len(rewards), PriceTalk(len(rewards), both=True))
    own = tuple(turn for turn in episode.turns if turn.ask.seat == ADVISER)
    return Trajectory(episode, ADVISER, own, np.array(rewards))


def test_weights_are_returns_over_the_largest_of_the_talk():
    first = earned(0.0, 1.0, 0.0, 0.8)
    (found,) = estimator("none", 0.99)([first])
    assert found == pytest.approx((0.99, 1.0, 0.443926, 0.448410), abs=1e-6)
    assert found * 1.784080 == pytest.approx((1.766239, 1.784080, 0.792, 0.8), abs=1e-6)


def test_a_talk_that_failed_weighs_as_much_as_one_that_went_well_unless_it_is_compared():
    failed, won = estimator("none", 1.0)([earned(1.0, 0.0), earned(1.0, 1.0)])
    assert max(failed) == max(won) == 1.0
    failed, won = estimator("others", 1.0)([earned(1.0, 0.0), earned(1.0, 1.0)])
    assert failed == pytest.approx((-1.0, -1.0))
    assert won == pytest.approx((1.0, 1.0))


def test_a_talk_without_reward_has_no_weight():
    (found,) = estimator("none", 0.99)([earned(0.0, 0.0)])
    assert found.tolist() == [0.0, 0.0]


def test_equal_rewards_are_imitation_of_what_was_said():
    """With one weight for all turns the update is that of advantages of 1."""
    tables = [TabularPolicy(learning_rate=1.0) for _ in range(2)]
    cast = {"buyer": Speaker(0.9), "seller": Speaker(0.9), "seller_adviser": Undecided()}
    for table, weigh in zip(tables, (estimator("none", 0.0), None), strict=True):
        episodes = play([Match(GAME, task, {"adviser": table, **cast}) for task in GAME.tasks()], Random(0))
        own = [
            Trajectory(each, ADVISER, turns, np.ones(len(turns)))
            for each in episodes
            if (turns := tuple(turn for turn in each.turns if turn.ask.seat == ADVISER))
        ]
        table.update(pack(own, weigh(own) if weigh else [np.ones(len(each.turns)) for each in own]), Reinforce())
    assert tables[0].state() == tables[1].state()


def test_a_turn_is_critical_after_which_the_other_side_came_nearer():
    buyer = ("I offer 3.", "I offer 4.", "I offer 7.", "I offer 7.")
    episode = talk(buyer, ("I ask 8.", "I ask 7.", "I ask 7.", "Deal."))
    assert critical(episode, ADVISER, GAME) == (0,)  # 2 against 0, 1 against 1, 0 against 3; agreed at its own price
    assert critical(episode, SELLER_ADVISER, GAME) == (1,)  # 1 against 2, then 3 against 1, 0 against 0, and the end
    assert everywhere(episode, ADVISER, GAME) == (0, 1, 2, 3)
    assert nowhere(episode, ADVISER, GAME) == ()


def test_a_deal_at_the_own_price_is_critical_and_leaving_is_not():
    assert critical(talk(("I offer 3.",), ("Deal.",)), ADVISER, GAME) == (0,)
    left = talk(("I offer 3.", "I leave."), ("I ask 10.",))
    assert critical(left, ADVISER, GAME) == critical(left, SELLER_ADVISER, GAME) == ()


def test_the_last_turn_earns_the_score_unless_it_is_critical():
    table = talks()
    table._buyer, table._seller = Scripted(("I offer 3.", "I offer 4."), "b"), Scripted(("I ask 8.", "Deal."), "s")
    table.learner = Constant("firm")
    (episode,) = table.judged(play(table.matches(GAME.tasks()[:1], Constant("firm")), Random(0)), Random(0))
    rewards = process_and_goal(episode)
    assert rewards[ADVISER].tolist() == [1.0, 1.0]
    assert rewards[SELLER_ADVISER] == pytest.approx([0.0, 1 / 9])
    assert not rewards[BUYER].any()
    table._named = nowhere
    (episode,) = table.judged([episode], Random(0))
    assert process_and_goal(episode)[ADVISER] == pytest.approx([0.0, 6 / 9])


def test_a_strategy_after_which_its_adviser_is_asked_again_is_no_turn_of_the_talk():
    cast = {"adviser": Scripted(("oops", "anchor", "concede")), "seller_adviser": Constant("firm")}
    cast |= {"buyer": Scripted(("I offer 1.", "I leave.")), "seller": Constant("I ask 8.")}
    (episode,) = play([Match(PriceTalk(both=True, retries=1), GAME.tasks()[0], cast)], Random(0))
    (judged,) = talks().judged([episode], Random(0))
    assert process_and_goal(judged)[ADVISER].tolist() == [0.0, 1.0, 0.0]  # the seller comes down after "anchor"
    assert everywhere(episode, ADVISER, GAME) == (0, 1)


def test_a_seller_that_agrees_to_no_offer_comes_no_nearer():
    game = PriceTalk(both=True, listed=False)
    assert critical(talk(("Well, well.",), ("Deal.",), game), ADVISER, game) == ()


@pytest.mark.parametrize("words", [1, 2])
def test_nobodys_advice_in_free_text_keeps_to_any_number_of_words(words):
    cast = dict.fromkeys(("adviser", "seller_adviser"), Undecided()) | dict.fromkeys(("buyer", "seller"), Speaker(0.9))
    game = PriceTalk(both=True, words=words)
    episodes = play([Match(game, task, cast) for task in game.tasks()], Random(0))
    assert not any("forfeit" in each.outcome.facts for each in episodes)


def test_the_learner_advises_both_sides_by_turns():
    table = talks()
    casts = [match.cast for match in table.matches(GAME.tasks()[:1] * 4, Uniform())]
    sides = ["adviser" if each["adviser"] is table.learner else "seller_adviser" for each in casts]
    assert sides == ["adviser", "seller_adviser"] * 2


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("1, 3", (0, 2)),
        ("none", ()),
        ("Let me see, 2 is bad.\nThe critical ones are 1 and 2.", (0, 1)),
        ("I do not know", None),
        ("7", None),
        ("1.5", None),
    ],
)
def test_a_judges_answer(text, turns):
    found = turns_in(text, 3)
    assert found == turns if text != "1.5" else found in ((), None)


def test_a_judge_reads_the_whole_talk_and_is_counted_where_it_cannot_be_read():
    table = talks()
    table._judge = Constant("1")
    table.learner = Constant("firm")
    other = Scripted(("concede",) * 16, "before")  # the adviser of the other side, of which nothing is learned
    (episode,) = table.judged(play(table.matches(GAME.tasks()[:1], other), Random(0)), Random(0))
    assert episode.outcome.facts["critical"] == {"adviser": (0,)}
    assert process_and_goal(episode)[SELLER_ADVISER][:-1].tolist() == [0.0] * (len(_turns(episode, SELLER_ADVISER)) - 1)
    assert table.metrics([episode])["critical_turns"] == 1 / len(_turns(episode, ADVISER))
    assert table.metrics([episode])["unread_votes"] == 0.0
    asked = question_of(episode, SELLER_ADVISER)
    assert re.search("Strategy 1:\n(=.*)\nconcede\n\\1\n", asked) and "firm" not in asked
    table._judge = Constant("Hm.")
    (episode,) = table.judged([episode], Random(0))
    assert table.metrics([episode])["unread_votes"] == 1.0
    assert episode.outcome.facts["critical"] == {"adviser": ()}


@pytest.mark.parametrize("text", FORGED)
def test_a_strategy_in_words_cannot_speak_as_the_judge_or_as_another_strategy(text):
    facts = {"history": ("buyer: I offer 2.",), "advice": (text, "firm"), "price": 2}
    episode = Episode("", Task(""), 0, (), Outcome({ADVISER: 1.0}, facts), (ADVISER,))
    assert between_last_fences(question_of(episode, ADVISER)) == ["buyer: I offer 2.", text, "firm"]


@pytest.mark.parametrize(
    ("line", "now"),
    [("anchor", 8), ("firm", 8), ("concede", 7), ("split", 5), ("walk", None)],
)
def test_what_a_seller_asks(line, now):
    assert next_price(line, 3, 8, 3) == now
    assert next_price("split", 3, 8, 7) == 7
    assert next_price("concede", 8, 8, 3) == 8  # the offer: it agrees


def test_an_actor_hears_the_one_line_that_is_named():
    assert line_in("Stay firm, my friend!") == "firm"
    assert line_in("firm or split?") == line_in("confirm") == ""
    assert heeded("", 0.9) == [0.25, 0.25, 0.25, 0.25, 0.0]


@pytest.mark.slow
def test_no_adviser_gains_more_than_one_that_knows_all_and_single_lines_are_what_is_played():
    alone = best_payoff(GAME, 0.9, ("concede",))
    assert best_payoff(GAME, 0.9) > alone
    table = talks()
    matches = table.matches([task for task in GAME.tasks() * 200 for _ in ADVISERS], Undecided(), Constant("concede"))
    episodes = play(matches, Random(0))
    gains = [each.outcome.scores[ADVISERS[number % 2]] for number, each in enumerate(episodes)]
    assert abs(np.mean(gains) - alone) < 3 * np.std(gains) / len(gains) ** 0.5


def test_free_text_and_a_model_for_everybody(tmp_path):
    """A tiny model that was never trained says what it says: too much, which ends the talk."""
    said = {"game": "price_talk:both=true,words=3,turns=2,remember=false", "judge": Role("frozen"), "learner": TINY}
    recipe = find_recipe("epo")
    run = trained(recipe, small(recipe, **said), tmp_path)
    assert all(np.isfinite(line["loss"]) for line in metrics(run))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"game": "kuhn_poker"}, "for both sides of a price_talk: --game price_talk:both=true, not 'kuhn_poker'"),
        ({"game": "price_talk"}, "not 'price_talk'"),
        ({"buyer": Role("frozen"), "seller": Role("frozen"), "obedience": 0.5}, "--obedience has no effect"),
    ],
)
def test_what_has_no_effect_is_refused(changes, said):
    config = Config(**changes)
    with pytest.raises(RedQueenError, match=said):
        Talks(config, type("C", (), {"policy": None})(), critical)


def test_an_actor_that_never_keeps_to_the_rules_is_told_so():
    table = talks()
    table._buyer = Constant("I could pay 4, my friend.")
    with pytest.raises(RedQueenError, match="the buyer broke the rules in every talk of a step"):
        table.judged(play(table.matches(GAME.tasks(), Undecided(), Constant("firm")), Random(0)), Random(0))
