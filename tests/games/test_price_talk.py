"""Price talk: deals and scores, who hears the advice, prices in free text, illegal replies."""

from random import Random

import pytest

from redqueen.contracts import games as contract
from redqueen.games.price_talk import ADVISER, BUYER, SELLER, SELLER_ADVISER, PriceTalk
from redqueen.play.lockstep import play
from redqueen.players.scripted import Constant, Scripted
from redqueen.types import Match, RedQueenError


def talk(adviser, buyer, seller, game=PriceTalk(), reserve=1):
    players = {
        "adviser": Scripted(adviser, "adviser"),
        "buyer": Scripted(buyer, "buyer"),
        "seller": Scripted(seller, "seller"),
    }
    (episode,) = play([Match(game, game.tasks()[reserve], players)], Random(0))
    return episode


def knows(task, seat):
    return task.facts["reserve"] if seat.role == "seller" else ()


@pytest.mark.parametrize("game", [PriceTalk(turns=3), PriceTalk(turns=3, listed=False)], ids=lambda game: game.name)
def test_the_game_keeps_the_contract(game):
    contract.check_game(game, knows=knows)


def test_a_deal_pays_the_share_of_the_price_that_was_saved():
    episode = talk(("firm", "concede"), ("I offer 3.", "I offer 4."), ("I ask 8.", "Deal."))
    assert episode.outcome.scores == pytest.approx({ADVISER: 6 / 9, BUYER: 6 / 9, SELLER: -1 / 9})
    assert episode.outcome.facts == {
        "history": ("buyer: I offer 3.", "seller: I ask 8.", "buyer: I offer 4.", "seller: Deal."),
        "advice": ("firm", "concede"),
        "price": 4,
    }


@pytest.mark.parametrize(
    ("buyer", "seller", "turns"),
    [
        (("I offer 3.", "I leave."), ("I ask 8.",), 2),
        (("I offer 3.",), ("I leave.",), 1),
        (("I offer 3.",) * 8, ("I ask 8.",) * 8, 8),
    ],
)
def test_without_a_deal_nobody_gains(buyer, seller, turns):
    episode = talk(("firm",) * 8, buyer, seller)
    assert set(episode.outcome.scores.values()) == {0.0}
    assert len(episode.outcome.facts["advice"]) == turns


def test_the_seller_hears_no_advice_and_the_others_no_reserve():
    episode = talk(("split",) * 2, ("I offer 3.", "I offer 6."), ("I ask 8.", "Deal."), reserve=2)
    shown = {seat: [t.ask.messages[0].text for t in episode.turns if t.ask.seat == seat] for seat in (BUYER, SELLER)}
    assert all("split" in text for text in shown[BUYER])
    assert not any("split" in text or "dviser" in text for text in shown[SELLER])
    assert all("below 7" in text for text in shown[SELLER])
    assert not any("7" in text for text in shown[BUYER])
    assert "The buyer offers 6. The seller asks 8. It offered 3 before." in shown[SELLER][1]


@pytest.mark.parametrize(
    ("text", "price"),
    [("4.", 4), ("I said 3, I say 5!", 5), ("from 3 to 12", 3), ("no more", 2), ("5.5?", 2), ("0", 2)],
)
def test_the_last_price_in_free_text_is_the_offer(text, price):
    assert PriceTalk(listed=False).offered(text, before=2) == price


def test_a_seller_cannot_agree_to_nothing():
    episode = talk(("firm",), ("Good day!",), ("Deal.",), PriceTalk(listed=False))
    assert episode.outcome.facts["price"] == 0


def test_an_adviser_that_writes_an_essay_forfeits():
    essay = Constant("First, let us think about what the seller wants. " * 50)
    game = PriceTalk()
    (episode,) = play([Match(game, game.tasks()[0], dict.fromkeys(game.roles, essay))], Random(0))
    assert (episode.outcome.facts["forfeit"], episode.outcome.facts["reason"]) == ("adviser", "illegal")


def test_a_talk_that_cannot_be_is_refused():
    with pytest.raises(RedQueenError, match="a first price above 7, not 8 and 7"):
        PriceTalk(top=7)


def two_advisers(adviser, buyer, seller_adviser, seller, game):
    said = (adviser, buyer, seller, seller_adviser)
    players = {role: Scripted(lines, role) for role, lines in zip(game.roles, said, strict=True)}
    (episode,) = play([Match(game, game.tasks()[0], players)], Random(0))
    return episode


def test_the_game_with_two_advisers_keeps_the_contract():
    contract.check_game(
        PriceTalk(turns=2, both=True),
        knows=lambda task, seat: task.facts["reserve"] if seat.role in ("seller", "seller_adviser") else (),
    )


def test_each_side_hears_its_own_adviser_alone():
    game = PriceTalk(both=True)
    firm, walk = ("firm",) * 2, ("walk",) * 2
    episode = two_advisers(firm, ("I offer 3.", "I offer 4."), walk, ("I ask 8.", "Deal."), game)
    assert (episode.outcome.facts["advice"], episode.outcome.facts["seller_advice"]) == (firm, walk)
    assert episode.outcome.scores[SELLER_ADVISER] == episode.outcome.scores[SELLER] == pytest.approx(1 / 9)
    for turn in episode.turns:
        shown = turn.ask.messages[0].text
        hidden = "walk" if turn.ask.seat in (ADVISER, BUYER) else "firm"
        assert hidden not in shown, turn.ask.seat
        assert ("below 3" in shown) == (turn.ask.seat in (SELLER, SELLER_ADVISER))


def test_advice_in_free_text_has_so_many_words():
    game = PriceTalk(both=True, words=3)
    short = ("stay firm now",)
    essay = two_advisers(short, ("I offer 3.",), ("ask for a lot more",), (), game)
    assert essay.outcome.facts["forfeit"] == "seller_adviser"
    again = two_advisers(
        (*essay.outcome.facts["advice"], "firm"), ("I offer 3.", "I leave."), short, ("I ask 9.",), game
    )
    assert again.outcome.facts["advice"] == ("stay firm now", "firm")
    asked = essay.turns[0].ask
    assert not asked.choices
    assert "at most 3 words" in asked.messages[0].text


def test_words_below_zero_are_refused():
    with pytest.raises(RedQueenError, match="or 0 for listed lines, not -1"):
        PriceTalk(words=-1)
