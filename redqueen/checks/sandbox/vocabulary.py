"""The words of Python on which Monty and CPython agree: kinds of syntax, names, modules and methods."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


EXCEPTIONS = _words(  # Monty raises these where CPython does; others may be for something that it lacks
    """ArithmeticError AssertionError IndexError KeyError LookupError NameError OverflowError StopIteration
    UnboundLocalError ValueError ZeroDivisionError"""
)
LAZY = _words("enumerate filter map reversed zip")
SETS = _words("frozenset set")
CONSUMERS = _words("all any dict list max min sorted sum tuple") | SETS
PLAIN = _words(
    """Exception abs bin bool bytes chr divmod float format hex int isinstance iter len next oct ord pow print range
    repr round str type"""
)
NUMBERS_AND_TEXT = _words("abs bin bool chr float hex int len oct ord repr round str")  # what these give
BUILTINS = LAZY | CONSUMERS | PLAIN | EXCEPTIONS

MODULES = {
    "bisect": _words("bisect bisect_left bisect_right insort insort_left insort_right"),
    "collections": _words("Counter defaultdict deque"),
    "copy": _words("copy deepcopy"),
    "functools": _words("cache cmp_to_key lru_cache partial reduce"),
    "itertools": _words(
        """accumulate chain combinations combinations_with_replacement compress count cycle dropwhile groupby islice
        pairwise permutations product repeat starmap takewhile zip_longest"""
    ),
    "math": _words(  # not cbrt, erf and gamma, whose last digit differs
        """acos asin asinh atan atan2 ceil comb copysign cos cosh degrees dist e exp expm1 fabs factorial floor fmod
        frexp fsum gcd hypot inf isclose isfinite isinf isnan isqrt lcm log log10 log1p log2 modf perm pi pow prod
        radians sin sinh sqrt tan tanh tau trunc"""
    ),
    "typing": _words("Any Callable Dict FrozenSet Iterable Iterator List Optional Sequence Set Tuple Union"),
}

ADDRESSED = (  # their texts, or those of what they make, hold addresses
    MODULES["itertools"] | _words("cache cmp_to_key copy deepcopy iter lru_cache partial")
) - {"count", "repeat"}
TAKERS = CONSUMERS | LAZY | ADDRESSED | _words("Counter deque join next")

OUT_MODULES = _words("glob io os pathlib shutil tempfile")  # what Monty knows and refuses
OUT_NAMES = _words("input open")
REFUSALS = _words("OSError PermissionError RuntimeError")  # how Monty refuses, unless the program says it itself
CODECS = _words("ascii utf-8 utf8")

VIEWS = _words("items keys values")
SET_CHANGES = _words("add clear discard isdisjoint issubset issuperset remove")  # and questions: none shows an order
SET_MAKERS = _words("copy difference intersection symmetric_difference union")
CHANGES = _words(  # methods that change what they are called on
    """add append appendleft clear discard extend extendleft insert pop popitem popleft remove reverse rotate setdefault
    sort subtract update"""
)
READS = _words(
    """bit_length capitalize casefold center count decode elements encode endswith find format fromkeys get index
    isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isspace istitle isupper join ljust lower
    lstrip most_common partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split
    splitlines startswith strip swapcase title upper zfill"""
)
METHODS = CHANGES | READS | SET_CHANGES | SET_MAKERS | VIEWS

NODES = _words(
    """Add And AnnAssign Assert Assign Attribute AugAssign BinOp BitAnd BitOr BitXor BoolOp Break Call Compare Constant
    Continue Dict DictComp Div Eq ExceptHandler Expr FloorDiv For FormattedValue FunctionDef GeneratorExp Global Gt GtE
    If IfExp Import ImportFrom In Invert Is IsNot JoinedStr LShift Lambda List ListComp Load Lt LtE Mod Module Mult Name
    NamedExpr Nonlocal Not NotEq NotIn Or Pass Pow RShift Raise Return Set SetComp Slice Starred Store Sub Subscript Try
    Tuple UAdd USub UnaryOp While alias arg arguments comprehension keyword"""
)
