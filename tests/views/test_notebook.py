"""What a notebook shows: through IPython where it is installed, as it would show it."""

import json
from html.parser import HTMLParser

import pytest

from redqueen.recipes.games import spiral
from redqueen.runs.folder import stored_episodes
from redqueen.runs.run import Run, Schedule, SettingsFile
from redqueen.types import Ask, Episode, Message, Outcome, RedQueenError, Reply, Seat, Task, Turn
from redqueen.views.notebook import show_episode, show_run

SEAT = Seat("only")
HOSTILE = "\"></iframe><script>alert(1)</script>'\ud83d&quot;"


class Frames(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))


def data_of(shown):
    """The data of the page inside the frame, which is all that there is."""
    ((tag, attributes),) = Frames(shown._repr_html_()).tags
    assert tag == "iframe" and attributes["sandbox"] == "allow-scripts"
    text = attributes["srcdoc"].partition('<script type="application/json" id="data">')[2].partition("</script>")[0]
    return json.loads(text)


def trained(folder, seed=0):
    config = spiral.Config(steps=2, matches_per_step=4)
    settings = {"recipe": "spiral", "config": {"steps": 2}, "seed": seed, "schedule": {}, "versions": {}}
    run = Run(folder, seed, Schedule(record_episodes=2), [SettingsFile(settings)])
    spiral.train(config, run)
    return run


def test_a_run_is_shown_as_its_report(tmp_path):
    folders = [trained(tmp_path / f"seed{seed}", seed).folder for seed in range(2)]
    data = data_of(show_run(*folders))
    assert [run["name"] for run in data["runs"]] == ["seed0", "seed1"]
    assert len(data["episodes"]) == 8
    assert len(data_of(show_run(str(folders[0]), most_episodes=3))["episodes"]) == 3
    with pytest.raises(RedQueenError, match="is not a run"):
        show_run(tmp_path)


def test_an_episode_is_shown_alone_with_its_credit(tmp_path):
    run = trained(tmp_path / "run")
    _, episode, credit = stored_episodes(run.folder)[0]
    data = data_of(show_episode(episode, credit, run.folder))
    (shown,) = data["episodes"]
    assert data["runs"] == [] and shown["game"] == "kuhn_poker" and shown["replay"] == ""
    assert [turn["reward"] for turn in shown["turns"]] != [None] * len(shown["turns"])
    assert data_of(show_episode(episode))["episodes"][0]["turns"][0]["reward"] is None


def test_hostile_words_stay_inside_the_frame():
    turn = Turn(Ask(SEAT, (Message("game", HOSTILE),)), Reply(HOSTILE, HOSTILE))
    shown = show_episode(Episode(HOSTILE, Task(HOSTILE), 0, (turn,), Outcome({SEAT: 0.0}), (SEAT,)))
    assert HOSTILE in data_of(shown)["texts"]
    assert shown._repr_html_().encode()  # it can be sent


def test_ipython_finds_what_to_show(tmp_path):
    formatters = pytest.importorskip("IPython.core.formatters")
    run = trained(tmp_path / "run")
    _, episode, _ = stored_episodes(run.folder)[0]
    formatter = formatters.DisplayFormatter()
    for thing, part in ((run, "exploitability"), (episode, "kuhn_poker"), (show_run(run.folder), "<iframe")):
        shown, _ = formatter.format(thing)
        assert part in shown["text/html"]
        assert len(shown["text/plain"]) < 5000
