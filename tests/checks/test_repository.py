"""Repositories whose tests run in the jail, code that cheats there, bugs that SSR refuses, and SWE-RL's reward."""

from dataclasses import replace

import pytest

from redqueen.checks.repository import edits
from redqueen.checks.repository.artefacts import (
    Artefact,
    Fault,
    Least,
    Runs,
    faults,
    inject,
    repaired,
    run_artefacts,
    specification,
    unsteady,
)
from redqueen.checks.repository.edits import BadEdit, Edit, Repository, file_diffs, read_edits, rewritten
from redqueen.checks.repository.similarity import patch_reward, patch_similarity
from redqueen.checks.repository.unit_tests import ABSENT, Case, discover, passed, run_cases, run_tests
from redqueen.checks.sandbox import jail as python_jail
from redqueen.checks.sandbox.jail import Jail
from redqueen.checks.sandbox.monty import Monty
from redqueen.checks.sandbox.runner import PythonRunner
from redqueen.checks.sandbox.runs_of_programs import Kind, Limits, Verdict
from redqueen.types import RedQueenError

WHY_NOT = python_jail.why_not()
needs_jail = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

SHOP = Repository(
    {
        "shop/__init__.py": "from .price import total\n",
        "shop/price.py": "from shop import tax\n\ndef total(items):\n    return tax.added(sum(items))\n",
        "shop/tax.py": "RATE = 10\n\ndef added(amount):\n    return amount + amount * RATE // 100\n",
        "tests/test_shop.py": """
import pytest
from shop import total
from shop.tax import added
from tests.goods import GOODS

def test_nothing_costs_nothing():
    assert total([]) == 0

def test_tax_is_added():
    assert added(200) == 220

def test_goods_have_a_total():
    assert total(GOODS) == 110

def test_words_have_no_total():
    with pytest.raises(TypeError, match="unsupported"):
        total(["ten"])
""",
        "tests/goods.py": "GOODS = [40, 60]\n",
        "README.md": "A shop.",
    }
)
TEXTS = Repository(
    {
        "words.py": "import re\n\ndef split(text):\n    return re.findall(r'[a-z]+', text.lower())\n",
        "count.py": "from collections import Counter\nfrom words import split\n\n"
        "def most(text):\n    return Counter(split(text)).most_common(1)[0][0]\n",
        "test_texts.py": "from count import most\nfrom words import split\n\n"
        "def test_split():\n    assert split('A b, c') == ['a', 'b', 'c']\n\n"
        "def test_most():\n    assert most('a B b') == 'b'\n",
    }
)
SHOP_TESTS = discover(SHOP).tests
ADDED = "def added(amount):\n    return amount + amount * RATE // 100\n"
BUG = [Edit("shop/tax.py", "amount + amount * RATE", "amount * RATE")]
WEAKENING = [
    Edit("tests/test_shop.py", "    assert added(200) == 220\n", "    pass\n"),
    Edit("tests/test_shop.py", "def test_goods_have_a_total():\n    assert total(GOODS) == 110\n\n", ""),
]


@pytest.fixture(scope="module")
def jail():
    with Jail(Limits(seconds=5.0, recursion=400), workers=1) as made:
        yield made


def edited(path, search, replacement, repository=SHOP):
    return repository.apply([Edit(path, search, replacement)])


# --- files and edits -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paths", "reason"),
    [
        (["/a.py"], "path such as"),
        (["a/../b.py"], "path such as"),
        (["my-code/a.py"], "'my-code' is no name"),
        (["json.py"], "named json: rename"),
        (["pytest/__init__.py"], "named pytest"),
        (["a.py", "a/b.py"], "would be one module"),
    ],
)
def test_files_that_cannot_be_one_repository_are_refused(paths, reason):
    with pytest.raises(RedQueenError, match=reason):
        Repository(dict.fromkeys(paths, ""))


def test_a_repository_has_a_largest_size():
    with pytest.raises(RedQueenError, match="up to 150000 characters"):
        Repository({"a.py": "#" * 150_000})


