import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from redqueen.checks.sandbox import jail as jail_module
from redqueen.checks.sandbox import jail_process
from redqueen.checks.sandbox.jail import OFFERED, Jail, why_not
from redqueen.checks.sandbox.jail_frames import (
    Answer,
    Request,
    pack_answer,
    pack_request,
    unpack_answer,
    unpack_request,
)
from redqueen.checks.sandbox.jail_seccomp import (
    ALLOW,
    ALLOWED,
    ANY_BIT,
    AT_LEAST,
    DEADLY,
    EQUAL,
    KILL,
    LOAD,
    MACHINES,
    REFUSE,
    RETURN,
    instructions,
)
from redqueen.checks.sandbox.runs_of_programs import Kind, Limits, Program, Verdict
from redqueen.types import RedQueenError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="jails are made of Linux")
LIMITS = Limits(seconds=0.5)
DOUBLE = "def f(x): return x * 2"
KEY = bytes(range(16))


@pytest.fixture(scope="module")
def jail():
    with Jail(LIMITS) as made:
        yield made


def run(jail, source, *arguments, function="f", **options):
    return jail.run([Program(source, function, arguments)], **options)[0]


@pytest.mark.parametrize(
    ("source", "arguments", "value"),
    [
        (DOUBLE, (21,), "42"),
        (DOUBLE, ("ab",), "'abab'"),
        ("def f(a, b): return {b: a}", ([1, (2,)], frozenset), None),
        ("def f(a, b): return {b: a}", ([1, (2,)], b"k"), "{b'k': [1, (2,)]}"),
        ("def f(): return {3, 1, 2}, True, 1.0, None", (), "({1, 2, 3}, True, 1.0, None)"),
        ("import math, collections.abc\ndef f(n): return math.factorial(n)", (20,), "2432902008176640000"),
        ("from dataclasses import dataclass\n@dataclass\nclass A: x: int\ndef f(x): return A(x).x", (7,), "7"),
        (
            "from datetime import datetime\ndef f(s): return datetime.strptime(s, '%Y-%m-%d').year",
            ("2026-11-21",),
            "2026",
        ),
        ("import time\ndef f(): return time.localtime(0).tm_hour", (), "0"),
        ("def f(): return 'ä'.encode('utf-16-le'), '\\N{BULLET}'", (), "(b'\\xe4\\x00', '•')"),
        ("def f(): return 'ł'.encode('iso8859-2'), 'é'.encode('mac-roman')", (), "(b'\\xb3', b'\\x8e')"),
        ("def f(x): return list(x), str(x['b'])", ({"b": -0.0, "a": 1},), "(['b', 'a'], '-0.0')"),
        ("import sys\ndef f(): return sys.orig_argv + sys.argv, sys.path, sys.executable", (), "(['', ''], [], '')"),
        ("def g(): return f()\ndef f(): return __name__ == '__main__'", (), "False"),
        ("def f(n): return n if n == 0 else f(n - 1)", (150,), "0"),
        (
            "import builtins\ndef f():\n builtins.repr = builtins.sorted = None\n return {2: 'x', 1: 0}",
            (),
            "{1: 0, 2: 'x'}",
        ),
        ("def f():\n try: import numpy\n except ImportError: return 'none'", (), "'none'"),
    ],
)
def test_a_program_has_its_value(jail, source, arguments, value):
    verdict = run(jail, source, *arguments)
    if value is None:
        assert verdict == Verdict(Kind.UNSUPPORTED, detail="arguments: a value of type type")
    else:
        assert verdict == Verdict(Kind.VALUE, value)


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("print('hi')", "hi\n"),
        ("import sys\nsys.stdout.write('a'); print('b', file=sys.stderr); print('ä', end='')", "aä"),
        ("if __name__ == '__main__': print(1)", "1\n"),
        ("print(1)\nraise SystemExit", "1\n"),
        ("import sys\nprint(1)\nsys.exit(0)", "1\n"),
        ("import sys\nprint(repr(sys.stdin.read()))", "''\n"),
    ],
)
def test_a_script_has_what_it_prints(jail, source, printed):
    assert run(jail, source, function="") == Verdict(Kind.VALUE, "None", printed)


