"""Writes the images of docs/see.md: `python tests/images/write.py`. Look at them before you commit them."""

from __future__ import annotations

import io
import json
import shutil
import tempfile
from contextlib import chdir
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from selenium import webdriver

from redqueen.cli.main import main
from redqueen.recipes.games import spiral
from redqueen.runs.run import Run, Schedule, SettingsFile, read_metrics
from redqueen.runs.versions import versions
from redqueen.views.dashboard import Dashboard
from redqueen.views.report.page import write_report

IMAGES = Path(__file__).parent.parent.parent / "docs" / "images"
BOARDS = spiral.Config(game="tic_tac_toe", steps=240, matches_per_step=64)
CARDS = spiral.Config(steps=240)
SHOWN = 180  # steps that the live view has seen
COLUMNS, LINES = 96, 36
LARGEST = 200_000  # bytes


def trained(folder: Path, config: spiral.Config) -> Path:
    schedule = Schedule(checkpoint_every=60, keep_checkpoints=4, record_episodes=2)
    settings = {
        "recipe": "spiral",
        "config": asdict(config),
        "seed": 0,
        "schedule": asdict(schedule),
        "versions": versions(),
        "command": ["redqueen", "train", "spiral", "--game", config.game],
    }
    spiral.train(config, Run(folder, 0, schedule, [SettingsFile(settings)]))
    return folder


def live(run: Path, target: Path) -> None:
    """The live view as it stood in the middle of the run."""
    console = Console(file=io.StringIO(), record=True, width=COLUMNS, height=LINES, force_terminal=True)
    board = Dashboard(run, BOARDS.steps)
    for line in read_metrics(run)[:SHOWN]:
        board.add(line)
    console.print(board)
    target.write_text(console.export_svg(title="redqueen train spiral --game tic_tac_toe"))


def pictures(boards: Path, cards: Path) -> None:
    """The top of a report, and an episode that is opened in another one, its words coloured by their advantages."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,900", "--hide-scrollbars"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        browser.get(write_report([cards]).absolute().as_uri())
        browser.save_screenshot(str(IMAGES / "report.png"))
        browser.execute_script("document.querySelector('.comparison').scrollIntoView()")
        browser.find_element("css selector", ".comparison summary").click()
        browser.save_screenshot(str(IMAGES / "compare.png"))
        browser.get(write_report([boards]).absolute().as_uri())
        browser.find_element("css selector", "[data-toggle='colour:advantage']").click()
        browser.find_element("css selector", "[data-toggle='seats:side']").click()
        browser.find_element("css selector", ".row").click()
        browser.execute_script("document.getElementById('episodes').scrollIntoView()")
        browser.save_screenshot(str(IMAGES / "episode.png"))
    finally:
        browser.quit()


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, chdir(place):  # so that runs are called as users call theirs
        boards, cards = trained(Path("outputs/spiral-0"), BOARDS), trained(Path("outputs/spiral-1"), CARDS)
        main(["compare", f"{cards}@60", f"{cards}@240", "--output", str(cards)])
        live(boards, IMAGES / "live.svg")
        pictures(boards, cards)
    for image in ("live.svg", "report.png", "compare.png", "episode.png"):
        size = (IMAGES / image).stat().st_size
        print(json.dumps({"image": image, "bytes": size}))
        assert size < LARGEST, f"{image} has {size} bytes"
