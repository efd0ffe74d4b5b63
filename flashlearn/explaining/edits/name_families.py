"""Families of names in a function: within a family, one name may have been written for another."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from flashlearn.explaining.edits.edit import names_in

STRIDE = re.compile(r"(?i:stride)|^s_?[a-z]{1,2}$")
POINTER = re.compile(r"ptrs?$|^(ptr_|p_)|_pointer$")
CAPITAL = re.compile(r"^[A-Z][a-zA-Z]?$")
SCALE = re.compile(r"^[acs]$|(?i:^beta$|scale|alpha)")
ACCESSES = ("load", "store", "atomic_add", "make_block_ptr")


@dataclass
class NameFamilies:
    """Names of one function by what they hold, each family in order of appearance.

    `assigned` counts the assignments of each name. `counted` are the loops' variables, and `loops` has the
    first and last line of each one's loop. `programs` hold program ids, `maxima` maxima, `exponentials`
    exponentials, and `tiles` those of two axes. `products` has the product that a name is assigned, and
    `numbers` are the literal integers above 3. `steps` has the number of elements that one iteration stands
    for: a name, or "" if the loop's variable counts elements. `masks` include those written out in an
    access; `conditions` are the operands of & in masks. `first` has the line in which a variable first gets a
    value. `unread` are the parameters that no line reads, blocks and pointers apart, and `unread_values` the
    variables that none reads.
    """

    parameters: list[str] = field(default_factory=list)
    strides: list[str] = field(default_factory=list)
    pointers: list[str] = field(default_factory=list)
    scalars: list[str] = field(default_factory=list)
    scales: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    offsets: list[str] = field(default_factory=list)
    masks: list[str] = field(default_factory=list)
    exponentials: list[str] = field(default_factory=list)
    maxima: list[str] = field(default_factory=list)
    tiles: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    assigned: Counter[str] = field(default_factory=Counter)
    counted: list[str] = field(default_factory=list)
    loops: dict[str, tuple[int, int]] = field(default_factory=dict)
    programs: list[str] = field(default_factory=list)
    products: dict[str, ast.BinOp] = field(default_factory=dict)
    numbers: list[int] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    block_pointers: bool = False
    steps: dict[str, str] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    unread_values: list[str] = field(default_factory=list)

    def size_parameters(self) -> list[str]:
        """The sizes among the function's parameters."""
        return [name for name in self.scalars if name in self.parameters]

    def others(self, name: str, line: int) -> Iterator[str]:
        """Names with a value in that line that may have been meant instead, the likeliest first."""
        if name in self.strides:
            yield from (n for n in self.strides if n != name and _same_tensor_or_axis(n, name))
            return
        families = (self.pointers, self.scalars, self.blocks, self.offsets, self.masks, self.values)
        found: list[str] = []
        for family in families:
            if name in family:
                found += [n for n in family if n != name]
                break
        if name in self.blocks or name in self.scalars:  # a tile's size for the tensor's
            found += self.scalars if name in self.blocks else self.blocks
        found += [n for n in self.unread_values if name not in self.pointers]  # read nowhere: meant somewhere
        found = [n for n in dict.fromkeys(found) if self.first.get(n, 0) < line]
        yield from sorted(found, key=lambda other: not similar(name, other))


def similar(one: str, other: str) -> bool:
    """True for names that differ in one part or in one letter: `S_q` and `S_k`, `BLOCK_M` and `BLOCK_N`.

    >>> similar("S_q", "S_k"), similar("q_ptr", "k_ptr"), similar("S_q", "H")
    (True, True, False)
    """
    a, b = one.split("_"), other.split("_")
    if len(a) == len(b) > 1:
        return sum(x != y for x, y in zip(a, b, strict=True)) == 1
    if len(one) == len(other) > 1:
        return sum(x != y for x, y in zip(one, other, strict=True)) == 1
    return len(a) != len(b) and (a[: len(b)] == b or b[: len(a)] == a)


