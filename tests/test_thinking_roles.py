"""One command with a proposer in code blocks, a judge in prose, and a boxed solver: all of them think first."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from redqueen.cli.main import main
from redqueen.runs.folder import stored_episodes
from redqueen.runs.run import read_metrics

REPLIES = {
    "proposer": "<think>\nSomething with a carry, \\boxed{no}.\n</think>\n\nHere is one:\n```\n12+7\n```\nHave fun!",
    "judge": "<think>\nIs it right? <score>1</score> would be harsh.\n</think>\n\nIt is clear. I give it a score of 8.",
}


@pytest.fixture
def thinker() -> Iterator[str]:
    """A server of two models that think: the url of each is told apart by the model's name."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send({})

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert asked["chat_template_kwargs"] == {"enable_thinking": True}
            said = {"message": {"content": REPLIES[asked["model"]]}, "finish_reason": "stop"}
            self._send({"choices": [said]})

        def _send(self, body: object) -> None:
            sent = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


def test_formats_by_role_are_one_command(thinker: str, tmp_path, capsys) -> None:
    thinking = "enable_thinking=true"
    words = ["train", "multi_agent_evolve", "--questions", "judged", "--model", "tiny:hidden=16,heads=2"]
    words += ["--steps", "1", "--proposals", "2", "--tasks", "2", "--attempts", "2", "--problems", "2"]
    words += ["--max-completion-length", "12", "--answer", "boxed", "--output", str(tmp_path / "run")]
    words += ["--proposer", f"{thinker}#proposer", "--proposer.answer", "code", "--proposer.template", thinking]
    words += ["--judge", f"{thinker}#judge", "--judge.template", thinking]
    assert main(words) == 0, capsys.readouterr().err
    (line,) = read_metrics(tmp_path / "run")
    assert line["proposals/valid_share"] == 1.0  # "12+7", without the thought and the words around it
    assert line["judge_unparsed"] == 0.0
    assert line["judge_mean_score"] == pytest.approx(7 / 9)  # 8 of 1 to 10, not the 1 of the thought
    prompts = {m.text for _, e, _ in stored_episodes(tmp_path / "run") for turn in e.turns for m in turn.ask.messages}
    assert not any("think" in text or "harsh" in text for text in prompts)


@pytest.mark.parametrize("words", [["--proposer.answer", "prose"], ["--proposer.template", "thinking"]])
def test_a_format_that_does_not_exist_is_one_line(words: list[str], tmp_path, capsys) -> None:
    train = ["train", "absolute_zero", "--model", "tiny:hidden=16,heads=2", "--questions", "sums", *words]
    assert main([*train, "--output", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert not (tmp_path / "run").exists()
