"""The report says what became of every reply, and on how many samples a figure rests."""

from redqueen.contracts.recipes import shrunk
from redqueen.runs.run import Schedule
from redqueen.runs.train import train
from redqueen.settings.finding import find_recipe
from redqueen.views.report.collected import collected


def test_a_report_has_the_table_and_the_counts(tmp_path):
    config = shrunk(find_recipe("spiral").Config(), steps=3)
    train("spiral", config, tmp_path, schedule=Schedule(evaluate_every=2))
    (run,) = collected([tmp_path])["runs"]
    assert {row[0] for row in run["samples"]} <= {"learned", "equal"}
    assert sum(sum(row[2:]) for row in run["samples"]) > 0
    assert run["rests_on"]["exploitability"] == "exact"
    assert run["rests_on"]["reward/first"] == f"{config.matches_per_step} a step"
    assert "alarm/score_falls" not in run["rests_on"]