@pytest.mark.parametrize(
    ("source", "kind", "detail"),
    [
        ("def f(): return 1 / 0", Kind.EXCEPTION, "ZeroDivisionError"),
        ("class Mine(Exception): pass\ndef f(): raise Mine", Kind.EXCEPTION, "Mine"),
        ("def f(): raise SystemExit(0)", Kind.EXCEPTION, "SystemExit"),
        ("def g(): pass", Kind.EXCEPTION, "NameError"),
        ("def f(: pass", Kind.EXCEPTION, "SyntaxError"),
        ("def f():\n while True: pass", Kind.TIMEOUT, "seconds"),
        ("def f(): raise MemoryError", Kind.MEMORY, "memory"),
        ("def f(): return len([0] * 10**9)", Kind.MEMORY, "memory"),
        ("def f(): return f()", Kind.MEMORY, "recursion"),
        ("def f(): print('x' * 4097)", Kind.MEMORY, "output"),
        ("def f(): return 'x' * 4097", Kind.MEMORY, "output"),
        ("def f(): open('/etc/passwd')", Kind.FORBIDDEN, "PermissionError"),
        ("import os", Kind.FORBIDDEN, "import os"),
        ("import json.tool", Kind.FORBIDDEN, "import json.tool"),
        ("import sys\ndef f(): sys.modules['posix'].fork()", Kind.FORBIDDEN, "system call"),
        ("import sys\ndef f(): sys.modules['posix']._exit(0)", Kind.FORBIDDEN, "exit"),
        ("def f(): return object()", Kind.UNSUPPORTED, "a value of type object"),
        ("x = 1\n" * 50_000, Kind.UNSUPPORTED, "a source of more than 262144 characters"),
    ],
)
def test_an_end_has_its_kind_and_detail(jail, source, kind, detail):
    verdict = run(jail, source)
    assert (verdict.kind, verdict.detail, verdict.value) == (kind, detail, "")


def test_who_sends_more_than_an_answer_is_cut_off_before_the_time_is_over(jail):
    source = (
        "import sys\ndef f():\n frame = sys._getframe()\n while 'reply' not in frame.f_locals: frame = frame.f_back\n"
        " while True: sys.modules['posix'].write(frame.f_locals['reply'], b'x' * 65536)"
    )
    assert run(jail, source).detail == "answer"


def test_what_was_printed_before_an_exception_is_kept(jail):
    verdict = run(jail, "def f():\n print('seen')\n raise ValueError('why')")
    assert verdict == Verdict(Kind.EXCEPTION, printed="seen\n", detail="ValueError", message="why")


def test_more_may_be_printed_than_a_pipe_holds():
    with Jail(Limits(seconds=2.0, output=300_000), workers=1) as jail:
        assert run(jail, "print('ä' * 299_999)", function="").printed == "ä" * 299_999 + "\n"
        assert run(jail, "print('ä' * 300_000)", function="").detail == "output"


def test_verdicts_come_in_the_order_of_the_programs(jail):
    programs = [
        Program("import time\ndef f(x):\n time.sleep(x / 100)\n return x", "f", (x,)) for x in (9, 0, 5, 1, 7, 2)
    ]
    assert [verdict.value for verdict in jail.run(programs)] == ["9", "0", "5", "1", "7", "2"]


def test_no_program_has_no_verdict(jail):
    assert jail.run([]) == []


def test_workers_run_side_by_side(jail):
    run(jail, DOUBLE, 1)
    programs = [Program("import time\ndef f(): time.sleep(0.4)", "f")] * 2
    jail.run(programs)
    began = time.monotonic()
    jail.run(programs)
    assert time.monotonic() - began < 0.75


