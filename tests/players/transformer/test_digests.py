"""A model whose files have changed is not loaded."""

import json

import pytest

from redqueen.players.transformer import loading
from redqueen.players.transformer.digests import KEPT, check_file, check_folder, digest, keep
from redqueen.types import RedQueenError

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.fixture(autouse=True)
def anew():
    check_folder.cache_clear()


@pytest.fixture
def folder(tmp_path):
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_text(name)
    return tmp_path


def test_the_digest_is_sha256(tmp_path):
    (tmp_path / "nothing").touch()
    assert digest(tmp_path / "nothing") == EMPTY
    check_file(tmp_path / "nothing", EMPTY)
    with pytest.raises(RedQueenError, match="nothing is not the file that is known"):
        check_file(tmp_path / "nothing", "0" * 64)


def test_a_folder_without_hashes_gets_them_and_is_held_to_them(folder):
    check_folder(folder)
    assert set(json.loads((folder / KEPT).read_text())) == {"config.json", "model.safetensors"}
    check_folder.cache_clear()
    check_folder(folder)
    (folder / "model.safetensors").write_text("other weights")
    check_folder(folder)  # once a process
    check_folder.cache_clear()
    with pytest.raises(RedQueenError, match=r"was changed \(model.safetensors\)"):
        check_folder(folder)


def test_a_file_that_is_missing_is_told(folder):
    keep(folder)
    (folder / "config.json").unlink()
    with pytest.raises(RedQueenError, match=r"was changed \(config.json\)"):
        check_folder(folder)


def test_another_file_than_the_one_of_the_wheel_is_not_converted(tmp_path, monkeypatch):
    (tmp_path / "__init__.py").touch()
    (tmp_path / loading.PACKED[loading.EMBEDDED].files[0][1]).write_text("tampered")
    monkeypatch.setenv("REDQUEEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(
        loading.importlib.util, "find_spec", lambda name: type("Found", (), {"origin": str(tmp_path / "__init__.py")})
    )
    with pytest.raises(RedQueenError, match="is not the file that is known"):
        loading.embedded_folder()
