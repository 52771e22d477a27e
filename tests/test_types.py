"""What an episode says about itself."""

from redqueen.types import Ask, Episode, Message, Outcome, Reply, Seat, Task, Turn

WHITE, BLACK = Seat("white"), Seat("black")
RULES, MOVE, AGAIN = Message("game", "rules"), Message("game", "your move"), Message("game", "again")


def asked(seat, *messages):
    return Turn(Ask(seat, messages), Reply("x"))


def test_a_turn_shows_what_its_seat_was_not_shown_before_and_all_of_it_where_its_talk_began_anew():
    turns = (
        asked(WHITE, RULES),
        asked(BLACK, RULES),
        asked(WHITE, RULES, MOVE, AGAIN),
        asked(BLACK, RULES, AGAIN),
        asked(WHITE, MOVE),
        asked(WHITE, AGAIN),
    )
    episode = Episode("chess", Task("empty"), 0, turns, Outcome({WHITE: 0.0, BLACK: 0.0}), (WHITE, BLACK))
    assert episode.newly_shown() == [(RULES,), (RULES,), (MOVE, AGAIN), (AGAIN,), (MOVE,), (AGAIN,)]
