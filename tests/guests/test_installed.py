"""Environments of guests, built offline from a wheel that is made here."""

import zipfile
from pathlib import Path

import pytest

from redqueen.cli.main import main
from redqueen.guests.installed import add_environment, environment, environments
from redqueen.guests.process import Guest
from redqueen.types import RedQueenError

DRIVER = """
def load(settings):
    import lamps
    class Driver:
        def about(self):
            tasks = [{"id": lamps.COLOUR}]
            return {"seats": ["agent"], "tasks": tasks, "held_out": [{"id": "other"}], "repeatable": True}
    return Driver()
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_NO_INDEX", "1")
    return tmp_path


def wheel(folder, colour):
    """A package of one line, as a wheel. Two of them exclude each other."""
    path = folder / colour / "lamps-1.0-py3-none-any.whl"
    path.parent.mkdir()
    about = "lamps-1.0.dist-info"
    files = {
        "lamps.py": f"COLOUR = {colour!r}\n",
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: lamps\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, f"{about}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, f"{about}/RECORD": record}.items():
            archive.writestr(name, text)
    return str(path)


def colour_of(name, folder):
    driver = folder / "driver.py"
    driver.write_text(DRIVER)
    guest = Guest(name, environment(name).python, driver)
    try:
        return guest.about["tasks"][0]["id"]
    finally:
        guest.close()


@pytest.mark.slow
def test_two_guests_with_packages_that_exclude_each_other(home, capsys):
    red, blue = wheel(home, "red"), wheel(home, "blue")
    assert main(["guest", "add", "one", red]) == 0
    assert main(["guest", "add", "two", blue]) == 0
    assert colour_of("one", home) == "red"
    assert colour_of("two", home) == "blue"
    capsys.readouterr()
    assert main(["guest", "list"]) == 0
    assert [line.split("\t")[:2] for line in capsys.readouterr().out.splitlines()] == [["one", red], ["two", blue]]
    with pytest.raises(RedQueenError, match="the guest one cannot be built: "):
        add_environment("one", ["no-such-package-anywhere"])
    assert colour_of("one", home) == "red", "what could not be built again is as it was"
    assert main(["guest", "remove", "one"]) == 0
    assert [each.name for each in environments()] == ["two"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "usage: redqueen guest add NAME PACKAGE..."),
        (["add", "Big Name", "x"], "a guest is named in small letters, digits, - and _, not 'Big Name'"),
        (["add", "../up", "x"], "a guest is named in small letters"),
        (["add", "one"], "say which packages the guest one needs"),
        (["add", "one", "--index-url=x"], "'--index-url=x' is no package"),
        (["remove", "nobody"], "there is no guest 'nobody'"),
        (["ad"], "there is no order 'ad': did you mean add?"),
    ],
)
def test_bad_words_are_one_line(words, said, capsys):
    assert main(["guest", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_nothing_is_listed_where_there_is_none(home, capsys):
    (Path(home) / "data" / "redqueen" / "guests" / "half").mkdir(parents=True)
    assert main(["guest", "list"]) == 0
    assert "no guests in" in capsys.readouterr().out
    assert environment("half") is None
