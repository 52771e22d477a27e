"""Monty: that its answers are CPython's, that it sets limits, and that it knows what it cannot answer."""

import ast
import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest

from redqueen.checks.sandbox import monty as monty_module
from redqueen.checks.sandbox.agreement import Reading, read
from redqueen.checks.sandbox.attack_programs import ATTACKS
from redqueen.checks.sandbox.attacks import breaches, laid_bait
from redqueen.checks.sandbox.literals import literal
from redqueen.checks.sandbox.monty import Monty
from redqueen.checks.sandbox.runs_of_programs import Kind, Limits, Program, Verdict
from redqueen.types import RedQueenError

LIMITS = Limits(seconds=0.4, memory=32 << 20, recursion=100, output=400)


@pytest.fixture(scope="module")
def monty():
    with Monty(LIMITS) as tier:
        yield tier


def program(body, *arguments):
    return Program("def f(x):\n    " + body.replace("\n", "\n    "), "f", arguments or (3,))


def one(tier, *given):
    return tier.run([program(*given)])[0]


def by_cpython(asked):
    """Kind, and the value or the exception, of a program of our own."""
    space = {}
    try:
        exec(asked.source, space)
        return Kind.VALUE, literal(space[asked.function](*asked.arguments))
    except Exception as error:
        return Kind.EXCEPTION, type(error).__name__


def test_answers_are_those_of_cpython(monty):
    pieces = re.split(r"(?m)^--- (.*)$\n?", CORPUS)
    programs = [
        Program(source, "f", (ast.literal_eval(argument),))
        for source, argument in zip(pieces[:-1:2], pieces[1::2], strict=True)
    ]
    given = [(verdict.kind, verdict.value or verdict.detail) for verdict in monty.run(programs)]
    assert given == [by_cpython(asked) for asked in programs]
    assert len(programs) > 40


def test_verdicts_come_in_the_order_of_the_programs(monty):
    verdicts = monty.run([program(f"return x * {number}") for number in range(40)])
    assert [verdict.value for verdict in verdicts] == [str(3 * number) for number in range(40)]


def test_a_script_has_no_value_and_prints(monty):
    (verdict,) = monty.run([Program("for n in range(3):\n    print(n, end=';')")])
    assert verdict == Verdict(Kind.VALUE, "None", "0;1;2;")


def test_arguments_arrive_as_values_and_are_no_source(monty):
    nasty = "'); raise ValueError('"
    given = ([1, (2.5, None)], {nasty: True}, b"\x00", nasty)
    assert monty.run([Program("def f(*given): return given", "f", given)])[0].value == literal(given)


def test_arguments_that_are_not_plain_are_the_callers_mistake(monty):
    with pytest.raises(RedQueenError, match="plain data"):
        monty.run([program("return x", object())])


def test_a_set_as_an_argument_is_left_to_the_jail(monty):
    assert [one(monty, "return 1", value).kind for value in ({1}, [{"a": set()}], "\ud800")] == [Kind.UNSUPPORTED] * 3
    assert one(monty, "return x", "{set()}\\ud800").kind is Kind.VALUE


@pytest.mark.parametrize(
    ("body", "raised"),
    [
        ("return 1 // (x - 3)", "ZeroDivisionError"),
        ("return [][x]", "IndexError"),
        ("return {}[x]", "KeyError"),
        ("return int('a')", "ValueError"),
        ("assert x > 5", "AssertionError"),
        ("y = z\nz = 1", "UnboundLocalError"),
        ("raise ValueError('so it is')", "ValueError"),
    ],
)
def test_an_exception_has_its_type(monty, body, raised):
    verdict = one(monty, body)
    assert (verdict.kind, verdict.detail) == (Kind.EXCEPTION, raised)


def test_an_exception_says_what_it_said_and_what_was_printed(monty):
    assert one(monty, "print('before')\nraise ValueError('so it is')") == Verdict(
        Kind.EXCEPTION, "", "before\n", "ValueError", "so it is"
    )


def test_text_that_is_no_python_is_a_syntax_error(monty):
    for source in ("def f(x: return", "a b", "\x00", "\ud800", "'"):
        (verdict,) = monty.run([Program(source, "f")])
        assert (verdict.kind, verdict.detail) == (Kind.EXCEPTION, "SyntaxError")


