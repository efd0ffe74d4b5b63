"""Edits of a call: another function, arguments in another order, a conversion, a mask, a filler."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence

from flashlearn.explaining.edits.name_families import Families
from flashlearn.explaining.edits.source_text import Edit, Text, bracketed

INSTEAD = {
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
MADE = ("zeros", "full", "empty", "zeros_like", "empty_like", "full_like", "new_zeros", "new_empty")
AROUND = ("abs", "sigmoid", "exp", "sqrt", "log", "contiguous", "clone", "detach", "float")
AROUND += ("nan_to_num", "clamp", "relu", "softmax", "where", "maximum", "minimum", "round", "expand", "flip")
RESHAPED = ("reshape", "view", "permute")
TURNS = ("trans", "permute", "t", "transpose")
EXCHANGED = ("where", "outer", "dot")
SIZE = re.compile(r"^[A-Z](_?[a-z0-9])?$")
LIBRARIES = (
    "tl",
    "gl",
    "gluon",
    "tma",
    "mbarrier",
    "torch",
    "np",
    "math",
    "triton",
    "sp",
    "sympy",
    "F",
    "numpy",
)
ORDERED = ("advance", "make_block_ptr")
"""Calls with pairs of numbers, one for each axis."""


def called(text: Text, node: ast.Call, known: Families, kernel: bool) -> Iterator[Edit]:
    """Every edit of one call."""
    name = name_of(node)
    if name in INSTEAD and not (
        isinstance(node.func, ast.Name) and len(node.args) > 1
    ):  # not the built-in max
        head, whole = text.of(node.func), text.of(node)
        other = head[: -len(name)] + INSTEAD[name] + whole[len(head) :]
        yield text.edit("function", node, other, int(name in ("minimum", "maximum")))
    if name == "float" and node.args and "inf" in text.of(node):
        other = 'float("inf")' if "-" in text.of(node) else 'float("-inf")'
        yield text.edit("filler", node, other, 1)
    if name in TURNS and (inner := _inner(node)) is not None:
        yield text.edit("transposed", node, text.of(inner))
    if name == "to" and isinstance(node.func, ast.Attribute):
        yield from _converted(text, node, kernel)
    if name == "cdiv" and len(node.args) == 2:
        a, b = map(text.of, node.args)
        yield text.edit("rounded down", node, f"({a}) // ({b})")
        yield text.edit("number of tiles", node, f"({text.of(node)} * {b})")
        for variant, size in enumerate(n for n in _sizes(known) if n not in (a, b)):
            yield text.edit("another size", node.args[0], size, variant)
    if name == "dot" and len(node.args) >= 2:
        yield from _product(text, node)
    if kernel and name in ("load", "where", "full"):
        yield from _filled(text, node, name)
    if kernel and name in ("load", "store"):
        yield from _accessed(text, node, known, name)
    if kernel and name == "store" and _module(node) == "tl":
        yield text.edit("added", node, "tl.atomic_add" + text.of(node)[len(text.of(node.func)) :])
    if name in MADE:
        yield from _made(text, node, name, kernel)
    if kernel and name in ("minimum", "maximum", "min", "max") and len(node.args) == 2:
        for argument in node.args:
            yield text.edit("unclipped", node, text.of(argument))
    if name in AROUND and (inner := _inner(node)) is not None:
        yield text.edit("unwrapped", node, text.of(inner))
    if name in RESHAPED and not kernel and isinstance(node.func, ast.Attribute):
        yield text.edit("transposed", node, f"{text.of(node.func.value)}.T")
    if kernel and name == "range" and len(node.args) == 3 and isinstance(node.args[2], ast.Constant):
        for variant, block in enumerate(known.blocks):
            yield text.edit("step", node.args[2], block, variant)
    if name == "range" and len(node.args) > 1:
        yield text.edit("start", node.args[0], "0", int(not isinstance(node.args[0], ast.Name)))
        if kernel and not isinstance(node.args[0], ast.Constant):
            yield text.edit("below zero", node.args[0], f"tl.maximum({text.of(node.args[0])}, 0)")
    if not _of_library(node) or name in EXCHANGED or _module(node) in ("sp", "sympy"):
        yield from exchanged(text, node.args)
    for pair in (*node.args, *(k.value for k in node.keywords)) if name in ORDERED else ():
        if isinstance(pair, ast.Tuple):
            yield from exchanged(text, pair.elts)


def _sizes(known: Families) -> list[str]:
    """Names that may stand for a length: capitals, and what a kernel was given as one."""
    names = dict.fromkeys([*known.scalars, *known.blocks, *known.assigned])
    return [name for name in names if SIZE.match(name)]


def name_of(node: ast.Call) -> str:
    """The last part of the name that is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _of_library(node: ast.Call) -> bool:
    return _module(node) in LIBRARIES


def _module(node: ast.Call) -> str:
    return getattr(getattr(node.func, "value", None), "id", "")


def _inner(node: ast.Call) -> ast.expr | None:
    """What a call is made on: its first argument, or the object whose method it is."""
    if _of_library(node):
        return node.args[0] if node.args else None
    return getattr(node.func, "value", None)


