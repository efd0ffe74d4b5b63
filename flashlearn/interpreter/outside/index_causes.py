"""What is wrong with an index that leaves its dimension: what the mask tests, or how it is computed."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from flashlearn.interpreter.learner_code import Program
from flashlearn.interpreter.outside.access import Cause, OutsideAccess
from flashlearn.interpreter.outside.conditions import Condition, Precedence, Unclear, conditions_of
from flashlearn.interpreter.outside.indices import Index, bare
from flashlearn.interpreter.outside.kernel_source import Scope, called
from flashlearn.interpreter.views import View


def cause_of_indices(
    failing: Sequence[Index], access: OutsideAccess, scope: Scope, line: int
) -> Cause | None:
    """The cause where some indices leave their dimensions; the pointer occurs in this line."""
    try:
        conditions = conditions_of(scope)
    except Precedence as found:
        return _of_precedence(*found.args)
    except Unclear:
        conditions = None
    number = next((index for index in failing if index.scalar), None)
    if number is not None:
        return _of_number(number, access, conditions)
    below = next((i for i in failing if (access.lanes & (_all(i, access) < 0)).any()), None)
    if below is not None:
        return _below(below, access)
    if not access.masked:
        called, computed = _set_off(failing[0], access.view), _computed_as(failing[0])
        return Cause("no mask", f"Nothing keeps {called} below {failing[0].size}{computed}.")
    if conditions is None:
        return _of_either(failing, access, scope)
    causes = [_of_conditions(index, conditions, access, scope, line) for index in failing]
    untested = [i for i, cause in zip(failing, causes, strict=True) if cause and cause.key == "untested"]
    if len(untested) > 1 and len(untested) == len(failing):
        names = " nor ".join(f"`{index.text}`" for index in untested)
        return Cause("untested", f"The mask tests neither {names}.")
    return next(filter(None, causes), None)


def _of_precedence(text: str, line: int) -> Cause:
    return Cause(
        "precedence",
        f"Line {line} has `{text}`: in Python `&` binds more tightly than a comparison, so it is not two "
        "conditions.",
    )


def _of_either(failing: Sequence[Index], access: OutsideAccess, scope: Scope) -> Cause | None:
    """A mask that has the right conditions, of which one is enough."""
    try:
        conditions = conditions_of(scope, either=True)
    except (Precedence, Unclear):
        return None
    for index in failing:
        for one in conditions:
            bounds = one.upper and one.strict and one.bound.size == 1 and int(one.bound.flat[0]) == index.size
            if bounds and _equal(one.numbers, index.numbers, access):
                return Cause(
                    "either",
                    f"The mask has `{one.text}` (line {one.line}), but joins it to another condition with "
                    "`|`: one of the two is enough.",
                )
    return None


def _all(index: Index, access: OutsideAccess) -> np.ndarray:
    return np.broadcast_to(index.numbers, access.addresses.shape)


def _called(index: Index, view: View) -> str:
    """An index with what it is of the tensor, quoted where the kernel has it in one piece."""
    if index.size != view.shape[index.dim]:
        return f"`{index.text}`"
    which = _of_tensor(index, view)
    return f"`{index.text}`, {which}" if _is_written(index) else which


def _set_off(index: Index, view: View) -> str:
    """The same before a verb: an apposition ends with a comma."""
    called, which = _called(index, view), _of_tensor(index, view)
    return f"{called}," if called.endswith(f", {which}") else called


def _of_tensor(index: Index, view: View) -> str:
    """Which index of which tensor it is."""
    return f"{'the index' if len(view.shape) == 1 else f'index {index.dim}'} of {view.name}"


def _is_written(index: Index) -> bool:
    """Whether the index is an expression of the kernel, not a sum of terms from several places."""
    return len(index.parts) == 1 or index.text in ast.unparse(index.parts[0].term.scope.tree)


def _computed_as(index: Index) -> str:
    """In parentheses, in which line an index with a name of its own is computed, and as what."""
    part = index.parts[0]
    if len(index.parts) > 1 or len(part.index) > 1 or part.term.times != 1:
        return ""
    node = bare(part.index[0])
    origin, line = part.term.scope.origin(node, 0)
    return f" (line {line} computes it as `{ast.unparse(origin)}`)" if origin is not node else ""


def _subtracted(index: Index, access: OutsideAccess) -> Cause:
    part = index.parts[0]
    which = "the index" if len(access.view.shape) == 1 else f"index {index.dim}"
    least = int(_all(index, access)[access.lanes].min())
    term = part.text[1:]
    subtracts = f"Line {part.term.line} subtracts `{term}` in the address"
    if not _is_subtracted(term, part.term.scope, part.term.line):
        subtracts = f"The address subtracts `{term}` (line {part.term.line})"  # where it is, but no minus
    return Cause(
        "subtracted",
        f"{subtracts}: {which} of {access.view.name} is {'' if index.scalar else 'down to '}{least} here.",
    )


def _is_subtracted(term: str, scope: Scope, line: int) -> bool:
    """Whether a line has a minus before what contains the term."""
    for node in ast.walk(scope.tree):
        if getattr(node, "lineno", 0) <= line <= (getattr(node, "end_lineno", None) or 0):
            minus = isinstance(getattr(node, "op", None), ast.Sub | ast.USub)
            after = next(
                (getattr(node, of) for of in ("right", "operand", "value") if hasattr(node, of)), None
            )
            if minus and after is not None and term in ast.unparse(after):
                return True
    return False


def _below(index: Index, access: OutsideAccess) -> Cause:
    if len(index.parts) == 1 and index.parts[0].term.times < 0 and index.parts[0].index:
        return _subtracted(index, access)
    least = int(_all(index, access)[access.lanes].min())
    called = _set_off(index, access.view)
    return Cause("below", f"{called[0].upper()}{called[1:]} goes down to {least} here{_computed_as(index)}.")


def _of_number(index: Index, access: OutsideAccess, conditions: Sequence[Condition] | None) -> Cause | None:
    """An index that all lanes have in common: a program's number, or what is computed from it."""
    value, part = int(index.numbers.flat[0]), index.parts[0]
    steps = next((p for p in index.parts if p.term.repeated and not p.index), None)
    if steps is not None and len(index.parts) <= 2:
        count, which = abs(steps.term.times), f"Index {index.dim} of {access.view.name}"
        times = "once" if count == 1 else f"{count} times"
        return Cause(
            "steps", f"{which} is {value} here: line {steps.term.line} has moved the pointer {times}."
        )
    if len(index.parts) > 1 or len(part.index) > 1 or (conditions and _tests(index, conditions)):
        return None
    if part.term.times < 0:
        return _subtracted(index, access)
    node, scope = bare(part.index[0]), part.term.scope
    origin, line = scope.origin(node, part.term.line)
    which = f"{_called(index, access.view)}, is {value} here"
    axis = _axis(origin, scope)
    if axis is not None:
        count = access.grid[axis]
        programs = "program" if count == 1 else "programs"
        whose = f" (line {line}: `{ast.unparse(origin)}`)" if origin is not node else ""
        key = "axis" if index.size in _without(access.grid, axis) else "programs"
        return Cause(key, f"{which}{whose}: the grid has {count} {programs} along axis {axis}.")
    if origin is node and isinstance(node, ast.Name | ast.Constant):
        return None  # an argument or a number: more likely a stride that has the index for its factor
    computed = f": line {line} computes it as `{ast.unparse(origin)}`" if origin is not node else ""
    return Cause("number", f"{which}{computed}{_with_values(origin, scope, line)}.")