def test_a_missing_function_is_a_name_error_and_its_name_is_no_source(monty):
    for name in ("g", "f; print(1)", "f(1) or f", ""):
        (verdict,) = monty.run([Program("def f(x): return x", name, (1,))])
        assert (verdict.kind, verdict.detail) == ((Kind.EXCEPTION, "NameError") if name else (Kind.VALUE, ""))
        assert verdict.printed == ""


@pytest.mark.parametrize(
    ("body", "kind", "detail"),
    [
        ("while True: pass", Kind.TIMEOUT, "seconds"),
        ("return [0] * (1 << 27)", Kind.MEMORY, "memory"),
        ("y = []\nwhile True: y.append('a' * 100000)", Kind.MEMORY, "memory"),
        ("return 2 ** (10 ** 9)", Kind.MEMORY, "memory"),
        ("return f(x + 1)", Kind.MEMORY, "recursion"),
        ("return x if x > 150 else f(x + 1)", Kind.MEMORY, "recursion"),
        ("return 'a' * 401", Kind.MEMORY, "output"),
        ("print('a' * 401)", Kind.MEMORY, "output"),
        ("for n in range(100): print('a' * 100)", Kind.MEMORY, "output"),
    ],
)
def test_limits_end_a_program(monty, body, kind, detail):
    verdict = one(monty, body)
    assert (verdict.kind, verdict.detail) == (kind, detail)
    assert len(verdict.printed) <= LIMITS.output


def test_a_value_that_is_small_in_memory_and_endless_in_print_is_never_written(monty):
    for value in ("y", "print(y)"):
        asked = f"y = []\nfor n in range(60): y = [y, y]\nreturn {value}"
        assert one(monty, asked).kind in (Kind.MEMORY, Kind.TIMEOUT)
    top = "y = []\nfor n in range(60): y = [y, y]\n"
    for last in ("y", "return y"):
        assert monty.run([Program(top + last)])[0].kind in (Kind.VALUE, Kind.UNSUPPORTED)


def test_what_fits_the_limits_is_let_through(monty):
    assert one(monty, "print('é' * 399)\nreturn 'a' * 398").printed == "é" * 399 + "\n"
    assert one(monty, "return x if x > 90 else f(x + 1)").value == "91"


