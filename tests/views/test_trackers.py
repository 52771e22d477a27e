"""What trackers are given: every step once, under its own name, whatever happens to them or to the run."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from redqueen.cli.main import main
from redqueen.recipes.games import spiral
from redqueen.runs.folder import settings
from redqueen.runs.run import Run, Schedule, read_final, read_metrics
from redqueen.trust import door
from redqueen.types import RedQueenError
from redqueen.views.trackers import ACCOUNTS, TRACKERS, Reporting, _plain_name, report_settings, reporting_to


class Kept:
    """A tracker that keeps what it is given, and is away for as many calls of `log` as asked."""

    def __init__(self, away=0, has=None, holds_up=None):
        self.steps, self.opened, self.closed = [], [], []
        self.away, self.has, self.holds_up = away, has, holds_up

    def open(self, folder, last):
        self.opened.append(last)
        return last if self.has is None else self.has

    def log(self, step, figures, at):
        if self.holds_up is not None:
            self.holds_up.wait(10.0)
        if self.away:
            self.away -= 1
            raise ConnectionError("no route\nto host")
        self.steps.append((step, figures, at))

    def close(self, finished):
        self.closed.append(finished)


def reported(folder, tracker, steps=4, pause=0.01, watchers=(), checkpoint_every=100):
    said = []
    reporting = Reporting("kept", tracker, said.append, pause)
    run = Run(folder, 0, Schedule(evaluate_every=2, checkpoint_every=checkpoint_every), [reporting, *watchers])
    try:
        spiral.train(spiral.Config(steps=steps, matches_per_step=4), run)
    finally:
        reporting.close()
    return said


def test_every_step_is_given_under_its_own_names_and_the_last_measurement_at_its_step(tmp_path):
    tracker = Kept()
    assert reported(tmp_path, tracker) == []
    assert [step for step, _, _ in tracker.steps] == [0, 1, 2, 3, 4]
    lines = read_metrics(tmp_path)
    for (_, figures, at), line in zip(tracker.steps, lines, strict=False):
        assert at == line["time"]["at"]
        assert figures["reward/first"] == line["reward/first"]
        assert figures["time/step"] == line["time"]["step"]
        assert "step" not in figures and "time" not in figures and "time/at" not in figures
    assert tracker.steps[4][1]["exploitability"] == read_final(tmp_path)["exploitability"]
    assert tracker.closed == [True]


def test_a_tracker_that_comes_back_is_given_what_it_missed_and_one_line_tells_of_it(tmp_path):
    class Waits:
        """So that it is back before the run is over."""

        def begin(self, run, start, count): ...
        def end(self, run): ...
        def step(self, line):
            until = time.monotonic() + 20.0
            while line["step"] == 2 and tracker.away and time.monotonic() < until:
                time.sleep(0.01)

    tracker = Kept(away=3)
    (line,) = reported(tmp_path, tracker, watchers=[Waits()])
    assert line == "kept is away (ConnectionError: no route); the run goes on, figures wait"
    assert [step for step, _, _ in tracker.steps] == [0, 1, 2, 3, 4]


def test_a_tracker_that_stays_away_stops_nothing_and_a_resumed_run_sends_it_all(tmp_path):
    assert len(reported(tmp_path, Kept(away=10**9))) == 1
    assert len(read_metrics(tmp_path)) == 4 and read_final(tmp_path)["step"] == 4
    back = Kept()
    reported(tmp_path, back)
    assert [step for step, _, _ in back.steps] == [0, 1, 2, 3, 4]


def test_a_tracker_that_cannot_be_opened_stops_nothing(tmp_path):
    tracker = Kept()
    tracker.open = lambda folder, last: 1 / 0
    (line,) = reported(tmp_path, tracker)
    assert line.startswith("kept is away (ZeroDivisionError: division by zero)")


def test_a_slow_tracker_holds_up_no_step(tmp_path):
    gate, seen = threading.Event(), []

    class Ends:
        """The last watcher to hear of the end; a run that waited for its tracker would never come here."""

        def begin(self, run, start, count): ...
        def end(self, run): ...
        def step(self, line):
            seen.append((line["step"], len(tracker.steps)))
            if line["step"] == 3:
                gate.set()

    tracker = Kept(holds_up=gate)
    reported(tmp_path, tracker, watchers=[Ends()])
    assert seen == [(0, 0), (1, 0), (2, 0), (3, 0)]
    assert len(tracker.steps) == 5


def test_a_resumed_run_gives_no_step_twice_and_leaves_none_out(tmp_path):
    class Stops:
        def begin(self, run, start, count): ...
        def end(self, run): ...
        def step(self, line):
            if line["step"] == 2:
                raise KeyboardInterrupt

    first = Kept()
    with pytest.raises(KeyboardInterrupt):
        reported(tmp_path, first, watchers=[Stops()], checkpoint_every=2)
    second = Kept()
    reported(tmp_path, second, checkpoint_every=2)
    assert [step for step, _, _ in first.steps] == [0, 1, 2]
    assert second.opened == [2]  # though the checkpoint has two steps only: the third was made again
    assert [step for step, _, _ in second.steps] == [3, 4]


def test_a_run_that_is_made_longer_gives_the_step_that_follows_its_former_end(tmp_path):
    reported(tmp_path, Kept())
    longer = Kept()
    reported(tmp_path, longer, steps=6)
    assert [step for step, _, _ in longer.steps] == [4, 5, 6]
    assert longer.steps[0][1]["reward/first"] == read_metrics(tmp_path)[4]["reward/first"]
    again = Kept()
    reported(tmp_path, again, steps=6)
    assert (longer.opened, again.opened, again.steps) == ([4], [6], [])


def test_a_tracker_that_knows_what_it_has_is_believed(tmp_path):
    reported(tmp_path, Kept())
    forgetful = Kept(has=1)
    reported(tmp_path, forgetful)
    assert [step for step, _, _ in forgetful.steps] == [2, 3, 4]
    assert forgetful.opened == [4]


def test_a_run_that_is_stopped_closes_its_trackers_as_unfinished(tmp_path):
    tracker = Kept()
    reporting = Reporting("kept", tracker, print)
    reporting.close()  # before it began
    reporting.begin(Run(tmp_path), 0, 4)
    reporting.close()
    reporting.close()
    assert tracker.closed == [False]


def test_settings_name_the_trackers_and_one_id():
    found = report_settings(("wandb", "mlflow"))
    assert found["report_to"] == ["wandb", "mlflow"] and len(found["report_id"]) == 8
    assert report_settings(()) == {}
    with pytest.raises(RedQueenError, match="--report-to names wandb twice"):
        report_settings(("wandb", "mlflow", "wandb"))
    assert reporting_to({"recipe": "spiral"}, print) == []


@pytest.mark.parametrize("name", TRACKERS)
def test_a_tracker_that_is_not_installed_is_named_with_its_extra(name, monkeypatch):
    modules = {"tensorboard": "torch.utils.tensorboard"}
    monkeypatch.setitem(sys.modules, modules.get(name, name), None)
    with pytest.raises(RedQueenError, match=rf"^--report-to {name} needs it: pip install 'redqueen\[track\]'"):
        reporting_to({"report_to": [name], "report_id": "x"}, print)


def test_the_command_line_refuses_what_is_no_tracker(tmp_path, capsys):
    assert main(["train", "spiral", "--output", str(tmp_path / "run"), "--report-to", "paper"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "'paper'" in line and "wandb" in line
    assert not (tmp_path / "run").exists()


# --- the real packages, offline ----------------------------------------------------------------------------------

RECIPE = '''
import os, time
from pathlib import Path
from redqueen.recipes.games.spiral import Config, train as spiral

class Kill:
    """As the system would at the worst moment: after a checkpoint, once every tracker has been given step 7."""
    def __init__(self, folder): self.folder = folder
    def begin(self, run, start, count): self.armed = start == 0
    def step(self, line):
        if not self.armed or line["step"] != 7: return
        notes = [self.folder / "trackers" / f"{name}.step" for name in ("wandb", "tensorboard", "mlflow", "trackio")]
        for _ in range(600):
            if all(note.exists() and note.read_text() == "7\\n" for note in notes): break
            time.sleep(0.1)
        os.kill(os.getpid(), 9)
    def end(self, run): ...

def train(config, run):
    run.watchers.append(Kill(run.folder))
    return spiral(config, run)
'''

READ = '''
import json, struct, sys
from pathlib import Path
folder = Path(sys.argv[1])
settings = json.loads((folder / "config.json").read_text())
id = settings["report_id"]
found = {}

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(str(folder / "tensorboard"))
events.Reload()
found["tensorboard"] = {name: [[e.step, e.value] for e in events.Scalars(name)] for name in events.Tags()["scalars"]}
text = events.Tensors("settings/text_summary")
found["tensorboard settings"] = [each.tensor_proto.string_val[0].decode() for each in text]

from mlflow import MlflowClient
client = MlflowClient()
experiment = client.get_experiment_by_name("redqueen").experiment_id
(run,) = client.search_runs([experiment])
found["mlflow"] = {
    name: [[each.step, each.value] for each in client.get_metric_history(run.info.run_id, name)]
    for name in run.data.metrics
}
found["mlflow settings"] = run.data.params
found["mlflow run"] = [run.info.run_name, run.info.status, run.data.tags["redqueen.id"]]

from trackio.sqlite_storage import SQLiteStorage
curves = {}
for line in SQLiteStorage.get_logs("redqueen", f"{folder.name}-{id}"):
    for name, value in line.items():
        if name not in ("step", "timestamp"):
            curves.setdefault(name, []).append([line["step"], value])
found["trackio"] = curves
found["trackio settings"] = SQLiteStorage.get_run_config("redqueen", f"{folder.name}-{id}")
found["trackio runs"] = SQLiteStorage.get_runs("redqueen")

from wandb.proto.wandb_internal_pb2 import Record
def records(data):
    """The file is LevelDB's log: blocks of 32 KiB, records whole (1) or in parts (2, 3, 4 the last)."""
    at, whole = 7, b""
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        _, size, kind = struct.unpack("<IHB", data[at : at + 7])
        whole += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):
            record = Record()
            record.ParseFromString(whole)
            whole = b""
            yield record
