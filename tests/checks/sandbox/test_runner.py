"""Which tier runs what, and that nothing which could end otherwise another time is ever certified."""

import importlib
import sys
import time
from types import ModuleType

import pytest

from redqueen.checks.sandbox import jail, runner
from redqueen.checks.sandbox.monty import Monty
from redqueen.checks.sandbox.repeatable import PURE, REACHING, barred
from redqueen.checks.sandbox.runner import PythonRunner
from redqueen.checks.sandbox.runs_of_programs import Kind, Limits, Program, Verdict
from redqueen.checks.sandbox.set_order import shows_order
from redqueen.checks.sandbox.syntax import Unread, parsed
from redqueen.types import RedQueenError

WHY_NOT = jail.why_not()
needs_jail = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
LIMITS = Limits(seconds=0.5, output=400)

# The bad programs that Absolute Zero's validation has to refuse, and some that try harder.
BAD = {
    "time": "import time\ndef f(x): return time.time()",
    "year": "import datetime\ndef f(x): return datetime.date.today().year",
    "random": "import random\ndef f(x): return random.random()",
    "mostly true": "from random import random\ndef f(x): return random() < 0.999999",
    "set order": "def f(x): return list({'a', 'b'})[0]",
    "set order of the argument": "def f(x):\n    for c in set(x): return c",
    "set in a class": "class A:\n    def __init__(self, x): self.s = set(x)\ndef f(x): return list(A(x).s)",
    "views": "def f(x): return list({c: 1 for c in x}.keys() & set(x))",
    "hash": "def f(x): return hash(x) % 2",
    "id": "def f(x): return id(x) % 2",
    "clock by eval": "def f(x): return eval('__imp' + 'ort__(\"time\").time() > 0')",
    "clock by classes": "def f(x): return ().__class__.__base__.__subclasses__()[0].__name__",
    "clock by a module": "import collections\ndef f(x): return collections._sys.version",
    "input and output": "def f(x): return open('/etc/passwd').read()",
    "system": "import os\ndef f(x): return os.getcwd()",
    "endless loop": "def f(x):\n    while True: pass",
    "1 GB list": "def f(x): return len([0] * (1 << 27))",
    "NaN": "def f(x): return float('nan')",
    "NaN in a list": "def f(x): return [1.0, float('inf') - float('inf')]",
    "custom equality": "class A:\n    def __eq__(self, other): return True\ndef f(x): return A()",
    "address": "class A: pass\ndef f(x): return repr(A())",
    "address of a function": "def f(x): return str(f)",
    "digit of an address": "class A: pass\ndef f(x): return int(repr(A())[-2], 16) < 16",
    "digit of the address of a function": "def g(): pass\ndef f(x): return int(str(g)[-2], 16) < 16",
    "digit of the address of an iterator": "def f(x): return int(str(iter(x))[-2], 16) < 16",
    "order of addresses": "class A: pass\ndef f(x): return len(sorted([A(), A()], key=str))",
    "part of an address": "class A: pass\ndef f(x): return str(A())[-6:-1]",
    "banned import": "import subprocess\ndef f(x): return 1",
    "more than 400 characters": "def f(x): return 'a' * 401",
    "printed set": "def f(x):\n    print(set(x))\n    return 1",
    "set of a method": "class C:\n    def g(self): return {'a', 'b', 'c'}\ndef f(x): return list(C().g())",
    "set of an operator": "class C:\n    def __or__(self, other): return {'a', 'b'}\ndef f(x): return list(C() | 1)",
    "set of a class": "class C:\n    s = {'a', 'b', 'c'}\ndef f(x): return list(C.s)",
    "set of a data class": "from dataclasses import *\n@dataclass\nclass C:\n    s: object = 0\n"
    "def f(x):\n    c = C()\n    c.s = set(x)\n    return list(astuple(c)[0])",
    "set of another function": "def g(s): return 1\ng = list\ndef f(x): return g(set(x))",
    "set of views": "def g(a, b): return list(a & b)\n"
    "def f(x):\n    d = {c: 1 for c in x}\n    return g(d.keys(), d.keys())",
    "held module": "from statistics import random\ndef f(x): return random.random() < 2",
    "held module of a data class": "from dataclasses import sys\ndef f(x): return len(sys.argv)",
    "module by another name": "import statistics\nm = statistics\ndef f(x): return m.random.random() < 2",
    "samples": "import statistics\ndef f(x): return len(statistics.NormalDist(0, 1).samples(3))",
    "frame": "def f(x):\n    g = (c for c in x)\n    return g.gi_frame.f_builtins['hash']('a') < 0",
    "attribute by name": "import operator\ndef f(x): return operator.attrgetter('__name__')(f)",
    "attribute in a format": "class C: s = 0\ndef f(x):\n    c = C()\n    c.s = set(x)\n    return '{0.s}'.format(c)",
    "set of a module": "import hashlib\ndef f(x): return sorted(hashlib.algorithms_guaranteed)[0]",
    "clock of an enumeration": "from enum import Enum\n"
    "def f(x): return len(Enum._convert_('E', 'time', lambda name: name == 'timezone'))",
    "address of an array": "import array\ndef f(x): return array.array('i', [1]).buffer_info()[0] % 9 >= 0",
    "counter of the process": "import abc\ndef f(x): return abc.get_cache_token() > 0",
    "hash of another": "def g(hash): return hash\ndef f(x): return hash(x) % 2",
}
GOOD = {
    "two functions": ("def g(x): return x + '!'\ndef f(x): return g(x)", "'hello!'"),
    "a sorted set": ("def f(x): return sorted(set(x))", "['e', 'h', 'l', 'o']"),
    "a set given back by another name": ("def g(x): return set(x)\nf = g", "{'e', 'h', 'l', 'o'}"),
    "a set given back": ("def f(x): return {c for c in x}", "{'e', 'h', 'l', 'o'}"),
    "a set that is asked": (
        "def seen(c, past): return c in past\n"
        "def f(x):\n    past = set()\n    n = 0\n"
        "    for c in x:\n        n += seen(c, past)\n        past.add(c)\n    return n",
        "1",
    ),
}
JAILED = {
    "a generator": ("def g(x):\n    yield x\ndef f(x): return list(g(x))", "['hello']"),
    "a class": ("class A:\n    def __init__(self, x): self.x = x\ndef f(x): return A(x).x", "'hello'"),
    "texts without an address": (
        "class A:\n    def __repr__(self): return 'A'\ndef f(x): return str(A()) + f'{x}' + str(sorted([3, 1]))",
        "'Ahello[1, 3]'",
    ),
    "heapq": ("import heapq\ndef f(x): return heapq.nsmallest(2, x)", "['e', 'h']"),
    "a caught error": ("def f(x):\n    try: return x + 1\n    except Exception: return 0", "0"),
}


