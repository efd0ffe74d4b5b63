"""Edits of a call: another function, arguments in another order, another size or start, no call at all."""

from __future__ import annotations

import ast
import builtins
import itertools
import re
from collections.abc import Iterator, Sequence

from flashlearn.explaining.edits.accesses import FILL_VALUE, access_edits, atomic_edit, fill_edits
from flashlearn.explaining.edits.dtypes import allocation_edits, conversion_edits
from flashlearn.explaining.edits.edit import Edit, EditKind, SourceText, edit_kind, name_of, names_in
from flashlearn.explaining.edits.name_families import NameFamilies
from flashlearn.explaining.edits.naturalness import bound_lines
from flashlearn.explaining.edits.operators import OPERAND_ORDER, TILES_TO_ELEMENTS
from flashlearn.explaining.edits.rounding import round_down_edit

OTHER_FUNCTION = {
    "max": "sum",
    "amax": "sum",
    "min": "max",
    "sum": "max",
    "mean": "sum",
    "exp": "exp2",
    "exp2": "exp",
    "log": "log2",
    "log2": "log",
    "maximum": "minimum",
    "minimum": "maximum",
    "empty": "zeros",
    "empty_like": "zeros_like",
    "atomic_add": "store",
    "atomic_xchg": "atomic_add",
    "sqrt": "rsqrt",
    "rsqrt": "sqrt",
}
OTHER_LIMIT = {"min": "max", "max": "min"}
ALLOCATIONS = ("zeros", "full", "empty", "zeros_like", "empty_like", "full_like", "new_zeros", "new_empty")
REMOVABLE = ("abs", "sigmoid", "exp", "sqrt", "log", "contiguous", "clone", "detach", "float")
REMOVABLE += ("nan_to_num", "clamp", "relu", "softmax", "where", "maximum", "minimum", "round", "expand")
REMOVABLE += ("flip",)
RESHAPES = ("reshape", "view", "permute")
TRANSPOSES = ("trans", "permute", "t", "transpose")
ORDER_MATTERS = ("where", "outer", "dot", "einsum", "cdiv")
SIZE_NAME = re.compile(r"^[A-Z](_?[a-z0-9])?$")
LIBRARIES = ("tl", "gl", "gluon", "tma", "mbarrier")
LIBRARIES += ("torch", "np", "math", "triton", "sp", "sympy", "F", "numpy")
PER_AXIS = ("advance", "make_block_ptr")
"""Calls with tuples of numbers, one for each axis."""

FUNCTION = edit_kind(
    "function",
    question="Which of the two functions does the formula need here?",
    changes_values=True,
    lengthens_loop=True,
)
TRANSPOSE = edit_kind(
    "transpose",
    question="What does each axis of this operand count, and which one does the next operation sum over?",
)
WRONG_SIZE = edit_kind("wrong size", question="Which size is divided into blocks here?", moves_access=True)
REDUNDANT_CLAMP = edit_kind(
    "redundant clamp",
    question="For which values does this bound make a difference, and what is right for them?",
    lengthens_loop=True,
)
CLAMPED_DIFFERENCE = edit_kind(
    "clamped difference",
    question="In which cases is this difference negative, and what should become of it there?",
)
REDUNDANT_CALL = edit_kind(
    "redundant call", question="What does this call do to its argument, and is that wanted here?"
)
VALUES_ALONE = edit_kind(
    "values alone",
    sentence="In line {line} `{old}` returns a pair, values and indices; with `{new}`",
    question="What does this function return along a dimension, and which part of it is used here?",
)
UNWEIGHTED = edit_kind(
    "unweighted",
    sentence="Line {line} sums with weights, `{old}`; with `{new}`",
    question="Does the formula weight what is summed here?",
)
LOOP_STEP = edit_kind(
    "loop step",
    sentence="Line {line} advances by `{old}` from one iteration to the next; with `{new}`",
    question="How many elements does one iteration process?",
)
START_VALUE = edit_kind(
    "start value",
    question="From which value must this start, so that nothing is left out or counted twice?",
    fills_absence=True,
)
NEGATIVE_START = edit_kind(
    "negative start",
    sentence="In line {line} the loop begins at `{old}`, which may be below 0; with `{new}`",
    question="For which programs is this below 0, and what does the first iteration read then?",
    moves_access=True,
)
ARGUMENT_ORDER = edit_kind(
    "argument order",
    sentence="Line {line} has the order `{old}`; with `{new}`",
    question="In which order are these values expected?",
    moves_access=True,
    mixes_names=True,
)
GRID_ORDER = edit_kind(
    "grid order",
    sentence="The grid in line {line} is `{old}`; with `{new}`",
    question="What does the kernel take each program_id for, and what does each axis of the grid count?",
    moves_access=True,
    requires="access slice",
)


