"""The page and its requests over HTTP."""

import json
import re
from threading import Thread

import pytest

from redqueen.views.serve.app import MOST_BYTES, application
from redqueen.views.serve.menu import Menu
from redqueen.views.serve.room import Room

testing = pytest.importorskip("starlette.testclient")
BASE = "http://127.0.0.1:8765"
WISH = {"game": "tic_tac_toe", "player": "uniform", "role": "first"}
HOSTILE = (
    '</script><script>alert("now")</script>',
    "\u202egnorts\x00\x07",
    "\ud800",
    "x" * 4000,
    "' OR 1=1 --",
    "{{ 7 * 7 }}",
)


@pytest.fixture(scope="module")
def menus(board_run, card_run):
    return Menu(board_run), Menu(card_run)


@pytest.fixture
def client(menus):
    return testing.TestClient(application(Room(menus[0]), "127.0.0.1"), base_url=BASE)


@pytest.mark.slow
def test_the_page_is_one_and_runs_nothing_but_its_own_script(client):
    answer = client.get("/")
    policy = answer.headers["content-security-policy"]
    (nonce,) = set(re.findall(r"'nonce-([^']+)'", policy))
    assert policy.startswith("default-src 'none';")
    assert answer.text.count(f'nonce="{nonce}"') == 2
    assert nonce not in client.get("/").text
    assert "https://" not in answer.text and " src=" not in answer.text and "href" not in answer.text
    for header in ("cache-control", "x-content-type-options", "referrer-policy", "cross-origin-resource-policy"):
        assert header in answer.headers
    data = json.loads(re.search(r'id="data">(.*?)</script>', answer.text)[1])
    assert data["games"] == client.get("/api/menu").json()["games"]


def test_a_game_is_played_saved_and_left(client):
    view = client.post("/api/games", json=WISH).json()
    path = f"/api/games/{view['key']}"
    assert client.get(f"{path}/chances").json() == [[str(n), round(1 / 9, 6)] for n in range(1, 10)]
    refused = client.post(f"{path}/say", json={"entry": "10", "entries": 0})
    assert (refused.status_code, refused.json()["error"][:22]) == (422, "'10' is not a choice. ")
    while not view["over"]:
        view = client.post(f"{path}/say", json={"entry": view["ask"]["choices"][0], "entries": view["entries"]}).json()
    assert client.get(path).json() == view
    assert client.get(f"{path}/chances", params={"move": 1}).json()[0][1] == 0.125
    saved = client.post(f"{path}/save", json={}).json()
    assert saved["result"]["saved"].startswith("played.")
    assert client.post(f"{path}/leave", json={}).json() is None
    assert client.get(path).status_code == 404