@pytest.mark.parametrize(
    "source",
    [
        "def f(x): return open('/etc/passwd').read()",
        "import os\ndef f(x): return os.listdir('/')",
        "import os\ndef f(x): return os.environ",
        "from pathlib import Path\ndef f(x): return Path('/etc/passwd').read_text()",
        "def f(x):\n    with open('/tmp/x', 'w') as out: out.write('a')",
    ],
)
def test_files_and_the_system_are_out_of_reach(monty, source):
    assert monty.run([Program(source, "f", (1,))])[0].kind is Kind.FORBIDDEN


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def f(x):\n    yield x", "Yield"),
        ("import heapq", "import heapq"),
        ("class A:\n    pass", "ClassDef"),
        ("def f(x): return x.translate({})", ".translate"),
        ("def f(x): return id(x)", "id"),
        ("def f(x): return hash(x)", "hash"),
        ("import time", "import time"),
        ("import math\ndef f(x): return math.gamma(x)", "math.gamma"),
        ("def f(x): return round(x, 2)", "round to decimals"),
        ("def f(x): return list(set(x))", "the order of a set"),
        ("def f(x): return map(str, x)", "something lazy that is kept"),
        ("def f(x):\n    y = zip(x, x)\n    return list(y), list(y)", "something lazy that is kept"),
        ("def f(x):\n    for i, c in enumerate(x): x.remove(c)\n    return x", "something lazy that is kept"),
        ("def g(c): return c\ndef f(x): return any(g(c) for c in x)", "something lazy that is kept"),
        ("def f(x): return any((y := c) for c in x), y", "an assignment in a generator expression"),
        ("def f(x):\n    try: return x.nothing\n    except AttributeError: return 1", "except"),
        ("def f(x):\n    try: return 1 / 0\n    except ZeroDivisionError as e: return str(e)", "except"),
        ("def f(x): return str(f)[-3:]", "the text of a function or an iterator"),
        ("def f(x): return str(iter(x))[-2:]", "the text of a function or an iterator"),
        ("from itertools import cycle\ndef f(x): return f'{cycle(x)}'[-2:]", "the text of a function or an iterator"),
        ("import itertools as it\ndef f(x): return str([it.chain(x)])[-3:]", "the text of a function or an iterator"),
        ("from itertools import chain as c\ndef f(x): return str(c(x))[-2:]", "the text of a function or an iterator"),
        ("import copy\ndef f(x): return str(copy.deepcopy)[-2:]", "the text of a function or an iterator"),
        ("from functools import cache\ndef f(x): return str(cache(max))[-2:]", "the text of a function or an iterator"),
        ("def list(x): return x", "list bound anew"),
        ("return 3", "return outside a function"),
        ("def f(x): return x.__class__", ".__class__"),
        ("def f(x): return eval(x)", "eval"),
        ("def f(x): return pow(3, -1, 7)", "pow with such arguments"),
        ("def f(x): return [*map(pow, x, x, x)]", "pow as a value"),
        ("def f(x): return f'{None:>6}'", "a format for some values only"),
        ("def f(x): return f'{x:>{x[1]}}'", "a format for some values only"),
        ("def f(x):\n    try: return f'{x:d}'\n    except ValueError: return 0", "a format for some values only"),
        ("def f(x): return '{:>5}'.format(None)", ".format with such arguments"),
        ("def f(x): return ('{' + ':>5}').format(x)", ".format with such arguments"),
        ("def f(x): return format(x, '>9')", "format with such arguments"),
        ("def f(x): return 'é'.encode('latin-1')", ".encode with such arguments"),
        ("def f(x): return b'a'.decode(encoding='cp1252')", ".decode with such arguments"),
        ("def f(x): return str(b'a', 'latin-1')", "str with such arguments"),
        ("def f(x): return bytes('a', 'utf-8', 'replace')", "bytes with such arguments"),
        ("def f(a): return [a.pop() for i, _ in enumerate(a)]", "something lazy that is kept"),
        ("def f(a): return sum(a.pop() for i, _ in enumerate(a))", "something lazy that is kept"),
        ("def g(c): return c\ndef f(x): return any(map(g, x))", "something lazy that is kept"),
        ("def g(c): return c\ndef f(x): return all(c for c in map(g, x))", "something lazy that is kept"),
        ("def g(c): return c\ndef f(x): return list(zip(map(g, x), x))", "something lazy that is kept"),
        ("def g(c): return c\ndef f(x): return [print(c) for c in map(g, x)]", "something lazy that is kept"),
        ("def g(c): return c\ndef f(x): return list(filter(g, map(g, x)))", "something lazy that is kept"),
        ("def g(c): return c\ndef f(x): return max(map(g, x), key=g)", "something lazy that is kept"),
        ("def f(x): return [x.pop() for _ in map(lambda c: len(x), [1, 2])]", "something lazy that is kept"),
        ("def f(x): return max(map(int, x), [1])", "something lazy that is kept"),
        (
            "def f(x):\n    try: return any(1 // c for c in x)\n    except ValueError: return 0",
            "something lazy that is kept",
        ),
        ("def f(x): return x[0] is 1000", "is"),
        ("def f(x): return 1 < x[0] is not x[1]", "is"),
        ("def g(hash): return 1\ndef f(x): return hash('a')", "hash"),
        ("def f(x): return id(x)\ny = f(1)\ndef id(x): return 1", "id"),
        ("redqueen_arguments = [5]\ndef f(x): return x", "redqueen_arguments"),
        ("def f(x):\n    for redqueen_source in x: return 1", "redqueen_source"),
    ],
)
def test_what_monty_does_otherwise_than_cpython_is_not_its_to_answer(monty, source, reason):
    assert read(source).outside.replace("something lazy that is kept", reason) == reason
    (verdict,) = monty.run([Program(source, "f", ([1, 2],))])
    assert verdict.kind is Kind.UNSUPPORTED


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("return pow(x, 2, 5), pow(x, 2)", "(4, 9)"),
        ("return f'{x:5d}|{x / 2:.1f}|{str(x):>3}|{None!r:>5}', '{:,}'.format(x)", "('    3|1.5|  3| None', '3')"),
        ("return 'é'.encode('utf-8').decode(), b'a'.decode('ascii')", "('é', 'a')"),
        ("return [i * c for i, c in enumerate([x, x])]", "[0, 3]"),
        ("def g(c): return [c, c]\nreturn [c for _, c in enumerate(g(x))]", "[3, 3]"),
        ("return [c + 1 for c in map(int, '12')], list(zip(map(str, [x]), [x]))", "([2, 3], [('3', 3)])"),
        ("return any(c > 2 for c in (y for y in [x])), max(enumerate([1, x]), key=lambda p: p[1])", "(True, (1, 3))"),
        ("return x is None, None is not x, (x == 3) is True", "(False, True, True)"),
        ("def g(input, id): return input + id\nreturn g(x, 1), [hash for hash in [x]]", "(4, [3])"),
    ],
)
def test_what_is_near_to_that_stays_monty_s_to_answer(monty, body, value):
    assert one(monty, body) == Verdict(Kind.VALUE, value)


