"""The report as a reader meets it: drawn by a real browser, searched, opened, coloured. Skipped where there is none."""

import itertools
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from redqueen.records import episode_to_json
from redqueen.types import Ask, Episode, Message, Outcome, Reply, Seat, Task, Turn
from redqueen.views.notebook import show_episode
from redqueen.views.report.page import write_report

FIRST, SECOND = Seat("first"), Seat("second")
HOSTILE = (
    "<script>document.title='mine'</script><img src=x onerror=\"document.title='mine'\">\u202egnorts\x07" + "w" * 5000
)


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver")
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not program or not driver:
        pytest.skip("NO BROWSER: install Debian's chromium and chromium-driver to run these")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1200,900",
    ):
        options.add_argument(flag)
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield opened
    opened.quit()


def game(number, said="2", name="tic_tac_toe"):
    """Two moves, of tic-tac-toe where nothing else is said, each of one token."""
    turns = []
    for seat, text in ((FIRST, said), (SECOND, "5")):
        ask = Ask(seat, (Message("game", f"The rules.\nYou are {seat.role} in game {number}."),), ("2", "5"))
        reply = Reply(text, "learner", 3, np.array([1]), np.array([7]), np.array([-0.7]), thought=f"thinking of {text}")
        turns.append(Turn(ask, reply))
    outcome = Outcome({FIRST: 1.0, SECOND: -1.0}, {"history": (said, "5"), "number": number})
    return Episode(name, Task(f"deal {number}"), number, tuple(turns), outcome, (FIRST, SECOND))


def run(folder, episodes, seed=0, lines=(), recipe="spiral"):
    folder.mkdir()
    settings = {"recipe": recipe, "config": {"steps": 3}, "seed": seed, "schedule": {}, "versions": {}, "command": []}
    (folder / "config.json").write_text(json.dumps(settings))
    lines = lines or [{"step": step, "exploitability": 0.5 / (1 + step) + seed / 100} for step in range(4)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "episodes").mkdir()
    credit = {
        str(seat): {"rewards": [1.0], "advantages": [0.5], "parts": {"payoff": [0.75], "form": [0.25]}}
        for seat in (FIRST, SECOND)
    }
    text = "".join(json.dumps({**episode_to_json(episode), "credit": credit}) + "\n" for episode in episodes)
    (folder / "episodes" / "step_000002.jsonl").write_text(text)
    return folder


def shown(browser, page):
    browser.get(page.as_uri())
    assert browser.find_element("id", "page").get_attribute("data-ready") == "true"
    return browser.find_element("id", "page")


def texts(browser, selector):
    return [each.text for each in browser.find_elements("css selector", selector)]


def test_the_first_screen_says_what_happened_and_shows_the_curve(browser, tmp_path):
    folder = run(tmp_path / "run", [game(number) for number in range(3)])
    measures = {"exploitability": {"exact": True, "references": {"uniform play": 0.5, "an equilibrium": 0.0}}}
    (folder / "measures.json").write_text(json.dumps(measures))
    (folder / "final.json").write_text(json.dumps({"step": 4, "exploitability": 0.1}))
    page = shown(browser, write_report([folder]))
    assert texts(browser, ".sentence") == [
        "Exploitability fell from 0.5 at step 0 to 0.1 at step 4, computed exactly from the policy's probabilities: no "
        "sampling error, one seed."
    ]
    assert texts(browser, ".tag")[0] == "finished, 4 steps"
    assert "lower is better" in page.text and "score a game" in page.text
    assert texts(browser, "[data-main] .label") == ["an equilibrium: 0", "start, uniform play: 0.5"]
    assert not browser.find_elements("css selector", "#alarms")
    curve = browser.find_element("css selector", "[data-main] .line")
    assert curve.rect["y"] + curve.rect["height"] < 900  # on the first screen
    links = browser.find_elements("css selector", "nav a")
    places = [link.get_attribute("href").partition("#")[2] for link in links]
    assert "curves" in places and all(browser.find_elements("id", place) for place in places)


