"""The page of the audit is what its command writes from what was found."""

import importlib.util
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docs" / "write_audit.py"


def test_the_page_is_as_written(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    plan = importlib.util.spec_from_file_location("write_audit", SCRIPT)
    module = importlib.util.module_from_spec(plan)
    monkeypatch.setitem(sys.modules, plan.name, module)
    plan.loader.exec_module(module)
    found = module.rows()
    assert module.PAGE.read_text() == module.page(found)
    assert {(row["package"], row["environment"]) for row in found} <= {*module.environments()}
    programs = [one["program"] for each in found for row in each["rows"] for one in row["defects"]]
    assert all(len(program.splitlines()) <= 10 for program in programs)
