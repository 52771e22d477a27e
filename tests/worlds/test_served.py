"""Worlds as real pages: the same is seen and done as in text; what is served, without a browser."""

from contextlib import closing
from http.client import HTTPConnection
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from redqueen.contracts.worlds import check_world
from redqueen.types import RedQueenError
from redqueen.worlds.catalogue import find_world
from redqueen.worlds.chromium import why_no_pages
from redqueen.worlds.served import Server
from redqueen.worlds.site import Site

needs_chromium = pytest.mark.skipif(bool(why_no_pages()), reason=why_no_pages() or "there")


def test_a_form_acts_in_the_visit_of_its_page_alone():
    site = Site("shop", count=2, tests=1)
    server, visits = Server("<shop>"), [site.open(task, 0) for task in site.tasks()]
    addresses = [server.show(visit) for visit in visits]
    before = [visit.state() for visit in visits]
    said = urlencode({"act": "account"}).encode()
    with urlopen(addresses[0], data=said) as answer:  # a redirect leads back to the page
        page = answer.read().decode()
    assert "<h1>&lt;shop&gt;</h1>" in page
    assert "account: city" in page
    assert '<button name="act" value="home">home</button>' in page
    assert visits[0].state() != before[0]
    assert visits[1].state() == before[1]
    for length in ("-1", "x", "9" * 5000):  # what a browser never says is answered, and nothing is done
        connection = HTTPConnection("127.0.0.1", int(addresses[0].split(":")[2].partition("/")[0]), timeout=5)
        connection.request("POST", "/" + addresses[0].rpartition("/")[2], headers={"Content-Length": length})
        assert connection.getresponse().status == 404
        connection.close()
    server.forget(addresses[0])
    for address in (addresses[0], addresses[1] + "x"):
        with pytest.raises(HTTPError, match="404"):
            urlopen(address)


def test_without_chromium_one_line_says_what_is_missing(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(RedQueenError, match="apt-get install chromium"):
        find_world("pages:site:shop")


@needs_chromium
def test_pages_show_and_do_what_the_text_does():
    world = find_world("pages:site(only=agenda,count=2,tests=1)")
    assert world.name == "pages:site(only=agenda,count=2,tests=1)"
    task = world.tasks()[0]
    plain = Site("agenda", count=2, tests=1).open(task, 0)
    with closing(world.open(task, 0)) as visit:
        assert visit.look() == plain.look()
        for act in ("<b>", *world.expert(task)):
            seen, due = visit.act(act), plain.act(act)
            assert (seen.shown, seen.over) == (due.shown, due.over)
            assert seen.choices == due.choices
            assert visit.state() == plain.state()
        assert visit.assess().score == 1.0
    silent = find_world("pages:circuits(count=1,tests=1)")
    with pytest.raises(RedQueenError, match="lists no acts"):
        silent.open(silent.tasks()[0], 0)


@needs_chromium
@pytest.mark.slow
def test_pages_keep_the_contract():
    assert "keeps the contract" in check_world(find_world("pages:site(only=mail,count=1,tests=1)"))
