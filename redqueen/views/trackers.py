"""A run in the trackers that people keep their experiments in: wandb, tensorboard, mlflow, trackio.

    reporting = reporting_to(settings, print)
    Run(folder, seed, schedule, [SettingsFile(settings), *reporting])

Each tracker is fed on a thread of its own, so that one that is slow or away holds up no step. The last step that it was
given is noted in `trackers/NAME.step` of the run's folder: what it missed, because it was away or the run was killed,
is sent when it is back or the run is resumed, and no step is sent twice. A resumed run makes the steps after its
checkpoint again, to the same figures: those that a tracker has stay as they are.

The libraries come with the extra `track`. Where a run is shown is up to their own settings (WANDB_PROJECT, WANDB_MODE,
MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_NAME, TRACKIO_DIR, TRACKIO_SPACE_ID); a project is called "redqueen" otherwise.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from typing import Any, Literal, Protocol

from redqueen.records import flat
from redqueen.runs.metrics import NewLines, figures_of
from redqueen.runs.run import Line, Run, read_final
from redqueen.trust.door import enter
from redqueen.trust.no_links import OF_TRACKERS, refuse_link, remove_tree, write_whole
from redqueen.types import Metrics, RedQueenError

Name = Literal["wandb", "tensorboard", "mlflow", "trackio"]
PROJECT = "redqueen"
ACCOUNTS = ("wandb", "mlflow", "trackio")  # that may send figures elsewhere, as the user's own settings say
NEVER = -1  # the last step given to a tracker that was given none
PAUSE = 30.0  # seconds until one that was away is tried again
PATIENCE = 60.0  # seconds that the end of a run waits for what is still to be sent


class Tracker(Protocol):
    """One tracker's own way of keeping a run. Any error means that it is away; it is opened again then."""

    def open(self, folder: Path, last: int) -> int:
        """Begins the run, or goes on with it, and returns the last step that is there; `last` is that given last."""
        ...

    def log(self, step: int, figures: Metrics, at: float | None) -> None:
        """The figures of one step, made at a time in seconds since 1970."""
        ...

    def close(self, finished: bool) -> None: ...


class Reporting:
    """A watcher that gives a run's figures to one tracker. `say` prints a line."""

    def __init__(self, name: str, tracker: Tracker, say: Callable[[str], None], pause: float = PAUSE) -> None:
        self._name = name
        self._tracker = tracker
        self._say = say
        self._pause = pause
        self._folder = Path()
        self._news = Event()
        self._over = Event()
        self._finished = False
        self._thread = Thread(target=self._work, name=f"to {name}", daemon=True)

    def begin(self, run: Run, start: int, count: int) -> None:
        self._folder = run.folder
        self._thread.start()

    def step(self, line: Line) -> None:
        self._news.set()  # the line is in metrics.jsonl

    def end(self, run: Run) -> None:
        self._finished = True
        self.close()

    def close(self) -> None:
        """Sends what waits, as far as it can be sent; also after a run that was stopped half-way."""
        if self._over.is_set() or not self._thread.is_alive():
            return
        self._over.set()
        self._news.set()
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            self._say(f"{self._name} has not taken everything within {PATIENCE:g} s: redqueen resume sends the rest")

    def _work(self) -> None:
        away = False
        while True:
            last_try = self._over.is_set()
            try:
                return self._send()
            except Exception as error:  # whatever is wrong with a tracker is not wrong with the run
                if not away:
                    reason = (str(error).splitlines() or [""])[0][:200]
                    self._say(f"{self._name} is away ({type(error).__name__}: {reason}); the run goes on, figures wait")
                away = True
            if last_try:
                return None
            self._over.wait(self._pause)

    def _send(self) -> None:
        """All that the tracker has not had, until the run is over."""
        for name in OF_TRACKERS:
            refuse_link(self._folder, name)
        noted, measured = self._noted()
        last = self._tracker.open(self._folder, noted)
        measured &= last == noted
        lines = NewLines(self._folder)
        while True:
            self._news.clear()
            over = self._over.is_set()
            found, _ = lines.read()
            ends = [read_final(self._folder)] if over and self._finished else []
            for line, ending in [*((line, False) for line in found), *((line, True) for line in ends)]:
                if line["step"] > last or (line["step"] == last and measured and not ending):
                    self._tracker.log(line["step"], figures_of(line), line.get("time", {}).get("at"))
                    last, measured = line["step"], ending
                    self._note(last, measured)
            if over:
                return self._tracker.close(self._finished)
            self._news.wait()

    def _noted(self) -> tuple[int, bool]:
        """The step that it was given last, and whether that was the measurement at the end alone: in a run that is made
        longer a step of that number follows."""
        path = self._place()
        words = path.read_text().split() if path.is_file() else [str(NEVER)]
        return int(words[0]), words[1:] == ["measured"]

    def _note(self, step: int, measured: bool) -> None:
        write_whole(self._folder, f"trackers/{self._name}.step", f"{step} measured\n" if measured else f"{step}\n")

    def _place(self) -> Path:
        return self._folder / "trackers" / f"{self._name}.step"


