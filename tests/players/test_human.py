from collections.abc import Iterator

import pytest

from redqueen.players.human import Human, HumanLeft, new_messages
from redqueen.types import Ask, Message, RedQueenError, Reply, Seat, ToolResult, Turn

SEAT = Seat("first")
RULES = Message("game", "The rules.")
MOVE = Ask(SEAT, (RULES,), ("pass", "Bet"))


class Keyboard:
    """Types the lines given, then ends as Ctrl-D or Ctrl-C would; remembers the screen."""

    def __init__(self, *lines: str, end: type[BaseException] = EOFError) -> None:
        self.lines: Iterator[str] = iter(lines)
        self.end = end
        self.screen: list[str] = []

    def read(self, prompt: str) -> str:
        self.screen.append(prompt)
        for line in self.lines:
            return line
        raise self.end

    def human(self) -> Human:
        return Human(read=self.read, write=self.screen.append)


@pytest.mark.parametrize(("entry", "said"), [("1", "pass"), (" 2 ", "Bet"), ("PASS", "pass"), ("bet", "Bet")])
def test_a_choice_is_taken_by_number_or_by_words_in_any_case(entry, said):
    keyboard = Keyboard(entry)
    assert keyboard.human().reply([MOVE]) == [Reply(said, "you")]
    assert keyboard.screen[1:] == ["The rules.", "  1. pass", "  2. Bet", "first> "]


def test_the_result_of_a_tool_is_shown_as_such():
    keyboard = Keyboard("1")
    keyboard.human().reply([Ask(SEAT, (RULES, Message("tool", [ToolResult("call_1", "19")])), ("pass",))])
    assert keyboard.screen[1:3] == ["The rules.", "tool (result of call_1): 19"]


@pytest.mark.parametrize("wrong", ["0", "3", "-1", "be", "²"])
def test_an_invalid_entry_is_explained_and_asked_for_again(wrong):
    keyboard = Keyboard(wrong, "2")
    assert keyboard.human().reply([MOVE])[0].text == "Bet"
    assert f"{wrong!r} is not a choice. Enter a number from 1 to 2, or a choice's words" in keyboard.screen[-2]


def test_an_empty_entry_is_asked_for_again():
    keyboard = Keyboard("", "  ", "hello")
    free = Ask(SEAT, (RULES,))
    assert keyboard.human().reply([free])[0].text == "hello"
    assert sum("write something" in line for line in keyboard.screen) == 2


def test_choices_that_are_numbers_are_meant_literally():
    squares = Ask(SEAT, (RULES,), ("3", "5", "1"))
    keyboard = Keyboard("2", "1")
    assert keyboard.human().reply([squares])[0].text == "1"
    assert "'2' is not a choice. Enter one of: 3, 5, 1" in keyboard.screen[-2]


def test_choices_that_differ_in_case_alone_must_be_spelled_exactly():
    ask = Ask(SEAT, (RULES,), ("a", "A"))
    assert Keyboard("A").human().reply([ask])[0].text == "A"


@pytest.mark.parametrize("end", [EOFError, KeyboardInterrupt])
def test_leaving_is_one_clean_error(end):
    with pytest.raises(HumanLeft, match=r"^you left the game$") as caught:
        Keyboard(end=end).human().reply([MOVE])
    assert isinstance(caught.value, RedQueenError)


def test_only_what_is_new_is_shown_and_never_ones_own_words():
    talk = (RULES, Message("first", "hello"), Message("second", "hi"), Message("game", "Go on."))
    later = Ask(SEAT, talk, past=(Turn(Ask(SEAT, talk[:1]), Reply("hello")),))
    assert new_messages(later) == talk[2:]
    keyboard = Keyboard("fine")
    keyboard.human().reply([later])
    assert keyboard.screen[1:] == ["second: hi", "Go on.", "first> "]


def test_a_game_that_shows_everything_anew_is_shown_whole():
    later = Ask(SEAT, (Message("game", "Another board."),), past=(Turn(MOVE, Reply("pass")),))
    assert new_messages(later) == later.messages


def test_a_repeated_ask_shows_its_last_message_again():
    later = Ask(SEAT, MOVE.messages, past=(Turn(MOVE, Reply("pass")),))
    assert new_messages(later) == (RULES,)