def test_a_run_that_died_and_its_alarms_are_marked(browser, tmp_path):
    lines = [{"step": n, "accuracy": 0.5, "alarms": [f"unread: {HOSTILE}"], "time": {"step": 1.0}} for n in range(3)]
    folder = run(tmp_path / "run", [game(0)], lines=lines)
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**settings, "config": {"steps": 30}, "command": [HOSTILE]}))
    (folder / "error.txt").write_text(f"step 2: {HOSTILE}")
    (folder / "measures.json").write_text(
        json.dumps({"accuracy": {"count": 9, "of": HOSTILE, "references": {HOSTILE: 0.1}}})
    )
    page = shown(browser, write_report([folder]))
    assert texts(browser, ".ending.bad .tag") == ["died after 3 of 30 steps"]
    assert texts(browser, ".ending.bad")[0].startswith("died after 3 of 30 steps step 2: <script>")
    assert len(browser.find_elements("css selector", "[data-main] .died")) == 1
    (alarm,) = texts(browser, "#alarms li")
    assert (
        alarm.startswith("Unread: <script>") and "in 3 steps from 0 to 2; it was still firing in the last step" in alarm
    )
    assert browser.title == "spiral: run"
    assert not browser.find_elements("css selector", "#page img, #page script")
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert page.is_displayed()


def test_flat_curves_are_folded_away_and_said_to_be_flat(browser, tmp_path):
    lines = [{"step": n, "accuracy": n / 4, "malformed": 0.25, "alarm/entropy_gone": 0.0} for n in range(4)]
    shown(browser, write_report([run(tmp_path / "run", [], lines=lines)]))
    assert [each.get_attribute("data-figure") for each in browser.find_elements("css selector", "[data-figure]")] == [
        "accuracy"
    ]
    flat = browser.find_element("id", "flat")
    assert flat.text == "1 flat figure: the same from the first step to the last"
    flat.find_element("tag name", "summary").click()
    assert texts(browser, "#flat td") == ["Replies in which no answer could be read", "malformed", "25%"]


def test_one_prompt_stands_before_and_after_and_opens_its_episode(browser, tmp_path):
    folder = run(tmp_path / "run", [game(7)])
    record = (folder / "episodes" / "step_000002.jsonl").read_text()
    (folder / "episodes" / "step_000000.jsonl").write_text(record)
    shown(browser, write_report([folder]))
    assert [each.split("\n")[0] for each in texts(browser, ".side")] == [
        "Step 0 first +1 second -1",
        "Step 2 first +1 second -1",
    ]
    assert "The same task, tic_tac_toe: the first one and the last one recorded" in texts(browser, ".pair")[0]
    browser.find_elements("css selector", ".side a")[0].click()
    (opened,) = browser.find_elements("css selector", ".row[aria-expanded=true]")
    assert opened.get_attribute("data-name") == "0.0"


def test_labels_of_reference_lines_do_not_overlap(browser, tmp_path):
    folder = run(tmp_path / "run", [], lines=[{"step": n, "exploitability": 0.5 - n / 100} for n in range(4)])
    references = {f"player {n}": 0.3 + n / 1000 for n in range(6)}
    (folder / "measures.json").write_text(json.dumps({"exploitability": {"exact": True, "references": references}}))
    for width in (1280, 390):
        browser.set_window_size(width, 900)
        shown(browser, write_report([folder]))
        boxes = sorted(each.rect["y"] for each in browser.find_elements("css selector", "[data-main] .label"))
        assert len(boxes) == 8 and all(after - before >= 11 for before, after in itertools.pairwise(boxes))
    browser.set_window_size(1200, 900)


def test_a_reader_searches_opens_and_colours(browser, tmp_path):
    page = shown(browser, write_report([run(tmp_path / "run", [game(number) for number in range(30)])]))
    assert "exploitability" in page.text
    assert len(texts(browser, ".row")) == 30
    browser.find_element("id", "search").send_keys("game 17")
    assert browser.find_element("id", "count").text == "1 of 30 episodes"
    (row,) = browser.find_elements("css selector", ".row")
    row.click()
    assert len(texts(browser, ".episode .turn")) == 2
    assert texts(browser, ".episode .private") == []  # there are no secrets in tic-tac-toe
    assert texts(browser, ".episode .shown")[0] == "game: The rules.\nYou are first in game 17."
    assert texts(browser, ".thought") == ["thinking of 2", "thinking of 5"]
    assert "reward +1 (payoff +0.75, form +0.25), advantage +0.5" in page.text
    assert "redqueen replay" in page.text
    boards = browser.find_elements("css selector", ".board")
    assert [board.text.split()[1] for board in boards] == ["2", "X", "X"]
    before = browser.find_elements("css selector", ".episode .word")
    browser.find_element("css selector", "[data-toggle='colour:advantage']").click()
    assert len(before) == 0
    coloured = browser.find_elements("css selector", ".episode .word")
    assert [word.text for word in coloured] == ["2", "5"]
    assert all("color-mix" in word.get_attribute("style") for word in coloured)
    browser.find_element("css selector", "[data-toggle='seats:side']").click()
    assert browser.find_elements("css selector", ".turns.side")