def reporting_to(settings: Mapping[str, Any], say: Callable[[str], None]) -> list[Reporting]:
    """A watcher for each tracker that the settings of a run name under `report_to`; `report_id` is the run's in all of
    them. Raises RedQueenError for one that is not installed, or that nobody is logged in to, and Untrusted where a
    folder names one of the user's accounts for a run that this user did not begin."""
    for name in settings.get("report_to", ()):
        if name in ACCOUNTS:
            enter(f"{name}/{settings['report_id']}", "", f"the tracker {name!r}", "would be sent this run's figures")
    return [
        Reporting(name, TRACKERS[name](settings, str(settings["report_id"])), say)
        for name in settings.get("report_to", ())
    ]


def report_settings(names: Sequence[Name]) -> dict[str, Any]:
    """What `config.json` keeps, so that a resumed run goes on in the same place."""
    twice = [name for number, name in enumerate(names) if name in names[:number]]
    if twice:
        raise RedQueenError(f"--report-to names {twice[0]} twice")
    return {"report_to": list(names), "report_id": secrets.token_hex(4)} if names else {}


class Wandb:
    """Weights & Biases. Offline (WANDB_MODE=offline) it writes to `wandb/` of the run's folder, for `wandb sync`."""

    def __init__(self, settings: Mapping[str, Any], id: str) -> None:
        self._library = _library("wandb", "wandb")
        self._settings = settings
        self._id = id
        self._run: Any = None
        self._mode = self._library.setup(self._library.Settings(silent=True)).settings.mode
        online = self._mode in ("online", "shared")
        if online and not self._library.login(prompt=False, verify=False):
            raise RedQueenError("wandb knows no API key here: run `wandb login`, or set WANDB_MODE=offline")

    def open(self, folder: Path, last: int) -> int:
        """It keeps figures back for a while, which a killed run loses. So it is asked what it has; and since nobody can
        be asked offline, the whole run is written again, in the place of what is there."""
        if self._mode == "offline":
            for part in (folder / "wandb").glob(f"offline-run-*-{self._id}"):
                remove_tree(folder, f"wandb/{part.name}")
        self._run = self._library.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=folder.name,
            id=self._id,
            resume="allow",
            dir=str(folder),
            config=dict(self._settings),
            reinit="create_new",
            settings=self._library.Settings(silent=True, console="off"),  # it need not read what the terminal shows
        )
        return int(self._run.step) - 1 if self._run.resumed else NEVER

    def log(self, step: int, figures: Metrics, at: float | None) -> None:
        self._run.log(figures, step=step, commit=True)

    def close(self, finished: bool) -> None:
        self._run.finish(exit_code=0 if finished else 1)


