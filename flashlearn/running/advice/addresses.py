"""Kernels that take an address for an array: indexed, asked for its shape, computed with, or not loaded."""

from __future__ import annotations

import ast
from typing import Any

import torch

from flashlearn.running.advice.error_context import (
    Slip,
    dtype,
    is_address,
    is_fraction,
    is_tensor,
    is_tile,
    shape,
    written,
)

POINTERS = ("ptr", "pointer")
FAR = (
    1 << 24
)  # no size or stride of an exercise is that large, and real addresses are, the heap's low ones too
PROPERTIES = {"shape", "size", "numel", "stride", "dim", "ndim", "nelement", "__len__"}


def indexed(slip: Slip) -> str:
    """An index on an address or on a tile, to read or to write."""
    if not isinstance(slip.node, ast.Subscript):
        return ""
    node, owner = slip.node, slip.value(slip.node.value)
    writes = isinstance(node.ctx, ast.Store | ast.Del)
    if not is_tensor(owner) and not writes and slip.operands and is_tensor(slip.operands[0]):
        owner = slip.operands[0]
    if not is_tensor(owner):
        return ""
    if is_address(owner):
        return _address_indexed(node, writes)
    if not is_tile(owner):
        return f"`{written(node)}`: {written(node.value)} is a single number here, and takes no index."
    return _tile_indexed(node, writes, owner, slip)


def _address_indexed(node: ast.Subscript, writes: bool) -> str:
    name, index = written(node.value), node.slice
    sliced = any(isinstance(part, ast.Slice) for part in ast.walk(index))
    at = "offsets" if sliced or isinstance(index, ast.Tuple) else _added(index)
    access = f"tl.store({name} + {at}, …, mask=…)" if writes else f"tl.load({name} + {at}, mask=…)"
    how = " with offsets = start + tl.arange(0, BLOCK)" if sliced else ""
    verb = "is written with" if writes else "is read with"
    return (
        f"`{written(node)}`: in a kernel {name} is an address and no array, so it takes no index. Memory "
        f"{verb} `{access}`{how}."
    )


def _tile_indexed(node: ast.Subscript, writes: bool, owner: Any, slip: Slip) -> str:
    name = written(node.value)
    said = f"`{written(node)}`: "
    if writes:
        return (
            f"{said}a tile cannot be changed in one place. Make a new one, `tl.where(where, new, {name})`, "
            "with a mask for the lanes that change."
        )
    index = slip.operands[1] if len(slip.operands) > 1 else None
    if is_tile(index) and str(index.type.scalar) == "int1":
        return (
            f"{said}a mask does not pick elements out of a tile, whose size is fixed. Hand the mask to the "
            "access, tl.load(…, mask=…) or tl.store(…, mask=…), or take tl.where."
        )
    return (
        f"{said}a tile has no elements that one could pick out; an index only adds axes, [:, None] or "
        "[None, :]. Load what you need with its own offsets, or choose lanes with tl.where and a mask."
    )


def asked_for_its_shape(slip: Slip) -> str:
    """`x_ptr.shape[0]`, `x_ptr.stride(0)`, `len(x_ptr)`: an address knows nothing of the tensor."""
    asked = None
    if slip.called == "len" and len(slip.node.args) == 1:
        asked = slip.node.args[0]
    for inner in ast.walk(slip.node):
        if isinstance(inner, ast.Attribute) and inner.attr in PROPERTIES:
            asked = inner.value
    if asked is None or not is_address(slip.value(asked)):
        return ""
    name = written(asked)
    return (
        f"`{slip.text}`: {name} is only an address and knows neither shape nor strides. Give the kernel a "
        "parameter for each number that it needs, such as n or stride, and hand them over in the launch: "
        "x.numel(), x.stride(0)."
    )


def loads_no_address(slip: Slip) -> str:
    """tl.load and tl.store of what holds no addresses, or the two arguments of a store exchanged."""
    if slip.called not in ("tl.load", "tl.store") or "Unsupported ptr type" not in slip.said:
        return ""
    where = slip.node.args[0] if slip.node.args else None
    pointer, *rest = slip.operands or (slip.keywords.get("pointer"),)
    if not is_tensor(pointer) or where is None or is_address(pointer):
        return ""
    if slip.called == "tl.store" and rest and is_address(rest[0]):
        return (
            "The arguments of tl.store are exchanged: the addresses come first, then what is written there."
        )
    what = written(where)
    handed = _number_for_tensor(slip, where)
    if handed:
        return handed
    if is_fraction(pointer):
        return (
            f"{slip.called} wants addresses, and `{what}` holds {dtype(pointer)} values: they are no place "
            "in memory. Addresses are a pointer plus offsets, x_ptr + offsets."
        )
    if str(pointer.type.scalar) == "void":
        return f"{slip.called} wants addresses, and `{what}` holds nothing: tl.store returns nothing."
    return (
        f"{slip.called} wants addresses, and `{what}` holds plain numbers ({dtype(pointer)}). Add them to "
        f"the tensor's pointer: `{slip.called}(x_ptr + {_added(where)}, …)`."
    )


def _number_for_tensor(slip: Slip, where: ast.AST) -> str:
    """The expression's first name is a pointer of the kernel's, and got a number."""
    first = next((n.id for n in slip.names_in(where) if n.id in slip.parameters), "")
    number = slip.given.get(first)
    if not first.lower().endswith(POINTERS) or not isinstance(number, int | float):
        return ""
    if isinstance(number, int) and number >= FAR:
        return (
            f"The launch hands over a number for {first}, and a number is no address here. Hand over the "
            "tensor itself, x and not x.data_ptr(): the kernel gets its address."
        )
    return (
        f"The launch hands over a number for {first}, {number:g}, where the kernel wants a tensor: do its "
        "arguments stand in the order of the kernel's parameters?"
    )