def _same_tensor_or_axis(one: str, other: str) -> bool:
    """True for strides of one tensor, or along one axis: names that differ in one letter or part."""
    if len(one) == len(other) and sum(a != b for a, b in zip(one, other, strict=True)) == 1:
        return True
    a, b = one.rsplit("_", 1), other.rsplit("_", 1)
    return a[0] == b[0] or a[-1] == b[-1]


def name_families(function: ast.FunctionDef) -> NameFamilies:
    """The families of a function's parameters and variables."""
    found, addressed = NameFamilies(), _addressed(function)
    factors, bounds = _factors_and_bounds(function)
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    given = [argument.arg for argument in arguments]
    has_pointers = any(map(POINTER.search, given))  # then capitals are sizes, else they may be matrices
    matrices = {name for name in given if CAPITAL.search(name)} - (bounds if addressed else set())
    for argument in arguments:
        name, kind = argument.arg, ast.unparse(argument.annotation) if argument.annotation else ""
        found.assigned[name] += 1
        found.parameters.append(name)
        if "constexpr" in kind:
            found.blocks.append(name)
        elif name in addressed or _is_pointer(name, given) or (name in matrices and not has_pointers):
            found.pointers.append(name)
        elif SCALE.search(name):
            found.scales.append(name)
        else:
            stride = name not in bounds and (_is_stride(name, given) or name in factors)
            (found.strides if stride else found.scalars).append(name)
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.assigned[node.id] += 1
            if node.id not in given:
                found.first[node.id] = min(node.lineno, found.first.get(node.id, node.lineno))
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value > 3:
            found.numbers += [node.value] * (node.value not in found.numbers)
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            _classify(node.targets[0], node.value, found)
        elif isinstance(node, ast.Call):
            found.block_pointers |= getattr(node.func, "attr", "") == "make_block_ptr"
            for keyword in node.keywords:
                if keyword.arg == "mask" and not isinstance(keyword.value, ast.Name):
                    _put(f"({ast.unparse(keyword.value)})", found.masks)
                    _put_conditions(keyword.value, found)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            _put(node.target.id, found.scalars)
            _put(node.target.id, found.counted)
            found.loops[node.target.id] = node.lineno, node.end_lineno or node.lineno
            found.steps |= _step(node)
    read = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    found.unread_values = [name for name in found.first if name not in read]
    found.unread = [name for name in (*found.strides, *found.scalars) if name in {*given} - read]
    return found


def _is_pointer(name: str, given: list[str]) -> bool:
    """True for "x_ptr" and "p_x"; not for "p_row" where there is a "p_ptr": that is a stride of p."""
    end = name.rpartition("_")[2]
    stride = name.startswith("p_") and {"p_ptr", "p_pointer"} & {*given} and not POINTER.search(end)
    return bool(POINTER.search(name)) and not stride


def _is_stride(name: str, given: list[str]) -> bool:
    """True for "stride_qm", and for "q_row" where there is a "q_ptr" or a "Q"."""
    tensor = name.rpartition("_")[0]
    return bool(STRIDE.search(name)) or bool(
        tensor and {f"{tensor}_ptr", f"{tensor}_pointer", tensor.upper(), tensor} & {*given}
    )


