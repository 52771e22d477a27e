"""How exploitable an endpoint is, from its log-probabilities."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from redqueen.cli.main import main
from redqueen.games.kuhn_poker import KuhnPoker
from redqueen.measures.exact.exploitability import GameTree
from redqueen.measures.exact.rated import Rated
from redqueen.players.endpoint import Server


@pytest.fixture
def endpoint(monkeypatch):
    """The address of a server, and the probabilities of first tokens that it sends."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    likely: dict[str, float] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            entries = [{"token": token, "logprob": float(np.log(share))} for token, share in likely.items()]
            choice = {"message": {"content": "bet"}, "finish_reason": "stop"}
            body = json.dumps({"choices": [{**choice, "logprobs": {"content": [{"top_logprobs": entries}]}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *ignored):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", likely
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_endpoint_is_as_exploitable_as_the_strategy_that_it_states(endpoint):
    url, likely = endpoint
    likely.update({"pa": 0.2, " pass": 0.1, "bet": 0.1, "The": 0.6})
    tree = GameTree(KuhnPoker())
    rated = Rated(Server("toy", url))
    found = tree.strategy(rated)
    assert {ask.choices for ask in found} == {("pass", "bet")}
    assert all(row.tolist() == pytest.approx([0.75, 0.25]) for row in found.values())
    assert rated.silent == []


def test_the_command_says_it_of_an_endpoint(endpoint, capsys):
    url, likely = endpoint
    likely.update(dict.fromkeys(("pass", "bet"), 0.5))
    assert main(["exploitability", "kuhn_poker", "--model", f"{url}#toy"]) == 0
    said = capsys.readouterr().out
    assert "exploitability 0.4583" in said  # of uniform play, NashConv 0.9167 over two seats
    assert "read at 12 information states" in said
    likely.clear()
    likely["The"] = 0.9
    assert main(["exploitability", "kuhn_poker", "--model", f"{url}#toy"]) == 0
    assert "at 12 of them no legal reply was among the likeliest" in capsys.readouterr().out


def test_without_log_probabilities_it_is_estimated(endpoint, capsys):
    url, _ = endpoint
    words = ["exploitability", "kuhn_poker", "--model", f"{url}#toy", "--samples", "2"]
    assert main(words) == 0
    assert "95 % from" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["exploitability", "kuhn_poker", "--model", "nobody"], "there is no player 'nobody'"),
        (["exploitability", "negotiation", "--model", "uniform"], "free text"),
        (["exploitability", "kuhn_poker"], "--model"),
        (["exploitability", "kuhn_poker", "--model", "uniform", "--samples", "-1"], "--samples"),
    ],
)
def test_bad_input_is_one_line(words, said, capsys):
    assert main(words) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