def test_a_word_of_the_system_is_no_call_of_it(monty):
    """A parameter or a comment may be called as what Monty refuses; the program's own refusal is its exception."""
    for source in (
        "def f(input):\n    if input > 0: raise PermissionError('no')",
        "def f(x):\n    raise PermissionError('no')  # open the os",
        "import os\ndef f(x):\n    raise PermissionError('no')",
    ):
        assert monty.run([Program(source, "f", (1,))])[0].kind is Kind.UNSUPPORTED


def test_an_error_for_something_missing_is_not_monty_s_to_answer(monty):
    for body in ("return 1 + 'a'", "return (5).append(1)", "return x.bit_length()", "raise ValueError(3)"):
        assert one(monty, body).kind is Kind.UNSUPPORTED


def test_what_cpython_might_never_have_computed_is_not_an_error(monty):
    """`any` stops at the first number that is not 0; Monty divides by all."""
    assert one(monty, "return any(1 / n for n in x)", [1, 0]).kind is Kind.UNSUPPORTED


@pytest.mark.parametrize(
    "body", ["return float('nan')", "return 1j", "return len", "return range(3)", "return [x, ...]"]
)
def test_a_value_without_a_literal_is_unsupported(monty, body):
    assert one(monty, body).kind is Kind.UNSUPPORTED


DEEP = "y = []\nfor n in range(300): y = [y]\nreturn str(y)"


def test_what_shows_an_address_or_a_lost_character_is_not_monty_s_to_answer(monty):
    for body in (
        "return str(iter([x]))",
        "print(iter([x]))",
        "return '\\ud800'",
        "print('\\ud800')",
        "chr(0xd800)",
        DEEP,
    ):
        assert one(monty, body).kind is Kind.UNSUPPORTED


def test_a_value_that_cannot_be_written_is_not_an_exception(monty):
    """10 ** 5000 has more digits than an integer may be printed with."""
    assert one(monty, "return 10 ** 5000").kind is Kind.UNSUPPORTED


def test_one_program_leaves_nothing_to_the_next(monty):
    first = "total = 41\nimport math\nmath.pi = 3\ndef g(): pass"
    monty.run([Program(first)] * 8)
    verdicts = monty.run([Program("def f():\n    global total\n    total += 1\n    return total", "f")] * 8)
    assert {(verdict.kind, verdict.detail) for verdict in verdicts} == {(Kind.EXCEPTION, "NameError")}


def test_another_seed_moves_the_objects(monty, monkeypatch):
    """So that what depends on an address shows, also where neither the text nor the value shows one."""
    monkeypatch.setattr(monty_module, "read", lambda source: Reading())
    asked = [program("return int(str(iter([x])).split('0x')[1][:-1], 16)")]
    here, there, here_again = (monty.run(asked, hash_seed)[0].value for hash_seed in (0, 1, 0))
    assert here == here_again != there


