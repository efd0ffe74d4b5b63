"""How natural an edit is: a slip that learners make, taken back, or a change that may help by luck.

A loop that begins earlier or ends later makes up for a wrong bound elsewhere, and a cast for one further
down. If such an edit repairs an answer, others are tried before it is reported, and an odd one is never said
to be the mistake.
"""

from __future__ import annotations

import ast
import enum
import functools
import re

from flashlearn.explaining.edits.avoidance import avoids
from flashlearn.explaining.edits.dtypes import CAST, DTYPE
from flashlearn.explaining.edits.edit import Edit, lines_of, name_of, names_in
from flashlearn.explaining.edits.name_families import similar
from flashlearn.explaining.edits.names import CONSTANT, OTHER_NAME, REDUNDANT_FACTOR
from flashlearn.explaining.edits.operators import (
    INDEX_NOT_SCALED,
    OPERATOR,
    REDUNDANT_OPERAND,
    TILES_TO_ELEMENTS,
)
from flashlearn.explaining.edits.rounding import ROUND_UP
from flashlearn.explaining.edits.slicing import assignments

RANGES = ("range", "static_range")
DEPTH = 3
"""How many assignments are followed back from a loop's bound."""

CLAMPS = ("minimum", "maximum", "min", "max", "cdiv")

ODD_IN_BOUNDS = ("operator", "operand order", "brackets", "sign", "redundant operand", "redundant clamp")
ODD_IN_BOUNDS += ("redundant statement", "branch", "constant", "argument order", "function")
ODD_IN_BOUNDS += ("missing factor", "redundant factor", "pitch")
"""Kinds whose edits of a loop's bounds may only make the loop longer."""

ODD_OPERATORS = ("+", "*")
"""Exchanged for each other by chance only."""

REMAINDER_OR_QUOTIENT = ("%", "/")
"""Exchanged for each other, they do not merely make a loop longer."""

COMMON_NUMBERS = ("0", "1", "2", "0.0", "1.0", "True", "False", 'float("-inf")')


COPIED = re.compile(r"\] = |\.copy_\(")
"""A tensor of a launcher is filled."""

SHIFTED = re.compile(r"[+-] ?\d+\)? ?//")
"""A number is added or subtracted before a division."""

GUARDS = re.compile(r"where\(|masked_fill")
"""A line that has a guard."""

LANES = re.compile(r"\barange\(0, ?(\w+)\)")
BLOCK = re.compile(r"\b(?:B|BLOCK|block)_\w+|\bB[A-Z]\b")

BOUNDED = re.compile(r"[+-] ?$")
"""Before a number that shifts a bound."""


class Naturalness(enum.IntEnum):
    """How far an edit is to be believed to take the mistake itself back."""

    NATURAL = 0
    UNUSUAL = 1
    ODD = 2


