"""Edits by comparison: a line that its neighbours for other tensors have, and what a program's number lacks.

What is written for Q is written for K as well, with K's names: `q_ptr += b * q_batch + h * q_head` says what
`k_ptr += h * k_head` lacks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flashlearn.explaining.edits.calls import name_of
from flashlearn.explaining.edits.name_families import Families
from flashlearn.explaining.edits.source_text import Edit, Text, bracketed

AXES = 3
"""Axes of a grid."""

EXPONENTIALS = ("exp", "exp2")

SIMPLE = ast.Assign | ast.AugAssign


def by_comparison(text: Text, function: ast.FunctionDef, known: Families) -> Iterator[Edit]:
    """Every such edit of a kernel."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and name_of(node) == "program_id" and len(node.args) == 1:
            yield from _axis(text, node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            yield from _number_as_it_is(text, node, known)
        elif isinstance(node, ast.Call) and name_of(node) in EXPONENTIALS and node.args:
            yield from _not_shifted(text, node.args[0], known)
        elif isinstance(node, ast.Assign):
            yield from _no_exponential(text, node.value)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            yield from _whole_blocks(text, node, known)
            yield from _pitches(text, node, known)
    names = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)} | {*known.parameters}
    for body in _bodies(function):
        yield from _like_neighbours(text, body, names)


def _axis(text: Text, node: ast.Call) -> Iterator[Edit]:
    """Another axis of the grid."""
    written = node.args[0]
    if isinstance(written, ast.Constant) and isinstance(written.value, int):
        head = text.of(node)[: text.span(written)[0] - text.span(node)[0]]
        for axis in range(AXES):
            if axis != written.value:
                yield text.edit("program axis", node, f"{head}{axis})")


def _number_as_it_is(text: Text, node: ast.BinOp, known: Families) -> Iterator[Edit]:
    """A program's number, written in the sum itself, times the size of its block."""
    for side in (node.left, node.right):
        if isinstance(side, ast.Call) and name_of(side) == "program_id":
            for block in known.blocks:
                yield text.edit("number as it is", side, f"{text.of(side)} * {block}")


def _whole_blocks(text: Text, node: ast.BinOp, known: Families) -> Iterator[Edit]:
    """A length in whole blocks, `tl.num_programs(0) * BLOCK`, where the length itself is meant."""
    factors, whole = [node.left, node.right], node.left
    while isinstance(whole, ast.BinOp) and isinstance(whole.op, ast.Mult):
        factors, whole = [whole.left, whole.right, *factors[1:]], whole.left
    counts = [f for f in factors if isinstance(f, ast.Call) and name_of(f) == "num_programs"]
    blocks = [f for f in factors if isinstance(f, ast.Name) and f.id in known.blocks]
    if len(counts) == len(blocks) == 1:
        rest = [bracketed(f, text.of(f)) for f in factors if f not in (counts[0], blocks[0])]
        for variant, size in enumerate(n for n in known.scalars if n in known.parameters):
            yield text.edit("whole blocks", node, " * ".join([*rest, size]), variant)


def _pitches(text: Text, node: ast.BinOp, known: Families) -> Iterator[Edit]:
    """What a program's number is multiplied by: `(b * H + h) * S_k`, where a head has S_q of them."""
    size, number = node.right, {n.id for n in ast.walk(node.left) if isinstance(n, ast.Name)}
    if isinstance(size, ast.Name) and size.id in known.scalars and number & {*known.programs}:
        others = [n for n in known.scalars if n in known.parameters and n not in number and n != size.id]
        for variant, other in enumerate(others):
            yield text.edit("pitch", node, f"{bracketed(node.left, text.of(node.left))} * {other}", variant)


def _not_shifted(text: Text, value: ast.expr, known: Families) -> Iterator[Edit]:
    """An exponential of something from which no maximum is subtracted."""
    if any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) for n in ast.walk(value)):
        return
    whole = value
    while isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        value = value.left  # times log2 e, or alpha
    if isinstance(value, ast.Name) and isinstance(whole, ast.Name | ast.BinOp):
        for other in known.maxima:
            if other != value.id:
                for variant, end in enumerate(("", "[:, None]")):
                    yield text.edit("not shifted", value, f"({text.of(value)} - {other}{end})", variant)


def _no_exponential(text: Text, value: ast.expr) -> Iterator[Edit]:
    """A difference, times a factor perhaps, of which no exponential is taken."""
    difference = value.left if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult) else value
    subtracts = isinstance(difference, ast.BinOp) and isinstance(difference.op, ast.Sub)
    if subtracts and not any(isinstance(n, ast.Call) for n in ast.walk(value)):
        for variant, name in enumerate(EXPONENTIALS):
            yield text.edit("exponential", value, f"tl.{name}({text.of(value)})", variant)


def _bodies(function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(function):
        for name in ("body", "orelse"):
            if isinstance(body := getattr(node, name, None), list):
                yield [statement for statement in body if isinstance(statement, SIMPLE)]


def _like_neighbours(text: Text, body: list[ast.stmt], names: set[str]) -> Iterator[Edit]:
    """A statement as its neighbour has it, with its own names."""
    targets = {id(s): _target(s) for s in body}
    for one in body:
        for other in body:
            renamed = _renaming(targets[id(other)], targets[id(one)])
            if one is not other and renamed and type(one) is type(other):
                put = _in_names_of(text, other, *renamed, names)
                if put and put != text.of(one):
                    yield text.edit("alike", one, put, int("load" in put))


def _target(statement: ast.stmt) -> str:
    target = statement.target if isinstance(statement, ast.AugAssign) else statement.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _renaming(one: str, other: str) -> tuple[str, str] | None:
    """The part in which two names differ, if it is a single one: ("q", "k") of q_ptr and k_ptr."""
    a, b = one.split("_"), other.split("_")
    if not one or not other or len(a) != len(b):
        return None
    apart = [(x, y) for x, y in zip(a, b, strict=True) if x != y]
    return apart[0] if len(apart) == 1 and all(apart[0]) else None


def _in_names_of(text: Text, statement: ast.stmt, one: str, other: str, names: set[str]) -> str:
    """A statement's text with one tensor's names exchanged for another's; "" if one does not exist."""
    begin, end = text.span(statement)
    found = sorted((n for n in ast.walk(statement) if isinstance(n, ast.Name)), key=text.span)
    parts, at = [], begin
    changed: set[str] = set()
    for name in found:
        new = _renamed(name.id, one, other)
        if new != name.id and new not in names:
            return ""
        start, stop = text.span(name)
        parts += [text.raw[at:start].decode(), new]
        at, changed = stop, changed | ({name.id} - {new})
    return "".join([*parts, text.raw[at:end].decode()]) if len(changed) > 1 else ""


def _renamed(name: str, one: str, other: str) -> str:
    parts = name.split("_")
    if one in parts:
        return "_".join(other if part == one else part for part in parts)
    if "stride" in parts and len(one) == len(other) == 1 and parts[-1].startswith(one):
        return "_".join([*parts[:-1], other + parts[-1][1:]])
    return name
