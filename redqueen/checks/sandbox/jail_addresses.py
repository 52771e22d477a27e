"""Whether a program made a text that holds an address, such as `<A object at 0x7f3a5c0d>`.

Addresses differ from process to process, and a program may cut such a text up until no value shows what it was. So it
is the making that is watched: the methods `__repr__` by which the interpreter writes addresses, in which `str`,
`print` and f-strings end as well, are exchanged for ones that call them and remember. The texts stay as they are.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import types
import weakref
from collections.abc import Callable
from typing import Any

WORD = ctypes.sizeof(ctypes.c_void_p)
TP_REPR = object.__basicsize__ + 9 * WORD  # bytes: after a type's two sizes, its name, another size and five functions
WRITERS = (  # with a way of their own to write an address; most others have it from `object`
    object,
    memoryview,
    types.AsyncGeneratorType,
    types.BuiltinMethodType,
    types.CellType,
    types.CodeType,
    types.CoroutineType,
    types.FrameType,
    types.FunctionType,
    types.GeneratorType,
    types.MethodWrapperType,
    type(hashlib.sha256()),
    weakref.ReferenceType,
)

_made: set[bool] = set()


def watch() -> None:
    """Watches all types that are loaded, and those made later. Raises OSError where this interpreter is built in
    another way."""
    known = {_writer(each).value for each in WRITERS}
    watched = [each for each in _subtypes(object) if _writer(each).value in known]
    by_method = _writer(_Spoken).value  # looks `__repr__` up, as for every class with one written in Python
    for each in watched:
        if "__repr__" in vars(each):
            (attributes,) = [part for part in gc.get_referents(vars(each)) if type(part) is dict]
            attributes["__repr__"] = _remembering(attributes["__repr__"])
    for each in watched:
        _writer(each).value = by_method
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(each))
    for sample in (object(), watch, [].append):
        forget()
        if "0x" not in repr(sample) or not was_made():
            raise OSError("texts with addresses cannot be watched")


def forget() -> None:
    """Clears the mark, before a program runs: texts made until now are not the program's."""
    _made.clear()


def was_made() -> bool:
    """Whether a text with an address was made."""
    return bool(_made)


class _Spoken:
    def __repr__(self) -> str:
        return ""


def _writer(kind: type) -> ctypes.c_void_p:
    """The function of a type that writes its objects; it can be set."""
    return ctypes.c_void_p.from_address(id(kind) + TP_REPR)


def _subtypes(kind: type) -> set[type]:
    found = {kind}
    left = [kind]
    while left:
        new: set[type] = set(type.__subclasses__(left.pop())) - found
        found |= new
        left += new
    return found


def _remembering(genuine: Callable[[Any], str]) -> Callable[[Any], str]:
    def __repr__(self: Any) -> str:
        text = genuine(self)
        if "0x" in text:
            _made.add(True)
        return text

    return __repr__
