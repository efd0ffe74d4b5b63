"""The names that a cell binds, and those that it needs from other cells: parsed, never run.

>>> names_of("def row_sum(x):\\n    return helper(x)")
Names(bound={'row_sum'}, needed={'helper'}, functions={'row_sum'})
"""

from __future__ import annotations

import functools
import keyword
import re
import symtable
import warnings
from typing import NamedTuple

_WORD = re.compile(r"\b[^\W\d]\w*\b")
_FUNCTION = re.compile(r"^(?:async )?def (\w+)", re.MULTILINE)
_MAGIC = re.compile(r"^[ \t]*[%!?].*$", re.MULTILINE)


class Names(NamedTuple):
    """Names that a cell binds at its top level, names that it needs from others, and its functions' names."""

    bound: frozenset[str]
    needed: frozenset[str]
    functions: frozenset[str]


@functools.lru_cache(1024)
def names_of(text: str) -> Names:
    """The names of a cell; in one that is not Python, every word counts as needed."""
    functions = frozenset(_FUNCTION.findall(text))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            top = symtable.symtable(_MAGIC.sub("", text), "cell", "exec")
            needed = frozenset(_globals(top))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        words = frozenset(word for word in _WORD.findall(text) if not keyword.iskeyword(word))
        return Names(functions, words, functions)
    bound = frozenset(s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported())
    return Names(bound | functions, needed, functions)


def plain_functions(text: str) -> list[str]:
    """Functions at the top level of a cell without a decorator."""
    lines = text.split("\n")
    found = []
    for above, line in zip(["", *lines], lines, strict=False):
        match = _FUNCTION.match(line)
        if match and not above.startswith(("@", ")")):
            found.append(match[1])
    return found


def _globals(table: symtable.SymbolTable) -> set[str]:
    top = table.get_type() == "module"
    found = {s.get_name() for s in table.get_symbols() if s.is_referenced() and (top or s.is_global())}
    for child in table.get_children():
        found |= _globals(child)
    return found
