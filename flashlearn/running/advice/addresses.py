"""Kernels that treat an address as an array: they index it, ask for its shape, or compute with it."""

from __future__ import annotations

import ast
from typing import Any

import torch

from flashlearn.running.advice.error_context import (
    ErrorContext,
    dtype,
    is_address,
    is_fraction,
    is_tensor,
    is_tile,
    shape,
    written,
)

POINTERS = ("ptr", "pointer")
MAX_PLAUSIBLE_ADDRESS = (
    1 << 24
)  # no size or stride of an exercise is that large, and real addresses are, the heap's low ones too
PROPERTIES = {"shape", "size", "numel", "stride", "dim", "ndim", "nelement", "__len__"}


def indexed(context: ErrorContext) -> str:
    """An index on an address or on a tile, to read or to write."""
    if not isinstance(context.node, ast.Subscript):
        return ""
    node, owner = context.node, context.value(context.node.value)
    writes = isinstance(node.ctx, ast.Store | ast.Del)
    if not is_tensor(owner) and not writes and context.operands and is_tensor(context.operands[0]):
        owner = context.operands[0]
    if not is_tensor(owner):
        return ""
    if is_address(owner):
        return _address_indexed(node, writes)
    if not is_tile(owner):
        return f"`{written(node)}`: {written(node.value)} is a single number here, so it cannot be indexed."
    return _tile_indexed(node, writes, owner, context)


def _address_indexed(node: ast.Subscript, writes: bool) -> str:
    name, index = written(node.value), node.slice
    sliced = any(isinstance(part, ast.Slice) for part in ast.walk(index))
    at = "offsets" if sliced or isinstance(index, ast.Tuple) else _added(index)
    access = f"tl.store({name} + {at}, …, mask=…)" if writes else f"tl.load({name} + {at}, mask=…)"
    how = " with offsets = start + tl.arange(0, BLOCK)" if sliced else ""
    verb = "is written with" if writes else "is read with"
    return (
        f"`{written(node)}`: in a kernel {name} is an address, not an array, so it cannot be indexed. Memory "
        f"{verb} `{access}`{how}."
    )


def _tile_indexed(node: ast.Subscript, writes: bool, owner: Any, context: ErrorContext) -> str:
    name = written(node.value)
    prefix = f"`{written(node)}`: "
    if writes:
        return (
            f"{prefix}a tile cannot be changed in one place. Make a new one, `tl.where(where, new, {name})`, "
            "with a mask for the lanes that change."
        )
    index = context.operands[1] if len(context.operands) > 1 else None
    if is_tile(index) and str(index.type.scalar) == "int1":
        return (
            f"{prefix}a mask does not select elements of a tile, whose size is fixed. Pass the mask to the "
            "access, tl.load(…, mask=…) or tl.store(…, mask=…), or use tl.where."
        )
    return (
        f"{prefix}single elements of a tile cannot be selected; an index only adds axes, [:, None] or "
        "[None, :]. Load what you need with its own offsets, or choose lanes with tl.where and a mask."
    )


def asked_for_its_shape(context: ErrorContext) -> str:
    """`x_ptr.shape[0]`, `x_ptr.stride(0)`, `len(x_ptr)`: an address has no data on the tensor."""
    asked = None
    if context.called == "len" and len(context.node.args) == 1:
        asked = context.node.args[0]
    for inner in ast.walk(context.node):
        if isinstance(inner, ast.Attribute) and inner.attr in PROPERTIES:
            asked = inner.value
    if asked is None or not is_address(context.value(asked)):
        return ""
    name = written(asked)
    return (
        f"`{context.text}`: {name} is only an address, without a shape or strides. Give the kernel a "
        "parameter for each number that it needs, such as n or stride, and pass them in the launch: "
        "x.numel(), x.stride(0)."
    )


def loads_no_address(context: ErrorContext) -> str:
    """tl.load and tl.store of values that are not addresses, or the arguments of a store exchanged."""
    if context.called not in ("tl.load", "tl.store") or "Unsupported ptr type" not in context.message:
        return ""
    where = context.node.args[0] if context.node.args else None
    pointer, *rest = context.operands or (context.keywords.get("pointer"),)
    if not is_tensor(pointer) or where is None or is_address(pointer):
        return ""
    if context.called == "tl.store" and rest and is_address(rest[0]):
        return "The arguments of tl.store are swapped: the addresses come first, then the values to write."
    what = written(where)
    handed = _number_for_tensor(context, where)
    if handed:
        return handed
    if is_fraction(pointer):
        return (
            f"{context.called} needs addresses, and `{what}` holds {dtype(pointer)} values, which are not "
            "addresses. Addresses are a pointer plus offsets, x_ptr + offsets."
        )
    if str(pointer.type.scalar) == "void":
        return f"{context.called} needs addresses, and `{what}` holds nothing: tl.store returns nothing."
    overwritten = _pointer_overwritten(context, where)
    if overwritten:
        return overwritten
    plain = f"{context.called} needs addresses, and `{what}` holds plain numbers ({dtype(pointer)})"
    if _has_no_address(context):
        return (
            f"{plain}: no parameter of {context.function.name} holds an address here. Which of them should, "
            "and what does the call give for it?"
        )
    call = f"{context.called}({_a_pointer(context)} + {_added(where)}, …)"
    return f"{plain}. If they are offsets, add them to the tensor's pointer: `{call}`."