def naturalness(text: str, edit: Edit) -> Naturalness:
    """How natural an edit of a section's text is, from what it changes."""
    kind, bounds = edit.kind, edit.line in bound_lines(text)
    if avoids(text, edit):
        return Naturalness.ODD
    if bounds and _takes_a_shift_back(text, edit):
        return Naturalness.NATURAL
    if _makes_a_difference_vanish(text, edit) or _halves_a_rounding(text, edit):
        return Naturalness.ODD
    if kind is OTHER_NAME and _puts_it_twice(edit, text):
        return Naturalness.UNUSUAL  # two that are equally large stand in for each other
    if kind in (OTHER_NAME, INDEX_NOT_SCALED, TILES_TO_ELEMENTS) and _puts_another_block(text, edit):
        return Naturalness.UNUSUAL  # it may merely be as large as the block of this line
    if kind is OTHER_NAME and _is_a_factor_twice(text, edit):
        return Naturalness.UNUSUAL  # one of the two may be too many
    if kind.name == "missing guard" and GUARDS.search(_line(text, edit.line)):
        return Naturalness.UNUSUAL  # its guard may test for something else
    if kind is OTHER_NAME and _parts_a_length_from_its_block(text, edit):
        return Naturalness.ODD  # the launch may give the kernel the other size by mistake
    if kind.name == "argument order" and "where(" in _line(text, edit.line):
        return Naturalness.UNUSUAL  # its condition may be what is wrong
    if kind is OTHER_NAME and not similar(edit.old, edit.new):
        if bounds:
            return Naturalness.ODD
        return Naturalness.UNUSUAL if edit.old[:1].isupper() else Naturalness.NATURAL
    quotient = kind is OPERATOR and _operator(edit) == {*REMAINDER_OR_QUOTIENT}
    if bounds and kind.name in ODD_IN_BOUNDS and not quotient and not _drops_a_number(edit):
        return Naturalness.ODD
    if bounds and kind.name == "start value" and len(edit.old) > 1 and not edit.old.isupper():
        return Naturalness.ODD  # a loop from 0 on does all that any other start does
    if kind is OPERATOR and _operator(edit) == {*ODD_OPERATORS}:
        return Naturalness.ODD
    if kind is ROUND_UP and SHIFTED.search(edit.old):
        return Naturalness.ODD  # the number before the division may be what is wrong
    if kind.name == "redundant operand" and edit.new.isdecimal() and re.search("[a-zA-Z]", edit.old):
        return Naturalness.ODD  # a size of 1 is right by broadcasting, whatever it should be
    if kind is REDUNDANT_FACTOR and _is_used_once(text, edit.old):
        return Naturalness.UNUSUAL  # the line that makes the product is the one to change
    if kind.name == "assignment" and "+=" in edit.old and "-=" in edit.new:
        return Naturalness.UNUSUAL  # a sum may be used with the wrong sign
    if kind.name in ("missing factor", "missing divisor") and edit.line in _returning_lines(text):
        return Naturalness.UNUSUAL
    if kind.name == "missing factor" and _repeats_a_factor(edit):
        return Naturalness.UNUSUAL  # it may belong where the value is used, not where it is made
    if kind is CONSTANT and edit.new not in COMMON_NUMBERS and not edit.new.isidentifier():
        return Naturalness.UNUSUAL
    if kind.name in ("argument order", "exchanged names") and edit.line in _unpacking_lines(text):
        divides = "//" in edit.old and "%" in edit.old
        return Naturalness.NATURAL if divides else Naturalness.UNUSUAL
    if kind.name == "exchanged names" and edit.also:
        return Naturalness.UNUSUAL  # the line that gives both names their values may be what is wrong
    if kind.name == "wrong size" and "(" in edit.old:
        return Naturalness.ODD  # a length in the place of what a bound is computed from masks every tile
    if kind.name == "program axis" and "num_programs" in edit.old:
        return Naturalness.UNUSUAL
    if kind is DTYPE and edit.old.endswith(".dtype") and COPIED.search(text):
        return Naturalness.UNUSUAL  # a copy of an input in fp32 makes up for a conversion that is missing
    if (kind is CAST and edit.new.endswith("32)")) or (kind.name == "sign" and edit.new.startswith("-(")):
        return Naturalness.UNUSUAL
    return Naturalness.NATURAL


@functools.lru_cache(maxsize=16)
def bound_lines(text: str) -> frozenset[int]:
    """The lines, from 1, of a loop's bounds and of what computes them from other bounds."""
    tree = ast.parse(text)
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While)]
    bounds = [loop.iter if isinstance(loop, ast.For) else loop.test for loop in loops]
    bounds = [bound for bound in bounds if isinstance(bound, ast.Compare) or _is_call_of(bound, RANGES)]
    lines: set[int] = set().union(*map(lines_of, bounds))
    names: set[str] = set().union(*map(names_in, bounds))
    computed = [one for one in assignments(tree) if _is_integer(one[2])]
    for _ in range(DEPTH):
        for statement, targets, value in computed:
            if targets & names:
                lines |= lines_of(statement)
                names |= names_in(value)
    return frozenset(lines)


@functools.lru_cache(maxsize=16)
def _unpacking_lines(text: str) -> frozenset[int]:
    """The lines, from 1, that give two names a value each: these are seldom in each other's place."""
    pairs = (
        n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Tuple)
    )
    return frozenset(line for node in pairs for line in lines_of(node))


@functools.lru_cache(maxsize=16)
def _returning_lines(text: str) -> frozenset[int]:
    """The lines, from 1, that return nothing but names: what a name holds is computed elsewhere."""
    returns = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Return) and node.value]
    named = [n for n in returns if not any(isinstance(one, ast.Call | ast.BinOp) for one in ast.walk(n))]
    return frozenset(line for node in named for line in lines_of(node))


def _is_integer(value: ast.AST) -> bool:
    """True for what is computed as bounds are, with integers alone."""
    arithmetic = isinstance(value, ast.BinOp | ast.IfExp) or _is_call_of(value, CLAMPS)
    calls = (node for node in ast.walk(value) if isinstance(node, ast.Call))
    return arithmetic and all(name_of(call) in (*CLAMPS, "program_id", "to") for call in calls)


def _is_call_of(node: ast.AST, names: tuple[str, ...]) -> bool:
    return isinstance(node, ast.Call) and name_of(node) in names