def test_edits_are_made_one_after_the_other():
    assert Repository({"a.py": "x = 1"}).apply([Edit("a.py", "1", "2"), Edit("a.py", "2", "3")]).files == {
        "a.py": "x = 3"
    }


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (Edit("b.py", "1", "2"), "no file 'b.py'"),
        (Edit("a.py", "9", "2"), "not found"),
        (Edit("a.py", "", "2"), "not found"),
        (Edit("a.py", "aa", "2"), "more than once"),  # the two overlap
        (Edit("a.py", "1", "1"), "changes nothing"),
        (Edit("a.py", "1\n", "1"), "changes nothing"),
        (Edit("a.py", "1", "#" * 150_000), "up to 150000"),
    ],
)
def test_an_edit_that_does_not_fit_is_bad(edit, reason):
    with pytest.raises(BadEdit, match=reason):
        Repository({"a.py": "aaa = 1"}).apply([edit])


@pytest.mark.parametrize(
    ("text", "edit", "after"),
    [
        ("x = 1\ny = 2", Edit("a.py", "y = 2\n", "y = 3\n"), "x = 1\ny = 3"),
        ("x = 1\ny = 2", Edit("a.py", "y = 2\n", ""), "x = 1"),
        ("x = 12\nx = 1", Edit("a.py", "x = 1\n", "x = 3\n"), "x = 12\nx = 3"),
        ("x = 1\ny = 2", Edit("a.py", "x = 1\n", ""), "y = 2"),
    ],
)
def test_the_last_line_of_a_file_without_a_final_newline_is_edited(text, edit, after):
    assert Repository({"a.py": text}).apply([edit]).files == {"a.py": after}


def test_no_edit_is_a_bad_edit():
    with pytest.raises(BadEdit, match="no edit"):
        SHOP.apply([])


BLOCK = "### a.py\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\ny = 3\n>>>>>>> REPLACE\n"


def test_edits_are_read_from_a_text():
    found = read_edits(f"I change two things.\n{BLOCK}and\n{BLOCK.replace('x = 2', '').replace('a.py', 'b.py')}")
    assert found == [Edit("a.py", "x = 1\n", "x = 2\ny = 3\n"), Edit("b.py", "x = 1\n", "\ny = 3\n")]


@pytest.mark.parametrize("text", [BLOCK.replace("\n", "\r\n"), BLOCK.replace("\n", " \n").replace("= 1 ", "= 1")])
def test_edits_are_read_with_the_line_ends_of_windows_and_with_spaces_after_marks(text):
    (found,) = read_edits(text)
    assert (found.path, found.search) == ("a.py", "x = 1\n") and "".join(found.replace.split()) == "x=2y=3"


def test_a_heading_that_could_part_an_edit_is_refused():
    block = BLOCK.replace("x = 1", "Heading\n=======\nx = 1")
    with pytest.raises(BadEdit, match="more than one line ======="):
        read_edits(block)
    assert read_edits(BLOCK.replace("x = 1", "Heading\n========"))[0].search == "Heading\n========\n"


@pytest.mark.parametrize("text", ["", "x = 2", BLOCK[:-15], BLOCK + "<<<<<<< SEARCH\n", BLOCK.replace("###", "#")])
def test_a_text_without_whole_edits_is_bad(text):
    with pytest.raises(BadEdit):
        read_edits(text)


def test_test_files_are_put_back_and_new_ones_dropped():
    changed = {path: "" if path.startswith("tests/") else text for path, text in SHOP.files.items()}
    changed |= {"test_new.py": "def test_x(): pass", "shop/tax.py": "RATE = 20\n"}
    assert Repository(changed).restored(SHOP).files == {**SHOP.files, "shop/tax.py": "RATE = 20\n"}


def test_code_in_the_place_of_the_oracles_tests_is_a_bad_edit():
    with pytest.raises(BadEdit, match="one module"):
        Repository({"tests.py": ""}).restored(SHOP)


