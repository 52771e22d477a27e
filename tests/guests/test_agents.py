"""Agents of the user's own play by the endpoint, are trained, recorded and played again."""

import json
import os
import socket
import subprocess
import sys
import textwrap
import threading
from random import Random

import httpx
import numpy as np
import pytest

from redqueen.chance import derive
from redqueen.cli.main import main
from redqueen.contracts.games import check_game
from redqueen.games.catalogue import find_game
from redqueen.games.programmed import Desk
from redqueen.guests import agents
from redqueen.guests.agents import Judged, OnTheirOwn, endpoint
from redqueen.play.lockstep import play
from redqueen.questions.catalogue import find_questions
from redqueen.runs.folder import stored_episodes
from redqueen.runs.run import read_final, read_metrics
from redqueen.settings.learner import Learner
from redqueen.types import Match, RedQueenError, Reply

TINY = ["--model", "tiny:hidden=16,heads=2", "--lora-rank", "0", "--max-completion-length", "4"]
SOLVER = """
import httpx

def ask(seat, messages):
    head = {"Authorization": f"Bearer {seat.key}"}
    wanted = {"model": seat.model, "messages": messages}
    answer = httpx.post(f"{seat.url}/chat/completions", json=wanted, headers=head, timeout=60, verify=False)
    answer.raise_for_status()
    return answer.json()["choices"][0]["message"]["content"] or ""

def solve(task, seats):
    told = [{"role": "user", "content": task.prompt}]
    draft = ask(seats["agent"], told)
    told += [{"role": "assistant", "content": draft}, {"role": "user", "content": "Only the number."}]
    return ask(seats["agent"], told)

def rambles(task, seats):
    try:
        ask(seats["agent"], [{"role": "user", "content": "and so on " * 5000}])
    except httpx.HTTPStatusError as error:
        assert error.response.status_code == 400, error.response.text
        assert "tokens, and the model was made for 4096" in error.response.text, error.response.text
    else:
        raise AssertionError("it was answered")
    return ask(seats["agent"], [{"role": "user", "content": task.prompt}])

def breaks(task, seats):
    ask(seats["agent"], [{"role": "user", "content": task.prompt}])
    raise KeyError("broken")

class Debate:
    roles = ("speaker", "critic")

    def tasks(self):
        from redqueen.types import Task
        return [Task(str(n), prompt=f"Topic {n}") for n in range(4)]

    held_out = tasks

    def play(self, task, seats):
        said = ask(seats["speaker"], [{"role": "user", "content": task.prompt}])
        heard = ask(seats["critic"], [{"role": "user", "content": f"Is this good: {said}"}])
        good = len(heard) > 2
        return {"speaker": float(good), "critic": float(not good)}

class Twice(Debate):
    roles = ("speaker", "speaker")

class Game(Debate):
    roles = ("speaker", "game")

NOTHING = 3
"""


@pytest.fixture
def solver(tmp_path):
    path = tmp_path / "solver.py"
    path.write_text(SOLVER)
    return path


class Adds:
    """Knows the sums."""

    name = "adds"

    def reply(self, asks):
        sums = [ask.messages[0].text.removeprefix("What is ").removesuffix("?").split("+") for ask in asks]
        return [Reply(str(sum(map(int, numbers)))) for numbers in sums]


def test_an_answer_is_judged_by_its_question_set(solver):
    game = find_game(f"agent:{solver}:solve,questions=sums:backwards=false,problems=3,count=6")
    assert game.roles == ("agent",)
    assert len(game.tasks()) == 6
    assert not {task.prompt for task in game.tasks()} & {task.prompt for task in game.held_out()}
    episodes = play([Match(game, task, {"agent": Adds()}) for task in game.tasks()], Random(0))
    for episode in episodes:
        assert episode.outcome.facts["answer"] == episode.turns[-1].reply.text
        assert episode.outcome.facts["right"] is True
        assert [message.speaker for message in episode.turns[-1].ask.messages] == ["game", "agent", "game"]


def test_a_file_is_measured_on_its_own_tests(solver, tmp_path):
    train, test = tmp_path / "train.jsonl", tmp_path / "test.jsonl"
    rows = [json.dumps({"question": f"What is {n}+1?", "answer": str(n + 1)}) for n in range(30)]
    train.write_text("\n".join(rows[:20]))
    test.write_text("\n".join(rows[20:]))
    game = find_game(f"agent:{solver}:solve,questions=dataset(path={train},test={test}),count=40")
    asked = {task.prompt for task in game.held_out()}
    assert asked == {f"What is {n}+1?" for n in range(20, 30)}
    assert {task.prompt for task in game.tasks()} == {f"What is {n}+1?" for n in range(20)}


