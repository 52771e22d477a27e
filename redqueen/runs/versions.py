"""What a run was made with: versions, commit, machine."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

PACKAGES = ("redqueen", "torch", "transformers", "peft", "numpy", "safetensors")


def versions() -> dict[str, str]:
    """Versions of what computes, the commit if this is a checkout, and the machine."""
    found = {name: _version(name) for name in PACKAGES}
    return found | {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": str(os.cpu_count()),
        "commit": commit(),
    }


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def commit() -> str:
    """The commit of the checkout that the package is imported from, with "+changes" if it was edited."""
    folder = Path(__file__).parent
    try:
        head = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()
        changed = subprocess.run(
            ["git", "status", "--porcelain", "."], cwd=folder, capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return head + ("+changes" if changed else "")