# --- discovery -------------------------------------------------------------------------------


def test_tests_are_found_and_others_refused_by_name():
    text = """
import pytest
def test_plain(): pass
def test_with(fixture): pass
@pytest.mark.parametrize("a", [1])
def test_many(): pass
async def test_later(): pass
def test_gives(): yield 1
class TestAll: pass
def helper(): pass
"""
    found = discover(Repository({"test_a.py": text, "test_b.py": "def (", "a.py": "def test_no(): pass"}))
    assert found.tests == ("test_a.py::test_plain",)
    assert dict(found.refused) == {
        "test_a.py::test_with": "it has parameters",
        "test_a.py::test_many": "it is decorated",
        "test_a.py::test_later": "it is async",
        "test_a.py::test_gives": "it yields",
        "test_a.py::TestAll": "it is a class",
        "test_b.py": "it does not parse: SyntaxError",
    }


# --- runs ------------------------------------------------------------------------------------


@needs_jail
def test_many_repositories_are_run_at_once(jail):
    bugged = SHOP.apply(BUG)
    shop, texts, bad = run_tests(jail, [SHOP, TEXTS, bugged], [SHOP_TESTS, discover(TEXTS).tests, SHOP_TESTS])
    assert passed(shop) == set(SHOP_TESTS)
    assert texts == {
        "test_texts.py::test_split": Verdict(Kind.VALUE, "None"),
        "test_texts.py::test_most": Verdict(Kind.VALUE, "None"),
    }
    ended = {test.partition("::")[2]: (verdict.kind, verdict.detail) for test, verdict in bad.items()}
    assert ended == {
        "test_nothing_costs_nothing": (Kind.VALUE, ""),
        "test_tax_is_added": (Kind.EXCEPTION, "AssertionError"),
        "test_goods_have_a_total": (Kind.EXCEPTION, "AssertionError"),
        "test_words_have_no_total": (Kind.VALUE, ""),
    }


@needs_jail
def test_a_test_file_may_hold_dataclasses_whose_annotations_are_texts(jail):
    text = """
from __future__ import annotations
import typing as t
from dataclasses import dataclass, fields
from typing import ClassVar

@dataclass
class Point:
    x: int
    first: ClassVar[int] = 1
    second: t.ClassVar[int] = 2

def test_fields():
    assert [field.name for field in fields(Point(3))] == ["x"]

def test_inside():
    @dataclass
    class Inside:
        y: str
    assert Inside("a").y == "a" and Inside.__module__ == "tests.test_point"
"""
    repository = Repository({"tests/test_point.py": text})
    (ended,) = run_tests(jail, [repository], [discover(repository).tests])
    assert [verdict.kind for verdict in ended.values()] == [Kind.VALUE, Kind.VALUE], ended


@needs_jail
def test_what_stands_for_a_tests_module_shows_nothing_of_it(jail):
    code = "import sys\n\ndef seen():\n    return sorted(vars(sys.modules['test_a']))\n"
    head = "from dataclasses import dataclass\nfrom a import seen\n\nSECRET = 1\n\n"
    text = f"{head}def test_it():\n    assert seen() == ['dataclass']\n"
    repository = Repository({"a.py": code, "test_a.py": text})
    (ended,) = run_tests(jail, [repository], [discover(repository).tests])
    assert ended["test_a.py::test_it"].kind is Kind.VALUE, ended


@needs_jail
def test_what_the_jail_does_not_offer_is_not_imported_by_a_module_either(jail):
    shop = edited("shop/tax.py", "RATE = 10", "import os\nRATE = 10")
    (ended,) = run_tests(jail, [shop], [SHOP_TESTS[:1]])
    assert ended[SHOP_TESTS[0]].kind is Kind.FORBIDDEN
    assert ended[SHOP_TESTS[0]].detail == "import os"