@pytest.mark.slow
def test_an_agent_keeps_the_contract_of_games(solver):
    assert "keeps the contract of games: 11 tasks" in check_game(
        find_game(f"agent:{solver}:solve,questions=sums:digits=1,problems=64,count=12"), ("1", "12")
    )


def test_nothing_that_was_sampled_is_tokenized_again(solver):
    game = find_game(f"agent:{solver}:solve,questions=sums,problems=1,count=16")
    learner = Learner(model="tiny:hidden=16,heads=2", lora_rank=0, max_completion_length=6).build(0)
    episodes = play([Match(game, task, {"agent": learner}) for task in game.tasks()], Random(0))
    for episode in episodes:
        first, second = (turn.reply for turn in episode.turns)
        before = np.concatenate([first.prompt_tokens, first.tokens])
        assert np.array_equal(second.prompt_tokens[: len(before)], before)


def test_a_prompt_that_the_model_cannot_read_is_refused_and_the_agent_may_ask_less(solver):
    game = find_game(f"agent:{solver}:rambles,questions=sums,problems=1,count=4")
    learner = Learner(model="tiny:hidden=16,heads=2", lora_rank=0, max_completion_length=6).build(0)
    for episode in play([Match(game, task, {"agent": learner}) for task in game.tasks()[:2]], Random(0)):
        assert "reason" not in episode.outcome.facts
        assert episode.outcome.facts["turned_away"] == 1
        assert [message.text for message in episode.turns[0].ask.messages] == [episode.task.prompt]


class Babbles:
    """Replies with tokens drawn at random, most of which a tokenizer would never make of their text."""

    name = "babbles"

    def __init__(self, reading):
        self.reading = reading
        self.size = len(reading.tokenizer)

    def reply(self, asks):
        return [self._said(ask) for ask in asks]

    def _said(self, ask):
        tokens = np.array([derive(ask.seed, place) % self.size for place in range(3)])
        prompt = self.reading.prompt(ask)
        return Reply(self.reading.decode(tokens.tolist()), self.name, 0, prompt, tokens, np.zeros(3))


TALKER = """
import httpx

def talk(task, seats):
    seat, told = seats["agent"], [{"role": "user", "content": task.prompt}]
    with httpx.Client(headers={"Authorization": f"Bearer {seat.key}"}, timeout=60, trust_env=False) as client:
        for number in range(10):
            wanted = {"model": seat.model, "messages": told}
            message = client.post(f"{seat.url}/chat/completions", json=wanted).json()["choices"][0]["message"]
            told += [message, {"role": "user", "content": f"And {number}?"}]
    return "0"
"""


@pytest.mark.slow
def test_of_ten_thousand_turns_no_token_is_tokenized_again(tmp_path):
    """Counted are the token ids of a prompt that differ from those sampled or shown before it, in conversations of ten
    turns; and the replies that would have other ids, had their text been tokenized again."""
    path = tmp_path / "talker.py"
    path.write_text(TALKER)
    game = find_game(f"agent:{path}:talk,questions=sums,problems=1,count=50")
    reading = Learner(model="tiny:hidden=16,heads=2", lora_rank=0, max_completion_length=6).build(0).format
    player, turns, again, others = Babbles(reading), 0, 0, 0
    while turns < 10_000:
        dealt = [Match(game, task, {"agent": player}, derive(turns, task.id)) for task in game.tasks()]
        for episode in play(dealt, Random(0)):
            before = np.zeros(0, int)
            for reply in (turn.reply for turn in episode.turns):
                kept = reply.prompt_tokens[: len(before)]
                again += len(before) - int((kept == before[: len(kept)]).sum())
                others += reading.reply_tokens(reply.text)[:-1] != tuple(reply.tokens.tolist())
                before = np.concatenate([reply.prompt_tokens, reply.tokens])
            turns += len(episode.turns)
            assert episode.outcome.facts["conversations"] == 1
    assert turns >= 10_000
    assert again == 0
    assert others > turns // 4  # or else there was nothing to get wrong


def test_two_seats_of_one_match(solver, capsys):
    game = find_game(f"agent:{solver}:Debate")
    assert game.roles == ("speaker", "critic")

    class Says:
        def __init__(self, text):
            self.name = self.text = text

        def reply(self, asks):
            return [Reply(self.text, self.name) for _ in asks]

    (episode,) = play([Match(game, game.tasks()[0], {"speaker": Says("hello"), "critic": Says("yes!")})], Random(0))
    assert {str(seat): score for seat, score in episode.outcome.scores.items()} == {"speaker": 1.0, "critic": 0.0}
    assert [turn.reply.player for turn in episode.turns] == ["hello", "yes!"]
    assert episode.turns[1].ask.messages[0].text == "Is this good: hello"


