"""Edits within an expression: another operator, another name, another constant, a part more or less."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flashlearn.explaining.edits.name_families import Families
from flashlearn.explaining.edits.source_text import Edit, Text, bracketed

COMPARED = {
    ast.Lt: ("<", ("<=", ">", ">=")),
    ast.LtE: ("<=", ("<", ">=", ">")),
    ast.Gt: (">", (">=", "<", "<=")),
    ast.GtE: (">=", (">", "<=", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
}
COMPUTED = {
    ast.Add: ("+", ("-", "*")),
    ast.Sub: ("-", ("+",)),
    ast.Mult: ("*", ("/", "+")),
    ast.Div: ("/", ("*", "-")),
    ast.FloorDiv: ("//", ("%",)),
    ast.Mod: ("%", ("//",)),
    ast.BitAnd: ("&", ("|",)),
    ast.BitOr: ("|", ("&",)),
    ast.MatMult: ("@", ("*",)),
}
EITHER = ast.Add | ast.Mult | ast.BitAnd | ast.BitOr | ast.MatMult
IN_ORDER = ast.Sub | ast.Div | ast.MatMult
ORDERED = ast.Lt | ast.LtE | ast.Gt | ast.GtE
UNLIKELY = 8
"""A variant that comes last: whether things are equal is seldom asked the wrong way round."""
BOUNDS = ast.Call | ast.Constant
LANES = re.compile(r"arange|program_id|^[A-Z]\w*$")
OF_BLOCKS = re.compile(r"block|tile|^B|rows|cols|wide|tall|size", re.I)
NUMBERS = {0: (1, 2, -1), 1: (0, 2), 2: (1, 3, 0), 3: (2, 1)}


def compared(text: Text, node: ast.Compare) -> Iterator[Edit]:
    """Another comparison: one index more or less, or the other way round."""
    old, others = COMPARED.get(type(node.ops[0]), ("", ()))
    for variant, new in enumerate(others if len(node.ops) == 1 else ()):
        variant = variant if isinstance(node.ops[0], ORDERED) else UNLIKELY
        yield from _operator(text, "comparison", node, node.left, node.comparators[0], old, new, variant)


def bounded(text: Text, node: ast.Compare, known: Families) -> Iterator[Edit]:
    """A size of the problem as the bound, where a number or something that is called stands."""
    bound = node.comparators[0]
    if len(node.ops) == 1 and isinstance(node.ops[0], ast.Lt | ast.LtE) and isinstance(bound, BOUNDS):
        for variant, size in enumerate(n for n in known.scalars if n in known.parameters):
            yield text.edit("comparison", node, f"{text.of(node.left)} < {size}", variant)


def moved(text: Text, node: ast.Compare, known: Families) -> Iterator[Edit]:
    """A bound that has to come nearer with every round of a loop, since what is compared starts anew at 0."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Lt | ast.LtE):
        return
    used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    whole = text.of(node)
    for name in known.counted:
        first, last = known.loops[name]
        if name in used or not first < node.lineno <= last:
            continue
        if name in known.steps:
            times = f" * {known.steps[name]}" if known.steps[name] else ""
            yield text.edit("bound not moved", node, f"{whole} - {name}{times}")
        else:
            yield text.edit("bound not moved", node, f"{whole} - {name}")
            for variant, block in enumerate(known.blocks):
                yield text.edit("bound not moved", node, f"{whole} - {name} * {block}", variant)


def swapped(text: Text, one: ast.Compare, other: ast.Compare) -> Iterator[Edit]:
    """The bounds of two comparisons, each in the other's place."""
    bounds = [node.comparators[0] for node in (one, other)]
    if not all(isinstance(bound, ast.Name) for bound in bounds) or bounds[0].id == bounds[1].id:
        return
    (start, behind), (before, end) = map(text.span, bounds)
    if behind > before:
        return
    first, second = map(text.of, bounds)
    put = second + text.raw[behind:before].decode() + first
    old, new = (
        f"{text.of(one)} … {text.of(other)}",
        f"{_with(text, one, second)} … {_with(text, other, first)}",
    )
    also = () if one.lineno == other.lineno else (other.lineno,)
    yield Edit("bounds exchanged", start, end, put, one.lineno, old, new, also=also)


def _with(text: Text, node: ast.Compare, bound: str) -> str:
    start, end = text.span(node)[0], text.span(node.comparators[0])[0]
    return text.raw[start:end].decode() + bound