files = list((folder / "wandb").glob("offline-run-*/*.wandb"))
found["wandb runs"] = [file.name for file in files]
curves = {}
for record in records(files[0].read_bytes()):
    if record.HasField("run"):
        found["wandb settings"] = {each.key: json.loads(each.value_json) for each in record.run.config.update}
        found["wandb run"] = [record.run.run_id, record.run.display_name, record.run.project]
    for item in record.history.item:
        name = item.key or ".".join(item.nested_key)
        curves.setdefault(name, []).append([record.history.step.num, json.loads(item.value_json)])
found["wandb"] = curves
print(json.dumps(found))
'''


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A run of twelve steps that reported to all four, was killed at its eighth and resumed; what each then has."""
    for library in ("wandb", "tensorboard", "mlflow", "trackio"):
        pytest.importorskip(library)
    place = tmp_path_factory.mktemp("tracked")
    (place / "mine.py").write_text(RECIPE)
    environment = os.environ | {
        "WANDB_MODE": "offline",
        "MLFLOW_TRACKING_URI": f"sqlite:///{place}/mlflow.db",
        "TRACKIO_DIR": str(place / "trackio"),
        "PYTHONPATH": str(Path(__file__).parent.parent),
    }

    def said(*words):
        done = subprocess.run(
            [sys.executable, *words], cwd=place, env=environment, capture_output=True, text=True, timeout=300
        )
        return done.returncode, done.stdout, done.stderr

    flags = ("--steps", "12", "--matches-per-step", "4", "--checkpoint-every", "5", "--output", "run")
    names = ("wandb", "tensorboard", "mlflow", "trackio")
    status, _, error = said("-m", "redqueen", "train", "mine.py", *flags, "--report-to", *names)
    assert status == -9, error
    before = len(read_metrics(place / "run"))
    status, _, error = said("-m", "redqueen", "resume", "run")
    assert status == 0, error
    assert "is away" not in error
    status, output, error = said("-c", READ, "run")
    assert status == 0, error
    return place / "run", before, json.loads(output.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("name", TRACKERS)
def test_a_killed_and_resumed_run_is_whole_in_every_tracker(kept, name):
    folder, before, found = kept
    assert before == 8
    lines = [*read_metrics(folder), read_final(folder)]
    for figure in ("entropy", "reward/first", "exploitability"):
        expected = [(line["step"], line[figure]) for line in lines if figure in line]
        steps, values = zip(*found[name][figure], strict=True)
        assert list(steps) == [step for step, _ in expected]
        assert values == pytest.approx([value for _, value in expected], rel=1e-6)  # tensorboard keeps float32
    assert [step for step, _ in found[name]["time/step"]] == list(range(12))


def test_every_tracker_has_one_run_with_its_settings(kept):
    folder, _, found = kept
    written = settings(folder)
    id = written["report_id"]
    assert found["mlflow run"] == ["run", "FINISHED", id]
    assert found["mlflow settings"]["config.steps"] == "12"
    assert found["mlflow settings"]["versions.torch"] == written["versions"]["torch"]
    assert found["trackio runs"] == [f"run-{id}"]
    assert found["trackio settings"]["config"]["steps"] == 12
    assert found["wandb runs"] == [f"run-{id}.wandb"]
    assert found["wandb run"] == [id, "run", "redqueen"]
    assert found["wandb settings"]["versions"] == written["versions"]
    (text,) = found["tensorboard settings"]
    assert "| config.steps | 12 |" in text and "| versions.torch |" in text


@pytest.mark.parametrize(("name", "written"), [("pass@4", "pass_4"), ("reward/first", "reward/first")])
def test_mlflow_is_given_names_that_it_allows(name, written):
    assert _plain_name(name) == written


@pytest.mark.slow
def test_wandb_without_a_key_is_one_line(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    script = (
        "from redqueen.cli.main import main\n"
        f"raise SystemExit(main(['train', 'spiral', '--output', {str(tmp_path / 'run')!r}, '--report-to', 'wandb']))"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("WANDB_")}
    environment |= {"HOME": str(tmp_path), "NETRC": str(tmp_path / "none")}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "redqueen: wandb knows no API key here: run `wandb login`, or set WANDB_MODE=offline"
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ACCOUNTS)
def test_a_folder_of_another_reports_to_no_account_of_this_user(name, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setitem(TRACKERS, name, lambda settings, id: None)
    settings = {"report_to": [name], "report_id": "0badcafe"}
    with (
        door.shut(),
        pytest.raises(door.Untrusted, match=rf"would be sent this run's figures.*--trust {name}/0badcafe"),
    ):
        reporting_to(settings, print)
    with door.shut_command([], [f"{name}/0badcafe"]):
        assert len(reporting_to(settings, print)) == 1
    reporting_to(settings, print)  # begun by this user, who may resume it
    door.remember()
    with door.shut():
        assert len(reporting_to(settings, print)) == 1
        with pytest.raises(door.Untrusted):
            reporting_to({**settings, "report_id": "1badcafe"}, print)