def call_edits(text: SourceText, node: ast.Call, known: NameFamilies, kernel: bool) -> Iterator[Edit]:
    """Every edit of one call."""
    name = name_of(node)
    built_in = isinstance(node.func, ast.Name) and len(node.args) > 1  # max(a, b) is no reduction
    if name in OTHER_FUNCTION and not built_in:
        head, whole = text.of(node.func), text.of(node)
        other = head[: -len(name)] + OTHER_FUNCTION[name] + whole[len(head) :]
        of_values = name in ("minimum", "maximum") and not _of_sizes(text, node, known)
        yield text.edit(FUNCTION, node, other, int(of_values))
    elif name in ("min", "max") and built_in:
        other = OTHER_LIMIT[name] + text.of(node)[len(name) :]
        yield text.edit(FUNCTION, node, other, int(not _of_sizes(text, node, known)))
    if not kernel and name in ("max", "min") and _is_along_a_dimension(node):
        head, whole = text.of(node.func), text.of(node)
        yield text.edit(VALUES_ALONE, node, f"{head[: -len(name)]}a{name}{whole[len(head) :]}")
    if name == "float" and node.args and "inf" in text.of(node):
        other = 'float("inf")' if "-" in text.of(node) else 'float("-inf")'
        yield text.edit(FILL_VALUE, node, other, 1)
    if name in TRANSPOSES and (operand := _operand(node)) is not None:
        yield text.edit(TRANSPOSE, node, text.of(operand))
    if name == "to" and isinstance(node.func, ast.Attribute):
        yield from conversion_edits(text, node, kernel)
    if name == "cdiv" and len(node.args) == 2:
        yield from _division_edits(text, node, known)
    if name == "dot" and len(node.args) >= 2:
        yield from _product_edits(text, node)
    if kernel and name in ("load", "where", "full"):
        yield from fill_edits(text, node, name)
    if kernel and name in ("load", "store"):
        yield from access_edits(text, node, known, name)
    if kernel and name == "store" and _module(node) == "tl":
        yield atomic_edit(text, node)
    if name in ALLOCATIONS and not kernel:
        yield from order_edits(text, node.args)
    if name in ALLOCATIONS:
        yield from allocation_edits(text, node, kernel)
        yield from _minus_infinity(text, node) if kernel and name == "zeros" and node.args else ()
    if kernel and name in ("minimum", "maximum", "min", "max") and len(node.args) == 2:
        for argument in node.args:
            kind = CLAMPED_DIFFERENCE if _is_difference(argument) else REDUNDANT_CLAMP
            yield text.edit(kind, node, text.of(argument))
    if name in REMOVABLE and (operand := _operand(node)) is not None:
        yield text.edit(REDUNDANT_CALL, node, text.of(operand))
    if kernel and _is_helper(node):
        yield text.edit(REDUNDANT_CALL, node, text.of(node.args[0]), 1)
    if name == "dot" and not kernel and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
        for summed in (node.args[0], node.func.value):
            yield text.edit(UNWEIGHTED, node, f"sum({text.of(summed)})")
    if name in RESHAPES and not kernel and isinstance(node.func, ast.Attribute):
        yield text.edit(TRANSPOSE, node, f"{text.of(node.func.value)}.T")
    if name == "range":
        yield from _range_edits(text, node, known, kernel)
    if not _of_library(node) or name in ORDER_MATTERS or _module(node) in ("sp", "sympy"):
        yield from order_edits(text, node.args)
    for pair in (*node.args, *(k.value for k in node.keywords)) if name in PER_AXIS else ():
        if isinstance(pair, ast.Tuple):
            yield from order_edits(text, pair.elts)


