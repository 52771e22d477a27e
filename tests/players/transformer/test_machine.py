"""What this machine has."""

import warnings

import pytest
import torch

from redqueen.players.transformer import machine
from redqueen.settings import learner as settings
from redqueen.settings.learner import Learner
from redqueen.types import RedQueenError


def test_memory_that_holds_copies_of_files_is_free(tmp_path, monkeypatch):
    told = tmp_path / "meminfo"
    told.write_text("MemTotal:       24684728 kB\nMemFree:         1018000 kB\nMemAvailable:   12409344 kB\n")
    monkeypatch.setattr(machine, "MEMORY", told)
    monkeypatch.setattr(machine.torch.cuda, "device_count", lambda: 0)
    assert machine.available() == 12409344 * 1024
    told.write_text("MemFree: 1 kB\n")  # an old kernel
    assert machine.available() > 2048


def test_a_cache_that_does_not_fit_is_refused_with_one_that_does(monkeypatch):
    monkeypatch.setattr(machine, "available", lambda device: 7.25 * 2**30)
    machine.check_cache(7.2, "cpu")
    with pytest.raises(RedQueenError, match=r"--cache-gigabytes 8 does not fit: cpu has 7\.2 left .*set at most 7\.2$"):
        Learner(model="tiny", cache_gigabytes=8.0).build_model(0)


def test_a_type_is_as_fast_as_its_products(monkeypatch):
    took = {torch.bfloat16: iter((9.0, 6.0, 8.0, 7.0, 6.5)), torch.float32: iter((5.0, 2.0, 3.0, 4.0, 2.5))}
    monkeypatch.setattr(machine, "_product", lambda dtype, device: next(took[dtype]))
    assert machine.slowdown(torch.bfloat16, "cpu") == 3.0


@pytest.mark.parametrize(("slow", "said"), [(3.25, True), (0.6, False)])
def test_a_type_that_is_slow_here_is_said_before_the_start(slow, said, monkeypatch):
    monkeypatch.setattr(settings, "slowdown", lambda dtype, device: slow)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Learner(model="tiny", dtype="bfloat16", device="cpu").build_model(0)
    told = [str(each.message) for each in caught]
    assert told == (
        [
            "products in bfloat16 take 3.2 times as long as in float32 on this cpu: --dtype float32 learns faster, in "
            "twice the memory"
        ]
        * said
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_product_takes_time(dtype):
    assert machine._product.__wrapped__(dtype, "cpu") > 0.0