def _is_used_once(text: str, name: str) -> bool:
    """Whether a name is read in a single place."""
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name) and n.id == name]
    return sum(isinstance(node.ctx, ast.Load) for node in nodes) == 1


def _is_a_factor_twice(text: str, edit: Edit) -> bool:
    """True for one of the two names in `b * stride * stride`."""
    name = re.escape(edit.old)
    return bool(re.search(rf"\b{name} ?\* ?{name}\b", _line(text, edit.line)))


def _puts_another_block(text: str, edit: Edit) -> bool:
    """True for BLOCK_N that is put into a line with `tl.arange(0, BLOCK_M)`."""
    lanes = {*LANES.findall(edit.applied(text).splitlines()[edit.line - 1])}
    put = {*BLOCK.findall(edit.new)} - {*BLOCK.findall(edit.old)}
    return bool(lanes) and bool(put) and not put & lanes


def _puts_it_twice(edit: Edit, text: str) -> bool:
    """True for `q + k + v` that becomes `q + k + k`."""
    sides = rf"\b{re.escape(edit.new)} ?[+] ?|[+] ?{re.escape(edit.new)}\b"
    after = edit.applied(text).splitlines()[edit.line - 1]
    return bool(re.search(sides, _line(text, edit.line))) and len(re.findall(rf"\b{edit.new}\b", after)) > 1


def _parts_a_length_from_its_block(text: str, edit: Edit) -> bool:
    """True for BLOCK_N in `cdiv(N, BLOCK_N)`: the block that is named after the length that it divides.

    >>> from flashlearn.explaining.edits.generation import edits_of
    >>> text = "def f(x, N, BLOCK_M, BLOCK_N):\\n    return cdiv(N, BLOCK_N)"
    >>> {e.old for e in edits_of(text) if _parts_a_length_from_its_block(text, e)}
    {'BLOCK_N'}
    """
    divided = re.search(rf"\b(\w+)(?:, ?| ?// ?){re.escape(edit.old)}\b", _line(text, edit.line))
    last = edit.old.rpartition("_")
    return bool(divided and last[1]) and divided[1].lower().rpartition("_")[2] == last[2].lower()


def _makes_a_difference_vanish(text: str, edit: Edit) -> bool:
    """True for `S_q - S_k` that becomes `S_q - S_q`: nobody writes it, and it drops a shift."""
    name, raw = re.escape(edit.new), text.encode()
    if edit.kind is not OTHER_NAME or not edit.new.isidentifier():
        return False
    before, after = raw[: edit.start].decode(), raw[edit.end :].decode()
    return bool(re.search(rf"\b{name} ?- ?$", before) or re.match(rf" ?- ?{name}\b(?! ?[*/%.\[])", after))


def _halves_a_rounding(text: str, edit: Edit) -> bool:
    """True for `(n + B - 1) // B` that becomes `(n - 1) // B`, which rounds neither up nor down."""
    if edit.kind is not REDUNDANT_OPERAND or not edit.old.startswith(f"{edit.new} + "):
        return False
    dropped = re.escape(edit.old.removeprefix(f"{edit.new} + "))
    after = text.encode()[edit.end :].decode()
    return bool(re.match(rf" ?- ?1\)* ?// ?{dropped}\b", after))


def _line(text: str, number: int) -> str:
    return text.splitlines()[number - 1]


def _repeats_a_factor(edit: Edit) -> bool:
    """True for `a * q` that becomes `(a * q) * a`."""
    before, after = re.findall(r"\w+", edit.old), re.findall(r"\w+", edit.new)
    added = [name for name in dict.fromkeys(after) if after.count(name) > before.count(name)]
    return bool(added) and all(name in before for name in added)


def _takes_a_shift_back(text: str, edit: Edit) -> bool:
    """True for `n - 1` that becomes `n`, and `n - 2` that becomes `n - 1`: one index too few, or too many."""
    if edit.kind is not CONSTANT or not (edit.old.isdigit() and edit.new.isdigit()):
        return False
    shifted = BOUNDED.search(text.encode()[: edit.start].decode())
    return bool(shifted) and int(edit.new) == int(edit.old) - 1


def _operator(edit: Edit) -> set[str]:
    """The operators that an edit exchanges."""
    return {*edit.old} ^ {*edit.new}


def _drops_a_number(edit: Edit) -> bool:
    """True if all that an edit takes away or changes is a number of one digit: an index more or fewer."""
    shorter = edit.old.replace(edit.new, "").strip(" +-()")
    return edit.new in edit.old and len(shorter) == 1 and shorter.isdigit()
