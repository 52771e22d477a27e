"""`make lock`: every version with the hashes of its files, and what pip makes of a file that is another one. Without a
network: of packages that are made here."""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NEEDS = {"first": "second>=1,<2", "second": "", "third": ""}
VERSIONS = ("1.0", "1.5", "2.0")
PROJECT = """[project]
name = "mine"
version = "1"
requires-python = ">=3.11"
dependencies = ["first>=1,<2"]
[project.optional-dependencies]
more = ["third==1.0"]
"""
UV = shutil.which("uv", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))


def lock_command() -> list[str]:
    """The command of `make lock` that writes the file, without the name of its program."""
    printed = subprocess.run(["make", "-n", "lock"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (line,) = re.findall(r"^\S*/uv (.*)$", printed.replace("\\\n", " "), re.MULTILINE)
    return shlex.split(line)


def wheel(folder: Path, name: str, version: str, needs: str) -> None:
    """A package of one module."""
    about = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"version = {version!r}\n",
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + (f"Requires-Dist: {needs}\n" if needs else ""),
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: here\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for place, text in files.items():
            archive.writestr(zipfile.ZipInfo(place), text)
        archive.writestr(zipfile.ZipInfo(f"{about}/RECORD"), "".join(f"{place},,\n" for place in files))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name, needs in NEEDS.items():
        for version in VERSIONS:
            wheel(folder, name, version, needs)
    return folder


def locked(wheels: Path, **versions: str) -> str:
    """A file as `make lock` writes it."""
    files = {name: wheels / f"{name}-{version}-py3-none-any.whl" for name, version in versions.items()}
    return "".join(f"{name}=={versions[name]} \\\n    --hash=sha256:{sha256(path)}\n" for name, path in files.items())


def installed(lock: Path, wheels: Path) -> tuple[set[str], str]:
    """What pip installs, and what it complains of."""
    place = lock.with_name("installed")
    words = ["install", "--quiet", "--isolated", "--no-index", "--no-cache-dir", "--disable-pip-version-check"]
    words += ["--find-links", str(wheels), "--target", str(place), "--require-hashes", "-r", str(lock)]
    done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, check=False)
    names = {path.name for path in place.glob("*.py")}
    assert (done.returncode == 0) == bool(names)
    return names, done.stderr


def test_what_is_locked_is_what_make_test_installs() -> None:
    """All that `make` puts into .venv, and of the extras none that there are not."""
    words = lock_command()
    named = {words[place + 1] for place, word in enumerate(words) if word == "--extra"}
    makefile = (ROOT / "Makefile").read_text()
    (installs,) = re.findall(r"install .* -e '\.\[(.*)\]'\n.*--no-deps", makefile)
    assert named == set(installs.split(","))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert named <= set(project["optional-dependencies"])
    assert words[-1] == "pyproject.toml" and words[words.index("--output-file") + 1] == "requirements.lock"


@pytest.mark.skipif(UV is None, reason="needs uv, which `make lock` installs")
def test_the_lock_has_each_version_within_its_bounds_with_its_hash(wheels: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    words = lock_command()
    for place in reversed([place for place, word in enumerate(words) if word == "--extra"]):
        del words[place : place + 2]
    words += ["--extra", "more", "--offline", "--no-index", "--find-links", str(wheels), "--python", sys.executable]
    settings = {"UV_CACHE_DIR": str(tmp_path / "cache"), "UV_NO_CONFIG": "1", "PATH": os.environ["PATH"]}
    done = subprocess.run([str(UV), *words], cwd=tmp_path, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "requirements.lock").read_text()
    kept = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    assert kept == locked(wheels, first="1.5", second="1.5", third="1.0").splitlines()
    assert installed(tmp_path / "requirements.lock", wheels)[0] == {"first.py", "second.py", "third.py"}


def test_a_file_with_another_hash_is_refused(wheels: Path, tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text(locked(wheels, first="1.5", second="1.5"))
    with (wheels / "second-1.5-py3-none-any.whl").open("ab") as file:
        file.write(b"\n")  # which unpacks as before
    names, said = installed(lock, wheels)
    assert not names and "DO NOT MATCH THE HASHES" in said


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda text: re.sub(r"(sha256:)(.)", lambda found: found[1] + "0f"[found[2] == "0"], text), "DO NOT MATCH"),
        (lambda text: text.partition("second==")[0], "must have their versions pinned"),
        (lambda text: text.replace("==", ">="), "must have their versions pinned"),
        (lambda text: text.partition(" \\\n")[0], "Hashes are required"),
    ],
    ids=["another hash", "what another needs is missing", "no version", "no hash"],
)
def test_a_lock_that_was_changed_is_refused(change, complaint: str, wheels: Path, tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text(change(locked(wheels, first="1.5", second="1.5")))
    names, said = installed(lock, wheels)
    assert not names and complaint in said