def _with_values(node: ast.expr, scope: Scope, line: int) -> str:
    """What the names in an expression are, and where they come from, if these are one or two."""
    found = []
    for name in sorted(names_in(node) - set(scope.parameters)):
        value, definition = scope.numbers(ast.Name(name)), scope.only_value(name)
        if value is not None and value.size == 1 and definition is not None:
            found.append(
                f"`{name}` = {int(value.flat[0])} (line {definition.line}: `{ast.unparse(definition.value)}`)"
            )
    return f", with {' and '.join(found)}" if 0 < len(found) <= 2 else ""


def _without(grid: Program, axis: int) -> list[int]:
    return [n for a, n in enumerate(grid) if a != axis]


def _axis(node: ast.expr, scope: Scope) -> int | None:
    """The axis of the grid along which a program's number is counted."""
    while isinstance(node, ast.Call) and called(node) == "to":
        node = node.func.value
    if isinstance(node, ast.Call) and called(node) == "program_id" and node.args:
        axis = scope.numbers(node.args[0])
        return None if axis is None else int(axis)
    return None


def _tests(index: Index, conditions: Sequence[Condition]) -> list[Condition]:
    """The conditions in which a name of the index occurs."""
    names = _names(index)
    return [c for c in conditions if names & names_in(c.tested)]


def _names(index: Index) -> set[str]:
    return {name for part in index.parts for node in part.index for name in names_in(node)}


