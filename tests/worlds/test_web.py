"""Pages of MiniWoB++ in Chromium; the rules of the experts and a browser that fails are tried without one."""

from __future__ import annotations

import sys
import warnings
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from redqueen.contracts.worlds import check_world
from redqueen.types import RedQueenError
from redqueen.worlds.catalogue import find_world
from redqueen.worlds.chromium import Chromium, PageLost, why_no_pages
from redqueen.worlds.web import EXPERTS, PageVisit, Web

WHY = why_no_pages() or ("" if find_spec("miniwob") else "MiniWoB++ is missing: pip install 'redqueen[web]'")
needs_pages = pytest.mark.skipif(bool(WHY), reason=WHY or "there")

# a program that speaks as Chromium does over its pipe: it is given what to answer to each method, in order
STAND_IN = """#!{python}
import json, os
said = {said!r}
left = b""
while got := os.read(3, 1 << 16):
    *lines, left = (left + got).split(b"\\0")
    for line in lines:
        asked = json.loads(line)
        kept = said.get(asked["method"], [{{"result": {{}}}}])
        answer = kept.pop(0) if len(kept) > 1 else kept[0]
        if answer == "die":
            os._exit(1)
        if answer != "silence":
            os.write(4, json.dumps({{"id": asked["id"], **answer}}).encode() + b"\\0")
"""


def stand_in(folder: Path, monkeypatch, **said):
    """A browser whose program answers as it is told, by methods with a stroke for the point."""
    program = folder / "chromium"
    known = {name.replace("_", "."): answers for name, answers in said.items()}
    usual = {
        "Target.createTarget": [{"result": {"targetId": "t"}}],
        "Target.attachToTarget": [{"result": {"sessionId": "s"}}],
    }
    program.write_text(STAND_IN.format(python=sys.executable, said={**usual, **known}))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return Chromium(seconds=10.0)


def values(*each):
    return [{"result": {"result": {"value": value}}} for value in each]


BUTTON = {"kind": "button", "name": "ok", "value": "", "options": []}
PAGE = ([[BUTTON], False, 0.0, ""], [1.0, 2.0], [[BUTTON], True, 1.0, ""])  # seen, the place of a click, the end
BEGIN = (None, None, None, 'Click on the "ok" button.')


def test_a_page_is_seen_clicked_and_done(tmp_path, monkeypatch):
    browser = stand_in(tmp_path, monkeypatch, Runtime_evaluate=values(*BEGIN, *PAGE))
    visit = PageVisit(browser, Path("/pages/click-button.html"), 3)
    assert visit.look().shown == 'Click on the "ok" button.\n1 button ok'
    assert visit.look().choices == ("click 1",)
    assert [visit.act(said).shown.split("\n")[0] for said in ("dance", "click 2", "type 1 ok", "choose 1 ok")] == [
        "An act is: click 1, or type 1 WORDS, or choose 1 WORDS.",
        "There is no element 2.",
        "Words go into a field.",
        "Element 1 has no 'ok' to be chosen.",
    ]
    assert visit.assess().score == 0.0
    assert visit.act("click 1").over
    assert visit.assess().score == 1.0
    assert visit.state()["acts"] == ["click 1"]
    visit.close()
    assert browser.tab().session == "s"  # the one that was given back


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("die", "is gone: its browser has ended"),
        ({"error": {"message": "no such frame"}}, "refused Runtime.evaluate: no such frame"),
        ({"result": {"exceptionDetails": {"text": "Uncaught\nmore"}, "result": {}}}, "failed: Uncaught"),
    ],
)
def test_a_lost_page_ends_its_episode_with_the_reason(answer, said, tmp_path, monkeypatch):
    browser = stand_in(tmp_path, monkeypatch, Runtime_evaluate=[*values(*BEGIN, *PAGE[:2]), answer])
    visit = PageVisit(browser, Path("/pages/click-button.html"), 3)
    with pytest.warns(UserWarning, match=f"click-button: the page {said}: its episode ends here"):
        view = visit.act("click 1")
    assert (view.shown, view.over, visit.act("click 1").over) == (f"The page {said}.", True, True)
    assert visit.assess().facts == {"failed": f"the page {said}", "right": None}
    visit.close()


def test_a_page_that_does_not_answer_is_lost_and_so_is_a_browser(tmp_path, monkeypatch):
    said = {"Runtime_evaluate": ["silence"], "Target_closeTarget": ["silence"]}
    browser = stand_in(tmp_path, monkeypatch, **said)
    tab = browser.tab()
    tab.pipe.seconds = 0.1
    with pytest.raises(PageLost, match=r"did not answer within 0\.[1-5] seconds"):
        tab.open("file:///nothing")
    assert browser.tab().pipe is tab.pipe  # the page alone
    browser.give_up(tab)
    assert browser.tab().pipe is not tab.pipe
    with pytest.raises(PageLost, match="is gone"):
        tab.run("1")


