"""Edits of strides: those of another tensor, a stride that is missing, a pointer that is not moved."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, edit_kind, names_in
from flashlearn.explaining.edits.name_families import NameFamilies

STRIDES = edit_kind(
    "strides",
    question="To which tensor does this address belong, and which of its strides belongs to which index?",
    moves_access=True,
)
MISSING_STATEMENT = edit_kind(
    "missing statement",
    sentence="Line {line}, `{old}`, has no counterpart for another tensor; with `{new}`",
    question="Which pointers does a program move to its own batch and head?",
    moves_access=True,
    inserts_statement=True,
)


def tensor_stride_edits(text: SourceText, statement: ast.stmt, known: NameFamilies) -> Iterator[Edit]:
    """The strides of another tensor throughout a statement."""
    names = [n for n in ast.walk(statement) if isinstance(n, ast.Name) and n.id in known.strides]
    tensors = {name: _tensor_of(name) for name in known.strides}
    for one in dict.fromkeys(tensors[n.id] for n in names if tensors[n.id]):
        own = [n for n in names if tensors[n.id] == one]
        for other in dict.fromkeys(tensors.values()) if len(own) > 1 else ():
            new = {n.id: _of_tensor(n.id, one, other) for n in own}
            if other != one and set(new.values()) <= {*known.strides} and _may_use(other, statement, known):
                yield text.edit(STRIDES, statement, renamed(text, statement, own, new))


def own_stride_edits(text: SourceText, function: ast.FunctionDef, known: NameFamilies) -> Iterator[Edit]:
    """Strides of another tensor in an address, in place of those of the tensor whose pointer is in it."""
    sums = [n for n in ast.walk(function) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Add)]
    within = {inner for one in sums for inner in ast.walk(one) if inner is not one}
    for address in sums:
        names = [n for n in ast.walk(address) if isinstance(n, ast.Name)]
        pointers = {n.id for n in names if n.id in known.pointers}
        if address in within or len(pointers) != 1:
            continue
        own = re.sub(r"_?(ptrs?|pointer)$", "", pointers.pop()).lower()
        foreign = [n for n in names if n.id in known.strides and _tensor_of(n.id) not in ("", own)]
        new = {n.id: _of_tensor(n.id, _tensor_of(n.id), own) for n in foreign}
        if new and set(new.values()) <= {*known.strides}:
            node = address if len(foreign) > 1 else foreign[0]
            yield text.edit(STRIDES, node, renamed(text, node, foreign, new), 0, "strides")


def shared_offset_edits(text: SourceText, function: ast.FunctionDef, known: NameFamilies) -> Iterator[Edit]:
    """An offset from one tensor's strides, written out with those of the tensor whose pointer it moves."""
    values = {
        node.targets[0].id: node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for node in ast.walk(function):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)):
            continue
        pointer, offset = getattr(node.left, "id", ""), getattr(node.right, "id", "")
        if pointer not in known.pointers or offset not in values or known.assigned[offset] != 1:
            continue
        names = [n for n in ast.walk(values[offset]) if isinstance(n, ast.Name) and n.id in known.strides]
        tensors = {_tensor_of(n.id) for n in names}
        own = re.sub(r"_?(ptrs?|pointer)$", "", pointer).lower()
        if len(tensors) != 1 or tensors & {own, ""}:
            continue  # `stride_x` names no tensor, so that no other stride can be derived from it
        new = {n.id: _of_tensor(n.id, next(iter(tensors)), own) for n in names}
        if set(new.values()) <= {*known.strides}:
            put = renamed(text, values[offset], names, new)
            yield text.edit(STRIDES, node.right, f"({put})", 0, "strides")


def missing_stride_edits(text: SourceText, statement: ast.stmt, known: NameFamilies) -> Iterator[Edit]:
    """An index that is added unscaled, times a stride that the statement does not use yet.

    It is added to a pointer, or to another index times a stride. A parameter that nothing reads may be the
    stride as well, whatever it is called.
    """
    used = names_in(statement)
    unused = [name for name in dict.fromkeys([*known.strides, *known.unread]) if name not in used]
    computed = {*known.scalars} - {*known.parameters}
    indices = {*known.offsets, *known.programs, *known.counted, *computed}
    for node in ast.walk(statement) if used & {*known.pointers, *known.strides} else ():
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            for side in (node.left, node.right):
                index = side.value if isinstance(side, ast.Subscript) else side
                if isinstance(index, ast.Name) and index.id in indices:
                    for stride in unused:
                        other = int(not _may_use(_tensor_of(stride), statement, known))
                        if other and f"{_tensor_of(stride)}_ptr" in known.pointers:
                            continue  # the stride of a tensor that is not read here
                        yield text.edit(STRIDES, side, f"{text.of(side)} * {stride}", other, "strides")


def missing_move_edits(text: SourceText, function: ast.FunctionDef, known: NameFamilies) -> Iterator[Edit]:
    """A pointer moved as its neighbour is, by strides of its own that the function does not use yet."""
    used = names_in(function)
    for node in ast.walk(function):
        if not isinstance(node, ast.AugAssign) or not isinstance(node.target, ast.Name):
            continue
        names = [n for n in ast.walk(node.value) if isinstance(n, ast.Name) and n.id in known.strides]
        own, one = node.target.id, _tensor_of(names[0].id) if names else ""
        for pointer in known.pointers if one and one in own else ():
            other = pointer.replace("_ptr", "").replace("_pointer", "").lower()
            new = {n.id: _of_tensor(n.id, one, other) for n in names}
            if pointer != own and set(new.values()) <= {*known.strides} - used:
                moved = f"{pointer} += {renamed(text, node.value, names, new)}"
                yield text.edit(MISSING_STATEMENT, node, f"{text.of(node)}; {moved}")


def renamed(text: SourceText, node: ast.AST, names: list[ast.Name], new: dict[str, str]) -> str:
    """A node's text with some of its names exchanged."""
    begin, end = text.span(node)
    parts, at = [], begin
    for name in sorted(names, key=lambda n: text.span(n)[0]):
        start, stop = text.span(name)
        parts += [text.raw[at:start].decode(), new[name.id]]
        at = stop
    return "".join([*parts, text.raw[at:end].decode()])


def _may_use(tensor: str, statement: ast.stmt, known: NameFamilies) -> bool:
    """False for a statement with pointers, none of which is the tensor's."""
    pointers = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and n.id in known.pointers}
    own = {tensor, tensor.upper(), f"{tensor}_ptr", f"{tensor}_ptrs", f"{tensor}_pointer"}
    return not pointers or bool(pointers & own)


def _tensor_of(name: str) -> str:
    """The tensor to which a stride belongs: q for "stride_qm" and "stride_qk", do for "do_row"."""
    if "stride" in name:
        rest = name.replace("stride", "").strip("_")
        return rest.rsplit("_", 1)[0] if "_" in rest else rest[:-1]
    return name.rsplit("_", 1)[0]


def _of_tensor(name: str, one: str, other: str) -> str:
    head, _, tail = name.rpartition(one)
    return head + other + tail