def spinning():
    """The worker of this process that computes: its id, or None while none has computed for a tenth of a second."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = status.read_text().split(") ", 1)
        except OSError:
            continue
        fields = rest.split()
        if name.endswith("(monty") and int(fields[1]) == os.getpid() and int(fields[11]) > 10:  # hundredths of a second
            return int(status.parent.name)
    return None


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="workers are found in /proc")
def test_a_worker_that_dies_takes_only_its_own_program_along():
    with Monty(Limits(seconds=8.0)) as tier:
        found = []
        programs = [program("while True: pass"), *[program(f"return x + {number}") for number in range(30)]]
        running = threading.Thread(target=lambda: found.extend(tier.run(programs)))
        running.start()
        while (worker := spinning()) is None:
            assert running.is_alive()
            time.sleep(0.02)
        os.kill(worker, signal.SIGKILL)
        running.join()
        assert (found[0].kind, found[0].detail) == (Kind.UNSUPPORTED, "crash")
        assert [verdict.value for verdict in found[1:]] == [str(3 + number) for number in range(30)]
        assert tier.run(programs[1:2])[0].value == "3"


def test_no_attack_gets_through():
    with laid_bait() as bait, Monty(Limits(seconds=0.4)) as tier:
        assert breaches(tier, bait, ATTACKS, seconds=0.4) == []


def test_monty_needs_a_worker():
    with pytest.raises(RedQueenError, match="1 worker or more"):
        Monty(workers=0)


CORPUS = r"""
def f(n):
    a, b = 0, 1
    out = []
    for _ in range(n):
        out.append(a)
        a, b = b, a + b
    return out
--- 7
def f(xs):
    seen = set()
    out = []
    for x in xs:
        if x not in seen:
            seen.add(x)
            out.append(x)
    return out
--- [3,1,3,2,1]
def f(s):
    counts = {}
    for c in s:
        counts[c] = counts.get(c, 0) + 1
    return sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))
--- "mississippi"
def f(grid):
    rows, cols = len(grid), len(grid[0])
    visited = set()
    def dfs(r, c):
        if r < 0 or c < 0 or r >= rows or c >= cols or (r, c) in visited or grid[r][c] == 0:
            return 0
        visited.add((r, c))
        return 1 + dfs(r+1, c) + dfs(r-1, c) + dfs(r, c+1) + dfs(r, c-1)
    return max(dfs(r, c) for r in range(rows) for c in range(cols))
--- [[1,0,1],[1,1,0],[0,1,1]]
from collections import defaultdict, Counter, deque
def f(edges):
    g = defaultdict(list)
    for a, b in edges:
        g[a].append(b)
    q = deque([edges[0][0]])
    order = []
    seen = {edges[0][0]}
    while q:
        x = q.popleft()
        order.append(x)
        for y in g[x]:
            if y not in seen:
                seen.add(y)
                q.append(y)
    return order
--- [(1,2),(1,3),(2,4),(3,4),(4,5)]
from itertools import permutations, combinations, product, accumulate, chain, groupby
def f(xs):
    pairs = [list(permutations(xs, 2)), list(combinations(xs, 2))]
    runs = [(k, list(g)) for k, g in groupby(xs)]
    return pairs, runs, list(accumulate(xs)), list(chain(xs, xs)), list(product(xs, repeat=2))
--- [1,1,2]
from functools import reduce, lru_cache
@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n-1) + fib(n-2)
def f(n):
    return reduce(lambda a, b: a * b + 1, [fib(i) for i in range(n)], 1)
--- 12
def f(xs):
    try:
        return xs[5]
    except IndexError:
        return -1
    finally:
        xs.append(0)
--- [1,2]
def f(text):
    words = text.lower().split()
    return {w: [i for i, v in enumerate(words) if v == w] for w in words}
--- "The cat the dog The end"
def f(n):
    primes = []
    for k in range(2, n):
        if all(k % p for p in primes):
            primes.append(k)
    return primes
--- 30
def f(m):
    return [list(row) for row in zip(*m)]
--- [[1,2,3],[4,5,6]]
def f(xs):
    xs = sorted(xs)
    lo, hi = 0, len(xs) - 1
    while lo < hi:
        mid = (lo + hi) // 2
        if xs[mid] < 5:
            lo = mid + 1
        else:
            hi = mid
    return lo, xs
--- [9,1,5,7,3]
def f(x, *rest, k=2, **more):
    return x, rest, k, more
--- 1
def f(xs):
    a = xs
    b = xs[:]
    a += [1]
    b.insert(0, 9)
    xs[1:3] = [7, 7, 7]
    return a, b, xs, a is None