def _factors_and_bounds(function: ast.FunctionDef) -> tuple[set[str], set[str]]:
    """Factors of indices, as in `rows[:, None] * am`, and names that bound something."""
    factors, bounds = set(), set()
    for node in ast.walk(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(one, ast.Subscript) and isinstance(other, ast.Name):
                    factors.add(other.id)
        elif isinstance(node, ast.Compare | ast.For | ast.While):
            parts = [node] if isinstance(node, ast.Compare) else [getattr(node, "iter", None)]
            bounds |= {n.id for p in filter(None, parts) for n in ast.walk(p) if isinstance(n, ast.Name)}
    return factors, bounds


def _classify(target: ast.expr, value: ast.expr, found: NameFamilies) -> None:
    """Put an assigned name into its family, by its value."""
    text = ast.unparse(value)
    if isinstance(target, ast.Tuple) and "shape" in text:
        for part in target.elts:
            if isinstance(part, ast.Name):
                _put(part.id, found.scalars)
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for part, its in zip(target.elts, value.elts, strict=False):
            _classify(part, its, found)
    if not isinstance(target, ast.Name):
        return
    name = target.id
    if re.fullmatch(r"(\w+\.)?program_id\([^()]*\)(\.to\([^()]*\))?", text):
        _put(name, found.programs)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        found.products[name] = value
    if any(name in known for known in (found.strides, found.pointers, found.blocks, found.scales)):
        return
    used = names_in(value)
    if isinstance(value, ast.Compare) or (
        isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitAnd | ast.BitOr)
    ):
        _put(name, found.masks)
        _put_conditions(value, found)
    elif inside := _inside_of_clamp(value):
        _put(inside, found.masks)
        _put(name, found.offsets)
    elif used & {*found.pointers} and not isinstance(value, ast.Call):
        _put(name, found.pointers)
    elif "arange" in text and "load" not in text:
        _put(name, found.offsets)
    elif "program_id" in text or "cdiv" in text or (re.search(r"//|%", text) and "load" not in text):
        _put(name, found.scalars)
    else:
        _put(name, found.values)
        if isinstance(value, ast.Call) and getattr(value.func, "attr", "") in ("max", "maximum"):
            _put(name, found.maxima)
        if isinstance(value, ast.Call) and getattr(value.func, "attr", "") in ("exp", "exp2"):
            _put(name, found.exponentials)
            if "None" in text:  # of a row and a column: not a factor of a row's sum
                _put(name, found.tiles)


def _inside_of_clamp(value: ast.expr) -> str:
    """`(c < n)` for `tl.minimum(c, n - 1)`: where the index is not another one's."""
    if (
        not isinstance(value, ast.Call)
        or getattr(value.func, "attr", "") != "minimum"
        or len(value.args) != 2
    ):
        return ""
    index, last = value.args
    shifted = isinstance(last, ast.BinOp) and isinstance(last.op, ast.Sub) and ast.unparse(last.right) == "1"
    return (
        f"({ast.unparse(index)} < {ast.unparse(last.left)})"
        if shifted and isinstance(index, ast.Name)
        else ""
    )


def _put_conditions(mask: ast.expr, found: NameFamilies) -> None:
    if isinstance(mask, ast.BinOp) and isinstance(mask.op, ast.BitAnd):
        for side in (mask.left, mask.right):
            if isinstance(side, ast.Subscript | ast.Name):
                written = ast.unparse(side)
                row, column = (
                    written.replace("[:, None]", "[None, :]"),
                    written.replace("[None, :]", "[:, None]"),
                )
                for one in (written, row, column):  # in another tile it may run along the other axis
                    _put(one, found.conditions)
            _put_conditions(side, found)


def _put(name: str, family: list[str]) -> None:
    if name not in family:
        family.append(name)


def _step(loop: ast.For) -> dict[str, str]:
    """What one iteration of a loop over `range` stands for, if that is evident."""
    name, call = getattr(loop.target, "id", ""), loop.iter
    if not isinstance(call, ast.Call) or not ast.unparse(call.func).endswith("range") or not call.args:
        return {}
    if len(call.args) == 3 and ast.unparse(call.args[2]) != "1":
        return {name: ""}
    end = call.args[-1] if len(call.args) < 3 else call.args[1]
    if isinstance(end, ast.Call) and ast.unparse(end.func).endswith("cdiv") and len(end.args) == 2:
        return {name: ast.unparse(end.args[1])}
    return {}


def _addressed(function: ast.FunctionDef) -> set[str]:
    """Names with which the address of a load or store begins."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ACCESSES and node.args:
            at = node.args[0]
            while isinstance(at, ast.BinOp):
                at = at.left
            if isinstance(at, ast.Name):
                found.add(at.id)
    return found