def names_in(node: ast.expr) -> set[str]:
    """The names in an expression."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - {"tl", "gl"}


def _of_conditions(
    index: Index, conditions: Sequence[Condition], access: OutsideAccess, scope: Scope, line: int
) -> Cause | None:
    """What the mask does with an index that lies beyond its dimension."""
    mine = [c for c in conditions if _equal(c.numbers, index.numbers, access)]
    sized = [c for c in mine if c.upper and c.bound.size == 1]
    if sized:
        return _of_bound(index, sized, access, scope, line)
    named = _tests(index, conditions)
    if mine or named:
        other = [c for c in named if c.upper and c.bound.size == 1]
        if mine or len(other) != 1 or other[0].tested_text == index.text:
            return None
        return _of_part(index, other[0], access, scope)
    part = _part_by_name(index, conditions)
    if part is not None:
        return part
    if _related(index, conditions, scope):
        return None
    return Cause("untested", f"The mask does not test {_called(index, access.view)}.")


def _part_by_name(index: Index, conditions: Sequence[Condition]) -> Cause | None:
    """A condition on a part of the index, which has a name of its own: `lane` for `col = start + lane`."""
    part = index.parts[0]
    if len(index.parts) > 1 or len(part.index) > 1 or part.term.times != 1:
        return None
    node = bare(part.index[0])
    origin, line = part.term.scope.origin(node, 0)
    tested = [
        c
        for c in conditions
        if c.upper and c.bound.size == 1 and int(c.bound.flat[0]) == index.size and c.numbers.size > 1
    ]
    if origin is node or len(tested) != 1 or not isinstance(bare(tested[0].tested), ast.Name):
        return None
    (one,) = tested
    products = (n for n in ast.walk(origin) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult))
    scaled = any(names_in(one.tested) & names_in(product) for product in products)
    if scaled or not names_in(one.tested) <= names_in(origin):
        return None  # multiplied by a stride it is no part of an index, but an offset
    return Cause(
        "other index",
        f"The mask tests `{one.tested_text}` (line {one.line}: `{one.text}`), but the address has "
        f"`{index.text}`, which line {line} computes as `{ast.unparse(origin)}`.",
    )


def _of_part(index: Index, condition: Condition, access: OutsideAccess, scope: Scope) -> Cause | None:
    """A condition on a part of the index: its bound may allow for the rest, or it may be the whole size."""
    rest = np.unique(_all(index, access) - np.broadcast_to(condition.numbers, access.addresses.shape))
    bound, text = int(condition.bound.flat[0]), f"`{condition.text}` (line {condition.line})"
    if rest.size == 1 and not condition.strict and bound + int(rest[0]) == index.size:
        return Cause(
            "comparison", f"The mask has {text}, which lets index {index.size} through, the size itself."
        )
    if bound != index.size:
        return None
    has = f"the address has {_called(index, access.view)}"
    repeated = [part.term.repeated for part in index.parts]
    if any(repeated) and repeated.count(False) < 2:  # with more terms it may be another one that is too much
        has = f"the loop also moves the pointer along {_of_tensor(index, access.view)}"
    elif any(repeated) or not _is_written(index):
        has = f"{_of_tensor(index, access.view)} has other terms besides"
    tested = f"`{condition.tested_text}` (line {condition.line}: `{condition.text}`)"
    return Cause("other index", f"The mask tests {tested}, but {has}.")


def _of_bound(
    index: Index, sized: Sequence[Condition], access: OutsideAccess, scope: Scope, line: int
) -> Cause | None:
    condition = min(sized, key=lambda one: int(one.bound.flat[0]) + (not one.strict))
    bound, where = int(condition.bound.flat[0]), f"(line {condition.line})"
    text = f"`{condition.text}` {where}"
    if not condition.strict and bound == index.size:
        return Cause(
            "comparison",
            f"The mask has {text}, which lets index {index.size} through, the size itself.",
        )
    if bound + (not condition.strict) <= index.size:
        return None
    view = access.view
    of = f"dimension {index.dim} of {view.name}" if len(view.shape) > 1 else view.name
    size = f"{index.size} along {of}" if len(view.shape) > 1 else f"{index.size} elements in {of}"
    other = [d for d, n in enumerate(view.shape) if d != index.dim and n == bound and condition.strict]
    if len(other) == 1 and all(part.stride for part in index.parts):
        by = " and ".join(dict.fromkeys(f"`{part.stride_text}`" for part in index.parts))
        return Cause(
            "bound",
            f"The mask has {text}, and {bound} is the size of dimension {other[0]} of {view.name}; the "
            f"address multiplies `{index.text}` by {by}, the stride of dimension {index.dim}.",
        )
    which = f", the size of dimension {other[0]}" if len(other) == 1 else ""
    pointer = f" Line {line} makes the pointer from {view.name}." if line != scope.call.lineno else ""
    return Cause(
        "bound", f"The mask has {text}: the bound is {bound}{which}, but the size is {size}.{pointer}"
    )


def _equal(numbers: np.ndarray, other: np.ndarray, access: OutsideAccess) -> bool:
    """Whether two indices are the same for every lane."""
    shape = access.addresses.shape
    try:
        return bool(np.array_equal(np.broadcast_to(numbers, shape), np.broadcast_to(other, shape)))
    except ValueError:
        return False


def _related(index: Index, conditions: Sequence[Condition], scope: Scope) -> bool:
    """Whether a tested name is computed from a name of the index, or the other way round."""
    tested = {name for c in conditions for name in names_in(c.tested) if c.numbers.size > 1}
    return bool(_origins(tested, scope) & (_names(index) - set(scope.parameters))) or bool(
        _origins(_names(index), scope) & tested
    )


def _origins(names: set[str], scope: Scope) -> set[str]:
    found = set(names)
    for _ in range(4):
        values = (d.value for name in found for d in scope.definitions.get(name, ()) if d.value is not None)
        found |= {name for value in values for name in names_in(value)}
    return found
