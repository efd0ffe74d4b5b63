"""Edits of a formula, written with sympy or torch: a mistake in the algebra taken back.

A formula has few names and costs little to evaluate, so more is tried: any name in another's place, one
factor more or fewer, operands in the other order, a shifted exponent, an argument for a whole term.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

from flashlearn.explaining.edits.calls import TRANSPOSE
from flashlearn.explaining.edits.edit import Edit, SourceText, bracketed, edit_kind, name_of, names_in
from flashlearn.explaining.edits.formula_names import (
    LIBRARY,
    alike,
    arrays,
    limits,
    lists,
    of_integers,
    values,
)
from flashlearn.explaining.edits.formula_scopes import (
    index_names,
    local_names,
    matrices_in,
    matrix_names,
    short_names,
    sizes_of,
)
from flashlearn.explaining.edits.formula_terms import (
    divided_by_more,
    dividends,
    entries_of,
    factors_of,
    less,
    outer_factors,
    plus,
    products,
    terms,
    times,
    times_entries,
    times_in_product,
)
from flashlearn.explaining.edits.integer_formulas import OFF_BY_ONE, clamp_edits, integer_edits, loop_edits
from flashlearn.explaining.edits.name_families import NameFamilies, similar
from flashlearn.explaining.edits.names import OTHER_NAME
from flashlearn.explaining.edits.operators import (
    BRACKETS,
    MISSING_EXPONENTIAL,
    OPERAND_ORDER,
    OPERATOR,
    REDUNDANT_OPERAND,
    SIGN,
)
from flashlearn.explaining.edits.rounding import ROUND_DOWN, ROUND_UP
from flashlearn.explaining.edits.statements import ASSIGNMENT, EXCHANGED_NAMES

SUMS = ast.Add | ast.Sub
VALUED = ast.Assign | ast.AugAssign | ast.Return | ast.Expr
OTHER, SIMILAR = 5, 6
"""Variants of another name in a formula."""

OF_MATRICES = re.compile(r"\.(T|rows|cols|multiply_elementwise|hadamard_product|dot)\b|sp\.(ones|diag|eye)\b")
"""What a formula of sympy's matrices contains, if it contains any."""
OTHER_SIZES = {"rows": "cols", "cols": "rows"}

IN_PLACE = re.compile(r"(add|sub|mul|div|exp|neg|masked_fill|clamp)_")
IN_PLACE_CALL = re.compile(rf"\.{IN_PLACE.pattern}\(")

RECOMPUTED_ARGUMENT = edit_kind(
    "recomputed argument",
    sentence="Line {line} computes `{old}`; with the argument `{new}` in its place",
    question="What is the difference between the value that is passed and the one computed here?",
    by_chance_in_integers=True,
)
EXTRA_BLOCK = edit_kind(
    "extra block",
    sentence="Line {line} adds one even where nothing is left over: `{old}`; with `{new}`",
    question="How many blocks are there where the size is a multiple of the block?",
    by_chance_in_integers=True,
)
EINSUM = edit_kind(
    "indices of einsum", question="What does each letter count, and over which of them must the sum run?"
)
OTHER_OPERAND = edit_kind("other operand", question="Which two values does the formula multiply here?")
CHANGED_IN_PLACE = edit_kind(
    "changed in place",
    sentence="Line {line} changes tensors in place: `{old}`; with `{new}`",
    question="Which later line still needs the value that is changed in place here?",
    by_chance_in_integers=True,
)
SIZE_OF_MATRIX = edit_kind(
    "size of a matrix", question="Which of the matrix's two sizes counts what is meant here?"
)
MISSING_SHIFT = edit_kind("missing shift", question="Relative to which number is this exponent measured?")


def is_formula(function: ast.FunctionDef) -> bool:
    """True for a function that launches no kernel and has no decorator."""
    launches = any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript) for node in ast.walk(function)
    )
    return not launches and not function.decorator_list


def name_in_formula(edit: Edit) -> Edit:
    """The same edit; in a formula one of two similar names is the likeliest to be meant for the other."""
    if edit.kind is not OTHER_NAME:
        return edit
    return replace(edit, variant=SIMILAR if similar(edit.old, edit.new) else OTHER)


