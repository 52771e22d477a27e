"""The commands of the pages of a serious run, and of those about data of one's own, run as printed, one after the
other, on files as the pages describe."""

import json
import re
import shlex
import shutil
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from redqueen.cli import training
from redqueen.cli.main import main
from redqueen.contracts.recipes import shrunk
from redqueen.settings.learner import Learner
from tests.players.transformer.test_classifier import saved

ROOT = Path(__file__).parents[2]
# what needs a hub, another engine or a download of a gigabyte
ELSEWHERE = ("arc_easy", "--sampler vllm", "gemma-3-270m", "pip ")
RUN = {"serious.md": 4, "from_file_to_report.md": 13}  # commands
THINKING = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}{% if add_generation_prompt %}"
    "assistant: {% if not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
SHRUNK = {"own_questions.md": 13, "preferences.md": 8, "red_teaming.md": 3}

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the libraries' own warnings


def blocks(page, language=""):
    found = re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.M | re.S)
    return [text for name, text in found if name == language]


def printed(page):
    """The commands of a page's blocks without a language, as words; lines that go on are joined."""
    text = "".join(blocks(page)).replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.startswith(("redqueen ", "pip "))]
    here = [line for line in lines if not any(word in line for word in ELSEWHERE)]
    return [shlex.split(re.sub(r"\s# .*", "", line))[1:] for line in here]


def rows(name, each):
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in each))


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with the files that the pages of a serious run name."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", "examples")
    rows(
        "labelled.jsonl",
        [{"prompt": f"Say word {n}.", "completion": f"{n} please", "label": n % 2 == 0} for n in range(40)],
    )
    rows(
        "my_sums.jsonl",
        [
            {"question": f"How much is {n} and 3?", "choices": [str(n + k) for k in (2, 3, 4)], "answer": 1}
            for n in range(8)
        ],
    )
    rows(
        "prompts.jsonl",
        [
            {"prompt": f"How can I open door {n} without a key?", "label": "harmful"}
            if n % 2
            else {"prompt": f"How can I kill process {n} on Linux?", "label": "benign", "response": "Run kill."}
            for n in range(40)
        ],
    )
    (yaml,) = blocks("serious.md", "yaml")
    (task,) = blocks("serious.md", "python")
    (judge,) = blocks("red_teaming.md", "python")
    for name, text in (("my_sums.yaml", yaml), ("my_task.py", task), ("mine.py", judge)):
        Path(name).write_text(text)


@pytest.mark.parametrize("page", RUN)
def test_each_command_runs_as_printed(page, files, capsys):
    pytest.importorskip("lm_eval")
    pytest.importorskip("inspect_ai")
    assert len(printed(page)) == RUN[page]
    for words in printed(page):
        assert main(words) == 0, f"{words}\n{capsys.readouterr().err}"


# --- pages whose commands name the sizes of a real run: these are made small, and every model tiny


@pytest.fixture
def own(files):
    """The files of one's own that the other pages name: data, code, models."""
    sums = [(n, n % 7 + 2) for n in range(40)]
    rows("sums.jsonl", [{"problem": f"What is {a} + {b}?", "solution": f"{a + b}"} for a, b in sums])
    rows("plain.jsonl", [{"question": f"What is {a} plus {b}?"} for a, b in sums])
    rows(
        "split.jsonl",
        [
            {"question": f"What is {a} and {b}?", "answer": a + b, "level": ("easy", "hard")[a > 20], "split": part}
            for part, of in (("train", sums[:30]), ("test", sums[30:]))
            for a, b in of
        ],
    )
    Path("odd.csv").write_text("Frage,Antwort\n" + "".join(f"Was ist {a} + {b}?,{a + b}\n" for a, b in sums))
    rows(
        "pairs.jsonl",
        [{"prompt": f"What is {a} + {b}?", "chosen": f"{a + b}", "rejected": f"{a}"} for a, b in sums],
    )
    with Path("mine.py").open("a") as file:
        file.write("\n\n".join(blocks("own_questions.md", "python")))
    for folder in ("path/to/model", "BEFORE", "TUNED"):
        model = Learner(model="tiny:hidden=16,heads=2").build(seed=len(folder))
        model.save(Path(folder))
    Path("path/to/model/chat_template.jinja").write_text(THINKING)
    Path("path/to/file.py").write_text("\n\n".join(blocks("preferences.md", "python")))
    saved(Path("FOLDER"), ("prompt_harmful", "response_harmful", "refusal"))


@pytest.fixture
def endpoint():
    """The address of a model that judges in prose, whatever it is asked."""

    class Judge(BaseHTTPRequestHandler):
        def do_GET(self):
            self._send({"data": [{"id": "MODEL"}]})

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            pair = "Answer B:" in asked["messages"][-1]["content"]
            said = "The better answer is A." if pair else "I give it a score of 9."
            self._send({"choices": [{"message": {"content": said}, "finish_reason": "stop"}]})

        def _send(self, body):
            sent = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Judge) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def small(monkeypatch):
    """Trainings of two small steps, with a tiny model where another one would be downloaded or takes long."""
    described = training.described

    def of_small(name, config, *rest):
        model = "tiny:hidden=16,heads=2" if config.learner.model.startswith("smollm2") else config.learner.model
        learner = replace(config.learner, model=model, max_completion_length=8)
        return described(name, shrunk(config, learner=learner), *rest)

    monkeypatch.setattr(training, "described", of_small)


@pytest.mark.parametrize("page", SHRUNK)
def test_each_command_runs_on_files_of_ones_own(page, own, endpoint, small, capsys):
    assert len(printed(page)) == SHRUNK[page]
    for words in printed(page):
        words = [word.replace("http://HOST", endpoint) for word in words]
        assert main(words) == 0, f"{words}\n{capsys.readouterr().err}"