class TensorBoard:
    """Event files in `tensorboard/` of the run's folder: `tensorboard --logdir outputs` shows all runs."""

    def __init__(self, settings: Mapping[str, Any], id: str) -> None:
        self._library = _library("torch.utils.tensorboard", "tensorboard")
        self._settings = settings
        self._writer: Any = None

    def open(self, folder: Path, last: int) -> int:
        self._writer = self._library.SummaryWriter(log_dir=str(folder / "tensorboard"))
        if last == NEVER:
            rows = [f"| {name} | {_cell(value)} |" for name, value in flat(self._settings).items()]
            self._writer.add_text("settings", "\n".join(["| setting | value |", "|---|---|", *rows]))
        return last

    def log(self, step: int, figures: Metrics, at: float | None) -> None:
        for name, value in figures.items():
            self._writer.add_scalar(name, value, step, walltime=at)
        self._writer.flush()  # what is noted as given must be on the disk

    def close(self, finished: bool) -> None:
        self._writer.close()


class MLflow:
    """A run of an MLflow experiment. What MLflow allows in no name becomes _: "pass@4" is "pass_4" there."""

    def __init__(self, settings: Mapping[str, Any], id: str) -> None:
        self._library = _library("mlflow", "mlflow")
        self._settings = settings
        self._id = id
        self._client: Any = None
        self._run = ""

    def open(self, folder: Path, last: int) -> int:
        self._client = self._library.MlflowClient()
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
        known = self._client.get_experiment_by_name(name)
        experiment = known.experiment_id if known else self._client.create_experiment(name)
        found = self._client.search_runs([experiment], f"tags.`redqueen.id` = '{self._id}'")
        if found:
            self._run = found[0].info.run_id
            self._client.update_run(self._run, status="RUNNING")
            return last
        run = self._client.create_run(experiment, run_name=folder.name, tags={"redqueen.id": self._id})
        self._run = run.info.run_id
        for key, value in flat(self._settings).items():
            self._client.log_param(self._run, _plain_name(key), value[:6000])
        return NEVER

    def log(self, step: int, figures: Metrics, at: float | None) -> None:
        entities = self._library.entities
        made = int((at or time.time()) * 1000)  # in milliseconds
        values = [entities.Metric(_plain_name(name), value, made, step) for name, value in figures.items()]
        self._client.log_batch(self._run, metrics=values)

    def close(self, finished: bool) -> None:
        self._client.set_terminated(self._run, "FINISHED" if finished else "KILLED")


class Trackio:
    """A run of a trackio project on this machine, or in the Space that TRACKIO_SPACE_ID names."""

    def __init__(self, settings: Mapping[str, Any], id: str) -> None:
        self._library = _library("trackio", "trackio")
        self._settings = settings
        self._id = id
        self._run: Any = None

    def open(self, folder: Path, last: int) -> int:
        name = f"{folder.name}-{self._id}"
        here = import_module("trackio.sqlite_storage").SQLiteStorage.get_max_step_for_run(PROJECT, name)
        self._run = self._library.init(PROJECT, name=name, config=dict(self._settings), resume="allow", embed=False)
        # it keeps figures back for a moment, which a killed run loses: where it writes here, it is asked what it has
        return last if self._run.url is not None else NEVER if here is None else int(here)

    def log(self, step: int, figures: Metrics, at: float | None) -> None:
        self._run.log(figures, step=step)

    def close(self, finished: bool) -> None:
        self._run.finish()


TRACKERS: Mapping[str, Callable[[Mapping[str, Any], str], Tracker]] = {
    "wandb": Wandb,
    "tensorboard": TensorBoard,
    "mlflow": MLflow,
    "trackio": Trackio,
}


def _library(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise RedQueenError(f"--report-to {package} needs it: pip install 'redqueen[track]' ({error.name})") from None


def _plain_name(name: str) -> str:
    return re.sub(r"[^\w\-. :/]", "_", name)


def _cell(value: str) -> str:
    return json.dumps(value)[1:-1].replace("|", "\\|")
