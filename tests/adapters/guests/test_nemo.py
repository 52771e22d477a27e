"""Resources servers of NeMo Gym, against a stand-in: sessions, tools, the verdict, and a server that fails."""

import json
import time
import warnings
from contextlib import closing, suppress
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from threading import Thread

import pytest

from redqueen.contracts.worlds import check_world
from redqueen.games.catalogue import find_game
from redqueen.games.tools import ToolError
from redqueen.play.lockstep import play
from redqueen.players.scripted import Scripted
from redqueen.types import Match, RedQueenError
from redqueen.worlds.catalogue import find_world


class Counters:
    """A resources server as NeMo Gym's are spoken to: sessions by a cookie, the tool `add`, /verify. `counts` of each
    session; `seen` holds what each /verify was given."""

    def __init__(self):
        self.counts, self.seen, self.broken, self.late = {}, [], "", 0.0
        counters = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                cookie = SimpleCookie(self.headers.get("Cookie", ""))
                session = cookie["session"].value if "session" in cookie else ""
                status, answer, made = counters.answer(self.path, given, session)
                data = json.dumps(answer).encode()
                self.send_response(status)
                if made:
                    self.send_header("Set-Cookie", f"session={made}; path=/; HttpOnly")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                with suppress(BrokenPipeError):  # nobody waits any more
                    self.wfile.write(data)

            def log_message(self, format, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path, given, session):
        if path == f"/{self.broken}":
            return 500, {"detail": "broken"}, ""
        if path == "/seed_session":
            made = f"s{len(self.counts)}"
            self.counts[made] = given["start"]
            return 200, {}, made
        if path == "/add":
            time.sleep(self.late)
            if not isinstance(given.get("count"), int):
                return 422, {"detail": "count is an integer"}, ""
            self.counts[session] += given["count"]
            return 200, {"success": True}, ""
        if path == "/verify":
            self.seen.append(given)
            right = float(self.counts[session] == given["expected"])
            return 200, {**given, "reward": right, "distance": abs(self.counts[session] - given["expected"])}, ""
        return 404, {"detail": "Not Found"}, ""


def row(start, expected):
    """A line of a file of tasks."""
    parameters = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    tool = {"type": "function", "name": "add", "description": "Adds to it.", "parameters": parameters, "strict": True}
    said = [{"role": "system", "content": "Count."}, {"role": "user", "content": f"From {start} to {expected}."}]
    return {"responses_create_params": {"input": said, "tools": [tool]}, "start": start, "expected": expected}


@pytest.fixture
def server(tmp_path):
    found = Counters()
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row(start, start + 2))}\n" for start in range(3)))
    found.spec = f"nemo({found.url},tasks={path},repeatable=true)"
    yield found
    found.server.shutdown()
    found.server.server_close()


def outcomes(spec, replies, count=1):
    game = find_game(f"working:{spec}")
    bots = [Scripted(replies, "bot") for _ in range(count)]
    matches = [Match(game, game.tasks()[0], {"agent": bot}, number) for number, bot in enumerate(bots)]
    return [episode.outcome for episode in play(matches, Random(0))]


def test_a_server_keeps_the_contract_of_worlds(server):
    assert "2 tasks, 1 held out" in check_world(find_world(server.spec), ['add {"count": 1}', "add seven", "done"])


def test_tools_are_called_in_a_session_and_the_server_gives_the_verdict(server):
    call = '<add>{"count": 1}</add>'
    found, other = outcomes(server.spec, (call, call, "It is done."), 2)
    for each in (found, other):  # each has a session of its own
        assert [*each.scores.values()] == [1.0]
        assert each.facts["outputs"] == ('{"success": true}',) * 2
        assert each.facts["verified"] == {"reward": 1.0, "distance": 0}
    given = server.seen[0]
    assert (given["start"], given["expected"]) == (0, 2)
    kinds = [each["type"] for each in given["response"]["output"]]
    assert kinds == ["function_call", "function_call_output"] * 2 + ["message"]
    first, second, *_, last = given["response"]["output"]
    assert (first["name"], json.loads(first["arguments"]), first["call_id"]) == ("add", {"count": 1}, second["call_id"])
    assert last["content"][0]["text"] == "It is done."
    (short,) = outcomes(server.spec, (call, "It is done."))
    assert [*short.scores.values()] == [0.0]


def test_an_error_of_a_tool_is_shown(server):
    (found,) = outcomes(server.spec, ('<add>{"count": "x"}</add>', "<add>[1]</add>", "done"))
    assert found.facts["outputs"] == (
        'Error: {"detail": "count is an integer"}',
        "Error: the arguments of a call are an object in JSON",
    )
    assert found.facts["failures"] == (True, True)


def test_a_visit_whose_verdict_fails_has_none(server):
    world = find_world(server.spec)
    with closing(world.open(world.tasks()[0], 0)) as visit:
        server.broken = "verify"
        with pytest.warns(UserWarning, match="verify answers 500"):
            found = visit.assess("done")
    assert found.facts["right"] is None
    assert "500" in found.facts["failed"]


def test_a_server_that_is_late_ends_the_visit_within_its_seconds(server):
    world = find_world(server.spec.replace("true", "true,seconds=1"))
    with closing(world.open(world.tasks()[0], 0)) as visit:
        server.late, begun = 6.0, time.monotonic()
        with pytest.warns(UserWarning, match="is not reached: timed out"), pytest.raises(ToolError):
            visit.tools[0]('{"count": 1}')
        assert time.monotonic() - begun < 5.0
        assert "timed out" in visit.assess("done").facts["failed"]


def test_a_server_that_is_not_there_is_one_line(server, tmp_path):
    with pytest.raises(RedQueenError, match="is not reached"):
        world = find_world(server.spec.replace(server.url, "http://127.0.0.1:9"))
        world.open(world.tasks()[0], 0)
    (tmp_path / "bad.jsonl").write_text('{"input": "hello"}\n')
    with pytest.raises(RedQueenError, match="line 1: a row has responses_create_params with input"):
        find_world(f"nemo({server.url},tasks={tmp_path}/bad.jsonl)")
    with pytest.raises(RedQueenError, match="named by its address"):
        find_world(f"nemo(localhost,tasks={tmp_path}/rows.jsonl)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        server.broken = "seed_session"
        world = find_world(server.spec.replace("true", "false"))
        with pytest.raises(RedQueenError, match="seed_session answers 500"):
            world.open(world.tasks()[0], 0)