def _converted(text: Text, node: ast.Call, kernel: bool) -> Iterator[Edit]:
    yield text.edit("cast", node, text.of(node.func.value), 1)
    for argument in node.args:
        if kernel and text.of(argument) != "tl.float32" and "int" not in text.of(argument):
            yield text.edit("narrow", argument, "tl.float32")


def _product(text: Text, node: ast.Call) -> Iterator[Edit]:
    a, b = map(text.of, node.args[:2])
    for argument, written in zip(node.args[:2], (a, b), strict=True):
        if "trans" not in written and not written.endswith(".T"):
            yield text.edit("transposed", argument, f"tl.trans({written})", 1)
    start, end = text.span(node.args[0])[0], text.span(node.args[1])[1]
    for variant, new in enumerate((f"tl.trans({b}), {a}", f"{b}, tl.trans({a})")):
        yield Edit("order", start, end, new, node.lineno, f"{a}, {b}", new, 1 + variant)


def _accessed(text: Text, node: ast.Call, known: Families, name: str) -> Iterator[Edit]:
    """A mask that is missing, or what the masked lanes hold."""
    whole, keywords = text.of(node)[:-1], {k.arg for k in node.keywords}
    masked = (
        "mask" in keywords or len(node.args) > (1 if name == "load" else 2) or "boundary_check" in keywords
    )
    if not masked:
        filler = ", other=0.0" if name == "load" else ""
        if known.block_pointers:
            for variant, axes in enumerate(("(0, 1)", "(0,)", "(1,)")):
                yield text.edit("unmasked", node, f"{whole}, boundary_check={axes})", variant)
        for variant, mask in enumerate(known.masks):
            yield text.edit("unmasked", node, f"{whole}, mask={mask}{filler})", variant)
    elif name == "load" and "mask" in keywords and "other" not in keywords:
        for variant, filler in enumerate(("0.0", 'float("-inf")')):
            yield text.edit("other", node, f"{whole}, other={filler})", variant)
    mask = next((k.value for k in node.keywords if k.arg == "mask"), None)
    if mask is not None:
        own = text.of(mask)
        for condition in known.conditions:
            if condition not in own:
                yield text.edit("masked in part", mask, f"{bracketed(mask, own)} & {condition}")
    if name == "load":
        yield text.edit("cast", node, f"{whole}).to(tl.float32)")
    yield from _compared(text, node)


def _compared(text: Text, node: ast.Call) -> Iterator[Edit]:
    """The whole index in the mask, where only a part of it is compared."""
    at = node.args[0] if node.args else None
    mask = next((k.value for k in node.keywords if k.arg == "mask"), None)
    if not (isinstance(mask, ast.Compare) and isinstance(mask.left, ast.Name) and isinstance(at, ast.BinOp)):
        return
    pointer = at
    while isinstance(pointer, ast.BinOp):
        pointer = pointer.left
    index = text.raw[text.span(pointer)[1] : text.span(at)[1]].decode().strip().removeprefix("+").strip()
    if index != text.of(mask.left) and index.count("(") == index.count(")"):
        rest = text.raw[text.span(mask.left)[1] : text.span(mask)[1]].decode()
        yield text.edit("comparison", mask, f"{index}{rest}", 3)


def _filled(text: Text, node: ast.Call, name: str) -> Iterator[Edit]:
    """Another value for what does not exist, or to begin with: −∞, or 0 in its place."""
    given = {k.arg: k.value for k in node.keywords}
    at = {"load": [given.get("other")], "where": node.args[2:3], "full": node.args[1:2]}[name]
    for place in filter(None, at):
        written = text.of(place)
        if "inf" in written and name != "full":
            smallest = b"tl.min(" in text.raw  # what hides nothing from a minimum is +∞
            if smallest and "-" in written:
                yield text.edit("filler", place, 'float("inf")')
            yield text.edit("filler", place, "0.0", int(smallest))
        elif "inf" not in written and "load" not in written:
            yield text.edit("filler", place, 'float("-inf")')


def _made(text: Text, node: ast.Call, name: str, kernel: bool) -> Iterator[Edit]:
    """Another dtype, or another value to begin with."""
    for argument in [*node.args[1:], *(k.value for k in node.keywords if k.arg == "dtype")]:
        written = text.of(argument)
        full = "tl.float32" if kernel else "torch.float32"
        if written != full and ("dtype" in written or "float" in written) and "inf" not in written:
            yield text.edit("dtype", argument, full, 0 if kernel else 1)
    if kernel and name == "zeros" and node.args:
        rest = "".join(f", {text.of(a)}" for a in node.args[1:])
        rest += "".join(f", {k.arg}={text.of(k.value)}" for k in node.keywords)
        yield text.edit("start", node, f'tl.full({text.of(node.args[0])}, float("-inf"){rest})')


def exchanged(text: Text, parts: Sequence[ast.expr]) -> Iterator[Edit]:
    """Two neighbours in each other's place."""
    for one, other in itertools.pairwise(parts):
        a, b = text.of(one), text.of(other)
        if a == b or isinstance(one, ast.Starred) or isinstance(other, ast.Starred):
            continue
        (start, middle), (after, end) = text.span(one), text.span(other)
        put = b + text.raw[middle:after].decode() + a
        variant = int("stride" in a + b)
        yield Edit("arguments", start, end, put, one.lineno, f"{a}, {b}", f"{b}, {a}", variant)
