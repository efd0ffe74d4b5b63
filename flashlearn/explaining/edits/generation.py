"""All edits of an answer's text: every generator applied to every function in it."""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from flashlearn.explaining.edits.accesses import mask_edits
from flashlearn.explaining.edits.analogy import analogy_edits
from flashlearn.explaining.edits.block_of_lanes import block_of_lanes_edits
from flashlearn.explaining.edits.block_reach import block_reach_edits
from flashlearn.explaining.edits.bracketing import kept_together
from flashlearn.explaining.edits.calls import (
    call_edits,
    grid_order_edits,
    loop_step_edits,
    order_edits,
    reading_order_edits,
    untransposed_edit,
    while_start_edits,
)
from flashlearn.explaining.edits.carried_names import carried_name_edits
from flashlearn.explaining.edits.comparisons import (
    advanced_bound_edits,
    bound_edits,
    comparison_edits,
    exchanged_bound_edits,
    missing_offset_edits,
)
from flashlearn.explaining.edits.conditions import (
    exchanged_branches,
    exchanged_index_edits,
    negation_edits,
    root_edits,
)
from flashlearn.explaining.edits.consecutive_loops import consecutive_loop_edits
from flashlearn.explaining.edits.doubled import doubled_stride_edits, partial_condition_edits
from flashlearn.explaining.edits.early_rounding import early_rounding_edits
from flashlearn.explaining.edits.edit import Edit, SourceText, is_kernel, name_of, names_in
from flashlearn.explaining.edits.formulas import formula_edits, is_formula, name_in_formula
from flashlearn.explaining.edits.gluon import in_gluon, is_gluon, product_edits
from flashlearn.explaining.edits.guards import guard_edits
from flashlearn.explaining.edits.head_names import head_names, identifiers
from flashlearn.explaining.edits.index_order import index_order_edits
from flashlearn.explaining.edits.lane_sums import lane_sum_edits
from flashlearn.explaining.edits.leftovers import other_loops_value_edits
from flashlearn.explaining.edits.name_families import NameFamilies, name_families
from flashlearn.explaining.edits.names import (
    conditional_edits,
    constant_edits,
    name_edits,
    subscript_edits,
)
from flashlearn.explaining.edits.operators import operation_edits, unsigned_edit
from flashlearn.explaining.edits.reductions import (
    axis_edits,
    axis_numbers,
    kept_dimension_edits,
    reduction_edits,
)
from flashlearn.explaining.edits.repeated_slips import repeated_edits
from flashlearn.explaining.edits.returned_forms import (
    fixed_size_edits,
    operands_narrowed,
    returned_edits,
    returned_twice_edits,
)
from flashlearn.explaining.edits.rounding import calls_triton
from flashlearn.explaining.edits.running_maximum import maximum_edits
from flashlearn.explaining.edits.scalars import scalar_edits
from flashlearn.explaining.edits.shares import share_edits
from flashlearn.explaining.edits.statements import exchanged_name_edits, statement_edits
from flashlearn.explaining.edits.strides import missing_move_edits, own_stride_edits, shared_offset_edits
from flashlearn.explaining.edits.wrapped_indices import wrapped_index_edits

UNNAMED = "_"
MARKS = ("causal", "heads", "reads_unread")
BLOCK_NAME = re.compile(r"(?:B|block)_\w+$", re.IGNORECASE)

Changes = dict[tuple[int, int, str], Edit]
"""Edits by what they change: two that make the same text are one, under the kind that proposed it first."""


@functools.lru_cache(maxsize=16)
def edits_of(text: str) -> tuple[Edit, ...]:
    """Every edit of the functions in a text, each once. Raises SyntaxError.

    >>> [edit.new for edit in edits_of("def f(i, n):\\n    return i <= n")][:3]
    ['i < n', 'i >= n', 'i > n']
    """
    source, changes = SourceText(text), {}
    for function in source.functions():
        heads = head_names(function)
        changes |= _marked(_function_edits(source, function, heads), function, heads)
    return tuple(kept_together(source, edit) for edit in changes.values())