def programs(sources):
    return [Program(source, "f", ("hello",)) for source in sources]


class Scripted:
    """A tier that answers from a list, and remembers what it was asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []
        self.closed = False

    def run(self, programs, hash_seed=0):
        self.asked.append(([program.source for program in programs], hash_seed))
        return [self.answers.pop(0) for _ in programs]

    def close(self):
        self.closed = True


def value(text, printed=""):
    return Verdict(Kind.VALUE, text, printed)


UNSUPPORTED = Verdict(Kind.UNSUPPORTED, detail="syntax")


def test_only_what_a_tier_cannot_run_goes_to_the_next():
    first = Scripted(value("1"), UNSUPPORTED, Verdict(Kind.TIMEOUT), UNSUPPORTED)
    second = Scripted(value("2"), UNSUPPORTED)
    ran = PythonRunner(tiers=[first, second]).run([Program(name) for name in "abcd"], hash_seed=5)
    assert [verdict.kind for verdict in ran] == [Kind.VALUE, Kind.VALUE, Kind.TIMEOUT, Kind.UNSUPPORTED]
    assert second.asked == [(["b", "d"], 5)]
    assert ran[3].detail == "syntax"


def test_nothing_is_run_for_nothing():
    tier = Scripted()
    assert PythonRunner(tiers=[tier]).run([]) == [] == tier.asked


def test_runs_that_agree_are_certified_and_runs_that_differ_are_not():
    before = Verdict(Kind.EXCEPTION, detail="KeyError", message="'a'")
    after = Verdict(Kind.EXCEPTION, detail="KeyError", message="'b'")
    tier = Scripted(value("1"), value("1"), value("1", "a"), before, value("1"), Verdict(Kind.MEMORY), UNSUPPORTED)
    tier.answers += [value("1"), value("2"), value("1", "b"), after, Verdict(Kind.TIMEOUT)]
    ran = PythonRunner(tiers=[tier]).certified([Program(name) for name in "abcdefg"])
    assert [verdict.kind for verdict in ran] == [
        Kind.VALUE,
        Kind.NONDETERMINISTIC,
        Kind.NONDETERMINISTIC,
        Kind.EXCEPTION,
        Kind.NONDETERMINISTIC,
        Kind.MEMORY,
        Kind.UNSUPPORTED,
    ]
    assert ran[1].detail == "value; 1;  / value; 2; "
    assert tier.asked == [(list("abcdefg"), 0), (list("abcde"), 1)]


def test_a_later_run_counts_as_much_as_the_second():
    tier = Scripted(*[value("1")] * 3, value("2"))
    assert PythonRunner(tiers=[tier]).certified([Program("a")], runs=4)[0].kind is Kind.NONDETERMINISTIC
    assert [seed for _, seed in tier.asked] == [0, 1, 2, 3]


def test_runs_that_agree_by_luck_are_not_enough():
    """Two strings come in the same order in every second interpreter."""
    sources = [BAD["set order"], "def f(x): return x", "def f(x): return x", "def f(x): return x"]
    luck = [value("'a'"), value("'<f at 0x7f>'"), value("1", "<f at 0x7f>"), value("'at 0x7f'")]
    ran = PythonRunner(tiers=[Scripted(*luck, *luck[3:])]).certified(programs(sources))
    assert [verdict.kind for verdict in ran] == [Kind.NONDETERMINISTIC] * 3 + [Kind.VALUE]


def test_what_could_end_otherwise_another_time_is_not_reproducible():
    tier = Scripted(value("'a'"), Verdict(Kind.VALUE, "1", shows_address=True), value("1", "<f at 0x7f>"), UNSUPPORTED)
    sources = [BAD["set order"], "x = 1", "x = 2", "x = 3", BAD["random"], BAD["time"], BAD["id"], "def f(x: return"]
    ran = PythonRunner(tiers=[tier]).reproducible(programs(sources))
    assert [verdict.kind for verdict in ran] == [
        Kind.VALUE,  # under one hash seed
        Kind.NONDETERMINISTIC,
        Kind.NONDETERMINISTIC,
        Kind.UNSUPPORTED,
        Kind.FORBIDDEN,
        Kind.FORBIDDEN,
        Kind.FORBIDDEN,
        Kind.EXCEPTION,
    ]
    assert tier.asked == [(sources[:4], 0)]


def test_a_program_is_certain_after_two_runs_or_more():
    with pytest.raises(RedQueenError, match="2 runs or more"):
        PythonRunner().certified([], runs=1)


@pytest.fixture(scope="module")
def running():
    with PythonRunner(LIMITS) as made:
        yield made


def test_no_bad_program_is_certified(running):
    ended = running.certified(programs(BAD.values()))
    certain = [name for name, verdict in zip(BAD, ended, strict=True) if verdict.kind in (Kind.VALUE, Kind.EXCEPTION)]
    assert certain == []


def test_no_bad_program_is_certified_without_a_jail(monkeypatch):
    monkeypatch.setattr(jail, "why_not", lambda: "no walls here")
    with PythonRunner(LIMITS) as alone:
        ended = alone.certified(programs(BAD.values()))
        assert alone.missing == "no walls here"
    assert {verdict.kind for verdict in ended} <= set(Kind) - {Kind.VALUE, Kind.EXCEPTION}


NANS = {  # in lists, keys and counts, where CPython asks whether two are the same object and Monty whether they are NaN
    "def f(x): return [float('nan')] == [float('nan')]": "False",
    "def f(x): return len({float('nan'), float('nan')})": "2",
    "def f(x):\n    n = float('nan')\n    return [n] <= [n]": "True",
    "def f(x):\n    n = 1e999 - 1e999\n    return [n] == [1e999 - 1e999]": "False",
    "def f(x): return [float(x[:0] + 'nan')].count(float('NAN'))": "0",
    "def f(x): return (float('-inf') - float('-inf'),) == (float('inf') * 0,)": "False",
    "def f(x): return float(x[0]) in [float(x[0])]": "False",
}


@needs_jail
def test_what_holds_nan_is_compared_as_cpython_does(running):
    asked = [Program(source, "f", (["nan"] if "x[0]" in source else "hello",)) for source in NANS]
    assert [verdict.value for verdict in running.certified(asked)] == list(NANS.values())


def test_floats_that_are_read_from_numbers_need_no_jail():
    with Monty(workers=1) as monty:
        (verdict,) = monty.run([Program("def f(x): return float(sum(x)) / float(len(x))", "f", ([1, 2.5],))])
    assert verdict == value("1.75")


def test_good_programs_are_certified_and_need_no_jail(running, monkeypatch):
    monkeypatch.setattr(jail, "why_not", lambda: "no walls here")
    with PythonRunner(LIMITS) as alone:
        ended = alone.certified(programs(source for source, _ in GOOD.values()))
        assert alone.missing == ""
    assert [verdict.value for verdict in ended] == [expected for _, expected in GOOD.values()]


def test_without_a_jail_its_programs_stay_unsupported_and_say_why(monkeypatch):
    monkeypatch.setattr(jail, "why_not", lambda: "no walls here")
    with PythonRunner(LIMITS) as alone:
        for ended in (alone.run, alone.certified):
            verdicts = ended(programs(source for source, _ in JAILED.values()))
            assert {verdict.kind for verdict in verdicts} == {Kind.UNSUPPORTED}
            assert all(verdict.detail.endswith("; no jail: no walls here") for verdict in verdicts)
        assert alone.run([Program("def f(): return 1", "f")])[0].value == "1"


@needs_jail
def test_what_monty_lacks_is_run_in_the_jail(running):
    for ended in (running.run, running.certified):
        verdicts = ended(programs(source for source, _ in JAILED.values()))
        assert [verdict.value for verdict in verdicts] == [expected for _, expected in JAILED.values()]


@needs_jail
def test_an_exception_that_monty_is_not_sure_of_is_settled_in_the_jail(running):
    asked = programs(["def f(x): return x + 1", "def f(x): return x.nothing", "def f(x): return nothing"])
    assert [verdict.detail for verdict in running.run(asked)] == ["TypeError", "AttributeError", "NameError"]


def test_text_that_is_no_python_is_certainly_none(running):
    (verdict,) = running.certified([Program("def f(x: return", "f")])
    assert (verdict.kind, verdict.detail) == (Kind.EXCEPTION, "SyntaxError")


@pytest.mark.parametrize("name", ["set order", "set order of the argument", "set in a class", "views", "printed set"])
def test_a_set_whose_order_shows_is_seen_in_the_text(name):
    assert shows_order(BAD[name])


@pytest.mark.parametrize(
    ("body", "shows"),
    [
        ("return sorted(set(x), reverse=True)", False),
        ("return sorted(set(x), key=len)", True),
        ("return max(set(x)), len(set(x)), 'a' in set(x)", False),
        ("return max(set(x), key=len)", True),
        ("return set(x)", False),
        ("return list(set(x))", True),
        ("return [set(x)]", True),
        ("def g(): return set(x)\nreturn len(g())", True),  # not followed
        ("def g(s): return len(s)\nreturn g(set(x))", False),
        ("def g(s): return [c for c in s]\nreturn g(set(x))", True),
        ("def g(s, t): return [c for c in t]\nreturn g(x, t=set(x))", True),
        ("def g(*s): return list(s[0])\nreturn g(set(x))", True),
        ("def g(s, t): return [c for c in t]\nreturn g(*x, set(x))", True),
        ("s = set(x)\nt = s\nreturn list(t)", True),
        ("s = set(x)\nt = s - {1}\nreturn len(t)", False),
        ("s = set(x)\nt = s - {1}\nreturn t.pop()", True),
        ("s = set()\nfor c in x: s.add(c)\nreturn len(s)", False),
        ("s = []\ns += set(x)\nreturn s", True),
        ("s = set()\ns |= set(x)\nreturn sorted(s)", False),
        ("return f'{set(x)}'", True),
        ("a, b = set(), set()\nreturn a", True),  # not followed
        ("y: set[int] = set()\nreturn len(y)", False),
        ("make = set\nreturn list(make(x))", True),
        ("return isinstance(x, (set, frozenset))", False),
        ("d = {}\nk = d.keys()\nreturn list(k & k)", True),
        ("d = {}\nreturn [k for k in d.keys()], len(d.items()), 1 in d.values()", False),
        ("return set(x) == {1} or not set(x) < {2}", False),
        ("if set(x): return 1\nwhile {1}: pass", False),
        ("def g(x, sorted=list): return sorted({x})\nreturn g(x)", True),
        ("len = list\nreturn len(set(x))", True),
        ("class B:\n    def __and__(self, s): return list(s)\nreturn B() & set(x)", True),
        ("class B:\n    def __eq__(self, s): return list(s)[0] == 1\nreturn set(x) == B()", True),
        ("class B(str):\n    def __lt__(self, o): return len(self) < len(o)\nreturn min({B(c) for c in x})", True),
        ("class B:\n    def size(self, s): return 1\nreturn len(set(x)), max({1, 2})", False),
    ],
)
def test_a_set_is_followed_through_a_program(body, shows):
    assert shows_order("def f(x):\n    " + body.replace("\n", "\n    ")) is shows


@pytest.mark.parametrize(
    ("source", "given", "shows"),
    [
        ("def f(s): return list(s)", (0,), True),
        ("def f(s): return sorted(s), len(s)", (0,), False),
        ("def f(x, s):\n    t = s\n    for c in t: return c", (1,), True),
        ("def f(x, s): return list(x)", (1,), False),
        ("def f(*s): return 1", (0,), True),
        ("def f(s): return len(s[0])", (0, 1), True),  # not followed
        ("def g(s): return list(s)\nf = g", (0,), True),
        ("def g(s): return len(s)\nf = g", (0,), False),
        ("def f(s): return 1\nf = list", (0,), True),
    ],
)
def test_a_set_among_the_arguments_is_followed(source, given, shows):
    assert shows_order(source, "f", given) is shows


@needs_jail
def test_what_the_order_of_an_argument_decides_is_not_certain(running):
    """Whatever the runs say: two words come in the same order in every second interpreter."""
    asked = [Program("def f(s): return list(s)", "f", argument) for argument in (({"a"},), ([{"a"}],), (["a"],))]
    asked.append(Program("def f(s): return sorted(s)", "f", ({"b", "a"},)))
    ended = running.certified(asked)
    assert [verdict.kind for verdict in ended] == [Kind.NONDETERMINISTIC] * 2 + [Kind.VALUE] * 2
    assert ended[-1].value == "['a', 'b']"


def test_a_program_that_is_too_large_or_deep_to_be_read_is_no_crash_and_not_certain(running):
    """Each operand of a chain lies one deeper; `ast.parse` reads a few thousand."""
    for count in (150, 1100, 2900):
        chains = [f"def f(x): return set(x){' - set(x)' * count}", f"def f(x): return x{' + x[:0]' * count}"]
        ended = running.certified([Program(source, "f", ("a",)) for source in chains])
        kind = Kind.VALUE if count == 150 else Kind.UNSUPPORTED
        assert [verdict.kind for verdict in ended] == [kind] * 2
    with pytest.raises(Unread, match="nodes"):
        parsed("x = 1\n" * 4000)


def test_names_that_are_handed_on_a_thousand_times_are_followed_at_once():
    names = "".join(f" a{n + 1} = a{n}\n" for n in reversed(range(1200)))
    began = time.process_time()
    assert shows_order(f"def f(x):\n a0 = set(x)\n{names} return list(a1200)")
    assert time.process_time() - began < 2


@pytest.mark.parametrize("name", sorted(PURE - {"__future__"}))
def test_what_a_pure_module_holds_is_pure_or_cannot_be_had(name):
    module = importlib.import_module(name)
    kinds = ModuleType | set | frozenset
    loaded = set(sys.modules)  # a part such as html.parser is there where something else has imported it
    held = [word for word, each in vars(module).items() if isinstance(each, kinds) and f"{name}.{word}" not in loaded]
    for word in held:
        got = getattr(module, word)
        pure = isinstance(got, ModuleType) and got.__name__ in PURE
        assert barred(f"import {name}\n{name}.{word}") or pure
        assert barred(f"from {name} import {word}") or (pure and got.__name__ != f"{name}.{word}")
    assert not set(held) & set(getattr(module, "__all__", ())) - REACHING  # which `import *` would bind


@pytest.mark.parametrize("name", [*GOOD, *JAILED])
def test_other_programs_show_no_order_and_reach_for_nothing(name):
    source = {**GOOD, **JAILED}[name][0]
    assert not shows_order(source)
    assert barred(source) == ""


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import time as t", "time"),
        ("import os.path", "os.path"),
        ("from datetime import date", "datetime"),
        ("from collections import _sys", "collections._sys"),
        ("import collections\ncollections._sys", "_sys"),
        ("__import__('os')", "__import__"),
        ("(lambda: 0).__globals__", "__globals__"),
        ("import math, random", "random"),
        ("from . import x", "."),
        ("def id(x): return x\nid(3)", ""),
        ("def f(x): return id(x)\ny = f(1)\ndef id(x): return x", "id"),
        ("def g(hash): return 1\ndef f(x): return hash(x)", "hash"),
        ("def f(input, x=1): return input + x", ""),
        ("def f(x):\n    input = x\n    return [input for dir in x if dir]", ""),
        ("def f(x):\n    global hash\n    hash = 1\ndef g(x): return hash(x)", "hash"),
        ("class A:\n    id = 1\ndef f(x): return id(x)", "id"),
        ("from operator import *\ndef f(x): return attrgetter(x)", "attrgetter"),
        ("import json\njson.decoder.scanner", "scanner"),
        ("import collections.abc\ncollections.abc.sys", "sys"),
        ("'{:.2f} {0[1]}'.format(1)", ""),
        ("'{0.real}'.format(1)", "format"),
        ("x = ''\nx.format(1)", "format"),
        ("class A:\n    def __init__(self): self.f_score = self.time = 1\nA().f_score", ""),
        ("class A:\n    def __init__(self): self._time = 1\nA()._time", ""),
        ("import json, re, heapq", ""),
    ],
)
def test_what_could_tell_one_run_from_another_is_seen_in_the_text(source, reason):
    assert barred(source) == reason


def test_a_runner_starts_nothing_before_it_is_asked_and_closes_what_it_made(monkeypatch):
    made = []
    monkeypatch.setattr(runner, "Monty", lambda limits, workers: made.append(Scripted(value("1"))) or made[-1])
    with PythonRunner() as started:
        assert made == []
        started.run([Program("a")])
    assert made[0].closed


def test_a_runner_leaves_tiers_that_it_was_given_open():
    tier = Scripted()
    PythonRunner(tiers=[tier]).close()
    assert not tier.closed


def test_a_runner_needs_a_tier():
    with pytest.raises(RedQueenError, match="needs a tier"):
        PythonRunner(tiers=[])
