"""Edits of whole statements: one left out, one too many, in the wrong place, or without a part."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Set

from flashlearn.explaining.edits.calls import name_of
from flashlearn.explaining.edits.name_families import Families
from flashlearn.explaining.edits.reductions import guards_kept, thrown_away
from flashlearn.explaining.edits.source_text import Edit, Text, bracketed

SIMPLE = ast.Assign | ast.AugAssign | ast.Expr
ASSIGNED = {ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.Div: "/="}
INSTEAD = {"+=": ("=", "-="), "-=": ("+=",), "*=": ("/=", "="), "/=": ("*=",)}
BASES = ("0.6931471805599453", "1.4426950408889634")


def in_statements(text: Text, function: ast.FunctionDef, known: Families, kernel: bool) -> Iterator[Edit]:
    """Every edit of the statements of a function."""
    for loop, body in _bodies(function):
        yield from guards_kept(text, body) if kernel else ()
        for number, statement in enumerate(body):
            following = body[number + 1] if number + 1 < len(body) else None
            if isinstance(statement, SIMPLE):
                yield from _laid_out(text, statement, known)
                yield from thrown_away(text, statement, kernel)
                yield from _without_stride(text, statement, known) if kernel else ()
                yield from _one(text, statement, known, kernel, loop is not None)
                if isinstance(following, SIMPLE):
                    yield _swapped(text, statement, following)
            if isinstance(statement, ast.For | ast.While):
                yield from _around(text, statement, following)


def _laid_out(text: Text, statement: ast.stmt, known: Families) -> Iterator[Edit]:
    """The strides of one tensor taken for those of another, throughout a statement."""
    names = [n for n in ast.walk(statement) if isinstance(n, ast.Name) and n.id in known.strides]
    tensors = {name: _tensor_of(name) for name in known.strides}
    for one in dict.fromkeys(tensors[n.id] for n in names if tensors[n.id]):
        mine = [n for n in names if tensors[n.id] == one]
        for other in dict.fromkeys(tensors.values()) if len(mine) > 1 else ():
            new = {n.id: _of_tensor(n.id, one, other) for n in mine}
            if other != one and set(new.values()) <= {*known.strides} and _may_be_of(other, statement, known):
                yield text.edit("strides", statement, _renamed(text, statement, mine, new))


def shared_offsets(text: Text, function: ast.FunctionDef, known: Families) -> Iterator[Edit]:
    """An offset made of one tensor's strides, written out with those of the tensor that it is used for."""
    made = {
        node.targets[0].id: node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for node in ast.walk(function):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)):
            continue
        pointer, offset = getattr(node.left, "id", ""), getattr(node.right, "id", "")
        if pointer not in known.pointers or offset not in made or known.assigned[offset] != 1:
            continue
        names = [n for n in ast.walk(made[offset]) if isinstance(n, ast.Name) and n.id in known.strides]
        tensors = {_tensor_of(n.id) for n in names}
        mine = re.sub(r"_?(ptrs?|pointer)$", "", pointer).lower()
        if len(tensors) != 1 or mine in tensors:
            continue
        new = {n.id: _of_tensor(n.id, next(iter(tensors)), mine) for n in names}
        if set(new.values()) <= {*known.strides}:
            put = _renamed(text, made[offset], names, new)
            yield text.edit("strides", node.right, f"({put})", 0, "strides")


def _without_stride(text: Text, statement: ast.stmt, known: Families) -> Iterator[Edit]:
    """An index that is added to a pointer as it is, times a stride that the statement has no use for yet."""
    used = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
    unused = [stride for stride in known.strides if stride not in used]
    indices = {*known.offsets, *known.programs}
    for node in ast.walk(statement) if used & {*known.pointers} else ():
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            for side in (node.left, node.right):
                index = side.value if isinstance(side, ast.Subscript) else side
                if isinstance(index, ast.Name) and index.id in indices:
                    for stride in unused:
                        other = int(not _may_be_of(_tensor_of(stride), statement, known))
                        if other and f"{_tensor_of(stride)}_ptr" in known.pointers:
                            continue  # of a tensor that is not read here
                        yield text.edit("strides", side, f"{text.of(side)} * {stride}", other, "strides")