def test_what_one_seat_alone_was_shown_is_marked(browser, tmp_path):
    shown(browser, write_report([run(tmp_path / "run", [game(17, name="toy")])]))
    browser.find_element("css selector", ".row").click()
    assert texts(browser, ".episode .private") == ["You are first in game 17.", "You are second in game 17."]


def test_runs_that_differ_in_the_seed_alone_are_one_curve_with_a_band(browser, tmp_path):
    folders = [run(tmp_path / f"seed{seed}", [game(seed)], seed) for seed in range(3)]
    page = shown(browser, write_report(folders))
    assert len(browser.find_elements("css selector", "[data-figure=exploitability] .band")) == 1
    assert len(browser.find_elements("css selector", "[data-figure=exploitability] .line")) == 1
    assert "95 % interval of the mean over seeds" in page.text
    last = browser.execute_script("return course(GROUPS[0], 'exploitability').at(-1)")
    half = 4.302653 * 0.01 / 3**0.5  # of .125, .135 and .145; Student's t of two degrees of freedom is in any table
    assert [last["low"], last["mean"], last["high"]] == pytest.approx([0.135 - half, 0.135, 0.135 + half], abs=1e-7)


def test_a_method_and_its_control_are_compared_over_their_seeds(browser, tmp_path):
    """Differences of .1 and .2: Student's t of one degree of freedom, 12.706, times .05."""
    ends = {"spiral": (0.2, 0.2), "magnetic": (0.3, 0.4)}
    folders = [
        run(
            tmp_path / f"{recipe}{seed}",
            [game(0)],
            seed,
            [{"step": step, "exploitability": value} for step, value in enumerate((0.5, ends[recipe][seed]))],
            recipe,
        )
        for recipe in ends
        for seed in (0, 1)
    ]
    told = [each.text for each in shown(browser, write_report(folders)).find_elements("css selector", ".sentence")]
    assert "Against the first" not in told[0]
    assert "Against the first at step 1, over the same 2 seeds: the difference, +0.15 (95% interval -0.485" in told[1]


def test_lines_of_a_chart_whose_figure_hardly_moves_are_told_apart(browser, tmp_path):
    lines = [{"step": step, "exploitability": 0.5, "learner/entropy": 1.38629 + step * 1e-4} for step in range(4)]
    shown(browser, write_report([run(tmp_path / "run", [game(0)], lines=lines)]))
    texts_of = (
        "return [...document.querySelectorAll(`[data-figure='learner/entropy'] text`)].map((one) => one.textContent)"
    )
    marks = browser.execute_script(texts_of)
    beside = [each for each in marks if each.startswith("1.3")]
    assert len(beside) > 1
    assert len(set(beside)) == len(beside)


def test_equal_runs_are_not_several_seeds(browser, tmp_path):
    folders = [run(tmp_path / name, [game(0)], seed=0) for name in ("run", "run-2")]
    page = shown(browser, write_report(folders))
    assert len(browser.find_elements("css selector", "[data-figure=exploitability] .line")) == 2
    assert not browser.find_elements("css selector", ".band") and "over seeds" not in page.text
    page = shown(browser, write_report([*folders, run(tmp_path / "other", [game(0)], seed=1)]))
    assert len(browser.find_elements("css selector", "[data-figure=exploitability] .line")) == 2
    assert len(browser.find_elements("css selector", "[data-figure=exploitability] .band")) == 1
    assert "spiral, 2 seeds (run, other)" in page.text


def test_runs_of_one_name_are_chosen_one_by_one(browser, tmp_path):
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
    folders = [run(tmp_path / place / "run", [game(0, said)]) for place, said in (("a", "1"), ("b", "2"))]
    shown(browser, write_report(folders))
    options = browser.find_elements("css selector", "[aria-label=run] option")
    assert [option.text for option in options] == ["all runs", "a/run", "b/run"]
    for option, name in zip(options[1:], ("a/run", "b/run"), strict=True):
        option.click()
        assert texts(browser, ".row strong") == [f"{name} 2.0"]