CHECKED = """
from shop.tax import added, parts

def check(value):
    assert value == 220

def test_it():
    value = added(200)
    assert len(parts()) == 2
    check(value)
"""
CHEATS = {  # each is right but for what it does, or passes where what it goes for is not kept from it
    "leaves at once": ("import sys\nsys.exit(0)", "220"),
    "leaves": ("import sys", "sys.exit()"),
    "leaves by another name": ("import builtins, sys\nbuiltins.SystemExit = ValueError", "sys.exit(0)"),
    "kills the process": ("import sys", "sys.modules['posix']._exit(0)"),
    "changes a builtin": ("import builtins\nbuiltins.len = lambda items: 2", "220"),
    "changes the test": ("import sys", "setattr(sys.modules['tests.test_it'], 'check', print)"),
    "fails honestly": ("", "7"),
}


def cheating(before, value, parts="[1, 2, 3]"):
    code = f"{before}\ndef added(amount):\n    return {value}\ndef parts():\n    return {parts}\n"
    return Repository({"shop/tax.py": code, "tests/test_it.py": CHECKED})


@needs_jail
def test_code_that_cheats_does_not_pass(jail):
    right = cheating("", "220", "[1, 2]")
    parts = {name: "[1, 2, 3]" if "builtin" in name else "[1, 2]" for name in CHEATS}
    tries = [cheating(*code, parts[name]) for name, code in CHEATS.items()]
    first, *ran = run_tests(jail, [right, *tries], [discover(right).tests] * (1 + len(tries)))
    assert len(passed(first)) == 1
    assert [name for name, ended in zip(CHEATS, ran, strict=True) if passed(ended)] == []


@needs_jail
def test_a_patched_pytest_lets_nothing_through(jail):
    code = "import pytest\npytest.raises.__exit__ = lambda *a: True\npytest.raises.__init__ = lambda *a, **b: None"
    shop = edited("shop/price.py", "def total(items):\n", f"{code}\ndef total(items):\n    return 0\n")
    (ended,) = run_tests(jail, [shop], [SHOP_TESTS])
    assert {test.partition("::")[2] for test in passed(ended)} == {"test_nothing_costs_nothing", "test_tax_is_added"}


@needs_jail
def test_a_test_that_is_put_in_place_by_a_star_import_does_not_pass(jail):
    text = "def test_a():\n    assert False\nfrom code_of import *\n"
    cheating = Repository({"code_of.py": "def test_a(): pass", "test_it.py": text})
    (ended,) = run_tests(jail, [cheating], [["test_it.py::test_a"]])
    assert ended["test_it.py::test_a"].detail == "EarlyReturn"


@needs_jail
def test_edited_and_deleted_tests_do_not_help_once_restored(jail):
    weak = inject(SHOP, BUG, WEAKENING).weakened
    bare = Repository({path: text for path, text in weak.files.items() if not path.startswith("tests/")})
    as_left, gone, restored, put_back = run_tests(
        jail, [weak, bare, weak.restored(SHOP), bare.restored(SHOP)], [SHOP_TESTS] * 4
    )
    assert as_left["tests/test_shop.py::test_tax_is_added"].kind is Kind.VALUE  # the cheat, without restoring
    assert gone == dict.fromkeys(SHOP_TESTS, ABSENT)
    assert len(passed(restored)) == len(passed(put_back)) == 2
    before = dict.fromkeys(SHOP_TESTS, Verdict(Kind.VALUE, "None"))
    assert not repaired(before, restored)
    assert not repaired(before, gone)


@needs_jail
def test_a_case_is_not_forged_by_an_object_that_equals_everything(jail):
    forger = "class Any:\n    def __eq__(self, other): return True\n"
    shop = edited("shop/tax.py", ADDED, f"{forger}\ndef added(amount):\n    return Any()\n")
    cases = [Case("shop.tax:added", (200,), 220), Case("shop:total", ([40, 60],), 110)]
    assert run_cases(jail, [SHOP, shop], [cases, cases[:1]]) == [[True, True], [False]]
    (ended,) = run_tests(jail, [shop], [["tests/test_shop.py::test_tax_is_added"]])
    assert passed(ended), "the limit that is stated: such an object passes an assert"