def missing_twins(text: Text, function: ast.FunctionDef, known: Families) -> Iterator[Edit]:
    """A pointer moved as its neighbour is, by strides of its own that nothing has a use for."""
    used = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    for node in ast.walk(function):
        if not isinstance(node, ast.AugAssign) or not isinstance(node.target, ast.Name):
            continue
        names = [n for n in ast.walk(node.value) if isinstance(n, ast.Name) and n.id in known.strides]
        mine, one = node.target.id, _tensor_of(names[0].id) if names else ""
        for pointer in known.pointers if one and one in mine else ():
            other = pointer.replace("_ptr", "").replace("_pointer", "").lower()
            new = {n.id: _of_tensor(n.id, one, other) for n in names}
            if pointer != mine and set(new.values()) <= {*known.strides} - used:
                moved = f"{pointer} += {_renamed(text, node.value, names, new)}"
                yield text.edit("line missing", node, f"{text.of(node)}; {moved}")


def exchanged_names(text: Text, function: ast.FunctionDef, names: Set[str]) -> Iterator[Edit]:
    """Two of the names in each other's place, throughout an expression or in front of an =."""
    for node in ast.walk(function):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Tuple) and len(target.elts) == 2 and names & {*map(text.of, target.elts)}:
            one, other = map(text.of, target.elts)
            start, end = text.span(target)
            if "(" not in text.of(target):
                yield Edit(
                    "exchanged", start, end, f"{other}, {one}", node.lineno, text.of(node),
                    f"{other}, {one} = {text.of(node.value)}",
                )  # fmt: skip
        if isinstance(node, ast.BinOp):
            found = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in names]
            pair = sorted({n.id for n in found})
            if len(pair) == 2:
                new = {pair[0]: pair[1], pair[1]: pair[0]}
                yield text.edit("exchanged", node, _renamed(text, node, found, new))


def _may_be_of(tensor: str, statement: ast.stmt, known: Families) -> bool:
    """False for a statement with pointers, none of which is the tensor's."""
    pointers = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and n.id in known.pointers}
    own = {tensor, tensor.upper(), f"{tensor}_ptr", f"{tensor}_ptrs", f"{tensor}_pointer"}
    return not pointers or bool(pointers & own)


def _tensor_of(name: str) -> str:
    """The tensor whose stride a name is of: "stride_qm" and "stride_qk" have q, "do_row" has do."""
    if "stride" in name:
        rest = name.replace("stride", "").strip("_")
        return rest.rsplit("_", 1)[0] if "_" in rest else rest[:-1]
    return name.rsplit("_", 1)[0]


def _of_tensor(name: str, one: str, other: str) -> str:
    head, _, tail = name.rpartition(one)
    return head + other + tail


def _renamed(text: Text, statement: ast.stmt, names: list[ast.Name], new: dict[str, str]) -> str:
    """The statement's text with some of its names exchanged."""
    begin, end = text.span(statement)
    raw = text.raw
    parts, at = [], begin
    for name in sorted(names, key=lambda n: text.span(n)[0]):
        start, stop = text.span(name)
        parts += [raw[at:start].decode(), new[name.id]]
        at = stop
    return "".join([*parts, raw[at:end].decode()])


def _bodies(function: ast.FunctionDef) -> Iterator[tuple[ast.stmt | None, list[ast.stmt]]]:
    """Each block of statements, with the loop that it is the body of."""
    for node in ast.walk(function):
        for name in ("body", "orelse"):
            if isinstance(body := getattr(node, name, None), list):
                yield (node if isinstance(node, ast.For | ast.While) else None), body


def _one(text: Text, statement: ast.stmt, known: Families, kernel: bool, looped: bool) -> Iterator[Edit]:
    if isinstance(statement, ast.AugAssign):
        yield from _added(text, statement, known)
        yield from _parts(text, statement.value, known, kernel)
    elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        target = statement.targets[0].id
        if known.assigned[target] > 1:
            yield text.edit("statement left out", statement, "pass", int(_is_bound(statement.value)))
            if isinstance(statement.value, ast.Name) and statement.value.id in known.scales:
                yield text.edit("assignment", statement, f"{target} *= {text.of(statement.value)}")
            if looped:
                yield text.edit("assignment", statement, f"{target} += {text.of(statement.value)}", 1)
        uses = (n for n in ast.walk(statement.value) if isinstance(n, ast.Name) and n.id == target)
        for name in uses if looped else ():
            for factor in _rescalers(known) if target in known.values else ():
                yield text.edit("not rescaled", name, f"({target} * {factor})")
        if looped:
            yield from _old_alone(text, statement.value, target)
        if target in known.values:
            yield from _summands(text, statement.value, known)
        yield from _parts(text, statement.value, known, kernel)
    elif kernel and isinstance(statement, ast.Expr) and isinstance(call := statement.value, ast.Call):
        stored = call.args[1:2] if name_of(call) in ("store", "atomic_add") else ()
        for value in stored:
            yield from _parts(text, value, known, kernel)