def _function_edits(text: SourceText, function: ast.FunctionDef, heads: frozenset[str]) -> Changes:
    """The edits of one function, in the order in which the generators propose them."""
    known, kernel, changes = name_families(function), is_kernel(function), Changes()
    _add(changes, _expression_edits(text, function, known, kernel))
    twice = _strides_multiplied_twice(text, function, known)
    changes = {at: edit for at, edit in changes.items() if at[:2] not in twice}
    _add(changes, statement_edits(text, function, known, kernel))
    if kernel:
        _add(changes, analogy_edits(text, function, known))
        _add(changes, exchanged_bound_edits(text, function))
        _add(changes, consecutive_loop_edits(text, function), override=True)
        _add(changes, carried_name_edits(text, function))
        _add(changes, block_of_lanes_edits(text, function, known), override=True)
        _add(changes, block_reach_edits(text, function, known))
        _add(changes, share_edits(text, function, known))
        _add(changes, lane_sum_edits(text, function))
        _add(changes, maximum_edits(text, function, known))
        _add(changes, early_rounding_edits(text, function))
        _add(changes, partial_condition_edits(text, function))
    else:
        narrowed = operands_narrowed(text, function)
        changes = {at: edit for at, edit in changes.items() if at not in narrowed}
        _add(changes, returned_edits(text, function))
        _add(changes, fixed_size_edits(text, function))
        _add(changes, returned_twice_edits(text, function), override=True)
    if is_formula(function):
        changes = {at: name_in_formula(edit) for at, edit in changes.items() if not calls_triton(edit)}
        _add(changes, formula_edits(text, function, known))
        changes = {at: e for at, e in changes.items() if not _result_for_block(e, known)}
        changes = {at: e for at, e in changes.items() if not _cancels(text, e)}
    if is_gluon(function):
        changes = {at: new for at, edit in changes.items() if (new := in_gluon(edit)) is not None}
        _add(changes, product_edits(text, function), override=True)
    if kernel:
        _add(changes, mask_edits(text, function, known), override=True)
        _add(changes, wrapped_index_edits(text, function, known))
        _add(changes, loop_step_edits(text, function, known), override=True)
        _add(changes, while_start_edits(text, function))
        _add(changes, other_loops_value_edits(text, function))
        _add(changes, own_stride_edits(text, function, known), override=True)
        _add(changes, shared_offset_edits(text, function, known))
        _add(changes, index_order_edits(text, function, known))
        _add(changes, missing_move_edits(text, function, known))
        sizes = {*known.size_parameters(), *known.blocks}
        _add(changes, exchanged_name_edits(text, function, heads - {*known.parameters}, sizes))
    _add(changes, list(repeated_edits(text, changes.values(), within=is_formula(function))))
    return changes


def _strides_multiplied_twice(
    text: SourceText, function: ast.FunctionDef, known: NameFamilies
) -> set[tuple[int, int]]:
    """Where a stride is multiplied by itself: one is too many, and another stride that is 1 would do."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.right, ast.Name):
            left = node.left.right if isinstance(node.left, ast.BinOp) else node.left
            if getattr(left, "id", "") == node.right.id in known.strides:
                found |= {text.span(left), text.span(node.right)}
    return found


def _result_for_block(edit: Edit, known: NameFamilies) -> bool:
    """True if a value that is computed takes the place of a block's size: by chance that makes one block."""
    return (
        bool(BLOCK_NAME.match(edit.old)) and edit.new in known.assigned and edit.new not in known.parameters
    )


def _cancels(text: SourceText, edit: Edit) -> bool:
    """True if what was multiplied is divided by itself then, which is a long way to write 1."""
    before = "".join(text.raw[: edit.start].decode().split())
    return before.endswith(f"*{edit.put}/")


def _add(changes: Changes, edits: Iterable[Edit], override: bool = False) -> None:
    """Add edits; one that is there already stays, unless these `override` it."""
    for edit in edits:
        at = (edit.start, edit.end, edit.put)
        if edit.put != edit.old and (override or at not in changes):
            changes[at] = edit


def _marked(changes: Changes, function: ast.FunctionDef, heads: frozenset[str]) -> Changes:
    """The edits, marked where they are in a causal branch, concern a batch or head, or put an unread name.

    None puts `_`, by which nobody means a value.
    """
    marked, branch, unread = Changes(), _causal_lines(function), _unread_names(function)
    for at, edit in changes.items():
        changed = identifiers(edit.old) ^ identifiers(edit.new)
        if UNNAMED in changed & identifiers(edit.new):
            continue
        whole = not changed or edit.kind.whole_expression
        of_heads = bool(heads & (identifiers(edit.old) if whole else changed))
        marks = (edit.line in branch, of_heads, bool(unread & changed & identifiers(edit.new)))
        marked[at] = replace(edit, **dict(zip(MARKS, marks, strict=True))) if any(marks) else edit
    return marked