def _has_no_address(context: ErrorContext) -> bool:
    """Whether the line is in a helper function of a kernel, which was given no address."""
    helper = isinstance(context.function, ast.FunctionDef) and context.caller not in ("", "_run_grid")
    return helper and not any(is_address(context.names.get(name)) for name in context.parameters)


def _a_pointer(context: ErrorContext) -> str:
    """A name for the pointer that is missing: the only one that the kernel gets, or else any."""
    given = [name for name, value in context.given.items() if isinstance(value, torch.Tensor)]
    return given[0] if len(given) == 1 and given[0] in context.parameters else "pointer"


def element_type_of_a_number(context: ErrorContext) -> str:
    """`x_ptr.dtype.element_ty` where x_ptr is no pointer any more."""
    return _pointer_overwritten(context, context.node) if "element_ty" in context.message else ""


def _pointer_overwritten(context: ErrorContext, where: ast.AST) -> str:
    """A parameter that was given a tensor and is assigned a number in the kernel."""
    for name in context.names_in(where):
        given = isinstance(context.given.get(name.id), torch.Tensor)
        stores = [n for n in ast.walk(context.function) if isinstance(n, ast.Assign)]
        lines = [n.lineno for n in stores if any(getattr(t, "id", "") == name.id for t in n.targets)]
        if given and len(lines) == 1:
            return (
                f"`{name.id}` is a tensor's pointer until line {lines[0]} assigns it a number: to move the "
                f"pointer, add to it, `{name.id} += …`."
            )
    return ""


def _number_for_tensor(context: ErrorContext, where: ast.AST) -> str:
    """The expression's first name is a pointer of the kernel's, and got a number."""
    first = next((n.id for n in context.names_in(where) if n.id in context.parameters), "")
    number = context.given.get(first)
    if not first.lower().endswith(POINTERS) or not isinstance(number, int | float):
        return ""
    if isinstance(number, int) and number >= MAX_PLAUSIBLE_ADDRESS:
        return (
            f"The launch passes a number for {first}, which is not an address here. Pass the "
            "tensor itself, x and not x.data_ptr(): the kernel gets its address."
        )
    return (
        f"The launch passes a number for {first}, {number:g}, where the kernel needs a tensor: are its "
        "arguments in the order of the kernel's parameters?"
    )


def access_of_two_shapes(context: ErrorContext) -> str:
    """A mask or a value of many lanes with a single address."""
    if context.called not in ("tl.load", "tl.store") or "cannot be block type if" not in context.message:
        return ""
    pointer, *rest = context.operands or (None,)
    if not is_address(pointer) or is_tile(pointer):
        return ""
    name = written(context.node.args[0])
    second = rest[0] if rest else None
    if context.called == "tl.load" and is_tile(second) and str(second.type.scalar) != "int1":
        return _offsets_as_mask(context)
    many = next((v for v in (*rest, *context.keywords.values()) if is_tile(v)), None)
    return (
        f"`{name}` is one address, but its mask or value has {_extent(many)}. Each lane needs its own "
        f"address: add the offsets, `{context.called}({name} + offsets, …)`."
    )


def fewer_addresses(context: ErrorContext) -> str:
    """A value, or a mask, of more lanes than there are addresses."""
    if context.called not in ("tl.load", "tl.store") or "Expected pointer argument" not in context.message:
        return ""
    pointer, *rest = context.operands or (None,)
    many = next((v for v in (*rest, *context.keywords.values()) if is_tile(v)), None)
    if not is_tile(pointer) or many is None or shape(many) == shape(pointer):
        return ""
    return (
        f"`{written(context.node.args[0])}` has the shape {shape(pointer)}, and the value or the mask "
        f"{shape(many)}: every lane needs an address of its own. Which offsets are missing?"
    )


def mask_given_twice(context: ErrorContext) -> str:
    """tl.load(x_ptr, offsets, mask=mask)."""
    twice = context.called == "tl.load" and "multiple values for argument 'mask'" in context.message
    return _offsets_as_mask(context) if twice and len(context.node.args) > 1 else ""


def _offsets_as_mask(context: ErrorContext) -> str:
    name, second = (written(argument) for argument in context.node.args[:2])
    return (
        f"tl.load takes the addresses first and the mask second, and `{second}` is where the mask "
        f"belongs. Offsets are added to the pointer: `tl.load({name} + {_added(context.node.args[1])}, "
        "mask=…)`."
    )


def computed_with(context: ErrorContext) -> str:
    """Arithmetic, a comparison or a function of an address instead of the values stored there."""
    if (
        "pointer<" not in context.message
        and "pointers" not in context.message
        and "cannot cast" not in context.message
    ):
        return ""
    sides = _sides(context)
    if isinstance(context.node, ast.BinOp | ast.AugAssign) and isinstance(context.node.op, ast.Add | ast.Sub):
        spoken = _offset_of_another_kind(context, sides)
        if spoken:
            return spoken
    for node, value in sides:
        if is_address(value) and node is not None:
            return _what_it_is(context, node, value)
    return ""