def _is_bound(value: ast.expr) -> bool:
    """True for what limits a loop: without it a kernel may be right, and does too much."""
    return isinstance(value, ast.Call) and name_of(value) in ("minimum", "maximum", "min", "max", "cdiv")


def _old_alone(text: Text, value: ast.expr, target: str) -> Iterator[Edit]:
    """`acc = tl.dot(p, v, acc) * factor`: the factor belongs to the old value that the call adds to."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mult):
        return
    for call, factor in ((value.left, value.right), (value.right, value.left)):
        for old in getattr(call, "args", ()):
            if isinstance(call, ast.Call) and text.of(old) == target:
                begin, end, (start, behind) = *text.span(call), text.span(old)
                head, tail = (text.raw[a:b].decode() for a, b in ((begin, start), (behind, end)))
                put = f"{head}{target} * {bracketed(factor, text.of(factor))}{tail}"
                yield text.edit("brackets", value, put)


def _summands(text: Text, value: ast.expr, known: Families) -> Iterator[Edit]:
    """One of two summands brought to another unit."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        for side in (value.left, value.right):
            for factor in _rescalers(known):
                if factor.partition("[")[0] not in text.of(side):
                    yield text.edit("not rescaled", side, f"({text.of(side)}) * {factor}")


def _added(text: Text, statement: ast.AugAssign, known: Families) -> Iterator[Edit]:
    """`+=` and its relatives: another one, none, or with the sum so far rescaled."""
    written, value = text.of(statement.target), text.of(statement.value)
    yield text.edit("statement left out", statement, "pass")
    if written in known.pointers:  # neither another place altogether nor one before it is ever meant
        for stride in known.strides:
            yield text.edit(
                "strides", statement.value, f"{bracketed(statement.value, value)} * {stride}", 1, "strides"
            )
        return
    for new in INSTEAD.get(ASSIGNED.get(type(statement.op), ""), ()):
        yield text.edit("assignment", statement, f"{written} {new} {value}", 0)
    if isinstance(statement.op, ast.Add):
        for factor in _rescalers(known):
            yield text.edit("not rescaled", statement, f"{written} = {written} * {factor} + ({value})")


def _parts(text: Text, value: ast.expr, known: Families, kernel: bool) -> Iterator[Edit]:
    """The value times a number that the function was given, with the other sign, to another base."""
    written = text.of(value)
    if isinstance(value, ast.Constant | ast.Compare | ast.Tuple) or "arange" in written:
        return
    if kernel and ("stride" in written or "program_id" in written or "_ptr" in written.partition("(")[0]):
        return
    used = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
    for name in known.scales:
        if name not in used:
            yield text.edit("factor", value, f"({written}) * {name}")
    if isinstance(value, ast.Name):
        return
    for base in BASES if kernel else ():
        yield text.edit("factor", value, f"({written}) * {base}", 1)
    yield text.edit("sign", value, f"-({written})", 1)


def _rescalers(known: Families) -> Iterator[str]:
    """What a sum so far may have to be multiplied by: the variables that an exponential gave."""
    factors = [name for name in known.exponentials if name not in known.tiles] or known.exponentials
    for name in factors:
        yield name
        yield f"{name}[:, None]"


def _swapped(text: Text, one: ast.stmt, other: ast.stmt) -> Edit:
    (start, middle), (after, end) = text.span(one), text.span(other)
    put = text.of(other) + text.raw[middle:after].decode() + text.of(one)
    return Edit("order of lines", start, end, put, one.lineno, text.of(one), text.of(other))


def _around(text: Text, loop: ast.For | ast.While, after: ast.stmt | None) -> Iterator[Edit]:
    """A loop's last statement behind it, and the statement behind it at the loop's end."""
    last = loop.body[-1]
    if isinstance(last, SIMPLE) and len(loop.body) > 1:
        start, end = text.starts[last.lineno - 1], text.span(last)[1]
        put = " " * loop.col_offset + text.of(last)
        yield Edit("inside the loop", start, end, put, last.lineno, text.of(last), text.of(last))
    if isinstance(after, SIMPLE):
        start, end = text.starts[after.lineno - 1], text.span(after)[1]
        put = " " * last.col_offset + text.of(after)
        yield Edit("behind the loop", start, end, put, after.lineno, text.of(after), text.of(after))
