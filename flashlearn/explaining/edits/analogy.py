"""Edits by analogy: with the lines for other tensors, the other axes of the grid, the form of a softmax.

What is written for Q is written for K as well, with K's names: `q_ptr += b * q_batch + h * q_head` shows
what is missing from `k_ptr += h * k_head`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, bracketed, edit_kind, name_of, names_in
from flashlearn.explaining.edits.name_families import NameFamilies
from flashlearn.explaining.edits.operators import MISSING_EXPONENTIAL
from flashlearn.explaining.edits.reductions import GRID

AXES = 3
"""Axes of a grid."""

EXPONENTIALS = ("exp", "exp2")

ASSIGNMENT = ast.Assign | ast.AugAssign

PROGRAM_AXIS = edit_kind("program axis", question="What does each axis of the grid count?")
PROGRAM_ID_NOT_SCALED = edit_kind(
    "program id not scaled",
    question="How far apart are the first elements of two neighbouring programs?",
    moves_access=True,
)
PADDED_LENGTH = edit_kind(
    "padded length",
    question="How long is the tensor in memory: a whole number of blocks, or its own size?",
    moves_access=True,
    whole_expression=True,
)
PITCH = edit_kind(
    "pitch",
    question="How far apart do two neighbouring programs, rows or heads begin in this tensor?",
    moves_access=True,
    whole_expression=True,
    often_repeated=True,
)
MAXIMUM_NOT_SUBTRACTED = edit_kind(
    "maximum not subtracted",
    sentence="Line {line} exponentiates `{old}`, from which no maximum is subtracted; with `{new}`",
    question="How large can this exponent become, and which exponent is never above 0?",
)
ANALOGOUS_LINE = edit_kind(
    "analogous line",
    question="What do the lines above and below do for other tensors?",
    moves_access=True,
)


def analogy_edits(text: SourceText, function: ast.FunctionDef, known: NameFamilies) -> Iterator[Edit]:
    """Every such edit of a kernel."""
    in_addresses = _in_addresses(function)
    yield from _unscaled_rows(text, function)
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and name_of(node) in GRID:
            yield from _other_axis(text, node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            yield from _unscaled_program_id(text, node, known)
        elif isinstance(node, ast.Call) and name_of(node) in EXPONENTIALS and node.args:
            yield from _unshifted_exponent(text, node.args[0], known)
        elif isinstance(node, ast.Assign):
            yield from _missing_exponential(text, node.value)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            yield from _padded_length(text, node, known)
            yield from _pitches(text, node, known, node in in_addresses)
    names = names_in(function) | {*known.parameters}
    for body in _bodies(function):
        yield from _analogous_lines(text, body, names)


def _other_axis(text: SourceText, node: ast.Call) -> Iterator[Edit]:
    """Another axis of the grid."""
    written = next(iter((*node.args, *(keyword.value for keyword in node.keywords))), None)
    if isinstance(written, ast.Constant) and isinstance(written.value, int):
        head = text.of(node)[: text.span(written)[0] - text.span(node)[0]]
        for axis in range(AXES):
            if axis != written.value:
                yield text.edit(PROGRAM_AXIS, node, f"{head}{axis})")


def _unscaled_program_id(text: SourceText, node: ast.BinOp, known: NameFamilies) -> Iterator[Edit]:
    """A program's number that is added unscaled, times the size of its block."""
    lanes = text.of(node)
    for side in (node.left, node.right):
        converted = (
            isinstance(side, ast.Call) and name_of(side) == "to" and isinstance(side.func, ast.Attribute)
        )
        program = side.func.value if converted else side
        if isinstance(program, ast.Call) and name_of(program) == "program_id":
            for block in sorted(known.blocks, key=lambda name: f"arange(0, {name})" not in lanes):
                yield text.edit(PROGRAM_ID_NOT_SCALED, side, f"{text.of(side)} * {block}")


def _unscaled_rows(text: SourceText, function: ast.FunctionDef) -> Iterator[Edit]:
    """The factor that rows have in another sum with the same second term: `j[:, None] * D + d[None, :]`."""
    sums = [n for n in ast.walk(function) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Add)]
    factors: dict[str, set[str]] = {}
    for node in sums:
        rows = node.left
        if isinstance(rows, ast.BinOp) and isinstance(rows.op, ast.Mult) and _is_column(rows.left):
            factors.setdefault(text.of(node.right), set()).add(text.of(rows.right))
    for node in sums:
        if _is_column(node.left):
            for factor in sorted(factors.get(text.of(node.right), ())):
                yield text.edit(ANALOGOUS_LINE, node.left, f"{text.of(node.left)} * {factor}")


def _is_column(node: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) and ast.unparse(node.slice).strip("()") == ":, None"


