r"""Small changes of an answer's text: is one of them all that it takes?

>>> [edit.new for edit in edits_of("def f(i, n):\n    return i <= n")][:3]
['i < n', 'i >= n', 'i > n']
"""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Iterator
from dataclasses import replace

from flashlearn.explaining.edits.access_masks import other_masks
from flashlearn.explaining.edits.analogy import by_comparison
from flashlearn.explaining.edits.calls import called, exchanged
from flashlearn.explaining.edits.formulas import in_formula, is_formula
from flashlearn.explaining.edits.gluon import in_gluon, is_gluon, of_products
from flashlearn.explaining.edits.guards import guarded
from flashlearn.explaining.edits.head_names import head_names, mentioned
from flashlearn.explaining.edits.name_families import Families, families
from flashlearn.explaining.edits.operators import (
    bounded,
    compared,
    computed,
    constant,
    moved,
    named,
    subscript,
    swapped,
)
from flashlearn.explaining.edits.reductions import reduced
from flashlearn.explaining.edits.repeated_slips import twins
from flashlearn.explaining.edits.source_text import Edit, Text, is_kernel
from flashlearn.explaining.edits.statements import (
    exchanged_names,
    in_statements,
    missing_twins,
    shared_offsets,
)


@functools.lru_cache(maxsize=16)
def edits_of(written: str) -> tuple[Edit, ...]:
    """Every edit of the functions of a text, each once. Raises SyntaxError."""
    text, all_found = Text(written), {}
    for function in text.functions():
        known, kernel, found = families(function), is_kernel(function), {}
        for part in _parts(function):
            about = "address" if kernel and _addresses(part, known) else ""
            masks = _in_comparisons(part)
            for node in ast.walk(part):
                where = "mask" if kernel and node in masks else about
                for edit in itertools.chain(_of_node(text, node, known, kernel), guarded(text, node, kernel)):
                    told = edit if edit.about or not where else replace(edit, about=where)
                    found.setdefault((edit.start, edit.end, edit.put), told)
        for edit in in_statements(text, function, known, kernel):
            found.setdefault((edit.start, edit.end, edit.put), edit)
        for edit in by_comparison(text, function, known) if kernel else ():
            found.setdefault((edit.start, edit.end, edit.put), edit)
        for edit in _bounds(text, function) if kernel else ():
            found.setdefault((edit.start, edit.end, edit.put), edit)
        for edit in in_formula(text, function, known) if is_formula(function) else ():
            found.setdefault((edit.start, edit.end, edit.put), edit)
        if is_gluon(function):
            found = {at: new for at, edit in found.items() if (new := in_gluon(edit)) is not None}
            for edit in of_products(text, function):
                found[edit.start, edit.end, edit.put] = edit
        heads = head_names(function)
        for edit in other_masks(text, function, known) if kernel else ():
            found[edit.start, edit.end, edit.put] = edit
        for edit in shared_offsets(text, function, known) if kernel else ():
            found.setdefault((edit.start, edit.end, edit.put), edit)
        for edit in missing_twins(text, function, known) if kernel else ():
            found.setdefault((edit.start, edit.end, edit.put), edit)
        for edit in exchanged_names(text, function, heads - {*known.parameters}) if kernel else ():
            found.setdefault((edit.start, edit.end, edit.put), edit)
        for edit in list(twins(text, found.values())):
            found.setdefault((edit.start, edit.end, edit.put), edit)
        branch = _in_causal_branch(function)
        for at, edit in found.items():
            changed = mentioned(edit.old) ^ mentioned(edit.new)
            whole = not changed or edit.kind in ("whole blocks", "pitch")  # of a head's offset
            of_heads = bool(heads & (mentioned(edit.old) if whole else changed))
            causal = edit.line in branch
            all_found[at] = replace(edit, causal=causal, heads=of_heads) if causal or of_heads else edit
    return tuple(all_found.values())


def _parts(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Each statement by itself, and of a loop or branch what stands in its first line."""
    for node in ast.walk(function):
        if isinstance(node, ast.For):
            yield node.iter
        elif isinstance(node, ast.While | ast.If):
            yield node.test
        elif isinstance(node, ast.stmt) and not hasattr(node, "body"):
            yield node


def _in_causal_branch(function: ast.FunctionDef) -> set[int]:
    """The lines that run with a causal mask alone."""
    branches = (n for n in ast.walk(function) if isinstance(n, ast.If))
    bodies = (n.body for n in branches if "causal" in ast.unparse(n.test).lower())
    return {line for body in bodies for line in range(body[0].lineno, body[-1].end_lineno + 1)}


def _in_comparisons(part: ast.AST) -> set[ast.AST]:
    """The nodes of all comparisons, and of what joins them."""
    found = [n for n in ast.walk(part) if isinstance(n, ast.Compare)]
    joins = {
        n for n in ast.walk(part) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.BitAnd | ast.BitOr)
    }
    return joins | {inner for one in found for inner in ast.walk(one)}


def _bounds(text: Text, function: ast.FunctionDef) -> Iterator[Edit]:
    """The bounds of two masks exchanged, wherever they stand."""
    masks = [n for n in ast.walk(function) if isinstance(n, ast.Compare) and isinstance(n.ops[0], ast.Lt)]
    masks.sort(key=lambda node: text.span(node))
    for one, other in itertools.combinations(masks, 2):
        yield from swapped(text, one, other)


def _addresses(part: ast.AST, known: Families) -> bool:
    """True for a statement that computes addresses."""
    names = {node.id for node in ast.walk(part) if isinstance(node, ast.Name)}
    return bool(names & {*known.strides, *known.pointers})


def _of_node(text: Text, node: ast.AST, known: Families, kernel: bool) -> Iterator[Edit]:
    if isinstance(node, ast.Compare):
        yield from compared(text, node)
        if kernel:
            yield from moved(text, node, known)
            yield from bounded(text, node, known)
    elif isinstance(node, ast.BinOp):
        yield from computed(text, node, known, kernel)
    elif isinstance(node, ast.UnaryOp):
        yield text.edit("sign", node, text.of(node.operand))
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from named(text, node, known)
    elif isinstance(node, ast.Constant):
        yield from constant(text, node, known, kernel)
    elif isinstance(node, ast.Call):
        yield from called(text, node, known, kernel)
        if kernel:
            yield from reduced(text, node, known)
    elif isinstance(node, ast.Subscript):
        yield from subscript(text, node)
    elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and not kernel:
        yield from exchanged(text, node.elts)
    elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        yield text.edit("transposed", node, text.of(node.value))
    elif isinstance(node, ast.IfExp):
        branches = (node.body, node.orelse)
        kind = "size" if all(isinstance(branch, ast.Constant) for branch in branches) else "branch"
        for branch in branches:
            yield text.edit(kind, node, text.of(branch))