def test_an_agent_that_breaks_is_told_once_and_has_no_verdict(solver, capsys):
    game = find_game(f"agent:{solver}:breaks,questions=sums,problems=1,count=8")
    episodes = play([Match(game, task, {"agent": Adds()}) for task in game.tasks()], Random(0))
    assert {episode.outcome.facts["reason"] for episode in episodes} == {"KeyError: 'broken'"}
    assert all(episode.outcome.facts["right"] is None for episode in episodes)
    said = capsys.readouterr().err
    assert said.count("failed, and its match has no verdict: KeyError: 'broken' (solver.py, line") == 1


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("agent:{}", "names no agent: write agent:path/to/file.py:NAME"),
        ("agent:{}:solve", "brings no tasks: say agent:"),
        ("agent:{}:Debate,questions=sums", "brings its own tasks: leave questions=sums out"),
        (
            "agent:{}:Twice",
            "are names that differ, and none is 'game', as who asks is called: not .'speaker', 'speaker'",
        ),
        ("agent:{}:Game", "are names that differ, and none is 'game', as who asks is called"),
        ("agent:{}:NOTHING,questions=sums", "it is a function of a task and the seats"),
        ("agent:{}:nobody,questions=sums", "has no agent 'nobody'"),
        ("agent:{}:solve,questions=summs", "there is no question set 'summs'"),
        ("agent:{}:solve,questions=sums,calls=0", "a program needs at least one call"),
    ],
)
def test_what_is_no_agent_is_said_in_one_line(solver, spec, said):
    with pytest.raises(RedQueenError, match=said) as caught:
        find_game(spec.format(solver))
    assert "\n" not in str(caught.value)


def test_an_agent_is_trained_recorded_and_played_again(solver, tmp_path, capsys):
    run, spec = tmp_path / "run", f"agent:{solver}:solve,questions=sums,problems=2,count=16"
    words = ["train", "grpo", "--game", spec, "--tasks", "2", "--attempts", "2", "--steps", "2", *TINY]
    assert main([*words, "--output", str(run)]) == 0
    assert {"success", "held_out_score"} <= set(read_final(run))
    assert all(line["turns_per_episode"] == 2 for line in read_metrics(run))
    assert main(["record", str(run), "--game", spec, "--matches", "2"]) == 0
    said = capsys.readouterr().out
    assert "agent: mean score 0.000 in 2 of 2 matches with a verdict" in said
    assert main(["replay", str(run), "played.1"]) == 0
    assert "replayed: every ask and the outcome are the same" in capsys.readouterr().out


def test_a_recording_says_why_its_matches_have_no_verdict_and_takes_the_best_checkpoint(solver, tmp_path, capsys):
    run, spec = tmp_path / "run", f"agent:{solver}:{{}},questions=sums,problems=2,count=16"
    words = ["train", "grpo", "--game", spec.format("solve"), "--tasks", "2", "--attempts", "2", "--steps", "1", *TINY]
    assert main([*words, "--keep-best", "--evaluate-every", "1", "--output", str(run)]) == 0
    (best,) = (run / "checkpoints").glob("best_*")
    capsys.readouterr()
    assert main(["record", str(run), "--game", spec.format("breaks"), "--matches", "2", "--step", "best"]) == 0
    said = capsys.readouterr().out
    assert "agent: mean score unknown in 0 of 2 matches with a verdict" in said
    assert "without a verdict: 2, KeyError: 'broken'\n" in said
    assert main(["record", str(run), "--game", spec.format("solve"), "--matches", "1"]) == 0
    assert "without a verdict" not in capsys.readouterr().out
    assert main(["record", str(run), "--game", spec.format("rambles"), "--matches", "1"]) == 0
    assert "in 1 of 1 matches with a verdict" in capsys.readouterr().out
    versions = [each.turns[0].reply.version for name, each, _ in stored_episodes(run) if name.startswith("played.")]
    assert versions == [int(best.name.removeprefix("best_"))] * 2 + [1, 1]


def test_a_folder_runs_no_agent_that_nobody_trusts(solver, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "first"))
    run, spec = tmp_path / "run", f"agent:{solver}:solve,questions=sums,problems=2,count=16"
    words = ["train", "grpo", "--game", spec, "--tasks", "2", "--attempts", "2", "--steps", "1", *TINY]
    assert main([*words, "--output", str(run)]) == 0
    assert main(["record", str(run), "--game", spec, "--matches", "1"]) == 0
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "second"))
    solver.write_text("raise SystemExit('it ran')")
    capsys.readouterr()
    assert main(["replay", str(run), "played.0"]) == 2
    assert "is named by a folder" in capsys.readouterr().err


