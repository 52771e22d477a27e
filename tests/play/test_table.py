from random import Random

import pytest

from redqueen.games.tools import Calculator, ToolReply
from redqueen.play.table import Table
from redqueen.players.scripted import Constant
from redqueen.types import Ask, Match, Message, Outcome, RedQueenError, Reply, Seat, Task

A, B = Seat("a"), Seat("b")
HELLO = (Message("game", "hello"),)


class Made:
    """A game of the roles a and b whose play is given."""

    name = "made"
    roles = ("a", "b")

    def __init__(self, play):
        self._play = play

    def play(self, task, rng):
        return self._play(task, rng)


class Somebody:
    name = "somebody"


def table(play, seed=0, **options):
    cast = {"a": Somebody(), "b": Somebody()}
    return Table(Match(Made(play), Task("t"), cast), seed, **options)


def two_rounds(task, rng):
    for _ in range(2):
        yield [Ask(A, HELLO), Ask(B, HELLO)]
    return Outcome({A: 1.0, B: -1.0})


def test_turns_are_kept_in_the_order_of_the_asks():
    match = table(two_rounds)
    match.hear([Reply("1"), Reply("2")])
    match.hear([Reply("3"), Reply("4")])
    episode = match.episode()
    assert [(str(turn.ask.seat), turn.reply.text) for turn in episode.turns] == [
        ("a", "1"),
        ("b", "2"),
        ("a", "3"),
        ("b", "4"),
    ]
    assert episode.seats == (A, B)
    assert episode.outcome.scores == {A: 1.0, B: -1.0}


def test_an_ask_holds_the_turns_of_its_own_seat():
    match = table(two_rounds)
    match.hear([Reply("1"), Reply("2")])
    assert [[turn.reply.text for turn in ask.past] for ask in match.asks] == [["1"], ["2"]]


def test_every_ask_has_a_seed_of_its_own_that_the_match_decides():
    def seeds(seed):
        match = table(two_rounds, seed)
        found = [ask.seed for ask in match.asks]
        match.hear([Reply(""), Reply("")])
        return [*found, *(ask.seed for ask in match.asks)]

    assert len({*seeds(1), *seeds(2)}) == 8
    assert seeds(1) == seeds(1)


def test_the_chance_of_a_game_comes_from_the_seed_of_the_match():
    def draws(task, rng):
        return Outcome({A: rng.random()})
        yield

    scores = [table(draws, seed).outcome.scores[A] for seed in (1, 1, 2)]
    assert scores[0] == scores[1] != scores[2]
    assert table(draws, 1, rng=Random(5)).outcome.scores[A] == Random(5).random()


def test_a_game_may_end_before_anybody_speaks():
    def over(task, rng):
        return Outcome({A: 0.0})
        yield

    match = table(over)
    assert match.asks == []
    assert match.episode().turns == ()


def yields_a_single_ask(task, rng):
    yield Ask(A, HELLO)


def yields_nothing(task, rng):
    yield []


def asks_an_unknown_role(task, rng):
    yield [Ask(Seat("dealer"), HELLO)]


def shows_nothing(task, rng):
    yield [Ask(A, ())]


def shows_a_text(task, rng):
    yield [Ask(A, "hello")]


def shows_a_list(task, rng):
    yield [Ask(A, list(HELLO))]


def lists_numbers(task, rng):
    yield [Ask(A, HELLO, (1, 2))]


def lists_choices_in_a_list(task, rng):
    yield [Ask(A, HELLO, ["x", "y"])]


def returns_a_score(task, rng):
    return 1.0
    yield


def is_no_generator(task, rng):
    return Outcome({A: 0.0})


@pytest.mark.parametrize(
    ("play", "says"),
    [
        (yields_a_single_ask, r"game 'made' must yield a list of Ask objects, not Ask\("),
        (yields_nothing, r"game 'made' must yield a list of Ask objects, not \[\]"),
        (asks_an_unknown_role, "game 'made' asks the seat dealer, but its roles are a, b"),
        (shows_nothing, r"game 'made' must show the seat a a tuple of Message objects, not \(\)"),
        (shows_a_text, "game 'made' must show the seat a a tuple of Message objects, not 'hello'"),
        (shows_a_list, r"game 'made' must show the seat a a tuple of Message objects, not \[Message"),
        (lists_numbers, r"game 'made' must list the choices of a as a tuple of strings, not \(1, 2\)"),
        (lists_choices_in_a_list, r"game 'made' must list the choices of a as a tuple of strings, not \['x', 'y'\]"),
        (returns_a_score, r"game 'made' must return an Outcome from play\(\), not 1.0"),
        (is_no_generator, r"game 'made' must yield its asks: play\(\) is to be a generator, not to return Outcome"),
    ],
)
def test_a_game_of_the_wrong_shape_gets_one_line(play, says):
    with pytest.raises(RedQueenError, match=says) as error:
        table(play)
    assert "\n" not in str(error.value)


def test_a_game_that_never_ends_is_stopped():
    def forever(task, rng):
        while True:
            yield [Ask(A, HELLO)]

    match = table(forever, max_turns=50)
    with pytest.raises(RedQueenError, match="made does not end: it asked 50 times in one match"):
        for _ in range(60):
            match.hear([Reply("go on")])
    assert len(match.turns) == 51


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("pass", "must answer with a Reply whose text is a string, not with 'pass'"),
        (None, "not with None"),
        (Reply(None), "not with a text that is None"),
        (Reply(3), "not with a text that is 3"),
    ],
)
def test_a_player_that_answers_with_something_else_gets_one_line(answer, says):
    with pytest.raises(RedQueenError, match=f"player 'somebody' .*{says}") as error:
        table(two_rounds).hear([Reply("fine"), answer])
    assert "\n" not in str(error.value)


def test_an_unfinished_match_has_no_record():
    with pytest.raises(AssertionError, match="not over"):
        table(two_rounds).episode()


def test_a_player_is_told_where_its_words_are_to_stop():
    game = ToolReply("solver", (Calculator(),))
    table = Table(Match(game, Task("t", prompt="What is 2+2?"), {"solver": Constant("4")}), 0)
    assert table.asks[0].stops == ("</calculate>",)


@pytest.mark.parametrize(("scores", "total"), [({A: 1.0, B: 1.0}, "2"), ({A: 0.5, B: -1.0}, "-0.5")])
def test_scores_of_a_game_that_says_zero_sum_are_held_to_it(scores, total):
    def play(task, rng):
        yield [Ask(A, HELLO)]
        return Outcome(scores)

    cast = {"a": Somebody(), "b": Somebody()}
    match = Match(Made(play), Task("t"), cast)
    Table(match, 0).hear([Reply("fine")])
    match.game.zero_sum = True
    with pytest.raises(RedQueenError, match=f"game 'made' says zero_sum, and its scores sum to {total}: make"):
        Table(match, 0).hear([Reply("fine")])


@pytest.mark.parametrize("score", ["1", None])
def test_scores_that_are_no_numbers_are_one_line(score):
    def play(task, rng):
        yield [Ask(A, HELLO)]
        return Outcome({A: score, B: 1.0})

    with pytest.raises(RedQueenError, match="must score each seat with a number, not "):
        table(play).hear([Reply("yes")])
