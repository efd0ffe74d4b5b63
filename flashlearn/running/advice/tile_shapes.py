"""How large a tile is: constants, powers of two, the axis of a sum, and tiles that do not fit together."""

from __future__ import annotations

import ast
import re

import triton.language as tl

from flashlearn.running.advice.error_context import (
    ErrorContext,
    dotted,
    dtype,
    is_fraction,
    is_tensor,
    is_tile,
    shape,
    written,
)

ADDRESSES = "the addresses"
POWER = "A tile's extents are powers of two: use triton.next_power_of_2(n) and mask the excess."
REDUCTIONS = {
    "tl.sum", "tl.max", "tl.min", "tl.argmax", "tl.argmin", "tl.cumsum", "tl.cumprod", "tl.xor_sum",
}  # fmt: skip
ELEMENTWISE = {"tl.max": ("larger", "tl.maximum"), "tl.min": ("smaller", "tl.minimum")}


def extent_not_constant(context: ErrorContext) -> str:
    """tl.arange(0, n), tl.zeros([M, N]) with run-time numbers of the launch."""
    made = context.called in ("tl.arange", "tl.zeros", "tl.full", "tl.reshape", "tl.broadcast_to")
    if not made or not ("tl.constexpr" in context.message or "constexpr[int]" in context.message):
        return ""
    sizes = _sizes(context.node)
    for node in sizes:
        if isinstance(context.value(node), float):
            return (
                f"`{written(node)}` is a fraction, {context.value(node)!r}, and a tile's size is a whole "
                "number: / always gives a fraction, // stays whole."
            )
    unknown = [
        node for node in sizes if any(is_tensor(context.value(name)) for name in context.names_in(node))
    ]
    if not unknown:
        return ""
    node = unknown[-1]
    name = written(node)
    if isinstance(node, ast.Name) and node.id in context.parameters:
        end = context.called == "tl.arange"
        other = (
            "Otherwise use tl.arange(0, BLOCK) with a block size, and a mask."
            if end
            else "Otherwise give it the block's size, [BLOCK]."
        )
        return (
            f"{name} is known only when the kernel runs, and a tile's size when it is compiled. If {name} "
            f"is the block size, write `{name}: tl.constexpr` among the kernel's parameters. {other}"
        )
    if context.called == "tl.arange":
        return (
            f"`{name}` is known only when the kernel runs, and both ends of tl.arange are constants. Count "
            "from 0 and add the start: `start + tl.arange(0, BLOCK)`."
        )
    return (
        f"`{name}` is known only when the kernel runs, and a tile's size when it is compiled. Build "
        "it from parameters that are tl.constexpr, such as [BLOCK]; half of it is declared as "
        "half: tl.constexpr = BLOCK // 2."
    )