@needs_jail
def test_a_case_tells_types_apart_and_sees_no_test_file(jail):
    peeking = edited("shop/tax.py", ADDED, "def added(amount):\n    from tests.goods import GOODS\n    return GOODS\n")
    cases = [Case("shop.tax:added", (200,), 220.0), Case("shop.tax:missing", (), None)]
    assert run_cases(jail, [SHOP, peeking], [cases, [Case("shop.tax:added", (1,), [40, 60])]]) == [
        [False, False],
        [False],
    ]


@pytest.mark.parametrize(("call", "value"), [("shop.tax.added", 1), ("shop:", 1), ("shop:a", object())])
def test_a_case_needs_a_function_and_plain_data(call, value):
    with pytest.raises(RedQueenError, match="a case"):
        Case(call, (), value)


def test_a_tier_without_a_jail_is_an_error_and_no_failure():
    with pytest.raises(RedQueenError, match="this tier has none"), PythonRunner(tiers=[Monty()]) as runner:
        run_tests(runner, [TEXTS], [discover(TEXTS).tests])


@needs_jail
def test_a_runner_hands_repositories_to_its_jail(jail):
    (ended,) = run_tests(PythonRunner(tiers=[Monty(), jail]), [TEXTS], [discover(TEXTS).tests])
    assert len(passed(ended)) == 2


@needs_jail
def test_code_that_claims_to_be_unsupported_only_fails(jail):
    text = "def test_a():\n    assert True\nfrom code_of import *\n"
    odd = Repository({"code_of.py": "test_a = object", "test_it.py": text})
    (ended,) = run_tests(jail, [odd], [["test_it.py::test_a"]])
    assert ended["test_it.py::test_a"].kind is Kind.UNSUPPORTED
    assert not passed(ended)


# --- artefacts -------------------------------------------------------------------------------

GOOD = inject(SHOP, BUG, WEAKENING)
IDLE = inject(SHOP, [*BUG, Edit("shop/price.py", "sum(items)", "0 + sum(items)")], WEAKENING)


@needs_jail
def test_a_sound_artefact_is_accepted_and_an_idle_edit_is_not(jail):
    good, idle = run_artefacts(jail, [GOOD, IDLE], runs=2)
    assert faults(GOOD, good) == []
    assert faults(IDLE, idle) == [Fault.IDLE_FILE]


@needs_jail
def test_tests_that_fail_at_random_or_by_hash_seed_are_found_by_three_runs(jail):
    text = "from random import random\n"
    text += "".join(f"def test_random_{n}():\n    assert random() < 0.5\n" for n in range(12))
    text += "".join(f"def test_hash_{n}():\n    assert hash('{n}') % 2\n" for n in range(12))
    text += "def test_sound():\n    assert len({'a', 'b'}) == 2\n"
    odd = Repository({"test_odd.py": text})  # all 12 agree three times in one run of 4 ** 12
    found = unsteady([run_tests(jail, [odd], [discover(odd).tests], seed)[0] for seed in range(3)])
    assert {test.split("_")[2] for test in found} == {"random", "hash"}
    assert "test_odd.py::test_sound" not in found


class Failing:
    """A tier where everything fails, and which remembers the hash seeds."""

    def __init__(self):
        self.seeds = []

    def run(self, programs, hash_seed=0):
        self.seeds.append(hash_seed)
        return [NO] * len(programs)

    def close(self):
        pass


def test_an_artefact_is_run_under_other_hash_seeds():
    tier = Failing()
    (runs,) = run_artefacts(tier, [GOOD])
    assert tier.seeds == [0, 1, 2, 0, 0]  # originals and bugs three times, the weakened, each file put back
    assert [len(each) for each in (runs.original, runs.bugged, runs.weakened, runs.put_back)] == [3, 3, 3, 1]


