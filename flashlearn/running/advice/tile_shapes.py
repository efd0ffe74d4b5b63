"""How large a tile is: constants, powers of two, the axis of a sum, and tiles that do not fit together."""

from __future__ import annotations

import ast
import re

from flashlearn.running.advice.error_context import (
    Slip,
    dotted,
    dtype,
    is_fraction,
    is_tensor,
    is_tile,
    shape,
    written,
)

ADDRESSES = "the addresses"
POWER = "A tile's extents are powers of two: take triton.next_power_of_2(n) and mask what is too much."
REDUCTIONS = {
    "tl.sum", "tl.max", "tl.min", "tl.argmax", "tl.argmin", "tl.cumsum", "tl.cumprod", "tl.xor_sum",
}  # fmt: skip
TWO_OF_THEM = {"tl.max": ("larger", "tl.maximum"), "tl.min": ("smaller", "tl.minimum")}


def no_constant(slip: Slip) -> str:
    """tl.arange(0, n), tl.zeros([M, N]) with numbers of the launch."""
    made = slip.called in ("tl.arange", "tl.zeros", "tl.full", "tl.reshape", "tl.broadcast_to")
    if not made or not ("tl.constexpr" in slip.said or "constexpr[int]" in slip.said):
        return ""
    sizes = _sizes(slip.node)
    for node in sizes:
        if isinstance(slip.value(node), float):
            return (
                f"`{written(node)}` is a fraction, {slip.value(node)!r}, and a tile's size is a whole "
                "number: / always gives a fraction, // stays whole."
            )
    unknown = [node for node in sizes if any(is_tensor(slip.value(name)) for name in slip.names_in(node))]
    if not unknown:
        return ""
    node = unknown[-1]
    name = written(node)
    if isinstance(node, ast.Name) and node.id in slip.parameters:
        end = slip.called == "tl.arange"
        other = (
            "Otherwise take tl.arange(0, BLOCK) with a block size, and a mask."
            if end
            else "Otherwise make it of the block's size, [BLOCK]."
        )
        return (
            f"{name} is known only when the kernel runs, and a tile's size when it is compiled. If {name} "
            f"is the block size, write `{name}: tl.constexpr` among the kernel's parameters. {other}"
        )
    if slip.called == "tl.arange":
        return (
            f"`{name}` is known only when the kernel runs, and both ends of tl.arange are constants. Count "
            "from 0 and add the beginning: `start + tl.arange(0, BLOCK)`."
        )
    return (
        f"`{name}` is known only when the kernel runs, and a tile's size when it is compiled. Make it of "
        "parameters that are tl.constexpr, such as [BLOCK]; a half is written half: tl.constexpr = BLOCK "
        "// 2."
    )