def _of_sizes(text: SourceText, node: ast.Call, known: NameFamilies) -> bool:
    """Whether a limit is one of sizes and of programs' numbers, but of no loop: a longer one may do, too."""
    if node.lineno in bound_lines(text.raw.decode()):
        return False
    sizes = {*known.scalars, *known.blocks, *known.programs}
    sizes |= {name for name, product in known.products.items() if names_in(product) <= sizes}
    names = names_in(node) - {*LIBRARIES, *OTHER_LIMIT}
    return len(names) > 1 and names <= sizes


def _is_along_a_dimension(node: ast.Call) -> bool:
    """True for `x.max(dim=1)`, `x.max(1)` and `torch.max(x, 1)`."""
    numbers = node.args[1:] if _module(node) == "torch" else node.args
    named = any(keyword.arg in ("dim", "axis") for keyword in node.keywords)
    literal = any(ast.unparse(number).lstrip("-").isdigit() for number in numbers)
    return isinstance(node.func, ast.Attribute) and (named or literal)


def _is_helper(node: ast.Call) -> bool:
    """True for a call of one of the learner's own functions with one argument."""
    own = isinstance(node.func, ast.Name) and node.func.id not in dir(builtins)
    return own and len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred)


def loop_step_edits(text: SourceText, function: ast.FunctionDef, known: NameFamilies) -> Iterator[Edit]:
    """One block as the step of a loop that advances by a multiple of it, or by a block and a number."""
    nodes = list(ast.walk(function))
    steps = [
        n.args[2] for n in nodes if isinstance(n, ast.Call) and name_of(n) == "range" and len(n.args) == 3
    ]
    loops = [n for n in nodes if isinstance(n, ast.While)]
    for loop in loops:
        tested = names_in(loop.test)
        added = (n for n in loop.body if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add))
        steps += [n.value for n in added if names_in(n.target) <= tested]
    for step in steps:
        for block in (name for name in known.blocks if name in names_in(step)):
            if isinstance(step, ast.BinOp):
                yield text.edit(LOOP_STEP, step, block)


def while_start_edits(text: SourceText, function: ast.FunctionDef) -> Iterator[Edit]:
    """A start of at least 0 for a name that a `while` tests and its body moves on."""
    for block in (node.body for node in ast.walk(function) if hasattr(node, "body")):
        for statement, loop in itertools.pairwise(block if isinstance(block, list) else ()):
            if isinstance(loop, ast.While) and isinstance(statement, ast.Assign):
                moved = {n.target.id for n in loop.body if _moves_a_name(n)} & names_in(loop.test)
                if names_in(statement.targets[0]) & moved and isinstance(statement.value, ast.BinOp):
                    start = statement.value
                    yield text.edit(NEGATIVE_START, start, f"tl.maximum({text.of(start)}, 0)", 1)


def _moves_a_name(node: ast.AST) -> bool:
    return isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)


def order_edits(
    text: SourceText, parts: Sequence[ast.expr], unpacked: bool = False, kind: EditKind = ARGUMENT_ORDER
) -> Iterator[Edit]:
    """Two neighbours in each other's place; `unpacked`, they get each other's names, which is less likely."""
    for one, other in itertools.pairwise(parts):
        a, b = text.of(one), text.of(other)
        if a == b or isinstance(one, ast.Starred) or isinstance(other, ast.Starred):
            continue
        (start, middle), (after, end) = text.span(one), text.span(other)
        put = b + text.raw[middle:after].decode() + a
        variant = int(unpacked or "stride" in a + b)
        yield Edit(kind, start, end, put, one.lineno, f"{a}, {b}", f"{b}, {a}", variant)


def grid_order_edits(text: SourceText, parts: Sequence[ast.expr]) -> Iterator[Edit]:
    """Two neighbouring axes of a grid exchanged: of sizes, some of which are numbers of blocks."""
    if 1 < len(parts) < 4 and any("cdiv(" in text.of(part) or "//" in text.of(part) for part in parts):
        yield from order_edits(text, parts, kind=GRID_ORDER)