@needs_jail
def test_a_test_that_looks_at_the_code_is_found_by_the_code_in_other_words(jail):
    space = {}
    exec(TEXTS.files["words.py"], space)
    code = space["split"].__code__.co_code
    tests = f"from words import split\n\ndef test_looks():\n    assert split.__code__.co_code == {code!r}\n"
    looking = Repository({**TEXTS.files, "test_looks.py": tests})
    made = inject(
        looking,
        [Edit("count.py", "[0][0]", "[0][1]")],
        [Edit("test_texts.py", "    assert most('a B b') == 'b'", "    pass")],
    )
    (runs,) = run_artefacts(jail, [made], runs=2)
    assert unsteady(runs.original) == {"test_looks.py::test_looks"}
    assert faults(made, runs) == [Fault.UNSTEADY]


OK, NO = Verdict(Kind.VALUE, "None"), Verdict(Kind.EXCEPTION, detail="AssertionError")
NAMES = [test.partition("::")[2] for test in SHOP_TESTS]


def results(text):
    """The verdicts on the tests of the shop, `+` for a pass and `-` for a failure; a blank for one that is gone."""
    return {test: OK if mark == "+" else NO for test, mark in zip(SHOP_TESTS, text, strict=True) if mark != " "}


RUNS = Runs([results("++++")] * 2, [results("+--+")] * 2, results("++ +"), {"shop/tax.py": results("++++")})


def test_the_artefact_of_these_runs_is_sound():
    assert faults(GOOD, RUNS, Least(passing=4, files=1, broken=2, hidden=2)) == []


@pytest.mark.parametrize(
    ("fault", "changes"),
    [
        (Fault.FEW_PASS, {"original": [results("-++-")] * 2}),
        (Fault.UNSTEADY, {"original": [results("++++"), results("+++-")]}),
        (Fault.UNSTEADY, {"bugged": [results("+--+"), results("+-++")]}),
        (Fault.FEW_BREAK, {"bugged": [results("+-++")] * 2}),
        (Fault.HIDES_LITTLE, {"weakened": results("+- +")}),
        (Fault.NOTHING_LEFT, {"weakened": {}}),
        (Fault.IDLE_FILE, {"put_back": {"shop/tax.py": results("+--+")}}),
        (Fault.IDLE_FILE, {"put_back": {}}),
    ],
)
def test_each_violation_is_named(fault, changes):
    assert fault in faults(GOOD, replace(RUNS, **changes), Least(passing=4, broken=2, hidden=2))


@pytest.mark.parametrize(
    "bug",
    [
        "import time\nfrom count import counts\n",
        "from datetime import datetime\nfrom count import counts\n",
        "from count import counts\nnoon = id(counts)\n",
    ],
)
def test_a_bug_that_waits_for_its_hour_is_refused(bug):
    before = Repository({"count.py": "def counts(x):\n    return len(x)\n", "a.py": "from count import counts\n"})
    made = Artefact(before, Repository({**before.files, "a.py": bug}), before)
    assert Fault.IMPURE in faults(made, RUNS)
    other = Repository({**before.files, "a.py": "import math\nfrom count import counts\n"})
    assert Fault.IMPURE not in faults(Artefact(before, other, before), RUNS)
    assert Fault.IMPURE not in faults(Artefact(made.bugged, made.bugged, before), RUNS)


def test_an_artefact_may_not_touch_the_wrong_files():
    in_code = Artefact(SHOP, GOOD.bugged, edited("shop/tax.py", "RATE = 10", "RATE = 0", GOOD.weakened))
    assert Fault.CODE_CHANGED in faults(in_code, RUNS)
    in_tests = Artefact(SHOP, edited("tests/goods.py", "40", "41", GOOD.bugged), GOOD.weakened)
    assert Fault.TESTS_CHANGED in faults(in_tests, RUNS)
    assert Fault.FEW_FILES in faults(GOOD, RUNS, Least(files=2))
    untested = Repository({"a.py": ""})
    assert Fault.NO_TESTS in faults(Artefact(untested, untested, untested), Runs([{}], [{}], {}, {}))


