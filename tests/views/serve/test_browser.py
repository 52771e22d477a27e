"""The page as a person meets it, in a real browser: a game of tic-tac-toe to its end, saved, replayed.

`REDQUEEN_SCREENS=FOLDER` keeps pictures of it there.
"""

import os
import re
import shutil
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import pytest

from redqueen.cli.main import main
from redqueen.types import Reply
from redqueen.views.serve import sitting
from redqueen.views.serve.app import application
from redqueen.views.serve.menu import Menu
from redqueen.views.serve.room import Room
from redqueen.views.serve.server import listening

uvicorn = pytest.importorskip("uvicorn")
HOSTILE = "<script>document.title='mine'</script><img src=x onerror=\"document.title='mine'\">\u202egnorts\x07\ud800"


@contextmanager
def opened(width=1100, height=900):
    webdriver = pytest.importorskip("selenium.webdriver")
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not program or not driver:
        pytest.skip("NO BROWSER: install Debian's chromium and chromium-driver to run these")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    browser.set_window_size(width, height)
    try:
        yield browser
    finally:
        browser.quit()


@pytest.fixture(scope="module")
def browser():
    with opened() as found:
        yield found


@contextmanager
def served(menu):
    """The address of a server that runs beside the test."""
    bound = listening("127.0.0.1", 0)
    app = application(Room(menu), "127.0.0.1")
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, ws="none"))
    thread = Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()
        bound.close()


@pytest.fixture(scope="module")
def board(board_run):
    with served(Menu(board_run)) as address:
        yield address


@pytest.fixture(scope="module")
def cards(card_run):
    with served(Menu(card_run)) as address:
        yield address


def all_of(browser, selector):
    return browser.find_elements("css selector", selector)


def idle(browser):
    """Waits for the answer of the server."""
    end = monotonic() + 30
    while browser.find_element("id", "page").get_attribute("aria-busy") == "true":
        assert monotonic() < end, "the server does not answer"
        sleep(0.02)


def press(browser, selector):
    all_of(browser, selector)[0].click()
    idle(browser)


def begin(browser, address, **chosen):
    browser.get("about:blank")
    browser.get(address)
    for name, value in chosen.items():
        field = browser.find_element("id", name)
        if field.tag_name == "select":
            field.find_element("css selector", f"option[value$='{value}']").click()
        else:
            field.send_keys(value)
    press(browser, "#begin")


def status(browser):
    return browser.find_element("id", "status").text


def screen(browser, name):
    if folder := os.environ.get("REDQUEEN_SCREENS"):
        browser.save_screenshot(str(Path(folder) / f"{name}.png"))


@pytest.mark.slow
def test_a_person_plays_to_the_end_saves_and_replays(browser, board, board_run, capsys):
    begin(browser, board, player="@4", role="first", seed="11")
    assert status(browser) == "Your turn, first."
    press(browser, "[data-move='5']")
    assert all_of(browser, ".board .X")[0].text == "X" and len(all_of(browser, ".board .O")) == 1
    press(browser, "#advice")
    shown = [float(each.text.split()[0]) for each in all_of(browser, ".board small")]
    assert len(shown) == 7 and sum(shown) == pytest.approx(100.0, abs=4.0)
    press(browser, "[data-chances='1']")
    assert len(all_of(browser, ".moves .bars .n")) == 8
    screen(browser, "play")
    while all_of(browser, "[data-move]"):
        press(browser, "[data-move]")
    assert status(browser) in ("You won.", "You lost.", "Equal scores.")
    press(browser, "#save")
    name = re.search(r"played\.\d+", browser.find_element("id", "saved").text)[0]
    screen(browser, "play-end")
    assert main(["replay", str(board_run), name]) == 0
    said = capsys.readouterr().out
    assert "person v0" in said and "every ask and the outcome are the same" in said
    assert main(["report", str(board_run)]) == 0
    assert f'"name":"{name}"' in (board_run / "report.html").read_text()