def access_of_two_shapes(slip: Slip) -> str:
    """A mask or a value of many lanes, and one single address."""
    if slip.called not in ("tl.load", "tl.store") or "cannot be block type if" not in slip.said:
        return ""
    pointer, *rest = slip.operands or (None,)
    if not is_address(pointer) or is_tile(pointer):
        return ""
    name = written(slip.node.args[0])
    second = rest[0] if rest else None
    if slip.called == "tl.load" and is_tile(second) and str(second.type.scalar) != "int1":
        return _offsets_as_mask(slip)
    many = next((v for v in (*rest, *slip.keywords.values()) if is_tile(v)), None)
    return (
        f"`{name}` is one address, and what goes with it has {_extent(many)}. Each lane needs an address "
        f"of its own: add the offsets, `{slip.called}({name} + offsets, …)`."
    )


def mask_given_twice(slip: Slip) -> str:
    """tl.load(x_ptr, offsets, mask=mask)."""
    twice = slip.called == "tl.load" and "multiple values for argument 'mask'" in slip.said
    return _offsets_as_mask(slip) if twice and len(slip.node.args) > 1 else ""


def _offsets_as_mask(slip: Slip) -> str:
    name, second = (written(argument) for argument in slip.node.args[:2])
    return (
        f"tl.load takes the addresses first and the mask second, and `{second}` stands where the mask "
        f"belongs. Offsets are added to the pointer: `tl.load({name} + {_added(slip.node.args[1])}, "
        "mask=…)`."
    )


def computed_with(slip: Slip) -> str:
    """Arithmetic, a comparison or a function of an address, where its values are meant."""
    if "pointer<" not in slip.said and "pointers" not in slip.said and "cannot cast" not in slip.said:
        return ""
    sides = _sides(slip)
    if isinstance(slip.node, ast.BinOp | ast.AugAssign) and isinstance(slip.node.op, ast.Add | ast.Sub):
        spoken = _offset_of_another_kind(slip, sides)
        if spoken:
            return spoken
    for node, value in sides:
        if is_address(value) and node is not None:
            return _what_it_is(slip, node, value)
    return ""


def _sides(slip: Slip) -> list[tuple[ast.AST, Any]]:
    """The expressions that met, each with its value."""
    node = slip.node
    if isinstance(node, ast.BinOp):
        return list(zip((node.left, node.right), slip.operands, strict=False))
    if isinstance(node, ast.AugAssign):
        return list(zip((node.target, node.value), slip.operands, strict=False))
    if isinstance(node, ast.Compare):
        return list(zip((node.left, *node.comparators), slip.operands, strict=False))
    if slip.called == "tl.store":
        return list(zip(node.args[1:2], slip.operands[1:2], strict=False))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and slip.called.startswith("tl."):
        return list(zip(node.args, slip.operands, strict=False))
    return []


def _offset_of_another_kind(slip: Slip, sides: list[tuple[ast.AST, Any]]) -> str:
    if len(sides) != 2:
        return ""
    (_, one), (node, other) = sides
    if is_address(one) and is_address(other):
        return (
            f"`{slip.text}` adds two addresses, which is none. An address plus offsets is one: offsets "
            "count elements and are whole numbers."
        )
    if is_address(other) and is_fraction(one):
        (node, other), one = sides[0], other
    if is_address(one) and is_fraction(other):
        divided = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div) for n in ast.walk(node))
        mend = (
            "Divide with //, which stays whole."
            if divided
            else "Leave the fractions out, or convert with .to(tl.int32)."
        )
        return (
            f"An offset counts elements, so it is a whole number, and `{written(node)}` is {dtype(other)}. "
            f"{mend}"
        )
    return ""


def _what_it_is(slip: Slip, node: ast.AST, value: Any) -> str:
    """An address where a number was meant: what the launch handed over for it decides what to do."""
    name = written(node)
    handed = slip.given.get(name) if isinstance(node, ast.Name) and name in slip.parameters else None
    if isinstance(handed, torch.Tensor) and handed.dim() == 0:
        return (
            f"{name} is an address in this kernel, since the launch hands over a tensor for it, though one "
            "of a single number. Hand over the number itself, which .item() gives, or read it: "
            f"`tl.load({name})`."
        )
    if isinstance(handed, torch.Tensor) and not name.lower().endswith(POINTERS):
        return (
            f"{name} is an address in this kernel: the launch hands over a tensor of shape "
            f"{list(handed.shape)} for it. Do the launch's arguments stand in the order of the kernel's "
            "parameters? If it is meant, tl.load reads it."
        )
    if is_tile(value):
        return (
            f"`{name}` holds addresses, and `{slip.text}` needs what lies there. It was not loaded yet: "
            f"`tl.load({name}, mask=…)`."
        )
    return (
        f"{name} is an address, and `{slip.text}` needs the numbers that lie there. Load them first: "
        f"`x = tl.load({name} + offsets, mask=…)`."
    )


def _extent(value: Any) -> str:
    return (
        f"the shape {shape(value)}"
        if len(shape(value)) > 1
        else f"{shape(value)[0]} lanes"
        if shape(value)
        else "many"
    )


def _added(node: ast.AST) -> str:
    """An expression as the right side of a sum."""
    text = written(node)
    return f"({text})" if isinstance(node, ast.IfExp | ast.Compare | ast.BoolOp | ast.Lambda) else text


RULES = (
    indexed,
    asked_for_its_shape,
    loads_no_address,
    access_of_two_shapes,
    mask_given_twice,
    computed_with,
)