def test_a_browser_that_never_showed_a_page_ends_the_run_in_one_line(tmp_path, monkeypatch):
    browser = stand_in(tmp_path, monkeypatch, Runtime_evaluate=[*values(None, None), "die"])
    with pytest.raises(RedQueenError, match="does chromium --headless run here"):
        PageVisit(browser, Path("/pages/click-button.html"), 0)


def seen(*lines):
    """Elements from lines such as "field: old" or "button Submit"."""
    found = []
    for line in lines:
        kind, _, rest = line.partition(" ")
        name, _, value = rest.partition(": ")
        found.append({"kind": "" if kind == "text" else kind, "name": name, "value": value, "options": []})
    return found


@pytest.mark.parametrize(
    ("page", "asked", "lines", "act"),
    [
        ("click-dialog-2", 'the button in the dialog box labeled "x".', ("button Close", "button OK"), "click 1"),
        ("click-checkboxes", "Select a, b and click Submit.", ("box a: on", "box b: off", "button Submit"), "click 2"),
        ("click-checkboxes", "Select nothing and click Submit.", ("box a: off", "button Submit"), "click 2"),
        ("choose-list", "Select Bo from the list and click Submit.", ("list Al", "button Submit"), "choose 1 Bo"),
        ("choose-list", "Select Al from the list and click Submit.", ("list Al", "button Submit"), "click 2"),
        ("focus-text-2", "Focus into the 2nd input textbox.", ("field ", "field "), "click 2"),
        ("login-user", 'the username "al" and the password "x"', ("field : al", "field ", "button Login"), "type 2 x"),
        ("click-tab-2", 'find and click on the link "a".', ("link Tab #1", "link Tab #2"), "click 2"),
        ("phone-book", "Find Al in the contact book and click on their phone.", ("text Bo", "link >"), "click 2"),
        ("phone-book", "Find Al in the contact book and click on their phone.", ("text Al", "text Phone:"), "click 3"),
        (
            "email-inbox-delete",
            "Find the email by Al and click the trash icon to delete it.",
            ("text Bo", "text trash", "text Al", "text star", "text trash"),
            "click 5",
        ),
    ],
)
def test_a_rule_knows_the_next_act(page, asked, lines, act):
    assert EXPERTS[page](asked, seen(*lines), 1) == act


def test_what_is_not_on_the_page_is_one_line():
    with pytest.raises(RedQueenError, match="the page shows no button 'Submit'"):
        EXPERTS["click-option"]("Select a and click Submit.", seen("choice a: on"), 0)


def test_without_chromium_one_line_says_what_is_missing(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(RedQueenError, match=r"miniwob|redqueen\[web\]|apt-get install chromium"):
        find_world("web")


@needs_pages
def test_a_page_keeps_the_contract_and_its_clock_stands_still():
    world = Web("enter-text", count=1, tests=1)
    task = world.tasks()[0]
    visit = world.open(task, 0)
    first = visit.look()
    tab = visit._loan.tab
    assert [tab.run("Date.now()") for _ in range(2)] == [tab.run("Date.now()")] * 2
    assert tab.run("typeof fetch('https://example.com').then") == "function"
    for act in world.expert(task):
        view = visit.act(act)
    assert (view.over, visit.assess().score) == (True, 1.0)
    with closing(world.open(task, 1)) as again:
        assert again.look() == first
        hostile = again.act(f'{first.choices[1].rpartition(" ")[0]} "); document.title = "x'.removeprefix("choose"))
        assert "); document.title" in hostile.shown
    visit.close()


@needs_pages
@pytest.mark.slow
def test_a_page_that_hangs_is_lost_alone(tmp_path):
    (tmp_path / "hangs.html").write_text("<script>for (;;);</script>")
    browser = Chromium()
    tab, other = browser.tab(), browser.tab()
    tab.pipe.seconds = 3.0
    with pytest.raises(PageLost, match="did not answer"):
        tab.open((tmp_path / "hangs.html").as_uri())
    tab.pipe.seconds = browser.seconds  # a busy machine answers late
    browser.give_up(tab)
    assert other.run("1 + 1") == 2
    browser.close()


@needs_pages
@pytest.mark.slow
@pytest.mark.parametrize("page", EXPERTS)
def test_every_page_with_an_expert_keeps_the_contract(page):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "keeps the contract of worlds" in check_world(Web(page, count=1, tests=1))


@needs_pages
@pytest.mark.parametrize(
    ("name", "said"),
    [("web:login", "no page 'login'; its pages are"), ("web(enter-text,0)", "a task and a held-out one")],
)
def test_a_wrong_name_is_one_line(name, said):
    with pytest.raises(RedQueenError, match=said):
        find_world(name)