def test_the_other_card_is_in_no_answer_before_the_end(menus):
    client = testing.TestClient(application(Room(menus[1]), "127.0.0.1"), base_url=BASE)
    cards = {"jack", "queen", "king"}
    told = 0
    for seed in range(12):
        wish = {"game": "kuhn_poker", "player": "equilibrium", "role": "second", "seed": str(seed)}
        answer = client.post("/api/games", json=wish)
        path = f"/api/games/{answer.json()['key']}"
        texts = [answer.text, client.get(path).text, client.get(f"{path}/chances").text]
        own = re.search(r"Your card is the (\w+)\.", answer.text)[1]
        rules = answer.json()["ask"]["messages"][0][1].partition("\n\n")[0]
        for text in texts:
            assert not (cards - {own}) & set(re.findall(r"\w+", text.replace(json.dumps(rules)[1:-1], "")))
        view = client.post(f"{path}/say", json={"entry": "bet", "entries": 0}).json()
        told += view["over"] and set(view["result"]["task"].split("-")) - {own} <= cards
    assert told == 12


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"[" * 60000, 400),
        (b"\xff\xfe", 400),
        (b'{"game": 1, "player": [], "role": null}', 400),
        (b'{"game": "tic_tac_toe", "player": "uniform", "role": "first", "task": "0"}', 400),
        (b'{"game": "tic_tac_toe", "player": "uniform", "role": "first", "task": true}', 400),
        (b'{"game": "tic_tac_toe", "player": "uniform", "role": "first", "task": 1e400}', 400),
        (b'{"game": "tic_tac_toe", "player": "uniform", "role": "first", "seed": 5}', 422),
        (b'{"game": "tic_tac_toe", "player": "uniform", "role": "first", "seed": "-1"}', 422),
        (b'{"game": "tic_tac_toe", "player": "uniform", "role": "first", "seed": "18446744073709551616"}', 422),
        (b'{"game": "tic_tac_toe", "player": "uniform", "role": "first", "seed": "\\u0665"}', 422),
        (b'{"game": "chess", "player": "uniform", "role": "first"}', 404),
        (b"x" * (MOST_BYTES + 1), 413),
    ],
)
def test_what_is_no_wish_is_one_line(client, body, status):
    answer = client.post("/api/games", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status
    assert answer.json()["error"] and "\n" not in answer.json()["error"]


def test_a_body_without_end_is_not_read_to_its_end(client):
    read = []

    def endless():
        for number in range(1000):
            read.append(number)
            yield b"x" * 10000

    answer = client.post("/api/games", content=endless(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413


def test_forms_of_other_sites_are_refused(client):
    assert client.post("/api/games", data={"game": "tic_tac_toe"}).status_code == 415
    assert client.post("/api/games", json=WISH, headers={"Origin": "http://evil.com"}).status_code == 403
    assert client.get("/", headers={"Host": "evil.com"}).status_code == 403
    assert "x-content-type-options" in client.get("/", headers={"Host": "evil.com"}).headers


def test_what_is_not_there_is_said_in_json(client):
    for answer in (
        client.get("/api"),
        client.get("/api/games"),
        client.put("/", content=b""),
        client.get("/etc/passwd"),
    ):
        assert answer.status_code in (404, 405)
        assert answer.json() == {"error": "there is nothing here"}


@pytest.mark.parametrize("entry", HOSTILE)
def test_hostile_entries_are_refused_as_text(client, entry):
    view = client.post("/api/games", json=WISH).json()
    body = json.dumps({"entry": entry, "entries": 0})
    path = f"/api/games/{view['key']}"
    answer = client.post(f"{path}/say", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422 and answer.headers["content-type"] == "application/json"
    assert client.get(path).json() == view


@pytest.mark.parametrize("body", [{}, {"entry": 5, "entries": 0}, {"entry": "5"}, {"entry": "5", "entries": True}])
def test_an_entry_is_a_text_with_its_number(client, body):
    key = client.post("/api/games", json=WISH).json()["key"]
    assert client.post(f"/api/games/{key}/say", json=body).status_code == 400


@pytest.mark.parametrize("move", ["-1", "x", "99", "9" * 9, "²"])
def test_a_move_that_is_not_there_has_no_probabilities(client, move):
    key = client.post("/api/games", json=WISH).json()["key"]
    assert client.get(f"/api/games/{key}/chances", params={"move": move}).status_code in (400, 404)


def test_two_clients_play_at_once(client):
    ends = {}

    def one(name, role):
        view = client.post("/api/games", json={**WISH, "role": role, "seed": "5"}).json()
        while not view["over"]:
            body = {"entry": view["ask"]["choices"][-1], "entries": view["entries"]}
            view = client.post(f"/api/games/{view['key']}/say", json=body).json()
        ends[name] = view

    people = [
        Thread(target=one, args=(name, role)) for name, role in (("ann", "first"), ("bob", "second"), ("cy", "first"))
    ]
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert ends["ann"]["moves"] == ends["cy"]["moves"] != ends["bob"]["moves"]
    assert len({view["key"] for view in ends.values()}) == 3


def test_an_error_of_ours_is_a_line_for_the_person(menus, monkeypatch):
    room = Room(menus[0])
    monkeypatch.setattr(room.menu, "listed", lambda: 1 / 0, raising=False)
    client = testing.TestClient(application(room, "127.0.0.1"), base_url=BASE, raise_server_exceptions=False)
    answer = client.get("/api/menu")
    assert (answer.status_code, answer.json()["error"]) == (
        500,
        "The server failed. Its terminal says why; nothing is lost.",
    )