def computed(text: Text, node: ast.BinOp, known: Families, kernel: bool) -> Iterator[Edit]:
    """Another operation, its operands in the other order, or only one of them."""
    old, others = COMPUTED.get(type(node.op), ("", ()))
    if not old:
        return
    left, right = text.of(node.left), text.of(node.right)
    for variant, new in enumerate(others):
        yield from _operator(text, "operator", node, node.left, node.right, old, new, variant)
    yield text.edit("dropped", node, left)
    if isinstance(node.op, EITHER):
        yield text.edit("dropped", node, right)
    if not {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & {*known.pointers, *known.strides}:
        yield from _brackets(text, node)
    if kernel and isinstance(node.op, ast.Add):
        yield from _blockwise(text, node)
    if kernel and isinstance(node.op, ast.Sub) and not LANES.search(left):
        yield text.edit("exponential", node, f"tl.exp({text.of(node)})")
    if isinstance(node.op, IN_ORDER):
        yield text.edit("order", node, f"{bracketed(node.right, right)} {old} {bracketed(node.left, left)}")
    if isinstance(node.op, ast.FloorDiv):
        of_blocks = bool(OF_BLOCKS.search(right)) or isinstance(node.right, ast.Constant)
        up = f"{'tl' if kernel else 'triton'}.cdiv({left}, {right})"
        yield text.edit("rounded up", node, up, int(kernel and not of_blocks))
        yield text.edit("number of tiles", node, f"({left} {old} {right} * {right})")


def _blockwise(text: Text, node: ast.BinOp) -> Iterator[Edit]:
    """Neighbouring elements for each program, where they were dealt round: `pid * B + tl.arange(0, B)`."""
    for mine, lanes in ((node.left, node.right), (node.right, node.left)):
        spread = isinstance(lanes, ast.BinOp) and isinstance(lanes.op, ast.Mult)
        parts = [p for p in (lanes.left, lanes.right) if "arange(0, " in text.of(p)] if spread else []
        if len(parts) == 1 and isinstance(parts[0], ast.Call) and len(parts[0].args) == 2:
            first = bracketed(mine, text.of(mine))
            put = f"{first} * {text.of(parts[0].args[1])} + {text.of(parts[0])}"
            yield text.edit("not times its size", node, put)


def _brackets(text: Text, node: ast.BinOp) -> Iterator[Edit]:
    """A factor that belongs to one summand taken to both, or the other way round."""
    sums = ast.Add | ast.Sub
    for inner, other, first in ((node.left, node.right, True), (node.right, node.left, False)):
        if not isinstance(inner, ast.BinOp):
            continue
        a, b, c = text.of(inner.left), text.of(inner.right), text.of(other)
        sign = COMPUTED.get(type(inner.op), ("",))[0]
        if isinstance(node.op, ast.Mult) and isinstance(inner.op, sums):
            yield text.edit("brackets", node, f"{a} * {c} {sign} {b}")
            yield text.edit("brackets", node, f"{a} {sign} {b} * {c}")
        outer = "-" if isinstance(node.op, ast.Sub) else "+"
        if isinstance(node.op, sums) and isinstance(inner.op, ast.Mult):
            pair = (b, c) if first else (c, a)
            kept = a if first else b
            yield text.edit("brackets", node, f"{kept} * ({pair[0]} {outer} {pair[1]})", 1)
            pair, kept = ((a, c), b) if first else ((c, b), a)
            yield text.edit("brackets", node, f"({pair[0]} {outer} {pair[1]}) * {kept}")


def _operator(
    text: Text, kind: str, whole: ast.expr, left: ast.expr, right: ast.expr, old: str, new: str, variant: int
) -> Iterator[Edit]:
    """The operator between two operands exchanged, told with the whole expression."""
    (start, end), behind, before = text.span(whole), text.span(left)[1], text.span(right)[0]
    at = text.raw.find(old.encode(), behind, before)
    if at >= 0:
        after = at + len(old)
        put = (text.raw[start:at] + new.encode() + text.raw[after:end]).decode()
        yield Edit(kind, start, end, put, whole.lineno, text.of(whole), put, variant)


def named(text: Text, node: ast.Name, known: Families) -> Iterator[Edit]:
    """Another name of the same family, or one factor of the product that it stands for."""
    about = "strides" if node.id in known.strides else ""
    for variant, other in enumerate(known.others(node.id)):
        yield text.edit("name", node, other, min(variant, 4), about)
    elements = known.steps.get(node.id) == ""  # and no tiles: of a loop with a step
    for block in known.blocks if node.id in known.counted and not elements else ():
        yield text.edit("number of tiles", node, f"({node.id} * {block})", 1)
    if node.id in known.programs:
        for variant, size in enumerate((*known.blocks, *known.scalars)):
            if size not in known.programs and size in known.parameters:
                yield text.edit("not times its size", node, f"({node.id} * {size})", variant)
    product = known.products.get(node.id)
    if product is not None and product.lineno < node.lineno:
        for factor in (product.left, product.right):
            yield text.edit("factor too many", node, f"({text.of(factor)})")


def constant(text: Text, node: ast.Constant, known: Families, kernel: bool) -> Iterator[Edit]:
    """Another number where one is written, or one of the function's parameters."""
    value, others = node.value, ()
    if isinstance(value, bool):
        others = (str(not value),)
    elif isinstance(value, int):
        others = tuple(map(str, NUMBERS.get(value, ())))
        for number in known.numbers if value > 3 else ():
            if number != value:
                yield text.edit("size", node, str(number))
    elif isinstance(value, float):
        others = tuple(n for n in ("0.0", 'float("-inf")', "1.0", "0.5", "2.0") if n != text.of(node))
    for variant, new in enumerate(others):
        yield text.edit("constant", node, new, variant)
    if isinstance(value, int | float) and not isinstance(value, bool):
        for name in known.blocks if kernel else known.parameters:
            if not kernel or (isinstance(value, int) and value > 1):
                yield text.edit("constant", node, name, 3)


def subscript(text: Text, node: ast.Subscript) -> Iterator[Edit]:
    """A vector turned into a row instead of a column, or the other way round."""
    turned = {":, None": "None, :", "None, :": ":, None"}.get(text.of(node.slice))
    if turned:
        yield text.edit("axis", node, f"{text.of(node.value)}[{turned}]")