def untransposed_edit(text: SourceText, node: ast.Attribute) -> Edit:
    """`x` for `x.T` or `x.mT`."""
    return text.edit(TRANSPOSE, node, text.of(node.value))


def reading_order_edits(text: SourceText, node: ast.Attribute) -> Iterator[Edit]:
    """`x.reshape(n, m)` for `x.reshape(m, n).T`: entries read by rows and not by columns."""
    call = node.value
    if isinstance(call, ast.Call) and name_of(call) in ("reshape", "view") and len(call.args) == 2:
        a, b = map(text.of, call.args)
        yield text.edit(TRANSPOSE, node, f"{text.of(call.func)}({b}, {a})")


def _division_edits(text: SourceText, node: ast.Call, known: NameFamilies) -> Iterator[Edit]:
    """`cdiv` that rounds down, counts elements, or divides another size."""
    a, b = map(text.of, node.args)
    yield round_down_edit(text, node)
    yield text.edit(TILES_TO_ELEMENTS, node, f"({text.of(node)} * {b})")
    names = dict.fromkeys([*known.scalars, *known.blocks, *known.assigned])
    sizes = [name for name in names if SIZE_NAME.match(name)]
    for variant, size in enumerate(n for n in sizes if n not in (a, b)):
        yield text.edit(WRONG_SIZE, node.args[0], size, variant)


def _product_edits(text: SourceText, node: ast.Call) -> Iterator[Edit]:
    """Operands of a product transposed, or in the other order."""
    a, b = map(text.of, node.args[:2])
    for argument, written in zip(node.args[:2], (a, b), strict=True):
        if "trans" not in written and not written.endswith(".T"):
            yield text.edit(TRANSPOSE, argument, f"tl.trans({written})", 1)
    start, end = text.span(node.args[0])[0], text.span(node.args[1])[1]
    for variant, new in enumerate((f"tl.trans({b}), {a}", f"{b}, tl.trans({a})")):
        yield Edit(OPERAND_ORDER, start, end, new, node.lineno, f"{a}, {b}", new, 1 + variant)


def _minus_infinity(text: SourceText, node: ast.Call) -> Iterator[Edit]:
    """A tile that begins at −∞ instead of 0."""
    rest = "".join(f", {text.of(a)}" for a in node.args[1:])
    rest += "".join(f", {k.arg}={text.of(k.value)}" for k in node.keywords)
    yield text.edit(START_VALUE, node, f'tl.full({text.of(node.args[0])}, float("-inf"){rest})')


def _range_edits(text: SourceText, node: ast.Call, known: NameFamilies, kernel: bool) -> Iterator[Edit]:
    """Another step or start of a loop."""
    if kernel and len(node.args) == 3 and isinstance(node.args[2], ast.Constant):
        for variant, block in enumerate(known.blocks):
            yield text.edit(LOOP_STEP, node.args[2], block, variant)
    if len(node.args) > 1:
        start = node.args[0]
        yield text.edit(START_VALUE, start, "0", int(not isinstance(start, ast.Name)))
        if kernel and not isinstance(start, ast.Constant):
            yield text.edit(NEGATIVE_START, start, f"tl.maximum({text.of(start)}, 0)")


def _is_difference(node: ast.expr) -> bool:
    """True for one name minus another, as `S_k - S_q`."""
    names = (
        isinstance(node, ast.BinOp) and isinstance(node.left, ast.Name) and isinstance(node.right, ast.Name)
    )
    return names and isinstance(node.op, ast.Sub)


def _of_library(node: ast.Call) -> bool:
    return _module(node) in LIBRARIES


def _module(node: ast.Call) -> str:
    return getattr(getattr(node.func, "value", None), "id", "")


def _operand(node: ast.Call) -> ast.expr | None:
    """What a call is applied to: its first argument, or the object whose method it is."""
    if _of_library(node):
        return node.args[0] if node.args else None
    return getattr(node.func, "value", None)