@pytest.mark.parametrize("before", [0, 1, 2, 79])
def test_no_character_is_cut_in_half(browser, tmp_path, before):
    last = replace(game(0).turns[-1], reply=Reply("w" * before + "🎲" * 200, "learner"))
    said = replace(game(0), turns=(*game(0).turns[:-1], last))
    shown(browser, write_report([run(tmp_path / "run", [said])]))
    assert texts(browser, ".row .quiet") == ["w" * before + "🎲" * (80 - before)]


def test_hostile_words_do_nothing_and_can_be_read(browser, tmp_path):
    page = shown(browser, write_report([run(tmp_path / "run", [game(0, HOSTILE)])]))
    browser.find_element("css selector", ".row").click()
    assert browser.title == "spiral: run"
    assert not browser.find_elements("css selector", "#page img, #page script")
    said = texts(browser, ".said")[0]
    assert said.startswith("<script>document.title='mine'</script><img src=x")
    assert "⟨U+202E⟩gnorts⟨U+0007⟩" in said
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert page.is_displayed()


def test_two_thousand_episodes_open_in_two_seconds(browser, tmp_path):
    page = write_report([run(tmp_path / "run", [game(number) for number in range(2000)])])
    browser.get("about:blank")
    shown(browser, page)
    took = browser.execute_script(
        "const t = performance.getEntriesByType('navigation')[0]; return t.domComplete - t.startTime"
    )
    print(f"2,000 episodes: {took:.0f} ms")
    assert len(texts(browser, ".row")) == 100
    assert took < 20_000  # far above what a quiet machine needs: a timed limit would fail where others work


def test_a_phone_can_read_it(browser, tmp_path):
    browser.set_window_size(390, 800)
    try:
        shown(browser, write_report([run(tmp_path / "run", [game(number) for number in range(3)])]))
        browser.find_element("css selector", ".row").click()
        assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth + 1")
    finally:
        browser.set_window_size(1200, 900)


def test_a_notebook_shows_an_episode_inside_its_frame(browser, tmp_path):
    credit = {str(seat): {"rewards": [1.0], "advantages": [0.5], "parts": {}} for seat in (FIRST, SECOND)}
    page = tmp_path / "notebook.html"
    page.write_text(f"<title>mine no more</title>{show_episode(game(0, HOSTILE), credit)._repr_html_()}")
    browser.get(page.as_uri())
    frame = browser.find_element("tag name", "iframe")
    browser.switch_to.frame(frame)
    try:
        assert len(texts(browser, ".episode .turn")) == 2
        assert texts(browser, ".said")[0].startswith("<script>document.title='mine'</script><img src=x")
        assert not browser.find_elements("css selector", "#curves, #page img, #page script")
        assert "redqueen replay" not in browser.find_element("id", "page").text
    finally:
        browser.switch_to.default_content()
    assert browser.title == "mine no more"


def test_two_players_stand_side_by_side_with_where_they_part(browser, tmp_path):
    folder = run(tmp_path / "run", [game(0)])
    kept = {
        "game": HOSTILE,
        "names": ["one@10", HOSTILE],
        "against": "",
        "matches": 1,
        "parted": 1,
        "scores": [["first", 1.0, -1.0, "-2.000 [-2.000, -2.000]"]],
        "crossings": [
            {
                "turn": 0,
                "count": 1,
                "seat": "first",
                "shown": [["game", HOSTILE]],
                "choices": ["2", HOSTILE],
                "said": ["2", HOSTILE],
                "chances": [[0.75, 0.25], [0.0, 1.0]],
            }
        ],
        "pairs": [
            {
                "task": HOSTILE,
                "seed": "1",
                "role": "",
                "fork": 0,
                "said": [[["first", "2"]], [["first", HOSTILE]]],
                "scores": [[["first", 1.0]], [["first", -1.0]]],
            }
        ],
    }
    (folder / "comparison.json").write_text(json.dumps(kept))
    page = shown(browser, write_report([folder]))
    for summary in browser.find_elements("css selector", ".comparison summary"):
        summary.click()
    assert texts(browser, ".chances td.n")[-4:] == ["0.750", "0.000", "0.250", "1.000"]
    assert len(browser.find_elements("css selector", ".comparison .parted")) == 2
    assert browser.title == "spiral: run"
    assert not browser.find_elements("css selector", "#page img, #page script")
    assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert page.is_displayed()