def _sides(context: ErrorContext) -> list[tuple[ast.AST, Any]]:
    """The operands, each with its value."""
    node = context.node
    if isinstance(node, ast.BinOp):
        return list(zip((node.left, node.right), context.operands, strict=False))
    if isinstance(node, ast.AugAssign):
        return list(zip((node.target, node.value), context.operands, strict=False))
    if isinstance(node, ast.Compare):
        return list(zip((node.left, *node.comparators), context.operands, strict=False))
    if context.called == "tl.store":
        return list(zip(node.args[1:2], context.operands[1:2], strict=False))
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and context.called.startswith("tl.")
    ):
        return list(zip(node.args, context.operands, strict=False))
    return []


def _offset_of_another_kind(context: ErrorContext, sides: list[tuple[ast.AST, Any]]) -> str:
    if len(sides) != 2:
        return ""
    (_, one), (node, other) = sides
    if is_address(one) and is_address(other):
        return (
            f"`{context.text}` adds two addresses, which does not give an address. Add offsets to one "
            f"address: they count elements and are whole numbers."
        )
    if is_address(other) and is_fraction(one):
        (node, other), one = sides[0], other
    if is_address(one) and is_fraction(other):
        divided = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div) for n in ast.walk(node))
        fix = " Where a quotient is meant, // gives a whole number." if divided else _fractions(context, node)
        return (
            f"An offset counts elements, so it is a whole number, and `{written(node)}` is {dtype(other)}."
            f"{fix}"
        )
    return ""


def _fractions(context: ErrorContext, node: ast.AST) -> str:
    """The name that makes an offset a fraction; where none does, what makes it whole."""
    names = [name.id for name in context.names_in(node) if is_fraction(context.value(name))]
    if len({*names}) == 1 and written(node) != names[0]:
        return f" That is because `{names[0]}` is."
    return "" if names else " Drop the fractions, or convert with .to(tl.int32)."


def _what_it_is(context: ErrorContext, node: ast.AST, value: Any) -> str:
    """An address in place of a number: the advice depends on the argument of the launch."""
    name = written(node)
    handed = context.given.get(name) if isinstance(node, ast.Name) and name in context.parameters else None
    if isinstance(handed, torch.Tensor) and handed.dim() == 0:
        return (
            f"{name} is an address in this kernel, since the launch passes a tensor for it, though one "
            "of a single number. Pass the number itself, which .item() gives, or read it: "
            f"`tl.load({name})`."
        )
    if isinstance(handed, torch.Tensor) and not name.lower().endswith(POINTERS):
        return (
            f"{name} is an address in this kernel: the launch passes a tensor of shape "
            f"{list(handed.shape)} for it. Are the launch's arguments in the order of the kernel's "
            "parameters? If a tensor is meant, tl.load reads it."
        )
    if name in context.parameters and context.caller not in ("", "_run_grid"):
        return (
            f"{name} is an address in this function, and `{context.text}` needs numbers. Are the arguments "
            "of its call in the order of its parameters? tl.load reads what is stored at an address."
        )
    exchanged = _exchanged(context)
    if exchanged:
        return f"{name} is an address in this kernel: {exchanged}"
    if is_tile(value):
        return (
            f"`{name}` holds addresses, and `{context.text}` needs the values there. Load them first: "
            f"`tl.load({name}, mask=…)`."
        )
    return (
        f"{name} is an address, and `{context.text}` needs the numbers stored there. Load them first: "
        f"`x = tl.load({name} + offsets, mask=…)`."
    )


def _exchanged(context: ErrorContext) -> str:
    """What the launch passes in the wrong place: a tensor for a number and a number for a pointer."""
    for name, handed in context.given.items():
        pointer = next((p for p, x in context.given.items() if _lacks_its_tensor(p, x)), "")
        if isinstance(handed, torch.Tensor) and not name.lower().endswith(POINTERS) and pointer:
            return (
                f"the launch passes a tensor for {name}, and a number for {pointer}. Are its arguments in "
                "the order of the kernel's parameters?"
            )
    return ""


def _lacks_its_tensor(name: str, handed: Any) -> bool:
    return name.lower().endswith(POINTERS) and isinstance(handed, int | float)


def _extent(value: Any) -> str:
    return (
        f"the shape {shape(value)}"
        if len(shape(value)) > 1
        else f"{shape(value)[0]} {'lane' if shape(value)[0] == 1 else 'lanes'}"
        if shape(value)
        else "many"
    )


def _added(node: ast.AST) -> str:
    """An expression as the right operand of a sum."""
    text = written(node)
    return f"({text})" if isinstance(node, ast.IfExp | ast.Compare | ast.BoolOp | ast.Lambda) else text


RULES = (
    indexed,
    asked_for_its_shape,
    loads_no_address,
    element_type_of_a_number,
    access_of_two_shapes,
    fewer_addresses,
    mask_given_twice,
    computed_with,
)