def _sizes(call: ast.Call) -> list[ast.expr]:
    """The expressions for the extents of a tile."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    name = dotted(call.func).removeprefix("tl.")
    if name == "arange":
        return [*call.args[:2], *(named[end] for end in ("start", "end") if end in named)]
    at = 1 if name in ("reshape", "broadcast_to") else 0
    whole = call.args[at] if len(call.args) > at else named.get("shape")
    if isinstance(whole, ast.List | ast.Tuple):
        return whole.elts
    return [whole] if whole is not None else []


def extent_not_power_of_two(context: ErrorContext) -> str:
    """A block of 100."""
    if "power of 2" not in context.message:
        return ""
    if context.called == "tl.arange" and len(context.operands) > 1:
        start, end = (getattr(value, "value", value) for value in context.operands[:2])
        if isinstance(start, int) and isinstance(end, int):
            return f"`{context.text}` makes a tile of {end - start}. {POWER}"
    if context.called.endswith((".view", ".reshape")) and any(
        _is_minus_one(n) for n in ast.walk(context.node)
    ):
        return (
            f"`{context.text}`: Triton does not infer a size from −1. Write the sizes themselves, such as "
            "[BLOCK]."
        )
    return POWER


def _is_minus_one(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and ast.unparse(node) == "-1"


def invalid_arange(context: ErrorContext) -> str:
    """tl.arange(BLOCK), tl.arange(0, BLOCK, 2)."""
    if context.called != "tl.arange" or not isinstance(context.error, TypeError):
        return ""
    if len(context.node.args) == 1:
        return f"tl.arange needs both ends: `tl.arange(0, {written(context.node.args[0])})`."
    if len(context.node.args) > 2:
        step = written(context.node.args[2])
        if step == "1":
            return "tl.arange has no step, it counts by ones: remove the third argument."
        return (
            f"tl.arange has no step, it counts by ones: every {step}-th number is `{step} * tl.arange(0, "
            "COUNT)`."
        )
    return ""


def shape_as_arguments(context: ErrorContext) -> str:
    """tl.zeros(BM, BN): the second argument is the dtype. tl.zeros(tl.float32, [BM, BN]): it is the first."""
    if context.called not in ("tl.zeros", "tl.full") or "not iterable" not in context.message:
        return ""
    types = [node for node in context.node.args if _is_dtype(context, node)]
    others = [node for node in context.node.args if node not in types]
    named = [k.value for k in context.node.keywords if k.arg == "dtype"]
    end = f"dtype={written([*types, *named][0]) if types or named else 'tl.float32'})`."
    lists = [node for node in others if isinstance(node, ast.List | ast.Tuple)]
    value = "" if context.called == "tl.zeros" else ", value"
    if lists:
        return f"The shape is the first argument: `{context.called}({written(lists[0])}{value}, {end}"
    sizes = others if context.called == "tl.zeros" else others[:1]
    if not sizes:
        return f"{context.called} needs a shape, a list, before the dtype."
    shape_of_it = ", ".join(map(written, sizes))
    return f"The shape is one argument, a list: `{context.called}([{shape_of_it}]{value}, {end}"


def _is_dtype(context: ErrorContext, node: ast.expr) -> bool:
    """True for tl.float32, and for `x_ptr.dtype.element_ty`, whose value is not known."""
    return isinstance(context.value(node), tl.dtype) or ast.unparse(node).endswith(("dtype", "element_ty"))


def dot_of_vectors(context: ErrorContext) -> str:
    """tl.dot of tiles with one axis."""
    if context.called != "tl.dot" or "equal ranks" not in context.message or len(context.operands) < 2:
        return ""
    one, other = (shape(value) for value in context.operands[:2])
    left, right = (
        written(argument) for argument in (*context.node.args, *(k.value for k in context.node.keywords))[:2]
    )
    if len(one) == len(other) == 1:
        return (
            f"tl.dot multiplies two matrices, [M, K] and [K, N], and these are vectors, {one} and {other}. "
            f"Their inner product is `tl.sum({left} * {right}, axis=0)`."
        )
    return (
        f"tl.dot multiplies two matrices, [M, K] and [K, N], and here `{left}` is {one or 'one number'} "
        f"and `{right}` {other or 'one number'}. A matrix times a vector is `tl.sum(a * x[None, :], "
        "axis=1)`."
    )


def incompatible_dot(context: ErrorContext) -> str:
    """Inner extents, or dtypes, that differ."""
    if context.called != "tl.dot" or len(context.operands) < 2 or len(context.node.args) < 2:
        return ""
    one, other = context.operands[:2]
    left, right = (written(argument) for argument in context.node.args[:2])
    started = context.operands[2] if len(context.operands) > 2 else context.keywords.get("acc")
    if isinstance(context.error, AssertionError) and is_tensor(started) and dtype(started) in HALF:
        return (
            f"tl.dot adds its product to a tile in fp32, and `{_accumulator(context)}` is {dtype(started)}: "
            "create that tile in fp32."
        )
    if "accumulator shape" in context.message and is_tensor(started) and shape(started):
        rows, columns = shape(one)[:1], shape(other)[-1:]
        return (
            f"tl.dot adds its product, {rows + columns}, to `{_accumulator(context)}`, which is "
            f"{shape(started)}: which line makes it that?"
        )
    if "equal reduction dimensions" in context.message:
        return (
            f"tl.dot multiplies [M, K] by [K, N]; here `{left}` is {shape(one)} and `{right}` "
            f"{shape(other)}. Which of these shapes is not the one that you want, and which line makes it?"
        )
    if "same dtype" in context.message:
        return (
            f"tl.dot needs one dtype on both sides; `{left}` is {dtype(one)} and `{right}` {dtype(other)}. "
            f"Convert one of them, such as {_converted(context, left, right)}."
        )
    return ""


HALF = ("fp16", "bf16")


def _converted(context: ErrorContext, left: str, right: str) -> str:
    """A conversion that makes both dtypes one: where the dtype is written out, or of a tile not loaded."""
    pairs = list(zip(context.node.args[:2], (right, left), strict=True))
    for node, other in pairs:
        source = _assigned(context, node)
        is_cast = isinstance(source, ast.Call) and getattr(source.func, "attr", "") == "to" and source.args
        if is_cast and not ast.unparse(source.args[0]).endswith(f"{other}.dtype"):
            return f"`{written(source.func.value)}.to({other}.dtype)`"
    loaded = [_is_loaded(_assigned(context, node)) for node, _ in pairs]
    if loaded == [False, True]:
        return f"`{left}.to({right}.dtype)`"
    return f"`{right}.to({left}.dtype)`"


def _assigned(context: ErrorContext, node: ast.expr) -> ast.expr:
    """An operand, or what its name was assigned in the function, without a transposition."""
    while isinstance(node, ast.Call) and dotted(node.func).endswith(("trans", "permute")) and node.args:
        node = node.args[0]
    node = node.value if isinstance(node, ast.Attribute) and node.attr == "T" else node
    if not isinstance(node, ast.Name):
        return node
    found = [
        each.value
        for each in ast.walk(context.function)
        if isinstance(each, ast.Assign) and getattr(each.targets[0], "id", "") == node.id
    ]
    return found[-1] if found else node


def _is_loaded(value: ast.expr) -> bool:
    return any(isinstance(n, ast.Call) and dotted(n.func).endswith("load") for n in ast.walk(value))


def _accumulator(context: ErrorContext) -> str:
    """The third argument of a tl.dot, as it is written."""
    named = (k.value for k in context.node.keywords if k.arg == "acc")
    return written(next(named, context.node.args[2] if len(context.node.args) > 2 else None))


def wrong_axis(context: ErrorContext) -> str:
    """tl.sum(x, axis=1) of a vector, tl.max(x, y), tl.sum of one number."""
    axis_is_wrong = (
        "out of bounds for shape" in context.message or "interpreted as an integer" in context.message
    )
    if context.called not in REDUCTIONS or not axis_is_wrong or not context.operands or not context.node.args:
        return ""
    value, *rest = context.operands
    name = written(context.node.args[0])
    axis = rest[0] if rest else context.keywords.get("axis")
    if is_tensor(axis) or isinstance(axis, float):
        what, instead = ELEMENTWISE.get(context.called, ("", ""))
        second = written(context.node.args[1]) if len(context.node.args) > 1 else ""
        if instead and second and (is_tile(axis) or is_fraction(axis)):
            return (
                f"{context.called} reduces one tile along an axis, and `{second}` is where the axis "
                f"belongs. The {what} of two values is `{instead}({name}, {second})`."
            )
        return f"{context.called} needs the number of an axis, a constant such as 0 or 1, after the tile."
    if is_tensor(value) and not is_tile(value):
        return (
            f"`{name}` is a single number here, and {context.called} reduces a tile: which line "
            "reduced it to one number?"
        )
    if is_tile(value):
        axes = (
            "one axis, number 0"
            if len(shape(value)) == 1
            else f"{len(shape(value))} axes, 0 to {len(shape(value)) - 1}"
        )
        return (
            f"`{name}` is a tile of {shape(value)}: it has {axes}, and {context.called} was asked for axis "
            f"{axis}."
        )
    return ""


def incompatible_shapes(context: ErrorContext) -> str:
    """Tiles that cannot be broadcast against each other."""
    if "make_shape_compatible" not in context.message and "incompatible dimensions" not in context.message:
        return ""
    parts = [value for value in (*context.operands, *context.keywords.values()) if is_tile(value)]
    known = _shapes(context)
    here = f": {', '.join(known[:-1])} and {known[-1]}" if len(known) > 1 else ""
    flat = any(len(shape(value)) == 1 for value in parts) and any(len(shape(value)) > 1 for value in parts)
    fix = (
        "A mask of one axis needs [:, None] for rows or [None, :] for columns."
        if flat and context.called in ("tl.load", "tl.store")
        else "Which of them does not have the shape that this line needs, and where is it made?"
    )
    return f"The shapes of two tiles in this line do not match{here}. {fix}"


def _shapes(context: ErrorContext) -> list[str]:
    """The operands with their shapes: by the argument's name, or as they are written."""
    if isinstance(context.node, ast.BinOp | ast.Compare | ast.AugAssign):
        node = context.node
        sides = (
            (node.left, node.right)
            if isinstance(node, ast.BinOp)
            else (node.left, *node.comparators)
            if isinstance(node, ast.Compare)
            else (node.target, node.value)
        )
        pairs = zip(map(written, sides), context.operands, strict=False)
    elif context.called in ("tl.load", "tl.store"):
        names = ("pointer", "mask", "other") if context.called == "tl.load" else ("pointer", "value", "mask")
        pairs = [*zip(names, context.operands, strict=False), *context.keywords.items()]
        pairs = [(ADDRESSES if name == "pointer" else name, value) for name, value in pairs]
    elif isinstance(context.node, ast.Call) and not context.called.startswith("."):
        pairs = zip(map(written, context.node.args), context.operands, strict=False)
    else:
        return []
    return [
        f"{name} {'are' if name == ADDRESSES else 'is'} {shape(value)}"
        for name, value in pairs
        if is_tile(value)
    ]


def invalid_program_axis(context: ErrorContext) -> str:
    """tl.program_id(3), tl.program_id()."""
    if context.called not in ("tl.program_id", "tl.num_programs"):
        return ""
    if "axis must be" in context.message:
        return f"`{context.text}`: a grid has the axes 0, 1 and 2, so {context.called} takes one of these."
    if re.search(r"missing 1 required positional argument", context.message):
        return f"{context.called} needs an axis of the grid and returns one number: `{context.called}(0)`."
    return ""


RULES = (
    extent_not_constant,
    extent_not_power_of_two,
    invalid_arange,
    shape_as_arguments,
    dot_of_vectors,
    incompatible_dot,
    wrong_axis,
    incompatible_shapes,
    invalid_program_axis,
)
