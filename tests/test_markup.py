"""Episodes and runs as HTML: every word is there, none of them does anything."""

from html.parser import HTMLParser

import pytest

from redqueen.markup import episode_as_html, run_as_html, signed, speaker_line, visible, words
from redqueen.recipes.games import spiral
from redqueen.runs.run import Run, Schedule
from redqueen.types import Ask, Episode, Message, Outcome, Reply, Seat, Task, Text, ToolCall, ToolResult, Turn

FIRST, SECOND = Seat("first"), Seat("second")
HOSTILE = (
    "<script>alert(1)</script>",
    "</table></div><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    '" onmouseover="alert(1)',
    "&lt;b&gt; & more",
)


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.open, self.text = [], [], ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, tuple(name for name, _ in attributes)))
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, tuple(name for name, _ in attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def episode(text="bet", role="first"):
    seat = Seat(role)
    first = (Message("game", f"Your card: {text}."),)
    later = (*first, Message("second", "pass"))
    turns = (
        Turn(Ask(seat, first), Reply(text, text, 3, thought=f"I think {text}")),
        Turn(Ask(seat, later), Reply("fold", "learner", 3)),
    )
    return Episode(text, Task(text), 7, turns, Outcome({seat: 1.0, SECOND: -1.0}), (seat, SECOND))


def test_an_episode_shows_who_said_what_and_was_shown_what():
    text = Tags(episode("bet")._repr_html_()).text
    assert "task bet, seed 7: first +1, second -1" in text
    assert "I think bet" in text and "bet v3" in text
    assert text.count("game: Your card: bet.") == 1  # the second turn shows only what is new in it
    assert text.index("Your card") < text.index("second: pass") < text.index("fold")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_are_shown_and_add_no_markup(text):
    usual, found = Tags(episode_as_html(episode())), Tags(episode_as_html(episode(text, role=text)))
    assert found.tags == usual.tags
    assert found.text.count(text) == usual.text.count("bet") + usual.text.count("first")
    assert Tags(run_as_html(text, {text: [1.0]})).tags == Tags(run_as_html("a", {"b": [1.0]})).tags


def test_signs_that_do_not_show_are_shown_by_their_numbers():
    assert words("a\u202eb\x07\ud83d") == "a⟨U+202E⟩b⟨U+0007⟩⟨U+D83D⟩"
    assert words("two\nlines\tand é 🎲") == "two\nlines\tand é 🎲"
    assert words(HOSTILE[0] + "\ud83d").encode()  # it can be sent


def test_a_text_for_a_terminal_is_as_it_is_but_for_what_does_not_show():
    assert visible("<b>\x1b[2J & é") == "<b>⟨U+001B⟩[2J & é"


def test_a_score_has_its_sign_unless_nobody_won_or_nobody_knows():
    assert [signed(score) for score in (1.0, -0.5, 0.0, -0.0, float("nan"))] == ["+1", "-0.5", "0", "0", "unknown"]


def test_a_long_text_is_cut_and_says_so():
    assert words("w" * 2500) == "w" * 2000 + "… (500 more characters)"


def test_a_run_shows_its_figures_with_their_courses(tmp_path):
    run = Run(tmp_path / "[mine]", 3, Schedule())
    assert "step 0" in Tags(run._repr_html_()).text
    spiral.train(spiral.Config(steps=3, matches_per_step=4), run)
    tags = Tags(run._repr_html_())
    assert "[mine], seed 3, step 3" in tags.text
    assert "exploitability0.4583" in tags.text and "reward/first" in tags.text
    assert ("polyline", ("points", "fill", "stroke")) in tags.tags


def test_a_curve_goes_from_its_lowest_to_its_highest_value():
    html = run_as_html("run", {"falls": [2.0, float("nan"), 1.0], "stays": [0.5], "never": [float("nan")]})
    assert "points='0.0,1.0 120.0,19.0'" in html
    assert "points='0.0,19.0'" in html
    assert html.count("<polyline") == 2


def test_beyond_so_many_figures_the_rest_is_counted():
    text = Tags(run_as_html("run", {str(number): [0.0] for number in range(50)})).text
    assert "10 more figures" in text


def test_a_message_is_headed_by_its_speaker_and_the_calls_and_results_that_it_holds():
    assert speaker_line(Message("game", "words")) == "game"
    call = ToolCall("call_1", "calculate", {"text": "12+7"})
    assert speaker_line(Message("solver", [Text("words"), call])) == 'solver (call_1: calculate {"text": "12+7"})'
    assert speaker_line(Message("tool", [ToolResult("call_1", "19")])) == "tool (result of call_1)"
    both = Message("solver", [ToolCall("a", "search", {}), ToolCall("b", "search", {"text": "x" * 500})])
    assert speaker_line(both) == 'solver (a: search {}, b: search {"text": "' + "x" * 110 + "…)"


def test_calls_and_results_of_tools_are_shown_as_such():
    seat, call = Seat("solver"), ToolCall("call_1", "calculate", {"text": "<b>"})
    shown = (Message("solver", [Text("I add."), call]), Message("tool", [ToolResult("call_1", "19")]))
    turns = (Turn(Ask(seat, shown), Reply("19", "learner", 3)),)
    text = Tags(episode_as_html(Episode("sums", Task("t"), 0, turns, Outcome({seat: 0.0}), (seat,)))).text
    assert 'solver (call_1: calculate {"text": "<b>"}): I add.\ntool (result of call_1): 19' in text
