"""Which columns of a data set hold what: the usual names are recognised, others are named by the user.

| role                           | usual names of the column                                                           |
|--------------------------------|-------------------------------------------------------------------------------------|
| question                       | problem, question, prompt, query, instruction (with input), input, messages, text   |
| answer (what is expected)      | answer, final_answer, ground_truth, gold, target, label, answerKey, ...             |
| completion (a whole reply)     | solution, completion, response, output, rationale, code                             |
| chosen, rejected               | chosen, rejected                                                                    |
| margin (by how much better)    | margin                                                                              |
| chosen_score, rejected_score   | the same, score_chosen, score_rejected                                              |
| label (is the reply good)      | label, of true and false, where there are completions                               |
| system (said before it)        | system, system_prompt                                                               |
| choices                        | choices, options; or columns A, B, C, D                                             |
| tests (lines of assert)        | tests, test_list, unit_tests; test, where entry_point names the function            |
| setup (lines before a program) | test_setup_code, test_imports                                                       |
| context (a text to read)       | context, document, passage, article                                                 |
| split (train or test)          | split                                                                               |
| concepts                       | concepts                                                                            |
| category, level                | none: named by the user                                                             |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from redqueen.questions.data_rows import Row
from redqueen.types import RedQueenError

USUAL: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "question": (
            *("problem", "question", "prompt", "query", "instruction", "input"),
            *("messages", "conversations", "conversation", "text"),
        ),
        "answer": (
            *("answer", "final_answer", "expected_answer", "correct_answer", "ground_truth", "gold", "target", "label"),
            *("answers", "answerkey", "answer_key", "answer_index", "reward_model.ground_truth"),
            *("correct", "correct_option", "answer_idx", "gold_answer", "golden_answers", "reference_answer"),
        ),
        "completion": ("solution", "completion", "response", "output", "rationale", "canonical_solution", "code"),
        "chosen": ("chosen",),
        "rejected": ("rejected",),
        "margin": ("margin",),
        "chosen_score": ("chosen_score", "score_chosen"),
        "rejected_score": ("rejected_score", "score_rejected"),
        "label": ("label",),
        "system": ("system", "system_prompt"),
        "choices": ("choices", "options"),
        "tests": ("tests", "test_list", "unit_tests", "test"),
        "entry_point": ("entry_point",),
        "setup": ("test_setup_code", "test_imports"),
        "context": ("context", "document", "passage", "article"),
        "split": ("split",),
        "concepts": ("concepts",),
        "category": (),
        "level": (),
    }
)
LETTERED = ("A", "B", "C", "D")
TRAINING = ("train", "training")
TESTING = ("test", "testing", "eval", "evaluation", "validation", "valid", "val", "dev", "held_out")
_GOOD: Mapping[str, bool] = MappingProxyType(
    dict.fromkeys(("true", "1", "1.0", "yes", "good", "desirable"), True)
    | dict.fromkeys(("false", "0", "0.0", "no", "bad", "undesirable"), False)
)
MOST_SAID = 500  # characters of a list of columns in a message
_ANOTHER_FORMAT = 0.1  # share of the rows, from which a second format is not a few faulty rows


@dataclass(frozen=True)
class Layout:
    """The column of each role that a data set has."""

    roles: Mapping[str, str]
    unused: tuple[str, ...] = ()

    def read(self, row: Row) -> dict[str, Any]:
        """The entries of a row by role, without those that are missing."""
        found = {role: value_at(row.columns, name) for role, name in self.roles.items() if name}
        if self.roles.get("choices") == "":  # a column for each choice
            found["choices"] = [str(row.columns[name]) for name in LETTERED if name in row.columns]
        if "question" in found and self.roles["question"] == "instruction" and "input" not in self.unused:
            more = row.columns.get("input")
            if isinstance(more, str) and more.strip() and isinstance(found["question"], str):
                found["question"] = f"{found['question'].strip()}\n\n{more.strip()}"
        return {role: value for role, value in found.items() if value is not None}

    def named(self, role: str) -> str:
        """The column of a role as users call it; the role where there is none."""
        return self.roles.get(role) or role


def empty_throughout(rows: Sequence[Row]) -> list[str]:
    """The columns in which no row says anything."""
    names = dict.fromkeys(name for row in rows for name in (*row.columns, *row.empty))
    return [name for name in names if all(row.columns.get(name) in (None, "", []) for row in rows)]


def value_at(columns: Mapping[str, Any], name: str) -> Any:
    """The entry of a column; "reward_model.ground_truth" is within an object. None if there is none."""
    if name in columns:
        return columns[name]
    head, dot, rest = name.partition(".")
    inner = columns.get(head)
    return value_at(inner, rest) if dot and isinstance(inner, Mapping) else None


def _within(rows: Sequence[Row]) -> list[str]:
    """The entries of the objects in the first row that look like a question, as `value_at` finds them."""
    found = rows[0].columns.items() if rows else ()
    inner = {f"{name}.{each}": each for name, value in found if isinstance(value, Mapping) for each in value}
    return [place for place, each in inner.items() if str(each).lower() in USUAL["question"]]


def layout_of(rows: Sequence[Row], named: Mapping[str, str], path: str, ignore: Collection[str] = ()) -> Layout:
    """The layout of a data set: `named` roles by their columns, the others by the usual names. Raises RedQueenError for
    a column that is not there, where none looks like a question, and for rows of two formats."""
    counts = Counter(name for row in rows for name in row.columns if name not in ignore)
    known = {name.lower().replace(" ", "_").replace("-", "_"): name for name in reversed(counts)}
    for role, name in named.items():
        if name and not any(value_at(row.columns, name) is not None for row in rows):
            raise RedQueenError(f"{path} has no column {name!r} for {role}: it has {_listed([*counts])}")
    roles = {role: name for role, name in named.items() if name}
    taken = set(roles.values())
    for role, names in USUAL.items():
        if role in roles:
            continue
        fitting = [_usual(name, known, rows) for name in names]
        most = [name for name in fitting if name and name not in taken]
        if role in ("answer", "label"):
            most = [name for name in most if _is_flag(rows, name, known) == (role == "label")]
        if role == "split" and most and not _splits(rows, most[0]):
            most = []
        if role == "tests" and most and most[0].lower() == "test" and "entry_point" not in known:
            most = []  # it can be anything
        if most:
            roles[role] = _most_filled(most, counts) if role == "question" else most[0]
            taken.add(roles[role])
    if "choices" not in roles and all(name in counts and name not in taken for name in LETTERED):
        roles["choices"] = ""
        taken |= set(LETTERED)
    _settle(roles, rows, taken, counts)
    if "question" not in roles and not {"chosen", "rejected"} <= set(roles):
        has = _listed([*counts, *_within(rows)])
        raise RedQueenError(
            f"{path} has no column that looks like a question: its columns are {has}; name it: --columns question=COL"
        )
    if "question" in roles:
        _refuse_two_formats(rows, roles["question"], known, path)
    used = {name.partition(".")[0] for name in roles.values()} | (set(LETTERED) if "" in roles.values() else set())
    if roles.get("question") == "instruction" and "input" in counts and "input" not in used:
        used.add("input")
    return Layout(MappingProxyType(roles), tuple(sorted(set(counts) - used)))


def _listed(names: Sequence[str]) -> str:
    """The names of columns as a message shows them, cut where they are very many or long."""
    text = ", ".join(names) or "none"
    return text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]}... ({len(names)} columns)"


def _usual(name: str, known: Mapping[str, str], rows: Sequence[Row]) -> str:
    """The column of a usual name, in any case; "" if there is none."""
    head, dot, rest = name.partition(".")
    if dot:
        return f"{known[head]}.{rest}" if head in known and _inside(rows, known[head], rest) else ""
    return known.get(name, "")


def _inside(rows: Sequence[Row], name: str, rest: str) -> bool:
    return any(isinstance(row.columns.get(name), Mapping) and rest in row.columns[name] for row in rows[:100])


def _most_filled(names: Sequence[str], counts: Mapping[str, int]) -> str:
    """The first of the columns that half the rows have that the fullest has."""
    most = max(counts[name] for name in names)
    return next(name for name in names if 2 * counts[name] >= most)


def is_good(value: Any) -> bool | None:
    """Whether a label calls a reply a good one; None for what is no such label."""
    return _GOOD.get(str(value).strip().lower())


def _is_flag(rows: Sequence[Row], name: str, known: Collection[str]) -> bool:
    """Whether a column called `label` or `correct` says whether a reply is a good one, and is no answer: it is true or
    false, or, beside a reply and where there is no choice, one of the words for these (CSV has no others)."""
    if name.lower() not in ("label", "correct"):
        return False
    found = [row.columns[name] for row in rows[:100] if row.columns.get(name) not in (None, "")]
    worded = bool(found) and all(is_good(value) is not None for value in found)
    replied = not {*USUAL["completion"]}.isdisjoint(known) and {*USUAL["choices"]}.isdisjoint(known)
    return any(isinstance(value, bool) for value in found) or (worded and replied)


def _splits(rows: Sequence[Row], name: str) -> bool:
    values = {str(row.columns[name]).lower() for row in rows if name in row.columns}
    known = {*TRAINING, *TESTING}
    return bool(values & set(TRAINING)) and (values <= known or bool(values & set(TESTING)))


def _settle(roles: dict[str, str], rows: Sequence[Row], taken: set[str], counts: Mapping[str, int]) -> None:
    """What goes without a role: what belongs to tests where there are none; a completion beside preferences, and beside
    a conversation that ends with its reply; a label of no single reply; `choices` without an answer stay."""
    if "tests" not in roles:
        roles.pop("entry_point", None)
        roles.pop("setup", None)
    if {"chosen", "rejected"} <= set(roles):
        roles.pop("completion", None)
    question = roles.get("question", "")
    ended = _ends_with_reply(rows, question)
    if "completion" not in roles and not ended:
        roles.pop("label", None)
    if ended:
        roles.pop("completion", None)
        if {"chosen", "rejected"} <= set(roles):
            roles.pop("question")


def _ends_with_reply(rows: Sequence[Row], name: str) -> bool:
    """Whether a column holds conversations whose last message is the assistant's."""
    for row in rows[:100]:
        value = row.columns.get(name)
        if isinstance(value, list) and value and isinstance(value[-1], Mapping):
            return (value[-1].get("role") or value[-1].get("from")) in ("assistant", "gpt")
    return False


def _refuse_two_formats(rows: Sequence[Row], question: str, known: Mapping[str, str], path: str) -> None:
    others = [known[name] for name in USUAL["question"] if name in known and known[name] != question]
    lacking = [row for row in rows if value_at(row.columns, question) is None and not row.fault]
    second = Counter(name for row in lacking for name in others if name in row.columns).most_common(1)
    if second and second[0][1] >= max(2, _ANOTHER_FORMAT * len(rows)):
        name, count = second[0]
        first = next(row.place for row in lacking if name in row.columns)
        raise RedQueenError(
            f"{path} holds two formats: {len(rows) - len(lacking)} rows have {question!r} and {count} have {name!r} "
            f"in its place (the first: {first}): write all rows alike, or make two files of them"
        )
