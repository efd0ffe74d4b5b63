"""Edits of comparisons: another operator, another bound, a bound that advances with the loop."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, edit_kind, names_in
from flashlearn.explaining.edits.name_families import NameFamilies, similar

OPERATORS = {
    ast.Lt: ("<", ("<=", ">", ">=")),
    ast.LtE: ("<=", ("<", ">=", ">")),
    ast.Gt: (">", (">=", "<", "<=")),
    ast.GtE: (">=", (">", "<=", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
}
ORDERINGS = ast.Lt | ast.LtE | ast.Gt | ast.GtE
EQUALITY_VARIANT = 8
"""A variant that is tried last: a test for equality is seldom the wrong way round."""

COMPARISON = edit_kind(
    "comparison",
    sentence="Line {line} compares `{old}`; with `{new}`",
    question="For which values must this condition be true? Try the first, the last and the one after that.",
    moves_access=True,
)
BOUND_NOT_ADVANCED = edit_kind(
    "bound not advanced",
    sentence="Line {line} compares `{old}` in every iteration of the loop; with `{new}`",
    question="What does the index stand for in the second iteration of the loop, and in the last?",
    moves_access=True,
)
MISSING_OFFSET = edit_kind(
    "missing offset",
    question="The diagonal of a mask is shifted where two lengths differ. Is this bound shifted by as much?",
    moves_access=True,
)
BOUNDS_EXCHANGED = edit_kind(
    "bounds exchanged",
    sentence="From line {line} the bounds are `{old}`; with `{new}`",
    question="Which index runs along which dimension?",
    moves_access=True,
)


def comparison_edits(text: SourceText, node: ast.Compare) -> Iterator[Edit]:
    """Another operator: one index more or fewer, or the opposite."""
    old, others = OPERATORS.get(type(node.ops[0]), ("", ()))
    for variant, new in enumerate(others if len(node.ops) == 1 else ()):
        variant = variant if isinstance(node.ops[0], ORDERINGS) else EQUALITY_VARIANT
        yield from text.operator_edit(COMPARISON, node, old, new, variant)


def bound_edits(text: SourceText, node: ast.Compare, known: NameFamilies) -> Iterator[Edit]:
    """A size of the problem as the bound, in place of a number or a call."""
    bound = node.comparators[0]
    if len(node.ops) == 1 and isinstance(node.ops[0], ast.Lt | ast.LtE):
        sizes = known.size_parameters() if isinstance(bound, ast.Call | ast.Constant) else ()
        for variant, size in enumerate(sizes):
            yield text.edit(COMPARISON, node, f"{text.of(node.left)} < {size}", variant)


def advanced_bound_edits(text: SourceText, node: ast.Compare, known: NameFamilies) -> Iterator[Edit]:
    """A bound that shrinks with every iteration, where the index that it bounds restarts at 0."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Lt | ast.LtE):
        return
    used, whole = names_in(node), text.of(node)
    for name in known.counted:
        first, last = known.loops[name]
        if name in used or not first < node.lineno <= last:
            continue
        if name in known.steps:
            times = f" * {known.steps[name]}" if known.steps[name] else ""
            yield text.edit(BOUND_NOT_ADVANCED, node, f"{whole} - {name}{times}")
        else:
            yield text.edit(BOUND_NOT_ADVANCED, node, f"{whole} - {name}")
            for variant, block in enumerate(known.blocks):
                yield text.edit(BOUND_NOT_ADVANCED, node, f"{whole} - {name} * {block}", variant)


def exchanged_bound_edits(text: SourceText, function: ast.FunctionDef) -> Iterator[Edit]:
    """The bounds of two masks in each other's place, anywhere in the function."""
    masks = [n for n in ast.walk(function) if isinstance(n, ast.Compare) and isinstance(n.ops[0], ast.Lt)]
    masks.sort(key=text.span)
    for one, other in itertools.combinations(masks, 2):
        yield from _exchanged(text, one, other)


def _exchanged(text: SourceText, one: ast.Compare, other: ast.Compare) -> Iterator[Edit]:
    bounds = [node.comparators[0] for node in (one, other)]
    if not all(isinstance(bound, ast.Name) for bound in bounds) or bounds[0].id == bounds[1].id:
        return
    (start, after), (before, end) = map(text.span, bounds)
    if after > before:
        return
    first, second = map(text.of, bounds)
    put = second + text.raw[after:before].decode() + first
    old = f"{text.of(one)} … {text.of(other)}"
    new = f"{_with_bound(text, one, second)} … {_with_bound(text, other, first)}"
    also = () if one.lineno == other.lineno else (other.lineno,)
    yield Edit(BOUNDS_EXCHANGED, start, end, put, one.lineno, old, new, also=also)


def _with_bound(text: SourceText, node: ast.Compare, bound: str) -> str:
    start, end = text.span(node)[0], text.span(node.comparators[0])[0]
    return text.raw[start:end].decode() + bound


def missing_offset_edits(text: SourceText, node: ast.Call, known: NameFamilies) -> Iterator[Edit]:
    """Where a block ends, or begins, moved by the difference of two lengths: the diagonal of a mask is.

    `tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK)` may lack `S_k - S_q`.
    """
    sizes = known.size_parameters()
    pairs = [(a, b) for a, b in itertools.permutations(sizes, 2) if similar(a, b)]
    for argument in node.args:
        names = names_in(argument)
        of_program = bool(names & {*known.programs}) or "program_id" in text.of(argument)
        if not of_program or not names & {*known.blocks} or names & {*sizes}:
            continue
        for variant, (one, other) in enumerate(pairs[:4]):
            put = f"{text.of(argument)} + {one} - {other}"
            yield text.edit(MISSING_OFFSET, argument, put, min(variant, 1))
