"""What is handed out: a source archive, a wheel built from it alone, and a command in an environment of its own."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BUILD = "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])"


def built(kind, source, target):
    """The file that the build backend makes, without a network."""
    subprocess.run(
        [sys.executable, "-c", BUILD, f"build_{kind}", str(target)], cwd=source, check=True, capture_output=True
    )
    return next(target.glob("*.tar.gz" if kind == "sdist" else "*.whl"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    place = tmp_path_factory.mktemp("built")
    tracked = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True, check=False
    ).stdout.decode()
    if not tracked:
        pytest.skip("no checkout")
    for name in filter(None, tracked.split("\0")):
        if name.startswith("redqueen/") or "/" not in name:
            target = place / "source" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_file():
                target.write_bytes((ROOT / name).read_bytes())
    archive = built("sdist", place / "source", place)
    with tarfile.open(archive) as found:
        found.extractall(place / "unpacked", filter="data")
    return built("wheel", next((place / "unpacked").iterdir()), place)


def said(python, program, **settings):
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True, **settings)
    return done.stdout.strip()


@pytest.mark.slow
def test_the_wheel_holds_every_module_and_all_that_is_read_beside_them(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    files = [path for path in (ROOT / "redqueen").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert {str(path.relative_to(ROOT)) for path in files} <= held
    assert {name.split("/")[0] for name in held} == {"redqueen", wheel.name.partition("-py3")[0] + ".dist-info"}


@pytest.mark.slow
def test_the_command_runs_in_an_environment_of_its_own(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    install = ["-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([sys.executable, *install], check=True, capture_output=True)
    own = said(python, "import sysconfig; print(sysconfig.get_path('purelib'))")
    (Path(own) / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")  # torch and the rest
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    assert said(python, "import redqueen; print(redqueen.__file__)", cwd=tmp_path, env=settings).startswith(own)
    command = str(python.with_name("redqueen"))
    training = [command, "train", "spiral", "--steps", "1", "--matches-per-step", "2"]
    done = subprocess.run(training, capture_output=True, text=True, check=False, cwd=tmp_path, env=settings)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "outputs" / "spiral-0" / "final.json").is_file()


def test_every_dependency_is_bounded_above():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [*project["dependencies"], *(each for extra in project["optional-dependencies"].values() for each in extra)]
    assert [each for each in named if "<" not in each and "==" not in each] == []