def _padded_length(text: SourceText, node: ast.BinOp, known: NameFamilies) -> Iterator[Edit]:
    """A length in whole blocks, `tl.num_programs(0) * BLOCK`, in place of the length itself."""
    factors, whole = [node.left, node.right], node.left
    while isinstance(whole, ast.BinOp) and isinstance(whole.op, ast.Mult):
        factors, whole = [whole.left, whole.right, *factors[1:]], whole.left
    counts = [f for f in factors if isinstance(f, ast.Call) and name_of(f) == "num_programs"]
    blocks = [f for f in factors if isinstance(f, ast.Name) and f.id in known.blocks]
    if len(counts) == len(blocks) == 1:
        rest = [bracketed(f, text.of(f)) for f in factors if f not in (counts[0], blocks[0])]
        for variant, size in enumerate(known.size_parameters()):
            yield text.edit(PADDED_LENGTH, node, " * ".join([*rest, size]), variant)


def _in_addresses(function: ast.FunctionDef) -> set[ast.AST]:
    """The nodes of the addresses that are written out in an access."""
    calls = [n for n in ast.walk(function) if isinstance(n, ast.Call) and n.args]
    accesses = [n for n in calls if name_of(n) in ("load", "store") or name_of(n).startswith("atomic_")]
    return {node for call in accesses for node in ast.walk(call.args[0])}


def _pitches(text: SourceText, node: ast.BinOp, known: NameFamilies, in_address: bool) -> Iterator[Edit]:
    """The pitch of a program's number: `(b * H + h) * S_k` for a tensor with S_q elements for each head.

    In an address a block may have taken the place of the size of a row.
    """
    size, number = node.right, names_in(node.left)
    sizes = {*known.scalars, *(known.blocks if in_address else ())}
    if isinstance(size, ast.Name) and size.id in sizes and number & {*known.programs}:
        others = [n for n in known.size_parameters() if n not in number and n != size.id]
        for variant, other in enumerate(others):
            yield text.edit(PITCH, node, f"{bracketed(node.left, text.of(node.left))} * {other}", variant)


def _unshifted_exponent(text: SourceText, value: ast.expr, known: NameFamilies) -> Iterator[Edit]:
    """An exponent from which no maximum is subtracted."""
    if any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) for n in ast.walk(value)):
        return
    whole = value
    while isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        value = value.left  # times log2 e, or alpha
    if isinstance(value, ast.Name) and isinstance(whole, ast.Name | ast.BinOp):
        for other in known.maxima:
            if other != value.id:
                for variant, end in enumerate(("", "[:, None]")):
                    yield text.edit(
                        MAXIMUM_NOT_SUBTRACTED, value, f"({text.of(value)} - {other}{end})", variant
                    )


def _missing_exponential(text: SourceText, value: ast.expr) -> Iterator[Edit]:
    """The exponential of a difference, or of a difference times a factor."""
    difference = value.left if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult) else value
    subtracts = isinstance(difference, ast.BinOp) and isinstance(difference.op, ast.Sub)
    if subtracts and not any(isinstance(n, ast.Call) for n in ast.walk(value)):
        for variant, name in enumerate(EXPONENTIALS):
            yield text.edit(MISSING_EXPONENTIAL, value, f"tl.{name}({text.of(value)})", variant)


def _bodies(function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(function):
        for name in ("body", "orelse"):
            if isinstance(body := getattr(node, name, None), list):
                yield [statement for statement in body if isinstance(statement, ASSIGNMENT)]


def _analogous_lines(text: SourceText, body: list[ast.stmt], names: set[str]) -> Iterator[Edit]:
    """A statement in the form of its neighbour, with its own names."""
    targets = {id(s): _target(s) for s in body}
    for one in body:
        for other in body:
            renamed = _renaming(targets[id(other)], targets[id(one)])
            if one is not other and renamed and type(one) is type(other):
                put = _with_names_of(text, other, *renamed, names)
                if put and put != text.of(one):
                    yield text.edit(ANALOGOUS_LINE, one, put, int("load" in put))


def _target(statement: ast.stmt) -> str:
    target = statement.target if isinstance(statement, ast.AugAssign) else statement.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _renaming(one: str, other: str) -> tuple[str, str] | None:
    """The single part in which two names differ: ("q", "k") for q_ptr and k_ptr."""
    a, b = one.split("_"), other.split("_")
    if not one or not other or len(a) != len(b):
        return None
    parts = [(x, y) for x, y in zip(a, b, strict=True) if x != y]
    return parts[0] if len(parts) == 1 and all(parts[0]) else None


def _with_names_of(text: SourceText, statement: ast.stmt, one: str, other: str, names: set[str]) -> str:
    """A statement's text with another tensor's names in place of one's; "" if such a name does not exist."""
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
    if len(one) == len(other) == 1 and name[:1] == one and name[1:].isdigit():
        return other + name[1:]
    if one in parts:
        return "_".join(other if part == one else part for part in parts)
    if "stride" in parts and len(one) == len(other) == 1 and parts[-1].startswith(one):
        return "_".join([*parts[:-1], other + parts[-1][1:]])
    return name
