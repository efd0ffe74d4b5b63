"""Edits of reductions, of a result that is discarded, and of a guard that overwrites a value."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flashlearn.explaining.edits.dtypes import CAST
from flashlearn.explaining.edits.edit import Edit, SourceText, bracketed, edit_kind, name_of
from flashlearn.explaining.edits.name_families import NameFamilies

NEUTRAL = {"min": 'float("inf")', "max": 'float("-inf")', "sum": "0.0"}
"""What a reduction may include without changing."""

REDUCTIONS = ("sum", "max", "min", "argmax", "argmin", "mean", "amax", "amin", "logsumexp", "softmax")
REDUCTIONS += ("log_softmax", "cumsum", "norm")
KEEPDIM = {"keepdim", "keepdims", None}
KEEPING = ("sum", "mean", "amax", "amin", "logsumexp")
"""Those of torch that give a tensor, with or without the axis."""

OTHER_AXES = {
    "0": ("1", "-1", "2"),
    "1": ("0", "-1", "2"),
    "2": ("1", "0"),
    "-1": ("-2", "0"),
    "-2": ("-1", "0"),
}
GRID = ("program_id", "num_programs")

PURE = ("dot", "dot_scaled", "fma", "where", "maximum", "minimum", "sum", "max", "min", "exp", "exp2")
PURE += ("log", "log2", "abs", "trans", "permute", "reshape", "to", "cast", "advance", "add", "mul")
"""Calls that change none of their arguments."""

EXPONENTIALS = ("exp", "exp2")

MISSING_AXIS = edit_kind(
    "missing axis",
    sentence="Line {line} reduces the whole tile to one number: `{old}`; with `{new}`",
    question="Whose number should this be: that of a row, of a column, or of the tile?",
)
MASKED_LANES = edit_kind(
    "masked lanes",
    sentence="Line {line} reduces over all lanes, including those that a mask hides: `{old}`; with `{new}`",
    question="What do the lanes without an element hold?",
)
DISCARDED_RESULT = edit_kind(
    "discarded result",
    sentence="Line {line} discards the result of `{old}`; with `{new}`",
    question="Which functions change their arguments, and which return a new value?",
)
REDUCTION_AXIS = edit_kind(
    "reduction axis",
    question="Which index should this remove, and along which axis does it run?",
)
KEPT_DIMENSION = edit_kind(
    "kept dimension",
    question="What shape does the result of this reduction have, and which one does its use need?",
    in_gluon=False,
)
OVERWRITING_GUARD = edit_kind(
    "overwriting guard",
    sentence="Line {line}, `{old}`, writes the guard's number into the value itself; "
    "with a separate name for it, used in the exponents alone,",
    question="What is computed from this value, in the next iteration or for the store, in a row whose "
    "elements so far were all −inf?",
)


def reduction_edits(text: SourceText, node: ast.Call, known: NameFamilies) -> Iterator[Edit]:
    """A reduction along one axis instead of the whole tile, or of the unmasked lanes alone."""
    name = name_of(node)
    if name not in NEUTRAL or len(node.args) not in (1, 2) or isinstance(node.func, ast.Name):
        return  # Python's max(a, b) reduces nothing
    yield from _in_fp32(text, node, name)
    inner, rest = text.of(node.args[0]), text.raw[text.span(node.args[0])[1] : text.span(node)[1]].decode()
    if len(node.args) == 1 and not node.keywords:
        for variant, axis in enumerate((1, 0)):
            yield text.edit(MISSING_AXIS, node, f"{text.of(node.func)}({inner}, axis={axis})", variant)
    if isinstance(node.args[0], ast.Name):
        for variant, mask in enumerate(known.masks):
            hidden = f"tl.where({mask}, {inner}, {NEUTRAL[name]})"
            rank = 0 if name == "min" else variant  # a fill value is hardly ever neutral for a minimum
            yield text.edit(MASKED_LANES, node, f"{text.of(node.func)}({hidden}{rest}", rank)


def _in_fp32(text: SourceText, node: ast.Call, name: str) -> Iterator[Edit]:
    """A sum of numbers that are converted first."""
    inner, whole = text.of(node.args[0]), text.of(node)
    if name == "sum" and "float32" not in inner:
        head, tail = whole.split(inner, 1)
        yield text.edit(CAST, node, f"{head}{bracketed(node.args[0], inner)}.to(tl.float32){tail}")


def axis_numbers(part: ast.AST) -> set[ast.AST]:
    """The nodes of numbers that are the axis of a reduction, or of the grid."""
    calls = [node for node in ast.walk(part) if isinstance(node, ast.Call)]
    axes = [axis for call in calls if (axis := _axis_of(call)) is not None]
    grid = [call for call in calls if name_of(call) in GRID]
    axes += [axis for call in grid for axis in (*call.args, *(k.value for k in call.keywords))]
    return {node for axis in axes for node in ast.walk(axis)}


def kept_dimension_edits(text: SourceText, node: ast.Call) -> Iterator[Edit]:
    """A torch reduction along an axis that keeps it, as an axis of size 1."""
    named = {k.arg for k in node.keywords}
    if name_of(node) in KEEPING and _axis_of(node) is not None and not named & KEEPDIM:
        start, end = text.span(node)
        call = text.raw[start : end - 1].decode().rstrip().removesuffix(",")
        yield text.edit(KEPT_DIMENSION, node, f"{call}, keepdim=True)")


def axis_edits(text: SourceText, node: ast.Call, kernel: bool = True) -> Iterator[Edit]:
    """A reduction along another axis, in torch also one that keeps it."""
    axis = _axis_of(node)
    if axis is not None:
        (start, end), (first, last) = text.span(node), text.span(axis)
        head, tail = text.raw[start:first].decode(), text.raw[last:end].decode()
        keeps = not kernel and name_of(node) in KEEPING and not {k.arg for k in node.keywords} & KEEPDIM
        for variant, other in enumerate(OTHER_AXES[text.of(axis)]):
            yield text.edit(REDUCTION_AXIS, node, f"{head}{other}{tail}", variant)
            if keeps and tail.strip() == ")":
                yield text.edit(REDUCTION_AXIS, node, f"{head}{other}, keepdim=True)", variant)


def _axis_of(node: ast.Call) -> ast.expr | None:
    """The axis of a reduction, if it is a small number that is written out."""
    if name_of(node) not in REDUCTIONS or not isinstance(node.func, ast.Attribute):
        return None  # max(a, b) of two numbers has no axis
    owner = node.func.value
    of_library = isinstance(owner, ast.Name) and owner.id in ("tl", "gl", "torch", "np")
    axes = [*node.args[int(of_library) :][:1], *(k.value for k in node.keywords if k.arg in ("axis", "dim"))]
    return next((axis for axis in axes if ast.unparse(axis) in OTHER_AXES), None)


def discarded_result_edits(text: SourceText, statement: ast.stmt, kernel: bool) -> Iterator[Edit]:
    """A pure call as a statement of its own: its result assigned to one of its arguments."""
    if not kernel or not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return
    call = statement.value
    if name_of(call) not in PURE:
        return
    names = [part.id for part in call.args if isinstance(part, ast.Name)]
    names += [k.value.id for k in call.keywords if k.arg == "acc" and isinstance(k.value, ast.Name)]
    for variant, name in enumerate(reversed(names)):
        yield text.edit(DISCARDED_RESULT, statement, f"{name} = {text.of(call)}", variant)


def overwriting_guard_edits(text: SourceText, body: list[ast.stmt]) -> Iterator[Edit]:
    """`m = tl.where(m == -inf, 0, m)`: the guard of an exponent overwrites the maximum itself."""
    for at, statement in enumerate(body):
        name = _guarded_name(statement)
        if not name:
            continue
        safe = f"{name}_for_exp"
        (first, end), stop = text.span(statement), text.span(body[-1])[1]
        put = safe + text.raw[first:end].decode().removeprefix(name)
        for use in sorted(_in_exponents(body[at + 1 :], name), key=text.span):
            start, after = text.span(use)
            put += text.raw[end:start].decode() + safe
            end = after
        put += text.raw[end:stop].decode()
        old = text.of(statement)
        yield Edit(OVERWRITING_GUARD, first, stop, put, statement.lineno, old, safe + old.removeprefix(name))


def _guarded_name(statement: ast.stmt) -> str:
    """The name to which a statement assigns its own value, with a number in place of an infinity."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return ""
    name, value = statement.targets[0].id, statement.value
    if not isinstance(value, ast.Call) or name_of(value) != "where" or len(value.args) != 3:
        return ""
    condition, *others = map(ast.unparse, value.args)
    return name if name in others and "inf" in condition and name in condition else ""


def _in_exponents(body: list[ast.stmt], name: str) -> list[ast.Name]:
    """Uses of a name in arguments of exponentials, until it is assigned another value."""
    found = []
    for statement in body:
        calls = [n for n in ast.walk(statement) if isinstance(n, ast.Call) and name_of(n) in EXPONENTIALS]
        found += [n for call in calls for n in ast.walk(call) if isinstance(n, ast.Name) and n.id == name]
        stored = (n for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        if any(n.id == name for n in stored):
            break
    return list(dict.fromkeys(found))
