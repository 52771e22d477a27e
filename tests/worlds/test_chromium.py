"""A tab of Chromium waits for its page, also for one that moves on to another while it loads."""

import time
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from redqueen.worlds import chromium
from redqueen.worlds.chromium import Chromium, PageLost, PageMoved, why_no_pages

needs_chromium = pytest.mark.skipif(bool(why_no_pages()), reason=why_no_pages() or "there")

MOVING = '<p>first</p><script>fetch("/late").then(() => location.replace("/second"))</script><img src="/later">'
ROUND = '<script>fetch("/late").then(() => location.reload())</script><img src="/later">'
PAGES = {"/first": MOVING, "/second": "<p>second</p>", "/late": "", "/later": "", "/round": ROUND}
SECONDS = {"/late": 0.3, "/later": 3.0}  # until a request is answered: the first page has not loaded when it moves on


class Slow(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        time.sleep(SECONDS.get(self.path, 0.0))
        data = PAGES.get(self.path, "").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        with suppress(BrokenPipeError):  # the browser has given up the picture of a page it left
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        return None


@needs_chromium
def test_a_page_that_moves_on_while_it_loads_is_not_lost_but_one_that_never_stops(monkeypatch):
    monkeypatch.setattr(chromium, "MOST_MOVES", 2)
    server, browser = ThreadingHTTPServer(("127.0.0.1", 0), Slow), Chromium()
    Thread(target=server.serve_forever, daemon=True).start()
    with closing(browser):
        tab = browser.tab()
        tab.open(f"http://127.0.0.1:{server.server_address[1]}/first")
        assert tab.run("document.querySelector('p').textContent") == "second"
        with pytest.raises(PageLost, match=r"refused Page.nothing: 'Page.nothing' wasn't found") as refused:
            tab.pipe.call("Page.nothing", {}, tab.session)
        assert not isinstance(refused.value, PageMoved)
        with pytest.raises(PageLost, match="moved on 3 times and never loaded"):
            tab.open(f"http://127.0.0.1:{server.server_address[1]}/round")
    server.shutdown()
    server.server_close()