def _sizes(call: ast.Call) -> list[ast.expr]:
    """The expressions that say how large a tile is."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    name = dotted(call.func).removeprefix("tl.")
    if name == "arange":
        return [*call.args[:2], *(named[end] for end in ("start", "end") if end in named)]
    at = 1 if name in ("reshape", "broadcast_to") else 0
    whole = call.args[at] if len(call.args) > at else named.get("shape")
    if isinstance(whole, ast.List | ast.Tuple):
        return whole.elts
    return [whole] if whole is not None else []


def no_power_of_two(slip: Slip) -> str:
    """A block of 100."""
    if "power of 2" not in slip.said:
        return ""
    if slip.called == "tl.arange" and len(slip.operands) > 1:
        start, end = (getattr(value, "value", value) for value in slip.operands[:2])
        if isinstance(start, int) and isinstance(end, int):
            return f"`{slip.text}` makes a tile of {end - start}. {POWER}"
    if slip.called.endswith((".view", ".reshape")) and any(_is_minus_one(n) for n in ast.walk(slip.node)):
        return (
            f"`{slip.text}`: Triton does not work out a size from −1. Write the sizes themselves, such as "
            "[BLOCK]."
        )
    return POWER


def _is_minus_one(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and ast.unparse(node) == "-1"


def range_misspelt(slip: Slip) -> str:
    """tl.arange(BLOCK), tl.arange(0, BLOCK, 2)."""
    if slip.called != "tl.arange" or not isinstance(slip.error, TypeError):
        return ""
    if len(slip.node.args) == 1:
        return f"tl.arange wants both ends: `tl.arange(0, {written(slip.node.args[0])})`."
    if len(slip.node.args) > 2:
        step = written(slip.node.args[2])
        if step == "1":
            return "tl.arange has no step, it counts by ones: leave the third argument out."
        return (
            f"tl.arange has no step, it counts by ones: every {step}-th number is `{step} * tl.arange(0, "
            "COUNT)`."
        )
    return ""


def shape_in_pieces(slip: Slip) -> str:
    """tl.zeros(BM, BN): the second argument is the dtype."""
    if slip.called not in ("tl.zeros", "tl.full") or "not iterable" not in slip.said:
        return ""
    first = slip.node.args[:1]
    sizes = (
        ", ".join(written(argument) for argument in slip.node.args)
        if slip.called == "tl.zeros"
        else written(first[0])
    )
    value = "" if slip.called == "tl.zeros" else ", value"
    return f"The shape is one argument, a list: `{slip.called}([{sizes}]{value}, dtype=tl.float32)`."


def dot_of_vectors(slip: Slip) -> str:
    """tl.dot of tiles with one axis."""
    if slip.called != "tl.dot" or "equal ranks" not in slip.said or len(slip.operands) < 2:
        return ""
    one, other = (shape(value) for value in slip.operands[:2])
    left, right = (
        written(argument) for argument in (*slip.node.args, *(k.value for k in slip.node.keywords))[:2]
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


def dot_that_does_not_fit(slip: Slip) -> str:
    """Inner extents, or dtypes, that differ."""
    if slip.called != "tl.dot" or len(slip.operands) < 2 or len(slip.node.args) < 2:
        return ""
    one, other = slip.operands[:2]
    left, right = (written(argument) for argument in slip.node.args[:2])
    if "equal reduction dimensions" in slip.said:
        return (
            f"tl.dot multiplies [M, K] by [K, N]; here `{left}` is {shape(one)} and `{right}` "
            f"{shape(other)}. Are they in the wrong order, or does one of them need tl.trans?"
        )
    if "same dtype" in slip.said:
        return (
            f"tl.dot wants one dtype on both sides; `{left}` is {dtype(one)} and `{right}` {dtype(other)}. "
            f"Convert one of them, such as `{right}.to({left}.dtype)`."
        )
    return ""


def wrong_axis(slip: Slip) -> str:
    """tl.sum(x, axis=1) of a vector, tl.max(x, y), tl.sum of one number."""
    axis_is_wrong = "out of bounds for shape" in slip.said or "interpreted as an integer" in slip.said
    if slip.called not in REDUCTIONS or not axis_is_wrong or not slip.operands or not slip.node.args:
        return ""
    value, *rest = slip.operands
    name = written(slip.node.args[0])
    axis = rest[0] if rest else slip.keywords.get("axis")
    if is_tensor(axis) or isinstance(axis, float):
        what, instead = TWO_OF_THEM.get(slip.called, ("", ""))
        second = written(slip.node.args[1]) if len(slip.node.args) > 1 else ""
        if instead and second and (is_tile(axis) or is_fraction(axis)):
            return (
                f"{slip.called} reduces one tile along an axis, and `{second}` stands where the axis "
                f"belongs. The {what} of two values is `{instead}({name}, {second})`."
            )
        return f"{slip.called} wants the number of an axis, a constant such as 0 or 1, after the tile."
    if is_tensor(value) and not is_tile(value):
        return (
            f"`{name}` is a single number here, and {slip.called} reduces a tile: which line made one "
            "number of it?"
        )
    if is_tile(value):
        axes = (
            "one axis, number 0"
            if len(shape(value)) == 1
            else f"{len(shape(value))} axes, 0 to {len(shape(value)) - 1}"
        )
        return (
            f"`{name}` is a tile of {shape(value)}: it has {axes}, and {slip.called} was asked for axis "
            f"{axis}."
        )
    return ""


def two_shapes(slip: Slip) -> str:
    """Tiles that cannot be broadcast against each other."""
    if "make_shape_compatible" not in slip.said and "incompatible dimensions" not in slip.said:
        return ""
    parts = [value for value in (*slip.operands, *slip.keywords.values()) if is_tile(value)]
    known = _shapes(slip)
    here = f": {', '.join(known[:-1])} and {known[-1]}" if len(known) > 1 else ""
    flat = any(len(shape(value)) == 1 for value in parts) and any(len(shape(value)) > 1 for value in parts)
    mend = (
        "A mask of one axis needs [:, None] for rows or [None, :] for columns."
        if flat and slip.called in ("tl.load", "tl.store")
        else "Is a [:, None] or [None, :] missing, or does a sum run along the other axis?"
    )
    return f"Two tiles meet in this line whose shapes do not fit{here}. {mend}"


def _shapes(slip: Slip) -> list[str]:
    """What met, with its shape: by the argument's name, or as it is written."""
    if isinstance(slip.node, ast.BinOp | ast.Compare | ast.AugAssign):
        node = slip.node
        sides = (
            (node.left, node.right)
            if isinstance(node, ast.BinOp)
            else (node.left, *node.comparators)
            if isinstance(node, ast.Compare)
            else (node.target, node.value)
        )
        pairs = zip(map(written, sides), slip.operands, strict=False)
    elif slip.called in ("tl.load", "tl.store"):
        names = ("pointer", "mask", "other") if slip.called == "tl.load" else ("pointer", "value", "mask")
        pairs = [*zip(names, slip.operands, strict=False), *slip.keywords.items()]
        pairs = [(ADDRESSES if name == "pointer" else name, value) for name, value in pairs]
    elif isinstance(slip.node, ast.Call) and not slip.called.startswith("."):
        pairs = zip(map(written, slip.node.args), slip.operands, strict=False)
    else:
        return []
    return [
        f"{name} {'are' if name == ADDRESSES else 'is'} {shape(value)}"
        for name, value in pairs
        if is_tile(value)
    ]


def no_such_program(slip: Slip) -> str:
    """tl.program_id(3), tl.program_id()."""
    if slip.called not in ("tl.program_id", "tl.num_programs"):
        return ""
    if "axis must be" in slip.said:
        return f"`{slip.text}`: a grid has the axes 0, 1 and 2, so {slip.called} takes one of these."
    if re.search(r"missing 1 required positional argument", slip.said):
        return f"{slip.called} wants an axis of the grid and gives one number: `{slip.called}(0)`."
    return ""


RULES = (
    no_constant,
    no_power_of_two,
    range_misspelt,
    shape_in_pieces,
    dot_of_vectors,
    dot_that_does_not_fit,
    wrong_axis,
    two_shapes,
    no_such_program,
)