def formula_edits(text: SourceText, function: ast.FunctionDef, known: NameFamilies) -> Iterator[Edit]:
    """Every edit of a formula beyond those of any function."""
    indexed, several = arrays(function), lists(function)
    every = dict.fromkeys([*known.parameters, *known.values, *known.scalars, *known.pointers])
    names = [name for name in every if name not in several]
    numbers = [name for name in names if name not in indexed]
    written, bounds = names_in(function), limits(function)
    letters = sorted(name for name in written | {*known.parameters} if len(name) == 1)
    scopes, short, indices = local_names(function), short_names(function), index_names(function)
    vectors = [name for name in numbers if name in matrices_in(function)]
    sizes, in_torch = [*numbers, *sizes_of(text, function)], b"torch." in text.raw
    for statement in ast.walk(function):
        if isinstance(statement, VALUED) and statement.value is not None:
            yield from _recomputed(text, statement, known)
            for node in ast.walk(statement.value):
                more = [name for name in scopes[node] if name not in several]
                meant = alike(node, list(dict.fromkeys([*names, *more])), indexed, written)
                yield from _within(text, node, meant, letters, short)
                yield from integer_edits(text, node, numbers)
            yield from _exponentials(text, statement.value)
            yield from _exchanged(text, statement.value)
            parameters = {*known.parameters} & {*numbers} if not in_torch else set()
            yield from _exchanged_names(text, statement.value, parameters, bounds)
            for value in values(statement.value) if of_integers(text) else ():
                yield from clamp_edits(text, value, known.parameters)
            for dividend in dividends(statement.value, known.parameters):
                yield from less(text, dividend, numbers)
            if not in_torch:
                yield from divided_by_more(text, statement.value, sorted(parameters))
            outer = outer_factors(statement.value)
            for term in terms(statement.value):
                if term in bounds:
                    continue
                local = [name for name in scopes[term] if name not in several]
                factors = factors_of(text, statement, list(dict.fromkeys([*sizes, *local])))
                yield from times(text, term, factors, vectors, outer.get(term, frozenset()))
                yield from plus(text, term, factors)
                inside = [name for name in scopes[term] if name in indices]
                yield from times_entries(text, term, entries_of(matrix_names(function), inside))
            for operand in products(statement.value):
                others = dict.fromkeys([*numbers, *(n for n in scopes[operand] if n not in several)])
                yield from times_in_product(text, operand, list(others))
        if isinstance(statement, ast.For):
            whole = (edit for node in ast.walk(statement.iter) for edit in integer_edits(text, node, []))
            yield from (edit for edit in whole if edit.kind in (ROUND_UP, ROUND_DOWN))
        if isinstance(statement, ast.For | ast.While) and not in_torch:
            yield from loop_edits(text, statement, numbers)
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
            target, value = text.of(statement.targets[0]), text.of(statement.value)
            if value not in ("0", "0.0"):  # adding it would only leave the line out
                yield text.edit(ASSIGNMENT, statement, f"{target} += {value}", 1)


def _exchanged(text: SourceText, value: ast.expr) -> Iterator[Edit]:
    """Factors of two summands in each other's place: `a * x + b * y` for `a * y + b * x`."""
    for node in ast.walk(value):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, SUMS)):
            continue
        sides = (node.left, node.right)
        if not all(isinstance(s, ast.BinOp) and isinstance(s.op, ast.Mult) for s in sides):
            continue
        between = text.raw[text.span(node.left)[1] : text.span(node.right)[0]].decode()
        first = text.of(node.left.right)
        yield text.edit(
            EXCHANGED_NAMES, node,
            f"{text.of(node.left.left)} * {bracketed(node.right.right, text.of(node.right.right))}"
            f"{between}{text.of(node.right.left)} * {bracketed(node.left.right, first)}",
        )  # fmt: skip


def _exchanged_names(
    text: SourceText, value: ast.expr, parameters: set[str], bounds: set[ast.AST]
) -> Iterator[Edit]:
    """Two parameters that occur once each in each other's place."""
    loads = [n for n in ast.walk(value) if isinstance(n, ast.Name) and n.id in parameters]
    once = [n for n in loads if sum(n.id == other.id for other in loads) == 1 and n not in bounds]
    start, end = text.span(value)
    for pair in itertools.combinations(once, 2):
        first, second = sorted(pair, key=text.span)
        (a, b), (c, d) = text.span(first), text.span(second)
        parts = (text.raw[start:a], second.id.encode(), text.raw[b:c], first.id.encode(), text.raw[d:end])
        yield text.edit(EXCHANGED_NAMES, value, b"".join(parts).decode(), 1)


