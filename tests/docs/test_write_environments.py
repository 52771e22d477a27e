"""The page of environments is what its command writes from what was measured."""

import importlib.util
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docs" / "write_environments.py"


def test_the_page_is_as_written(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    plan = importlib.util.spec_from_file_location("write_environments", SCRIPT)
    module = importlib.util.module_from_spec(plan)
    monkeypatch.setitem(sys.modules, plan.name, module)
    plan.loader.exec_module(module)
    found = module.rows()
    assert module.PAGE.read_text() == module.page(found)
    listed = {(package.name, name) for package in module.PACKAGES for name in package.names.split()}
    assert {(row["package"], row["environment"]) for row in found} <= listed
