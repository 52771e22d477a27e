"""The metrics of runs as others want them: as they come, and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from redqueen.runs.folder import settings
from redqueen.runs.run import Line, checked_lines, line_of, numbers, read_final, read_metrics
from redqueen.types import Damaged, Metrics, RedQueenError

if TYPE_CHECKING:
    from pandas import DataFrame


class NewLines:
    """The metrics of a run as they are written: what was not read before, without reading the rest again."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "metrics.jsonl"
        self._at = 0  # bytes read
        self._count = 0  # lines read
        self._last = b""  # the line before that place

    def read(self) -> tuple[list[Line], bool]:
        """The whole lines since the last call; and whether the run was resumed from an earlier step meanwhile, so that
        they are all the lines there are. Raises RedQueenError for one that is no line of metrics."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._at - len(self._last))
                again = file.read(len(self._last)) != self._last
                if again:
                    file.seek(0)
                    self._at = self._count = 0
                text = file.read()
        except FileNotFoundError:
            return [], False
        except OSError as error:
            raise Damaged(f"cannot read {self._path}: {error.strerror}") from error
        whole = text[: text.rfind(b"\n") + 1].splitlines(keepends=True)
        lines = checked_lines(list(map(line_of, whole)), self._path, self._count)
        self._at += sum(map(len, whole))
        self._count += len(whole)
        self._last = whole[-1] if whole else b"" if again else self._last
        return lines, again


def figures_of(line: Line) -> Metrics:
    """The figures of a step under their own names, with `time/step` and `time/measure`, in seconds, and
    `memory/gigabytes`."""
    names = {"step": "time/step", "measure": "time/measure", "gigabytes": "memory/gigabytes"}
    spent = {names[key]: value for key, value in line.get("time", {}).items() if key in names}
    return numbers(line) | spent


def metrics_frame(*folders: Path | str) -> DataFrame:
    """The metrics of one or more runs as a pandas data frame: a row for each step of each run, in their order, under
    the columns `run` (the folder's name), `seed`, `step`, then every figure; NaN where a step did not measure it. The
    last row of a finished run is its measurement after the last update.

        metrics_frame(*Path("outputs").glob("spiral-*")).groupby("step").exploitability.mean()
    """
    try:
        import pandas
    except ImportError:
        raise RedQueenError("a data frame needs pandas: pip install 'redqueen[notebook]'") from None
    if not folders:
        raise RedQueenError("name at least one run: metrics_frame('outputs/spiral-0')")
    rows = [row for folder in folders for row in _rows(Path(folder))]
    return pandas.DataFrame(rows, columns=_columns(rows))


def _rows(folder: Path) -> list[dict[str, object]]:
    seed = settings(folder)["seed"]
    final = read_final(folder)
    lines = [*read_metrics(folder), *([final] if final else [])]
    return [{"run": folder.name, "seed": seed, "step": line["step"], **figures_of(line)} for line in lines]


def _columns(rows: Sequence[dict[str, object]]) -> list[str]:
    return list(dict.fromkeys(["run", "seed", "step", *(name for row in rows for name in row)]))
