"""One HTML file that shows a run, needs no network, and shows hostile words as words."""

import json
import shlex
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from random import Random

import pytest

from redqueen.games.catalogue import find_game
from redqueen.measures.side_by_side import SideBySide
from redqueen.play.lockstep import play
from redqueen.play.seating import mirror
from redqueen.players.scripted import Uniform
from redqueen.records import episode_to_json
from redqueen.types import (
    Ask,
    Episode,
    Message,
    Outcome,
    RedQueenError,
    Reply,
    Seat,
    Task,
    Text,
    ToolCall,
    ToolResult,
    Turn,
)
from redqueen.views.report.collected import collected, write_comparison
from redqueen.views.report.page import write_report

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


def run(folder, lines, episodes=(), final=None, recipe="spiral", **config):
    """A run's folder with these metrics and records."""
    folder.mkdir(exist_ok=True, parents=True)
    settings = {
        "recipe": recipe,
        "config": {"steps": 3, "learner": {"model": "tabular", "learning_rate": None}, **config},
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


def page_of(*folders, **options):
    """The page, its tags, and the data in it."""
    path = write_report(folders, **options)
    page = path.read_text(encoding="utf-8")
    tags = Tags(page)
    assert tags.open == []
    (data,) = [text for text in tags.text if text.startswith('{"runs":')]
    return page, tags, json.loads(data)


def test_a_report_is_one_page_that_loads_nothing(tmp_path):
    lines = [{"step": step, "exploitability": 0.5 - step / 10, "entropy": 0.6} for step in range(3)]
    page, tags, _ = page_of(run(tmp_path, lines, [(episode(), credit())], final={"step": 3, "exploitability": 0.1}))
    assert "https://" not in page
    assert page.count("http://") == page.count("http://www.w3.org/2000/svg")  # the name of a language, not an address
    assert "url(" not in page and "@import" not in page
    assert not {"link", "img", "iframe", "object", "embed"} & {tag for tag, _ in tags.tags}
    assert not any(name in attributes for _, attributes in tags.tags for name in ("src", "href", "srcset"))
    policy = [a["content"] for tag, a in tags.tags if tag == "meta" and "http-equiv" in a]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"]


def test_the_page_holds_curves_settings_and_every_word(tmp_path):
    lines = [{"step": 0, "entropy": 0.7, "exploitability": 0.5}, {"step": 1, "entropy": 0.6}]
    said = episode("bet", "Your card is the king.", "I should bet.")
    _, _, data = page_of(run(tmp_path, lines, [(said, credit())], final={"step": 2, "exploitability": 0.25}))
    (shown,) = data["runs"]
    assert list(shown["curves"]) == ["exploitability", "entropy"]  # exact measures come first
    assert shown["curves"]["exploitability"] == [[0, 0.5], [2, 0.25]]
    assert shown["settings"]["config.learner.model"] == "tabular"
    assert shown["settings"]["config.learner.learning_rate"] == "by default"
    assert (shown["command"], shown["finished"], shown["steps"]) == ("redqueen train spiral", True, 2)
    (found,) = data["episodes"]
    (turn,) = found["turns"]
    assert (data["texts"][turn["said"]], data["texts"][turn["thought"]]) == ("bet", "I should bet.")
    assert [[data["texts"][place], secret] for place, secret in turn["shown"][0][1]] == [
        ["Your card is the king.", True]
    ]
    assert (turn["player"], turn["reward"], turn["advantage"]) == ("learner v3", 1.0, 0.25)
    assert found["scores"] == [["first", 1.0], ["second", -1.0]]
    assert found["replay"] == f"redqueen replay {tmp_path} 0.0"


def test_a_run_took_as_long_as_its_steps_in_which_their_measurements_are_contained(tmp_path):
    lines = [{"step": n, "loss": 1.0, "time": {"step": 2.0, "measure": 0.5}} for n in range(3)]
    (shown,) = collected([run(tmp_path, lines)])["runs"]
    assert shown["seconds"] == 6.0


def test_what_is_no_number_is_left_out_of_a_curve(tmp_path):
    lines = [{"step": 0, "loss": 1.0}, {"step": 1, "loss": float("nan")}, {"step": 2, "loss": float("inf")}]
    _, _, data = page_of(run(tmp_path, [*lines, {"step": 3, "loss": 0.5}, {"step": 4, "only": float("nan")}]))
    assert data["runs"][0]["curves"] == {"loss": [[0, 1.0], [3, 0.5]]}


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_are_data_and_never_markup(text, tmp_path):
    said = episode(text, text, text, text, game=text)
    _, tags, data = page_of(run(tmp_path, [{"step": 0, text: 1.0}], [(said, credit(text))], recipe=text))
    assert data["texts"] == [text]
    assert data["episodes"][0]["turns"][0]["seat"] == text
    _, usual, _ = page_of(run(tmp_path / "usual", [{"step": 0, "loss": 1.0}], [(episode(), credit())]))
    assert [tag for tag, _ in tags.tags] == [tag for tag, _ in usual.tags]


def test_a_lone_half_of_a_character_does_not_stop_the_report(tmp_path):
    page, _, _ = page_of(run(tmp_path, [{"step": 0, "loss": 1.0}], [(episode("\ud83d"), credit())]))
    assert "ud83d" in page


def test_rules_that_every_turn_repeats_are_in_the_page_once(tmp_path):
    rules = "These are the rules. " * 500
    page, _, data = page_of(run(tmp_path, [{"step": 0, "loss": 1.0}], [(episode(shown=rules), credit())] * 50))
    assert page.count("These are the rules.") == 500
    assert len(data["episodes"]) == 50


def test_beyond_so_many_episodes_a_sample_is_shown(tmp_path):
    many = [(episode(f"word{number}"), credit()) for number in range(30)]
    folder = run(tmp_path, [{"step": 0, "loss": 1.0}], many)
    data = collected([folder], most_episodes=10)
    assert (len(data["episodes"]), data["recorded"]) == (10, 30)
    assert collected([folder], most_episodes=10) == data
    assert [each["name"] for each in data["episodes"]] == sorted(
        (each["name"] for each in data["episodes"]), key=lambda name: int(name.partition(".")[2])
    )


def test_several_runs_are_one_page_where_it_is_asked_for(tmp_path):
    folders = [run(tmp_path / name, [{"step": 0, "loss": 1.0}], [(episode(name), credit())]) for name in ("one", "two")]
    _, tags, data = page_of(*folders, target=tmp_path / "here" / "both.html")
    assert (tmp_path / "here" / "both.html").is_file()
    assert [each["name"] for each in data["runs"]] == ["one", "two"]
    assert [each["run"] for each in data["episodes"]] == [0, 1]
    assert "2 runs" in tags.text


def test_a_run_that_is_named_twice_is_shown_once(tmp_path):
    one, two = (run(tmp_path / name, [{"step": 0, "loss": 1.0}], [(episode(), credit())]) for name in ("one", "two"))
    (one / "league.json").write_text('{"players": [], "kinds": [], "ratings": [], "win_rates": []}')
    data = collected([one, two, tmp_path / "two" / ".." / "one", one])
    assert [each["name"] for each in data["runs"]] == ["one", "two"]
    assert (len(data["episodes"]), len(data["leagues"])) == (2, 1)


def test_runs_whose_folders_have_one_name_are_told_apart(tmp_path, monkeypatch):
    names = ("a/spiral-0", "b/spiral-0", "deep/b/spiral-0", "b/spiral-1")
    folders = [run(tmp_path / name, [{"step": 0, "loss": 1.0}]) for name in names]
    above = tmp_path.name
    found = [each["name"] for each in collected(folders)["runs"]]
    assert found == ["a/spiral-0", f"{above}/b/spiral-0", "deep/b/spiral-0", "spiral-1"]
    monkeypatch.chdir(folders[0])
    assert [each["name"] for each in collected([Path()])["runs"]] == ["spiral-0"]


def test_commands_are_quoted_for_a_shell(tmp_path):
    place = run(tmp_path / "a run", [{"step": 0, "loss": 1.0}], [(episode(), credit())])
    settings = json.loads((place / "config.json").read_text())
    words = ["redqueen", "train", "spiral", "--game", "openspiel:kuhn_poker(players=2)"]
    (place / "config.json").write_text(json.dumps({**settings, "command": words}))
    data = collected([place])
    assert data["runs"][0]["command"] == "redqueen train spiral --game 'openspiel:kuhn_poker(players=2)'"
    assert shlex.split(data["episodes"][0]["replay"]) == ["redqueen", "replay", str(place), "0.0"]


def test_what_only_one_seat_was_shown_is_marked(tmp_path):
    turns = tuple(
        Turn(Ask(seat, (Message("game", f"The rules.\nYour card: {card}."),)), Reply("pass", "learner"))
        for seat, card in ((FIRST, "king"), (SECOND, "jack"))
    )
    two = Episode("toy", Task("t"), 0, turns, Outcome({FIRST: 1.0, SECOND: -1.0}), (FIRST, SECOND))
    data = collected([run(tmp_path, [{"step": 0, "loss": 1.0}], [(two, {})])])
    blocks = [turn["shown"][0][1] for turn in data["episodes"][0]["turns"]]
    assert [[(data["texts"][place], secret) for place, secret in each] for each in blocks] == [
        [("The rules.", False), ("Your card: king.", True)],
        [("The rules.", False), ("Your card: jack.", True)],
    ]


def test_only_what_is_new_in_a_conversation_is_shown(tmp_path):
    first = (Message("game", "Begin."),)
    later = (*first, Message("first", "pass"), Message("game", "Again."))
    turns = tuple(Turn(Ask(FIRST, messages), Reply("pass", "learner")) for messages in (first, later))
    one = Episode("toy", Task("t"), 0, turns, Outcome({FIRST: 0.0}), (FIRST,))
    data = collected([run(tmp_path, [{"step": 0, "loss": 1.0}], [(one, {})])])
    assert [[speaker for speaker, _ in turn["shown"]] for turn in data["episodes"][0]["turns"]] == [
        ["game"],
        ["first", "game"],
    ]


def test_calls_and_results_of_tools_are_shown_as_such(tmp_path):
    called = Message("first", [Text("<add>1</add>"), ToolCall("call_1", "add", {"text": "1"})])
    first = (Message("game", "Begin."),)
    later = (*first, called, Message("tool", [Text("<"), ToolResult("call_1", "2"), Text(">")]))
    turns = tuple(Turn(Ask(FIRST, messages), Reply("pass", "learner")) for messages in (first, later))
    one = Episode("toy", Task("t"), 0, turns, Outcome({FIRST: 0.0}), (FIRST,))
    data = collected([run(tmp_path, [{"step": 0, "loss": 1.0}], [(one, {})])])
    shown = data["episodes"][0]["turns"][1]["shown"]
    assert [(who, [data["texts"][place] for place, _ in blocks]) for who, blocks in shown] == [
        ('first (call_1: add {"text": "1"})', ["<add>1</add>"]),
        ("tool (result of call_1)", ["<2>"]),
    ]


def test_a_run_that_goes_on_has_a_report(tmp_path):
    _, _, data = page_of(run(tmp_path, [{"step": 0, "loss": 1.0}, {"step": 1, "loss": 0.5}]))
    assert (data["runs"][0]["finished"], data["recorded"]) == (False, 0)


def test_a_report_can_be_written_again(tmp_path):
    folder = run(tmp_path, [{"step": 0, "loss": 1.0}])
    assert write_report([folder]).read_text() == write_report([folder]).read_text()


def test_what_has_no_report_is_said(tmp_path):
    with pytest.raises(RedQueenError, match="has no metrics yet"):
        write_report([run(tmp_path / "empty", [])])
    with pytest.raises(RedQueenError, match="name at least one run"):
        write_report([])
    with pytest.raises(RedQueenError, match="is not a run"):
        write_report([tmp_path])
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(RedQueenError, match="cannot write"):
        write_report([run(tmp_path / "whole", [{"step": 0, "loss": 1.0}])], blocked / "report.html")


OWN = """open({marker!r}, "w").close()
from redqueen.games.tic_tac_toe import TicTacToe
class Mine:
    name, roles, perfect_information = "mine", ("first", "second"), {open}
    tasks = play = None
    def __init__(self):
        self.tasks, self.play = TicTacToe().tasks, TicTacToe().play
"""


def any_private(place):
    turns = collected([place])["episodes"][0]["turns"]
    return any(flag for turn in turns for _, parts in turn["shown"] for _, flag in parts)


@pytest.mark.parametrize(
    ("spec", "secrets"),
    [
        ("tic_tac_toe", False),
        ("kuhn_poker", True),
        ("connect:m=3,n=3,k=3", False),
        ("connect:4,3,3,drop=true", False),
        ("liars_dice:sides=4", True),
        ("FOLDER/open.py:Mine", True),  # the code of a user is not run for a report
        ("FOLDER/closed.py:Mine", True),
        ("openspiel:tic_tac_toe", False),
        ("openspiel:kuhn_poker(players=2)", True),
    ],
)
def test_in_a_game_without_secrets_nothing_is_private(spec, secrets, tmp_path):
    if spec.startswith("openspiel"):
        pytest.importorskip("pyspiel")
    (tmp_path / "open.py").write_text(OWN.format(open=True, marker=str(tmp_path / "ran")))
    (tmp_path / "closed.py").write_text(OWN.format(open=False, marker=str(tmp_path / "ran")))
    spec = spec.replace("FOLDER", str(tmp_path))
    game = find_game(spec)
    episodes = play(mirror(game, game.tasks()[:1], Uniform()), Random(0))
    (tmp_path / "ran").unlink(missing_ok=True)
    place = run(tmp_path / "run", [{"step": 0}], [(each, {}) for each in episodes], game=spec)
    assert any_private(place) == secrets
    assert not (tmp_path / "ran").exists()


def test_a_game_that_is_no_longer_found_is_taken_to_have_secrets(tmp_path):
    game = find_game("tic_tac_toe")
    (one,) = play(mirror(game, game.tasks(), Uniform()), Random(0))[:1]
    gone = f"{tmp_path}/gone.py:Mine"
    assert any_private(run(tmp_path / "own", [{"step": 0}], [(replace(one, game="mine"), {})], game=gone))
    assert not any_private(run(tmp_path / "shipped", [{"step": 0}], [(one, {})], game=gone))


def test_the_payoffs_of_a_league_are_in_its_report(tmp_path):
    place = run(tmp_path / "run", [{"step": 0}])
    table = {
        "players": ["a", "b"],
        "kinds": ["learner", "past"],
        "ratings": [9.0, -9.0],
        "win_rates": [[None, 0.6], [0.4, None]],
    }
    (place / "league.json").write_text(json.dumps(table))
    assert collected([place])["leagues"] == [table]


@pytest.mark.parametrize("name", ["league.json", "tournament.json", "comparison.json"])
@pytest.mark.parametrize("text", ['{"players": ["a", "b"], "kin', "", "\xff"])
def test_a_table_that_was_cut_short_is_one_clear_line(name, text, tmp_path):
    place = run(tmp_path / "run", [{"step": 0}])
    (place / name).write_text(text, encoding="latin-1")
    with pytest.raises(RedQueenError, match=f"{name} is cut short or was changed: remove it"):
        write_report([place])


def test_a_table_appears_whole_or_not_at_all(tmp_path):
    place = run(tmp_path / "run", [{"step": 0}])
    found = SideBySide("toy", ("one", "two"), "", (), (), ())
    write_comparison(place, found)
    (place / ".comparison.json.writing").mkdir()  # a disk that takes no more
    with pytest.raises(RedQueenError, match=r"cannot write .*comparison\.json"):
        write_comparison(place, replace(found, game="other"))
    assert collected([place])["comparisons"][0]["game"] == "toy"


def test_of_the_optimiser_only_what_was_given_stands_on_the_first_screen(tmp_path):
    folder = run(tmp_path, [{"step": 0, "loss": 1.0}])
    kept = json.loads((folder / "config.json").read_text())
    kept["config"]["learner"] = {"model": "tiny", "optimization": {"betas": [0.9, 0.99], "weight_decay": 0.1}}
    kept["command"] = ["redqueen", "train", "grpo", "--weight-decay=0.1"]
    (folder / "config.json").write_text(json.dumps(kept))
    (shown,) = collected([folder])["runs"]
    assert shown["usual"] == ["config.learner.optimization.betas"]
    assert shown["settings"]["config.learner.optimization.betas"] == "[0.9, 0.99]"  # in the table of all settings