def test_the_best_checkpoint_is_played_by_that_name(browser, board_run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(board_run, folder)
    shutil.copytree(folder / "checkpoints" / "step_000002", folder / "checkpoints" / "best_000002")
    with served(Menu(folder)) as address:
        begin(browser, address, player="@best")
        assert "against run at its best" in browser.find_element("id", "table").text
        named = [each.get_attribute("textContent") for each in all_of(browser, "#player option")]
        assert named[:3] == ["run at step 4", "run at step 2", "run at its best"]


def test_the_keyboard_alone_plays_and_a_wrong_entry_loses_nothing(browser, board):
    from selenium.webdriver.common.keys import Keys

    begin(browser, board, player="uniform")
    entry = browser.find_element("id", "entry")
    entry.send_keys("ten", Keys.ENTER)
    idle(browser)
    assert status(browser).startswith("'ten' is not a choice. Enter one of: 1, 2, 3")
    assert browser.find_element("id", "entry").get_attribute("value") == "ten"
    entry.clear()
    entry.send_keys("5", Keys.ENTER)
    idle(browser)
    assert browser.switch_to.active_element.get_attribute("data-move")
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    idle(browser)
    assert len(all_of(browser, ".board .X")) == 2


def test_cards_are_shown_as_the_seat_sees_them(browser, cards):
    begin(browser, cards, player="equilibrium", role="second", task="3")
    assert "you are second" in browser.find_element("id", "table").text
    (own,) = all_of(browser, ".card")
    assert own.text == "second: king"
    press(browser, "#advice")
    assert len(all_of(browser, "#now .bars .n")) == 2
    while all_of(browser, "[data-choice='bet']"):
        press(browser, "[data-choice='bet']")
    assert [each.text for each in all_of(browser, ".card")] == ["first: queen", "second: king"]
    assert status(browser) == "You won."


def test_a_page_that_is_loaded_again_goes_on(browser, board):
    begin(browser, board, player="uniform")
    press(browser, "[data-move='1']")
    before = browser.find_element("css selector", ".board").text
    browser.refresh()
    idle(browser)
    assert browser.find_element("css selector", ".board").text == before


def test_two_browsers_play_two_games(browser, board):
    begin(browser, board, player="uniform", seed="1")
    with opened() as other:
        begin(other, board, player="uniform", role="second", seed="1")
        press(browser, "[data-move='1']")
        assert len(all_of(other, ".board .X")) == 1 and not all_of(other, ".board .O")
        press(other, "[data-move]")
        assert len(all_of(browser, ".board .X")) == 1


def test_hostile_words_do_nothing_and_can_be_read(browser, board_run, monkeypatch):
    class Hostile:
        name = HOSTILE

        def reply(self, asks):
            return [Reply(ask.choices[0], HOSTILE, thought=HOSTILE + "w" * 3000) for ask in asks]

    menu = Menu(board_run)
    monkeypatch.setattr(sitting, "PERSON", HOSTILE)
    menu.opponent("tic_tac_toe", "uniform")._player = Hostile()
    with served(menu) as address:
        begin(browser, address, player="uniform")
        while all_of(browser, "[data-move]"):
            all_of(browser, "[data-move]")[-1].click()
            idle(browser)
        thoughts = [each.text for each in all_of(browser, ".thought")]
        assert browser.title == "Red Queen: board"
        assert thoughts[0].startswith("<script>document.title='mine'</script><img src=x")
        assert "⟨U+202E⟩gnorts⟨U+0007⟩⟨U+D800⟩" in thoughts[0]
        assert not all_of(browser, "#page img, #page script")
        assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_can_play_in_light_and_dark(browser, board, cards, scheme):
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    sizes = {"width": 360, "height": 760, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", sizes)
    try:
        for address, name in ((board, "board"), (cards, "cards")):
            begin(browser, address)
            press(browser, "[data-move], [data-choice]")
            assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth + 1")
            for button in all_of(browser, "#now button"):
                assert button.size["height"] >= 32, "large enough for a thumb"
            screen(browser, f"phone-{name}-{scheme}")
        ink, paper = browser.execute_script(
            "const look = getComputedStyle(document.body);"
            "return [look.color, look.backgroundColor].map((colour) => +colour.match(/[0-9]+/)[0])"
        )
        assert (ink < paper) == (scheme == "light")
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_server_that_is_gone_is_said(browser, board_run):
    with served(Menu(board_run)) as address:
        begin(browser, address, player="uniform")
    press(browser, "[data-move='1']")
    assert status(browser) == "The server does not answer. Is redqueen serve still running?"
    assert all_of(browser, "[data-move='1']")
