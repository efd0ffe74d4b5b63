"""Edits of a formula's terms: one factor more, one divisor more, one summand more or fewer."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from flashlearn.explaining.edits.calls import ALLOCATIONS
from flashlearn.explaining.edits.edit import Edit, SourceText, bracketed, edit_kind, name_of
from flashlearn.explaining.edits.statements import MISSING_FACTOR

SUMS = ast.Add | ast.Sub
DIVISIONS = ast.Div | ast.FloorDiv | ast.Mod
SYMPY = re.compile(r"\b(sp|sympy)\.")
MOST_INDICES = 4
"""In a term with more indices around it, entries of matrices are not tried as factors."""

MISSING_TERM = edit_kind(
    "missing term",
    question="Write the formula beside the line, and compare them term by term.",
    by_chance=True,
)
MISSING_DIVISOR = edit_kind(
    "missing divisor",
    question="By what does the formula divide, and where is that done here?",
    by_chance_in_integers=True,
)


def terms(value: ast.expr) -> Iterator[ast.expr]:
    """The value, each summand and branch in it, and each element of a tuple."""
    if isinstance(value, ast.Tuple | ast.List):
        for part in value.elts:
            yield from terms(part)
        return
    yield value
    for node in ast.walk(value):
        if isinstance(node, ast.BinOp) and isinstance(node.op, SUMS):
            yield from (node.left, node.right)
        elif isinstance(node, ast.IfExp):
            yield from (node.body, node.orelse)
        elif isinstance(node, ast.ListComp | ast.GeneratorExp):
            yield node.elt
        elif isinstance(node, ast.Lambda):
            yield node.body
        elif isinstance(node, ast.Call):
            yield from _of_call(node)


def _of_call(node: ast.Call) -> Iterator[ast.expr]:
    """What a reshape is applied to, and each size that a call is given."""
    if name_of(node) == "reshape" and isinstance(node.func, ast.Attribute):
        yield node.func.value
    for argument in node.args:
        if isinstance(argument, ast.Attribute) and argument.attr in ("rows", "cols"):
            yield argument


def dividends(value: ast.expr, parameters: Sequence[str]) -> Iterator[ast.Name]:
    """The names of computed values that are divided as they are: something may be to be taken off first."""
    for node in ast.walk(value):
        dividend = node.left if isinstance(node, ast.BinOp) and isinstance(node.op, DIVISIONS) else None
        if isinstance(dividend, ast.Name) and dividend.id not in parameters:
            yield dividend


def outer_factors(value: ast.expr) -> dict[ast.AST, frozenset[str]]:
    """For each expression the factors by which it is multiplied further out, as they are written."""
    found: dict[ast.AST, frozenset[str]] = {}
    _outer_factors(value, frozenset(), found)
    return found


def _outer_factors(node: ast.AST, outer: frozenset[str], found: dict[ast.AST, frozenset[str]]) -> None:
    found[node] = outer
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        _outer_factors(node.left, outer | {*_factors(node.right)}, found)
        _outer_factors(node.right, outer | {*_factors(node.left)}, found)
        return
    kept = isinstance(node, ast.BinOp) and isinstance(node.op, SUMS)
    for child in ast.iter_child_nodes(node):
        _outer_factors(child, outer if kept else frozenset(), found)


def _factors(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from _factors(node.left)
        yield from _factors(node.right)
    else:
        yield ast.unparse(node)


def products(value: ast.expr) -> Iterator[ast.expr]:
    """The operands of matrix products that are written with @."""
    for node in ast.walk(value):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield from (one for one in (node.left, node.right) if not isinstance(one, ast.Attribute))


def entries_of(matrices: Iterable[str], indices: Sequence[str]) -> list[str]:
    """The entries of matrices at all pairs of the indices around a term."""
    if not 2 <= len(indices) <= MOST_INDICES:
        return []
    return [f"{a}[{i}, {j}]" for a in matrices for i, j in itertools.permutations(indices, 2)]


def factors_of(text: SourceText, statement: ast.stmt, names: list[str]) -> list[str]:
    """Possible factors of a term: names, and entries that occur in the statement."""
    entries = [n for n in ast.walk(statement) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load)]
    indices = [a.arg for n in ast.walk(statement) if isinstance(n, ast.Lambda) for a in n.args.args]
    each = [n for n in ast.walk(statement) if isinstance(n, ast.comprehension)]
    indices += [n.target.id for n in each if isinstance(n.target, ast.Name)]
    others = [f"{text.of(n.value)}[{i}]" for n in entries if isinstance(n.slice, ast.Name) for i in indices]
    looped = [n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    stored = {text.of(target) for target in getattr(statement, "targets", ())}
    return [f for f in dict.fromkeys([*map(text.of, entries), *others, *looped, *names]) if f not in stored]


def plus(text: SourceText, term: ast.expr, summands: list[str]) -> Iterator[Edit]:
    """The term plus or minus another one."""
    if isinstance(term, ast.Constant | ast.Lambda | ast.Dict | ast.Call):
        return
    written = text.of(term)
    for name in summands:
        if name not in written:
            yield text.edit(MISSING_TERM, term, f"({name} - {bracketed(term, written)})")
            yield text.edit(MISSING_TERM, term, f"({written} + {name})", 1)
            yield text.edit(MISSING_TERM, term, f"({written} - {name})", 1)


def divided_by_more(text: SourceText, value: ast.expr, factors: Iterable[str]) -> Iterator[Edit]:
    """Another factor of a divisor: `pid // (group * blocks)`, `divmod(pid, group * blocks)`."""
    for node in ast.walk(value):
        whole = isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod)
        pair = isinstance(node, ast.Call) and name_of(node) == "divmod" and len(node.args) == 2
        divisor = node.right if whole else node.args[1] if pair else None
        if isinstance(divisor, ast.Name):
            for factor in factors:
                if factor != divisor.id:
                    product = f"{divisor.id} * {factor}"
                    yield text.edit(MISSING_FACTOR, divisor, product if pair else f"({product})", 2)


def less(text: SourceText, term: ast.Name, names: list[str]) -> Iterator[Edit]:
    """The term minus another one."""
    for name in names:
        if name != term.id:
            yield text.edit(MISSING_TERM, term, f"({term.id} - {name})", 1)


def times(
    text: SourceText,
    term: ast.expr,
    factors: list[str],
    vectors: Sequence[str],
    outer: frozenset[str] = frozenset(),
) -> Iterator[Edit]:
    """The term times another factor, or divided by one; columns also entry by entry, or on a diagonal.

    It is not divided by one of the `outer` factors, which multiply it further out.

    New memory, `torch.zeros(…)`, has no factors: one would only give it another dtype or shape.
    """
    if isinstance(term, ast.Constant | ast.Lambda | ast.Dict | ast.List) or _allocates(term):
        return
    written, symbolic = bracketed(term, text.of(term)), SYMPY.search(text.raw.decode())
    for factor in factors:
        yield text.edit(MISSING_FACTOR, term, f"{written} * {factor}", 2)
        if factor not in outer:
            yield text.edit(MISSING_DIVISOR, term, f"{written} / {factor}")
        if symbolic and factor in vectors:
            yield text.edit(MISSING_FACTOR, term, f"{factor} * {written}", 3)
            yield text.edit(MISSING_FACTOR, term, f"{written} * {factor}.T", 3)
            yield text.edit(MISSING_FACTOR, term, f"{written}.multiply_elementwise({factor})", 3)
            for product in (f"sp.diag(*{factor}) * {written}", f"{written} * sp.diag(*{factor})"):
                yield text.edit(MISSING_FACTOR, term, product, 3)


def times_entries(text: SourceText, term: ast.expr, entries: Sequence[str]) -> Iterator[Edit]:
    """The term times an entry of a matrix."""
    if not isinstance(term, ast.Constant | ast.Lambda | ast.Dict | ast.List):
        for entry in entries:
            yield text.edit(MISSING_FACTOR, term, f"{bracketed(term, text.of(term))} * {entry}", 3)


def times_in_product(text: SourceText, operand: ast.expr, factors: Sequence[str]) -> Iterator[Edit]:
    """An operand of a matrix product times another factor, entry by entry."""
    for factor in factors:
        if factor != text.of(operand):
            put = f"({bracketed(operand, text.of(operand))} * {factor})"
            yield text.edit(MISSING_FACTOR, operand, put, 2)


def _allocates(term: ast.expr) -> bool:
    return isinstance(term, ast.Call) and name_of(term) in ALLOCATIONS