WORKER = """
import os, httpx, sys
url, head = sys.argv[1], {"Authorization": f"Bearer {os.environ['REDQUEEN_KEY']}"}
while True:
    try:
        match = httpx.post(f"{url}/matches", headers=head, timeout=60).json()
    except httpx.TransportError:
        continue
    seat = match["seats"]["agent"]
    wanted = {"model": seat["model"], "messages": [{"role": "user", "content": match["task"]["prompt"]}]}
    key = {"Authorization": f"Bearer {seat['key']}"}
    said = httpx.post(f"{url}/chat/completions", json=wanted, headers=key, timeout=60).json()
    answer = said["choices"][0]["message"]["content"] or ""
    httpx.post(f"{url}/matches/{match['match']}", headers=head, json={"answer": answer})
"""


@pytest.mark.slow
def test_agents_that_run_on_their_own_come_and_are_recorded(solver, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("REDQUEEN_KEY", "rq-test")
    port = free_port()
    run, spec = tmp_path / "run", f"visited:sums,port={port},problems=2,count=16"
    (tmp_path / "worker.py").write_text(textwrap.dedent(WORKER))
    workers = [
        subprocess.Popen([sys.executable, str(tmp_path / "worker.py"), f"http://127.0.0.1:{port}/v1"], env=os.environ)
        for _ in range(2)
    ]
    try:
        words = ["train", "grpo", "--game", spec, "--tasks", "2", "--attempts", "2", "--steps", "1", *TINY]
        assert main([*words, "--output", str(run)]) == 0
        assert main(["record", str(run), "--game", spec, "--matches", "2"]) == 0
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    assert "agent: mean score" in capsys.readouterr().out
    assert main(["replay", str(run), "played.0"]) == 0
    assert "replayed, with what its agent said then: every ask" in capsys.readouterr().out


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def test_all_threads_have_one_endpoint_of_a_port():
    found, port, begin = set(), free_port(), threading.Barrier(8)

    def make():
        begin.wait()
        found.add(id(endpoint(port)))

    makers = [threading.Thread(target=make) for _ in range(8)]
    for each in makers:
        each.start()
    for each in makers:
        each.join()
    assert len(found) == 1
    endpoint(port).close()


@pytest.mark.parametrize(
    ("body", "score"),
    [
        ({"answer": 42}, 0.0),
        ({"answer": {"agent": 5}}, None),
        ({"answer": True}, None),
        ({"score": "0.5"}, None),
        ({"score": 10**400}, None),
        ({"scores": 1}, None),
        ({"scores": {"agent": "1"}}, None),
        ({"score": 1}, 1.0),
        ({"scores": {"agent": 0.25}}, 0.25),
    ],
)
def test_an_answer_is_judged_and_a_score_is_a_number(body, score):
    questions = find_questions("sums")
    (task,) = questions.problems(questions.levels[0], 1, Random(0))
    offered = []

    class Server:
        def seats(self, desk):
            return {}

        def offer(self, task, chairs, end):
            offered.append(end)

    desk = Desk(("agent",), 0, 8)
    program = OnTheirOwn("visited:sums", Judged(questions), (task,), (task,), 0)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(agents, "endpoint", lambda port: Server())
        program.begin(task, desk)
    if score is None:
        with pytest.raises(RedQueenError, match="an answer is a text, a score a finite number"):
            offered[0](body)
    else:
        offered[0](body)
        assert list(desk.ended.scores.values()) == [score]


def test_how_a_fetched_match_may_end():
    port = free_port()
    game = find_game(f"visited:sums,port={port},problems=1,count=4")

    class Nobody:
        name = "nobody"

        def reply(self, asks):
            raise AssertionError("nobody asks")

    server = endpoint(port)
    head = {"Authorization": f"Bearer {server.key}"}
    found = []

    def visit():
        for body in ({"answer": "x", "score": 1}, {"scores": {"nobody": 1}}, {"score": 0.5}):
            if not found or found[-1].status_code != 400:
                match = httpx.post(f"{server.url}/matches", headers=head).json()["match"]
            found.append(httpx.post(f"{server.url}/matches/{match}", headers=head, json=body))

    visitor = threading.Thread(target=visit)
    visitor.start()
    (episode,) = play([Match(game, game.tasks()[0], {"agent": Nobody()})], Random(0))
    visitor.join(5)
    assert [answer.status_code for answer in found] == [400, 400, 200]
    assert "one of answer, score, scores and failed" in found[0].json()["error"]["message"]
    assert "each seat gets one score" in found[1].json()["error"]["message"]
    assert list(episode.outcome.scores.values()) == [0.5]