def _unread_names(function: ast.FunctionDef) -> set[str]:
    """The parameters and variables that no line reads: one of them may be what another name stands for."""
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    given = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    assigned = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return (given | assigned) - {node.id for node in names if isinstance(node.ctx, ast.Load)}


def _expression_edits(
    text: SourceText, function: ast.FunctionDef, known: NameFamilies, kernel: bool
) -> Iterator[Edit]:
    """The edits of every expression, in a kernel with what they are about."""
    for part in _statements(function):
        about = "address" if kernel and names_in(part) & {*known.strides, *known.pointers} else ""
        masks = _mask_nodes(part) if kernel else set()
        axes = axis_numbers(part)
        for node in ast.walk(part):
            if node in axes:
                continue  # the call has an edit for its axis
            where = "mask" if node in masks else about
            unpacked = isinstance(part, ast.Assign) and node is part.value and _is_unpacked(part)
            edits = itertools.chain(
                negation_edits(text, node) if node is part else (),
                _node_edits(text, node, known, kernel, unpacked),
                guard_edits(text, node, kernel),
                scalar_edits(text, node, known) if kernel else (),
            )
            for edit in edits:
                yield edit if edit.about or not where else replace(edit, about=where)


def _statements(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Each simple statement, and the first line of each loop and branch."""
    for node in ast.walk(function):
        if isinstance(node, ast.For):
            yield node.iter
        elif isinstance(node, ast.While | ast.If):
            yield node.test
        elif isinstance(node, ast.stmt) and not hasattr(node, "body"):
            yield node


def _causal_lines(function: ast.FunctionDef) -> set[int]:
    """The lines that run only with a causal mask."""
    branches = (n for n in ast.walk(function) if isinstance(n, ast.If))
    bodies = (n.body for n in branches if "causal" in ast.unparse(n.test).lower())
    return {line for body in bodies for line in range(body[0].lineno, body[-1].end_lineno + 1)}


def _mask_nodes(part: ast.AST) -> set[ast.AST]:
    """The nodes of comparisons, and the operators that combine them."""
    comparisons = [n for n in ast.walk(part) if isinstance(n, ast.Compare)]
    combined = {
        n for n in ast.walk(part) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.BitAnd | ast.BitOr)
    }
    return combined | {inner for comparison in comparisons for inner in ast.walk(comparison)}


def _is_unpacked(statement: ast.Assign) -> bool:
    return any(isinstance(target, ast.Tuple | ast.List) for target in statement.targets)


def _node_edits(
    text: SourceText, node: ast.AST, known: NameFamilies, kernel: bool, unpacked: bool
) -> Iterator[Edit]:
    """The edits of one node, by its type; a tuple may be `unpacked`."""
    yield from root_edits(text, node) if not kernel else ()
    if isinstance(node, ast.Compare):
        yield from comparison_edits(text, node)
        if kernel:
            yield from exchanged_index_edits(text, node)
            yield from advanced_bound_edits(text, node, known)
            yield from bound_edits(text, node, known)
    elif isinstance(node, ast.BinOp):
        yield from operation_edits(text, node, known, kernel)
    elif isinstance(node, ast.UnaryOp):
        yield unsigned_edit(text, node)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from name_edits(text, node, known)
    elif isinstance(node, ast.Constant):
        yield from constant_edits(text, node, known, kernel)
    elif isinstance(node, ast.Call):
        yield from doubled_stride_edits(text, node) if not kernel else ()
        yield from call_edits(text, node, known, kernel)
        yield from axis_edits(text, node, kernel)
        yield from reduction_edits(text, node, known) if kernel else kept_dimension_edits(text, node)
        if kernel and name_of(node) in ("minimum", "maximum", "min", "max", "range"):
            yield from missing_offset_edits(text, node, known)
    elif isinstance(node, ast.Subscript):
        yield from subscript_edits(text, node)
    elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and not kernel:
        yield from grid_order_edits(text, node.elts) if not unpacked else ()
        yield from order_edits(text, node.elts, unpacked)
    elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        yield untransposed_edit(text, node)
        yield from reading_order_edits(text, node)
    elif isinstance(node, ast.IfExp):
        yield from conditional_edits(text, node)
        yield from exchanged_branches(text, node)
