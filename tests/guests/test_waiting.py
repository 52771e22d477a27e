"""What counts as waiting, by a stand-in for `/proc` and a clock that is set by hand."""

import pytest

from redqueen.guests import waiting
from redqueen.guests.waiting import Allowance

GUEST, SERVER = 10, 11


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """`pass_(seconds, worked={}, delayed={})`: time goes by, of which processes worked or had no processor."""
    now, spent = [100.0], {GUEST: [0.0, 0.0], SERVER: [0.0, 0.0]}
    monkeypatch.setattr(waiting, "_PROCESSES", tmp_path)
    monkeypatch.setattr(waiting.time, "monotonic", lambda: now[0])

    def pass_(seconds, worked=(), delayed=()):
        now[0] += seconds
        for process, (on, off) in spent.items():
            spent[process] = [on + seconds * (process in worked), off + seconds * (process in delayed)]
            thread = tmp_path / str(process) / "task" / str(process)
            thread.mkdir(parents=True, exist_ok=True)
            (thread / "schedstat").write_text(f"{spent[process][0] * 1e9:.0f} {spent[process][1] * 1e9:.0f} 7\n")
            (thread / "children").write_text(f"{SERVER} " if process == GUEST else "")

    pass_(0.0)
    return pass_


def ticks(allowance, machine, most=1000, **how):
    """After how many ticks it is over."""
    for tick in range(1, most):
        machine(1.0, **how)
        if allowance.over():
            return tick
    return most


def test_a_process_that_sleeps_has_its_seconds(machine):
    assert ticks(Allowance(30.0, GUEST, patience=10.0), machine) == 30


def test_what_works_or_has_no_processor_is_spared_up_to_its_patience(machine):
    for how in {"worked": {GUEST}}, {"delayed": {GUEST}}, {"delayed": {SERVER}}:
        assert ticks(Allowance(30.0, GUEST, patience=10.0), machine, **how) == 300


def test_what_it_has_started_may_work_as_long_as_it_may_wait(machine):
    assert ticks(Allowance(30.0, GUEST, patience=10.0), machine, worked={SERVER}) == 60  # of which 30 are spared


def test_only_the_time_without_a_processor_is_spared(machine):
    allowance = Allowance(30.0, GUEST, patience=10.0)
    assert (
        ticks(allowance, machine, most=21, delayed={GUEST}) == 21
    )  # 20 s of a busy machine, of which the first counts
    assert ticks(allowance, machine) == 29


def test_without_a_process_it_is_the_clock(machine):
    assert ticks(Allowance(30.0), machine) == 30
    assert ticks(Allowance(30.0, 99, patience=3.0), machine) == 30  # one of which nothing is known


def test_time_in_which_nobody_looked_counts_as_two_ticks_at_most(machine):
    allowance = Allowance(30.0, GUEST, patience=10.0)
    machine(3600.0)  # the trainer itself was stopped, and went on
    assert not allowance.over()
    assert ticks(allowance, machine) == 28