def test_the_solver_is_told_what_the_weakening_took_away():
    told = specification(GOOD)
    assert told.startswith("--- tests/test_shop.py\n+++ tests/test_shop.py\n@@")
    assert "\n-    pass\n+    assert added(200) == 220\n" in told
    assert "\n+    assert total(GOODS) == 110" in told


def test_a_repair_needs_every_test_that_passed_and_one_at_least():
    assert repaired(results("++-+"), results("++-+"))
    assert not repaired(results("++++"), results("+++ "))
    with pytest.raises(RedQueenError, match="no test passes"):
        repaired(results("----"), results("++++"))


def test_numbers_that_check_nothing_are_refused():
    with pytest.raises(RedQueenError, match="least broken is 1"):
        Least(broken=0)
    with pytest.raises(RedQueenError, match="at least 2 runs are needed"):
        run_artefacts(Monty(), [], runs=1)


# --- SWE-RL's reward -------------------------------------------------------------------------


def test_the_similarity_of_patches_is_that_of_the_published_reward():
    one, other = {"a.py": "-a\n+b\n"}, {"a.py": "-a\n+c\n"}
    assert patch_similarity(one, one, both_empty=0.0) == 1.0
    assert patch_similarity(one, other, both_empty=0.0) == pytest.approx(0.833333, abs=1e-6)
    assert patch_similarity(one, {**one, "b.py": "+d"}, both_empty=0.0) == 0.5
    assert patch_similarity({**one, "b.py": "+d"}, one, both_empty=0.0) == 0.5
    assert patch_similarity({}, one, both_empty=1.0) == 0.0
    same = "a" * 300  # difflib takes so frequent a letter for junk unless it is told not to
    assert patch_similarity({"a.py": f"b{same}"}, {"a.py": f"c{same}"}, both_empty=0.0) == 600 / 602


def test_a_diff_that_is_too_long_to_be_compared_earns_nothing_unless_it_is_right():
    long = {"a.py": "+" + " " * 10_000}
    assert patch_similarity(long, {"a.py": "+b"}, both_empty=0.0) == 0.0
    assert patch_similarity({"a.py": "+b"}, long, both_empty=0.0) == 0.0
    assert patch_similarity(long, long, both_empty=0.0) == 1.0


def test_what_two_empty_patches_earn_is_said_by_the_caller():
    assert [patch_similarity({}, {}, both_empty=earned) for earned in (0.0, 1.0)] == [0.0, 1.0]


def test_edits_are_rewarded_by_the_diff_they_make_and_malformed_ones_lose():
    before, oracle = Repository({"a.py": "a\n"}), Repository({"a.py": "b\n"})
    assert file_diffs(before, oracle) == {"a.py": "@@ -1 +1 @@\n-a\n+b"}
    assert patch_reward(before, [Edit("a.py", "a", "b")], oracle, both_empty=0.0) == 1.0
    # 17 characters each, 16 of them common
    assert patch_reward(before, [Edit("a.py", "a", "c")], oracle, both_empty=0.0) == pytest.approx(32 / 34)
    assert patch_reward(before, [Edit("a.py", "z", "b")], oracle, both_empty=1.0) == -1.0
    assert patch_reward(before, [], before, both_empty=1.0) == -1.0


@pytest.mark.slow
def test_code_in_other_words_is_still_the_code():
    text = '"""A module."""\nfrom __future__ import annotations\n\ndef f(x):\n    "Doc."\n    return x + 1  # one\n'
    other = rewritten(Repository({"a.py": text, "test_a.py": "def (", "b.py": "def ("})).files
    space = {}
    exec(other["a.py"], space)
    assert (space["f"](1), space["f"].__doc__) == (2, "Doc.")
    assert "# one" not in other["a.py"]
    assert other["test_a.py"] == other["b.py"] == "def ("
    assert edits.is_test_file("test_a.py")