--- [1,2,3]
def f(s):
    stack = []
    for c in s:
        if c in '([{':
            stack.append(c)
        elif not stack or {')': '(', ']': '[', '}': '{'}[c] != stack.pop():
            return False
    return not stack
--- "([]{})"
def f(n):
    total = 0
    while True:
        n, d = divmod(n, 10)
        total += d ** 2
        if not n:
            break
    else:
        total = -1
    return total
--- 98765
counter = 0
def bump():
    global counter
    counter += 1
    return counter
def f(x):
    return [bump() for _ in range(x)], counter
--- 3
def f(x):
    def make(k):
        def add(y):
            return y + k
        return add
    return [g(x) for g in [make(i) for i in range(3)]]
--- 10
def f(x):
    fs = [lambda: i for i in range(3)]
    return [g() for g in fs]
--- 1
def f(xs):
    print('max', max(xs), 'min', min(xs), sep=' | ')
    print(xs, {'a': 1.5}, (1,), None, sep='\n', end='')
    return sum(xs) / len(xs)
--- [1,2,4]
def f(d):
    d.update({'z': 1})
    d.setdefault('q', []).append(2)
    return list(d), d.pop('z'), d.get('nope'), sorted(d), len(d)
--- {'b': 2, 'a': 1}
def f(s):
    return ''.join(chr((ord(c) - 97 + 3) % 26 + 97) if c.isalpha() else c for c in s)
--- "abc xyz"
def f(n):
    return f"{n:>6d}|{n/3:.2f}|{n:05d}|{n!r}|{'x' * n}|{n:,}"
--- 7
def f(a):
    x, (y, *z) = a
    return z, y, x
--- [1,[2,3,4]]
def f(xs):
    return [x if x % 2 else -x for x in xs if x > 1], {k: v for k, v in zip('abc', xs)}, len({x % 3 for x in xs})
--- [1,2,3,4]
def f(xs):
    for i in range(len(xs)):
        for j in range(len(xs) - i - 1):
            if xs[j] > xs[j + 1]:
                xs[j], xs[j + 1] = xs[j + 1], xs[j]
    return xs
--- [5,2,9,1]
def f(xs):
    for x in xs:
        if x % 2 == 0:
            xs.remove(x)
    return xs
--- [2,4,6,7]
def f(xs):
    it = iter(xs)
    return [(a, next(it, None)) for a in it]
--- [1,2,3]
import math
def f(x):
    return math.floor(-x), math.ceil(x), math.sqrt(x), math.gcd(int(x), 12), round(x), x // 1, x % 1
--- 7.5
def f(x):
    return x.count(1), x.index(2), 1 in x, x * 2, x + [9], x == [1, 2], x < [2], x[::-1], x[-1]
--- [1,2]
def f(xs):
    xs.sort(key=len, reverse=True)
    return xs
--- ["a","bbb","cc","dd"]
def f(x):
    return not x, x and 1, x or 2, x is None, (x := 5) + x
--- 0
def f(n):
    if n <= 0:
        return 0
    return n + f(n - 2)
--- 50
def f(x):
    assert x > 5, 'small'
    return x
--- 3
def f(x):
    raise KeyError('k')
--- 3
def f(x):
    return x['a']['b']
--- {'a':{}}
def f(x):
    return [][0]
--- 3
def f(x):
    y = z
    z = 1
--- 3
def f(b):
    return b[0], b + b'x', len(b), list(b), b.decode(), b == b'abc'
--- b'abc'
def f(x):
    return 1 < x < 10, x if x else None, [*range(x)], (*'ab', x), {**{'a': 1}, 'b': x}
--- 4
def f(x):
    y = True + True, True * 3, int(True), str(True), [True, 1, 1.0]
    return y, 3 / 1, 2 ** -1, 7 // 2.0, -7 // 2, -7 % 3, 0.1 + 0.2
--- 1
def f(xs):
    y = max(xs, key=lambda p: p[1]), min(xs)
    return y, sum(p[1] for p in xs), any(p[1] > 5 for p in xs), sorted(xs, key=lambda p: -p[1])
--- [("a",3),("b",7),("c",7)]
"""