def _exponentials(text: SourceText, value: ast.expr) -> Iterator[Edit]:
    """The exponential of a difference or of a factor."""
    written = text.raw.decode()
    library = next((name for name in ("sp", "sympy", "torch") if f"{name}.exp(" in written), "")
    inside = {
        id(a)
        for n in ast.walk(value)
        if isinstance(n, ast.Call) and name_of(n) in ("exp", "log")
        for a in ast.walk(n)
        if a is not n
    }
    for node in ast.walk(value) if library else ():
        difference = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)
        factors = (
            (node.left, node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else ()
        )
        for part in (node,) if difference else factors:
            if id(part) not in inside and isinstance(part, ast.BinOp | ast.Name):
                yield text.edit(MISSING_EXPONENTIAL, part, f"{library}.exp({text.of(part)})")
    if library and id(value) not in inside and isinstance(value, ast.Name):
        yield text.edit(MISSING_EXPONENTIAL, value, f"{library}.exp({text.of(value)})")


def _recomputed(text: SourceText, statement: ast.stmt, known: NameFamilies) -> Iterator[Edit]:
    """An argument in place of an expression that computes it."""
    value = statement.value
    if isinstance(statement, ast.Assign) and isinstance(value, ast.Call | ast.BinOp):
        for name in known.parameters:
            yield text.edit(RECOMPUTED_ARGUMENT, value, name)


def _within(
    text: SourceText, node: ast.AST, names: list[str], letters: list[str], short: set[str]
) -> Iterator[Edit]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in {*names, *short}:
        for name in names:
            if name != node.id:
                yield name_in_formula(text.edit(OTHER_NAME, node, name))
    elif isinstance(node, ast.BinOp):
        left, right = text.of(node.left), text.of(node.right)
        if isinstance(node.op, ast.Mult):
            yield text.edit(
                OPERAND_ORDER, node, f"{bracketed(node.right, right)} * {bracketed(node.left, left)}", 1
            )
        if right == "1" and isinstance(node.op, ast.Add) and _is_floor(node.left):
            size, block = text.of(node.left.left), text.of(node.left.right)
            yield text.edit(EXTRA_BLOCK, node, f"-(-{size} // {block})")
        yield from _first_factor(text, node)
        yield from _transposed_product(text, node)
        if isinstance(node.op, ast.Mult | ast.MatMult):
            yield from _other_operand(text, node, names)
            yield from _transposed_operand(text, node)
        if isinstance(node.op, SUMS) and not LIBRARY.search(text.raw.decode()):
            for shift in ("- 1", "+ 1"):
                yield text.edit(OFF_BY_ONE, node, f"({text.of(node)} {shift})")
    elif isinstance(node, ast.Compare):
        yield from _other_pair(text, node, letters)
    elif isinstance(node, ast.Subscript):
        first = node.slice.left if isinstance(node.slice, ast.BinOp) else node.slice
        if isinstance(first, ast.Constant) and type(first.value) is int and first.value > 0:
            yield text.edit(SIGN, first, f"-{first.value}")  # counted from the end
    elif isinstance(node, ast.Attribute) and node.attr in OTHER_SIZES:
        yield text.edit(SIZE_OF_MATRIX, node, f"{text.of(node.value)}.{OTHER_SIZES[node.attr]}")
    elif isinstance(node, ast.Call):
        yield from _called(text, node, names)
        yield from _reshaped(text, node)
        yield from _in_place(text, node)
        yield from _summed(text, node)


def _other_pair(text: SourceText, node: ast.Compare, letters: list[str]) -> Iterator[Edit]:
    """Another pair of indices compared: `i == a` for `j == b`."""
    sides = [node.left, *node.comparators]
    if len(sides) == 2 and isinstance(node.ops[0], ast.Eq) and all(isinstance(s, ast.Name) for s in sides):
        for pair in itertools.combinations(letters, 2):
            yield text.edit(OTHER_NAME, node, " == ".join(pair), 5)


def _reshaped(text: SourceText, node: ast.Call) -> Iterator[Edit]:
    """`x.mT.reshape(n, -1)`: reshaped first, and then transposed."""
    method = node.func
    if not (isinstance(method, ast.Attribute) and method.attr in ("reshape", "view", "flatten")):
        return
    inner = method.value
    if len(node.args) == 2 and isinstance(inner, ast.Attribute) and inner.attr in ("T", "mT"):
        first, second = map(text.of, node.args)
        yield text.edit(TRANSPOSE, node, f"{text.of(inner.value)}.reshape({second}, {first}).T")


def _transposed_product(text: SourceText, node: ast.BinOp) -> Iterator[Edit]:
    """`b * a.T` for `a * b.T`: the product transposed as a whole."""
    if not isinstance(node.op, ast.Mult | ast.MatMult):
        return
    transposed = []
    for side in (node.right, node.left):
        own = text.of(side)
        if isinstance(side, ast.Attribute) and side.attr in ("T", "mT"):
            transposed.append(own.removesuffix(f".{side.attr}"))
        elif isinstance(side, ast.Name):
            transposed.append(f"{own}.T")
    if len(transposed) == 2 and (".T" in text.of(node) or ".mT" in text.of(node)):
        operator = "@" if isinstance(node.op, ast.MatMult) else "*"
        yield text.edit(TRANSPOSE, node, f"{transposed[0]} {operator} {transposed[1]}")


def _transposed_operand(text: SourceText, node: ast.BinOp) -> Iterator[Edit]:
    """`a.T * b` and `a * b.T` for `a * b`, where the operands are matrices."""
    written = text.raw.decode()
    if isinstance(node.op, ast.Mult) and not OF_MATRICES.search(written):
        return
    for side in (node.left, node.right):
        if isinstance(side, ast.Name | ast.Call):
            yield text.edit(
                TRANSPOSE, side, f"{text.of(side)}.{'T' if isinstance(node.op, ast.Mult) else 'mT'}"
            )


def _is_floor(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv)


def _other_operand(text: SourceText, node: ast.BinOp, names: list[str]) -> Iterator[Edit]:
    """Another value, as it is or transposed, for a factor that is computed in place."""
    for side in (node.left, node.right):
        if isinstance(side, ast.Call | ast.Attribute):
            for name in names:
                for new in (name, f"{name}.T"):
                    if new != text.of(side):
                        yield text.edit(OTHER_OPERAND, side, new)


def _summed(text: SourceText, node: ast.Call) -> Iterator[Edit]:
    """Another order of the indices in an einsum: of an operand, or of the result."""
    first = node.args[0] if name_of(node) == "einsum" and node.args else None
    if not (isinstance(first, ast.Constant) and isinstance(first.value, str) and "->" in first.value):
        return
    operands, _, result = first.value.partition("->")
    parts = [*operands.split(","), result]
    for at, part in enumerate(parts):
        for i, j in itertools.combinations(range(len(part)), 2):
            other = list(part)
            other[i], other[j] = other[j], other[i]
            anew = [*parts[:at], "".join(other), *parts[at + 1 :]]
            if "." not in part:
                yield text.edit(EINSUM, first, f'"{",".join(anew[:-1])}->{anew[-1]}"')


def _in_place(text: SourceText, node: ast.Call) -> Iterator[Edit]:
    """`p.mul(x)` for `p.mul_(x)`, and of all such calls within the expression."""
    if isinstance(node.func, ast.Attribute) and IN_PLACE.fullmatch(node.func.attr):
        yield text.edit(CHANGED_IN_PLACE, node, IN_PLACE_CALL.sub(r".\1(", text.of(node)))


def _first_factor(text: SourceText, node: ast.BinOp) -> Iterator[Edit]:
    """`a * b + c + d` with the factor a applied to the whole sum; of `a * b * c + d` also a * b."""
    first, sums = node, 0
    while isinstance(first, ast.BinOp) and isinstance(first.op, SUMS):
        first, sums = first.left, sums + 1
    factors: list[ast.expr] = []
    factor = first
    while isinstance(factor, ast.BinOp) and isinstance(factor.op, ast.Mult):
        factor = factor.left
        factors.append(factor)
    for factor in reversed(factors) if sums else ():
        end = text.span(node)[1]
        start = text.span(factor)[1]
        rest = text.raw[start:end].decode().lstrip()
        yield text.edit(BRACKETS, node, f"{text.of(factor)} * ({rest.removeprefix('*').lstrip()})")


def _called(text: SourceText, node: ast.Call, names: list[str]) -> Iterator[Edit]:
    """Entries divided instead of multiplied, a shifted exponent, a reshape in the other order."""
    name = name_of(node)
    if name in ("multiply_elementwise", "hadamard") and len(node.args) == 1:
        inverse = f"{text.of(node.args[0])}.applyfunc(lambda entry: 1 / entry)"
        yield text.edit(OPERATOR, node.args[0], inverse)
        yield text.edit(REDUNDANT_OPERAND, node, text.of(node.func.value))
    if name == "exp" and len(node.args) == 1:
        for other in names:
            yield text.edit(MISSING_SHIFT, node.args[0], f"{text.of(node.args[0])} - {other}")
    if name in ("reshape", "view") and len(node.args) == 2:
        a, b = map(text.of, node.args)
        transposed = "T" if b"sp." in text.raw else "mT"
        yield text.edit(TRANSPOSE, node, f"{text.of(node.func)}({b}, {a}).{transposed}")