@pytest.mark.parametrize("memory", [16 << 20, 128 << 20])
def test_memory_beside_an_empty_program_is_what_was_allowed(memory):
    source = "def f(n): return len(bytearray(n))"
    with Jail(Limits(seconds=2.0, memory=memory), workers=1) as jail:
        assert run(jail, source, memory * 3 // 4).kind is Kind.VALUE
        assert run(jail, source, memory * 5 // 4) == Verdict(Kind.MEMORY, detail="memory")


@pytest.mark.parametrize("recursion", [50, 500])
def test_recursion_goes_as_deep_as_allowed(recursion):
    source = "def f(n): return 0 if n == 0 else 1 + f(n - 1)"
    with Jail(Limits(recursion=recursion), workers=1) as jail:
        assert run(jail, source, recursion - 5) == Verdict(Kind.VALUE, str(recursion - 5))
        assert run(jail, source, recursion + 5).detail == "recursion"


def test_nothing_is_left_for_the_next_program():
    spoil = (
        "import builtins, math, sys, json\ndef f():\n builtins.left = math.left = 1\n math.pi = 3\n"
        " json.dumps = None\n sys.modules['left'] = math\n sys.setrecursionlimit(50)\n return 1"
    )
    look = (
        "import builtins, math, sys, json\ndef f():\n return [hasattr(builtins, 'left'), hasattr(math, 'left'),"
        " 'left' in sys.modules, json.dumps(round(math.pi, 2))]"
    )
    with Jail(LIMITS, workers=1) as jail:
        assert run(jail, spoil).value == "1"
        assert run(jail, look).value == "[False, False, False, '3.14']"


def test_no_text_of_an_earlier_program_is_in_the_memory_of_a_later_one():
    mark = "a program of before"
    with Jail(LIMITS, workers=1, offered=(*OFFERED, "gc")) as jail:
        assert run(jail, f"x = ['{mark}'] * 3\ndef f(): return x").kind is Kind.VALUE
        source = (
            "import gc\ndef f():\n mark = 'a program ' + chr(111) + 'f before'\n"
            " return [1 for o in gc.get_objects() if type(o) in (list, dict, tuple) and mark in repr(o)[:9999]]"
        )
        assert run(jail, source).value == "[]"


def test_a_hash_seed_fixes_the_order_of_sets(jail):
    source = "def f(): return list({'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'})"
    first = [run(jail, source, hash_seed=seed).value for seed in (0, 1, 2)]
    again = [run(jail, source, hash_seed=seed).value for seed in (0, 1, 2)]
    script = "print(list({'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}))"
    outside = [
        subprocess.run([sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True)
        for seed in ("0", "1", "2")
    ]
    assert first == again == [done.stdout.strip() for done in outside]
    assert len(set(first)) == 3


def test_addresses_and_chance_differ_between_runs_under_two_seeds(jail):
    source = "import random\ndef f(): return [id(f), random.random()]"
    one, other = (run(jail, source, hash_seed=seed).value for seed in (0, 1))
    assert one.split(",")[0] != other.split(",")[0]
    assert one.split(",")[1] != other.split(",")[1]


CLASS = "class A:\n def m(self): pass\n"
AROUND = "\ndef g(): yield\nasync def h(): pass\n"


@pytest.mark.parametrize(
    "making",
    [
        "str(A())",
        "f'{A()}'",
        "'%s' % A()",
        "'{}'.format(A())",
        "A().__repr__()",
        "object.__repr__(A())",
        "sorted([A(), A()], key=str)",
        "print(A())",
        "str([A()])",
        "str(A().m)",
        "str(A.m)",
        "str(g)",
        "str(lambda: 0)",
        "str(g())",
        "[str(c) for c in [h()] if not c.close()]",
        "str(iter([]))",
        "str([].append)",
        "str(''.__len__)",
        "str(object())",
        "__import__('json').dumps(A(), default=str)",
        "__import__('functools').partial(g).__repr__()",
        "str(__import__('hashlib').md5())",
    ],
)
def test_a_text_with_an_address_is_told_also_where_nothing_of_it_shows(jail, making):
    verdict = run(jail, f"{CLASS}{AROUND}def f():\n {making}\n return 1")
    assert (verdict.value, verdict.shows_address) == ("1", True)
    verdict = run(jail, f"{CLASS}{AROUND}def f():\n {making}\n return 1 / 0")
    assert (verdict.detail, verdict.shows_address) == ("ZeroDivisionError", True)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("class A:\n def __repr__(self): return 'A'\nclass B(A): pass\ndef f(): return str(B()), f'{B()}'", ("A", "A")),
        ("class A:\n def __str__(self): return 'A'\ndef f(): return str(A())", "A"),
        ("from dataclasses import dataclass\n@dataclass\nclass A: x: int = 1\ndef f(): return str(A())", "A(x=1)"),
        ("from enum import Enum\nclass A(Enum): x = 1\ndef f(): return str(A.x), repr(A.x)", ("A.x", "<A.x: 1>")),
        ("from collections import namedtuple\nA = namedtuple('A', 'x')\ndef f(): return str(A(1))", "A(x=1)"),
        ("class A(Exception): pass\ndef f(): return repr(A('x'))", "A('x')"),
        ("class A(list): pass\ndef f(): return repr(A([1])), str(int), str(len)[1:9]", ("[1]", str(int), "built-in")),
        ("class A: pass\ndef f(): return len({A(), f, f'{1}'})", 3),
        ("NONE = object()\ndef f(x=NONE): return x is NONE, str(1), '0x1f'", (True, "1", "0x1f")),
    ],
)
def test_other_texts_hold_no_address(jail, source, value):
    assert run(jail, source) == Verdict(Kind.VALUE, repr(value))


def test_an_object_is_written_as_ever(jail):
    source = "class A: pass\ndef f():\n a = A()\n return str(a) == f'<program.A object at {hex(id(a))}>', repr(f)[:15]"
    assert run(jail, source).value == "(True, '<function f at ')"


def test_a_server_killed_from_outside_is_replaced_and_the_run_tried_again():
    with Jail(Limits(seconds=5.0), workers=1) as jail:
        assert run(jail, DOUBLE, 1).value == "2"
        (server,) = jail._servers[0]
        threading.Timer(0.2, server.process.send_signal, [signal.SIGTERM]).start()
        assert run(jail, "import time\ndef f(): return time.sleep(0.6)") == Verdict(Kind.VALUE, "None")
        assert jail._servers[0] != [server]


def test_a_server_that_dies_twice_with_a_program_is_a_verdict_on_it_alone(monkeypatch):
    with Jail(LIMITS, workers=1) as jail:
        monkeypatch.setattr(jail_process.Server, "_report", lambda server: died())
        bad = jail.run([Program(DOUBLE, "f", (1,))])
        monkeypatch.undo()
        assert bad[0].kind is Kind.FORBIDDEN
        assert bad[0].detail == "server"
        assert run(jail, DOUBLE, 4).value == "8"


def died():
    raise jail_process.ServerDied


def test_a_server_that_does_not_keep_time_is_killed(monkeypatch):
    monkeypatch.setattr(jail_process, "GRACE", 0.2)
    with Jail(Limits(seconds=0.2), workers=1) as jail:
        run(jail, DOUBLE, 1)
        (server,) = jail._servers[0]
        (inner,) = children_of(server.process.pid)
        os.kill(inner, signal.SIGSTOP)
        assert run(jail, DOUBLE, 1) == Verdict(Kind.TIMEOUT, detail="seconds")
        assert run(jail, DOUBLE, 3).value == "6"


def children_of(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_an_error_in_the_middle_leaves_nothing_running(monkeypatch):
    with Jail(Limits(seconds=5.0), workers=1) as jail:
        run(jail, DOUBLE, 1)
        with monkeypatch.context() as patch:
            patch.setattr(jail_module, "verdict_on", lambda *a: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                run(jail, DOUBLE, 1)
        (server,) = jail._servers[0]
        waiting = [Program("import time\ndef f(): time.sleep(4)", "f")]
        with monkeypatch.context() as patch:
            patch.setattr(jail_module, "_with_news", lambda running: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                jail.run(waiting)
        assert not server.alive
        assert run(jail, DOUBLE, 3).value == "6"


def test_closing_leaves_no_process_no_zombie_no_descriptor_and_no_mount():
    def traces():
        gc.collect()
        mounts = Path("/proc/self/mounts").read_text()
        return len(os.listdir("/proc/self/fd")), children_of(os.getpid()), mounts

    before = traces()
    jail = Jail(Limits(seconds=0.2))
    jail.run(
        [Program("while True: pass"), Program(DOUBLE, "f", (1,)), Program("import sys\nsys.modules['posix']._exit(0)")]
    )
    pids = [server.process.pid for server in jail._servers[0]]
    pids += [pid for each in pids for pid in children_of(each)]
    assert len(pids) == 4
    jail.close()
    jail.close()
    assert traces() == before
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_a_jail_dies_with_its_maker():
    script = (
        "import os\nfrom redqueen.checks.sandbox.jail import *\njail = Jail(workers=1)\n"
        "jail.run([Program('1')])\n(server,) = jail._servers[0]\nprint(server.process.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    process = Path(f"/proc/{int(done.stdout)}")
    deadline = time.monotonic() + 5
    while process.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not process.exists() or "State:\tZ" in (process / "status").read_text()


def test_the_server_is_locked_in_as_the_child_is():
    with Jail(LIMITS, workers=1) as jail:
        run(jail, DOUBLE, 1)
        (server,) = jail._servers[0]
        (inner,) = children_of(server.process.pid)
        told = dict(line.split(":\t", 1) for line in Path(f"/proc/{inner}/status").read_text().splitlines())
        assert told["NoNewPrivs"] == "1"
        assert told["Threads"] == "1"
        for namespace in ("user", "mnt", "pid", "net", "ipc", "uts") if "namespaces" in server.layers else ():
            assert os.readlink(f"/proc/{inner}/ns/{namespace}") != os.readlink(f"/proc/self/ns/{namespace}")
        assert b"PATH=" not in Path(f"/proc/{inner}/environ").read_bytes()


def test_a_few_seeds_keep_their_servers_and_the_rest_are_dismissed():
    with Jail(LIMITS, workers=1) as jail:
        for seed in (0, 1, 2, 3, 0, 4):
            run(jail, DOUBLE, 1, hash_seed=seed)
        assert sorted(jail._servers) == [0, 2, 3, 4]


def test_a_closed_jail_runs_nothing():
    jail = Jail(LIMITS)
    jail.close()
    with pytest.raises(RedQueenError, match="closed"):
        run(jail, DOUBLE, 1)


def test_wrong_arguments_are_refused(jail):
    with pytest.raises(RedQueenError, match="1 worker or more, not 0"):
        Jail(workers=0)
    with pytest.raises(RedQueenError, match="between 0 and 4294967295, not at -1"):
        run(jail, DOUBLE, 1, hash_seed=-1)
    with Jail(LIMITS, offered=("nonesuch",)) as other, pytest.raises(RedQueenError, match="nonesuch"):
        run(other, DOUBLE, 1)


def boot_without(monkeypatch, *parts):
    """Servers whose kernel lacks something."""
    lacking = "import redqueen.checks.sandbox.jail_kernel as kernel\ndef no(*a): raise OSError(38, 'not here')\n"
    lacking += "".join(f"kernel.{part} = no\n" for part in parts)
    boot = jail_process.BOOT.replace(
        "from redqueen.checks.sandbox.jail_server", lacking + "from redqueen.checks.sandbox.jail_server"
    )
    monkeypatch.setattr(jail_process, "BOOT", boot)
    why_not.cache_clear()


@pytest.fixture
def forget_why_not():
    yield
    why_not.cache_clear()


@pytest.mark.parametrize("part", ["landlock", "leave_namespaces", "enter_empty_root", "become_nobody"])
def test_one_layer_may_be_missing(monkeypatch, forget_why_not, part):
    boot_without(monkeypatch, part)
    with Jail(LIMITS, workers=1) as jail:
        assert run(jail, DOUBLE, 1).value == "2"
        assert run(jail, "def f(): open('/etc/passwd')").kind is Kind.FORBIDDEN
        (server,) = jail._servers[0]
        assert ("namespaces" in server.layers) == (part not in ("leave_namespaces", "enter_empty_root"))


@pytest.mark.parametrize("parts", [("landlock", "leave_namespaces"), ("limit",), ("keep_capabilities",)])
def test_where_the_essential_layers_are_missing_nothing_runs_and_the_reason_is_told(monkeypatch, forget_why_not, parts):
    boot_without(monkeypatch, *parts)
    with pytest.raises(RedQueenError, match=r"Python code cannot be jailed here: .*user namespaces") as error:
        Jail(LIMITS)
    assert "\n" not in str(error.value)


def test_without_the_filter_nothing_runs(monkeypatch, forget_why_not):
    lacking = "import redqueen.checks.sandbox.jail_seccomp as s\ns.Filter.install = lambda self: None\n"
    monkeypatch.setattr(jail_process, "BOOT", jail_process.BOOT.replace("from redqueen", lacking + "from redqueen", 1))
    why_not.cache_clear()
    with pytest.raises(RedQueenError, match="cannot be jailed"):
        Jail(LIMITS)


def test_other_systems_are_told_what_would_help(monkeypatch, forget_why_not):
    monkeypatch.setattr(sys, "platform", "darwin")
    why_not.cache_clear()
    assert "this is darwin: use a Linux container" in why_not()


def judged(code, number, prot=0, architecture=0xC000003E):
    """What a filter says to a call: classic BPF as the kernel runs it."""
    data, at, word = {0: number, 4: architecture, 32: prot}, 0, 0
    while True:
        operation, jump_true, jump_false, operand = code[at]
        if operation == RETURN:
            return operand
        if operation == LOAD:
            word, at = data[operand], at + 1
            continue
        met = {EQUAL: word == operand, AT_LEAST: word >= operand, ANY_BIT: bool(word & operand)}[operation]
        at += 1 + (jump_true if met else jump_false)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_allows_what_is_listed_and_kills_for_what_only_attacks_do(machine):
    column, architecture = MACHINES[machine]
    code = instructions(column, architecture)
    assert {judged(code, n[column], architecture=architecture) for n in ALLOWED.values() if n[column] is not None} == {
        ALLOW
    }
    assert {judged(code, n[column], architecture=architecture) for n in DEADLY.values() if n[column] is not None} == {
        KILL
    }
    assert judged(code, 9999, architecture=architecture) == REFUSE
    assert judged(code, 0x40000001, architecture=architecture) == KILL
    assert judged(code, ALLOWED["read"][column], architecture=0x40000003) == KILL
    mmap = {"x86_64": 9, "aarch64": 222}[machine]
    assert judged(code, mmap, prot=3, architecture=architecture) == ALLOW
    assert judged(code, mmap, prot=7, architecture=architecture) == KILL
    openat, execve = {"x86_64": (257, 59), "aarch64": (56, 221)}[machine]
    assert judged(code, openat, architecture=architecture) == REFUSE
    assert judged(code, execve, architecture=architecture) == KILL


def test_requests_and_answers_come_back_as_they_were_sent():
    request = Request("x = '\ud800ä'", "f", "(1, 'ü')")
    assert unpack_request(pack_request(KEY, request)) == (KEY, request)
    for shows_address in (False, True):
        answer = Answer("value", "'•'", "printed\n", "", "", shows_address)
        assert unpack_answer(KEY, pack_answer(KEY, answer)) == answer


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: data + data,
        lambda data: bytes(16) + data[16:],
        lambda data: data + bytes(4),
        lambda data: data[:16] + b"\xff\xff\xff\xff" + data[20:],
        lambda data: data.replace(b"value", b"val\xffe"),
    ],
)
def test_anything_but_one_whole_answer_is_none(change):
    data = pack_answer(KEY, Answer("value", "1"))
    assert unpack_answer(KEY, change(data)) is None
