"""One HTML file that shows a run, needs no network, and shows hostile words as words."""

import json
import re
from html.parser import HTMLParser

import pytest

from redqueen.records import episode_to_json
from redqueen.report import SHOWN_EPISODES, write_report
from redqueen.types import Ask, Episode, Message, Outcome, RedQueenError, Reply, Seat, Task, Turn

FIRST, SECOND = Seat("first"), Seat("second")
VOID = {"meta", "line", "path", "br"}
HOSTILE = (
    '<script>alert("now")</script>',
    "</pre></details><h1>mine</h1>",
    '" onmouseover="alert(1)',
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt; & 'quotes'",
    "<img src=http://example.com/x.png>",
)


class Tags(HTMLParser):
    """Every tag with its attributes, and whether each is closed in order; the text that a reader sees."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.open, self.text = [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data):
        self.text.append(data)


def run(folder, lines, episodes=(), final=None, recipe="spiral"):
    """A run's folder with these metrics and records."""
    folder.mkdir(exist_ok=True)
    settings = {
        "recipe": recipe,
        "config": {"steps": 3, "learner": {"model": "tabular", "learning_rate": None}},
        "seed": 1,
        "schedule": {"evaluate_every": 5},
        "versions": {"torch": "2"},
        "command": ["redqueen", "train", recipe],
    }
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if final is not None:
        (folder / "final.json").write_text(json.dumps(final))
    (folder / "episodes").mkdir()
    texts = [json.dumps({**episode_to_json(episode), "credit": credit}) + "\n" for episode, credit in episodes]
    (folder / "episodes" / "step_000000.jsonl").write_text("".join(texts))
    return folder


def episode(said="bet", shown="Your move?", thought="", role="first", game="toy"):
    seat = Seat(role)
    turn = Turn(Ask(seat, (Message("game", shown),)), Reply(said, player="learner", version=3, thought=thought))
    scores = {seat: 1.0, SECOND: -1.0}
    return Episode(game, Task("t"), 0, (turn,), Outcome(scores), (seat, SECOND))


def credit(role="first"):
    return {role: {"rewards": [1.0], "advantages": [0.25]}}


def page_of(folder):
    path = write_report(folder)
    assert path == folder / "report.html"
    page = path.read_text(encoding="utf-8")
    tags = Tags(page)
    assert tags.open == []
    return page, tags


def test_a_report_is_one_page_that_loads_nothing(tmp_path):
    lines = [{"step": step, "exploitability": 0.5 - step / 10, "entropy": 0.6} for step in range(3)]
    page, tags = page_of(run(tmp_path, lines, [(episode(), credit())], final={"step": 3, "exploitability": 0.1}))
    assert "http://" not in page
    assert "https://" not in page
    assert "url(" not in page
    assert "@import" not in page
    assert not {"script", "link", "img", "iframe", "object", "embed"} & {tag for tag, _ in tags.tags}
    assert not any(name in attributes for _, attributes in tags.tags for name in ("src", "href", "srcset"))


def test_a_report_shows_curves_settings_and_every_word(tmp_path):
    lines = [{"step": 0, "entropy": 0.7, "exploitability": 0.5}, {"step": 1, "entropy": 0.6}]
    said = episode("bet", "Your card is the king.", "I should bet.")
    _, tags = page_of(run(tmp_path, lines, [(said, credit())], final={"step": 2, "exploitability": 0.25}))
    text = " ".join("".join(tags.text).split())
    for words in ("Your card is the king.", "I should bet.", "says bet", "learner v3", "reward +1.000", "+0.250"):
        assert words in text
    assert "config.learner.modeltabular" in text  # two cells of a table
    assert "redqueen train spiral" in text
    assert "exploitability: 0.5 → 0.25" in text
    assert text.index("exploitability: ") < text.index("entropy: "), "exact measures come first"
    paths = [attributes["d"] for tag, attributes in tags.tags if tag == "path"]
    assert paths[0].count("L") == 1  # of exploitability: measured at step 0 and at the end


def test_a_curve_goes_from_left_to_right_and_down(tmp_path):
    _, tags = page_of(run(tmp_path, [{"step": step, "loss": 4.0 - step} for step in range(5)]))
    (path,) = [attributes["d"] for tag, attributes in tags.tags if tag == "path"]
    points = [tuple(map(float, point[1:].split(","))) for point in path.split()]
    assert points[0] == (40.0, 10.0)
    assert points[-1][0] == 312.0
    assert points[-1][1] == 120.0
    assert points == sorted(points)


@pytest.mark.parametrize("value", [0.5, 0.0, -2.0])
def test_a_curve_of_one_point_is_drawn(value, tmp_path):
    _, tags = page_of(run(tmp_path, [{"step": 0, "loss": value}]))
    (path,) = [attributes["d"] for tag, attributes in tags.tags if tag == "path"]
    assert re.fullmatch(r"M[\d.]+,[\d.]+( h0|( L[\d.]+,[\d.]+)+)", path)  # a start alone would draw nothing


def test_what_is_no_number_is_left_out_of_a_curve(tmp_path):
    lines = [{"step": 0, "loss": 1.0}, {"step": 1, "loss": float("nan")}, {"step": 2, "loss": float("inf")}]
    _, tags = page_of(run(tmp_path, [*lines, {"step": 3, "loss": 0.5}, {"step": 4, "only": float("nan")}]))
    assert all("nan" not in a["d"] and "inf" not in a["d"] for tag, a in tags.tags if tag == "path")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_are_shown_as_words(text, tmp_path):
    role = text
    said = episode(text, text, text, role, game=text)
    _, tags = page_of(run(tmp_path, [{"step": 0, text: 1.0}], [(said, credit(role))], recipe=text))
    assert "".join(tags.text).count(text) >= 6
    usual = Tags(write_report(run(tmp_path / "usual", [{"step": 0, "loss": 1.0}], [(episode(), credit())])).read_text())
    assert [tag for tag, _ in tags.tags if tag != "span"] == [tag for tag, _ in usual.tags if tag != "span"]
    assert not any(name.startswith("on") for _, attributes in tags.tags for name in attributes)


def test_a_huge_word_is_kept_whole_and_wraps(tmp_path):
    word = "x" * 200_000
    page, _ = page_of(run(tmp_path, [{"step": 0, "loss": 1.0}], [(episode(word), credit())]))
    assert word in page
    assert "overflow-wrap: anywhere" in page


def test_only_the_last_episodes_are_shown_newest_first(tmp_path):
    many = [(episode(f"word{number}"), credit()) for number in range(SHOWN_EPISODES + 5)]
    page, _ = page_of(run(tmp_path, [{"step": 0, "loss": 1.0}], many))
    assert f"{SHOWN_EPISODES} of {SHOWN_EPISODES + 5} recorded" in page
    assert "word4 " not in page
    assert page.index("word64") < page.index("word5 ")


def test_a_run_that_goes_on_has_a_report(tmp_path):
    page, _ = page_of(run(tmp_path, [{"step": 0, "loss": 1.0}, {"step": 1, "loss": 0.5}]))
    assert "0 of 0 recorded" in page


def test_a_report_can_be_written_again(tmp_path):
    folder = run(tmp_path, [{"step": 0, "loss": 1.0}])
    assert write_report(folder).read_text() == write_report(folder).read_text()


def test_a_run_without_metrics_has_no_report(tmp_path):
    with pytest.raises(RedQueenError, match="has no metrics yet"):
        write_report(run(tmp_path, []))
