"""Variables that change their type in a loop or a branch: fine in Python, refused by triton's compiler.

A compiled loop carries a variable through one register of one type, and both sides of an `if` on a
tensor hand over the same types (triton/compiler/code_generator.py, `_verify_loop_carried_variable` and
`visit_then_else_blocks`). Interpreted kernels have no such bounds, so `instrument` puts calls into the
rewritten function that compare: before a loop and after each round, before a branch and after it. Only
names that the compiler knows at that point are compared; where that is not sure, nothing is said.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import triton.language as tl

from flashlearn.interpreter.errors import KernelCrash
from flashlearn.interpreter.learner_code import place_of

ENTER, LEAVE, BRANCH, LOCALS = "__fl_enter", "__fl_leave", "__fl_branch", "__fl_locals"


# ---------------------------------------------------------------- into the source


def instrument(definition: ast.FunctionDef, constants: Iterable[str]) -> None:
    """Insert the comparisons into a kernel's syntax tree, in place; `constants` are its constexprs.

    New nodes have no lines yet.
    """
    parameters = {argument.arg for argument in ast.walk(definition.args) if isinstance(argument, ast.arg)}
    definition.body = _Instrumenter().block(definition.body, _Names(parameters, set(constants)))


@dataclass
class _Names:
    """Names that the compiler is sure to know at a point, and those of them that are constexprs."""

    known: set[str]
    constants: set[str] = field(default_factory=set)
    unrolled: bool = False
    lines: dict[str, int] = field(default_factory=dict)
    """Where a name got its last value."""

    def inner(self, unrolled: bool = False) -> _Names:
        unrolled = self.unrolled or unrolled
        return _Names(set(self.known), set(self.constants), unrolled, dict(self.lines))


class _Instrumenter:
    def __init__(self) -> None:
        self.count = 0

    def block(self, statements: list[ast.stmt], scope: _Names) -> list[ast.stmt]:
        """The statements with comparisons among them; `scope` grows by what they define."""
        out: list[ast.stmt] = []
        for statement in statements:
            out += self.statement(statement, scope)
        return out

    def statement(self, node: ast.stmt, scope: _Names) -> list[ast.stmt]:
        if isinstance(node, ast.While) or (isinstance(node, ast.For) and _calls(node.iter, "range")):
            return self.loop(node, scope)
        if isinstance(node, ast.For):
            node.body = self.block(node.body, scope.inner(unrolled=True))
            if _calls(node.iter, "static_range") and isinstance(node.target, ast.Name):
                scope.known.add(node.target.id)  # it keeps its last value, a constant
                scope.constants.add(node.target.id)
        elif isinstance(node, ast.If):
            return self.branch(node, scope)
        elif isinstance(node, ast.With):
            node.body = self.block(node.body, scope)
        else:
            _define(node, scope)
        return [node]

    def loop(self, node: ast.For | ast.While, scope: _Names) -> list[ast.stmt]:
        lines = _assigned(node.body)
        own = {node.target.id} if isinstance(getattr(node, "target", None), ast.Name) else set()
        carried = {name: at for name, at in lines.items() if name in scope.known - own}
        node.body = self.block(node.body, scope.inner())
        if not carried:
            return [node]
        mark = self.mark()
        constants = tuple(name for name in carried if name in scope.constants)
        places = {name: at[0] if len(at) == 1 else node.lineno for name, at in carried.items()}
        starts = {name: scope.lines[name] for name in carried if name in scope.lines}
        before = _parse(f"{mark} = {ENTER}({LOCALS}(), {tuple(carried)!r}, {starts!r})", node)
        after = _parse(f"{LEAVE}({mark}, {LOCALS}(), {places!r}, {constants!r}, {node.lineno})", node)
        node.body.append(after)
        return [before, node]

    def branch(self, node: ast.If, scope: _Names) -> list[ast.stmt]:
        sides = [scope.inner(), scope.inner()]
        lines = {**_assigned(node.orelse), **_assigned(node.body)}
        changed = tuple(n for n in lines if n in scope.known and n not in scope.constants)
        node.body = self.block(node.body, sides[0])
        node.orelse = self.block(node.orelse, sides[1])
        fresh = tuple(sorted((sides[0].known & sides[1].known) - scope.known))
        scope.known |= sides[0].known & sides[1].known
        if any(isinstance(part, ast.BoolOp | ast.IfExp) for part in ast.walk(node.test)):
            return [node]  # may be decided at compile time by one of its parts
        if not changed and (not fresh or scope.unrolled):
            return [node]
        mark = self.mark()
        asked = tuple({part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)} & scope.known)
        begin = _parse(f"{mark} = {BRANCH}(None, {LOCALS}(), {changed!r}, {asked!r}, {node.lineno})", node)
        begin.value.args[0] = node.test
        node.test = ast.copy_location(_parse(f"{mark}.value", node).value, node.test)
        shared = () if scope.unrolled else fresh
        for body, side in ((node.body, "then"), (node.orelse, "else")):
            if body:
                body.append(_parse(f"{mark}.leave({side!r}, {LOCALS}(), {shared!r})", node))
        return [begin, node]

    def mark(self) -> str:
        self.count += 1
        return f"__fl_{self.count}"


def _calls(iterator: ast.expr, name: str) -> bool:
    """True for `range(…)` and `tl.range(…)`; `tl.static_range` is unrolled, and may do as it likes."""
    function = iterator.func if isinstance(iterator, ast.Call) else None
    return getattr(function, "id", getattr(function, "attr", "")) == name


def _define(node: ast.stmt, scope: _Names) -> None:
    names = set(_targets(node))
    scope.known |= names
    scope.lines |= dict.fromkeys(names, getattr(node, "lineno", 0))
    if isinstance(node, ast.AnnAssign) and "constexpr" in ast.unparse(node.annotation):
        scope.constants |= names
    else:
        scope.constants -= names


def _targets(node: ast.AST) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AugAssign | ast.AnnAssign):
        targets = [node.target]
    for target in targets:
        yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))


def _assigned(statements: list[ast.stmt]) -> dict[str, list[int]]:
    """The names that statements assign, at any depth, with the lines; loop variables are not among them."""
    lines: dict[str, list[int]] = {}
    for statement in statements:
        for node in ast.walk(statement):
            for name in _targets(node):
                lines.setdefault(name, []).append(node.lineno)
    return lines


def _parse(text: str, near: ast.stmt) -> Any:
    statement = ast.parse(text).body[0]
    for node in ast.walk(statement):
        ast.copy_location(node, near)
    return statement


# ---------------------------------------------------------------- while it runs


class Carries:
    """The comparisons of one launch. Raises KernelCrash where the compiler would refuse the kernel."""

    def __init__(self, memory: Any):
        self.memory = memory
        self.kernel: Any = None  # the code of the launched function, whose types are those of the launch
        self.sides: dict[tuple, tuple[str, Any]] = {}

    def names(self) -> dict[str, Any]:
        """What the rewritten source calls."""
        return {ENTER: self.enter, LEAVE: self.leave, BRANCH: self.branch, LOCALS: locals}

    def enter(self, values: dict[str, Any], names: tuple[str, ...], starts: dict[str, int]) -> Entry:
        """A loop begins: remember what its variables are, and in which lines they got their values."""
        return Entry({name: values[name] for name in names if name in values}, starts)

    def leave(self, before: Entry, values: dict, places: dict, constants: tuple[str, ...], loop: int) -> None:
        """A round ends: the loop's variables must be what they were."""
        for name, value in before.values.items():
            now = values.get(name)
            if name in constants:
                value, now = (
                    getattr(v, "value", v) if isinstance(v, tl.constexpr) else v for v in (value, now)
                )
                if isinstance(value, bool | int | float) and (isinstance(now, tl.tensor) or now != value):
                    self.refuse(
                        f"`{name}` is a constant in the compiled kernel, but the loop in line {loop} assigns "
                        f"it a new value: before the loop, use another name.",
                        places[name],
                    )
                continue
            one, other = type_of(value), type_of(now)
            if one is not None and other is not None and one != other:
                self.refuse(*_changed(name, (one, other), loop, (before.starts.get(name), places[name])))

    def branch(self, test: Any, values: dict, changed: tuple, asked: tuple, line: int) -> Branch:
        """An `if` begins. One that is decided at compile time may change what it likes."""
        code = sys._getframe(1).f_code
        helper = code is not self.kernel  # its arguments may be constants that an argument 1 gave rise to
        dynamic = isinstance(test, tl.tensor) and not any(
            _may_be_constant(values.get(name), helper) for name in asked
        )
        before = {name: values[name] for name in changed if name in values} if dynamic else {}
        return Branch(self, test, dynamic, before, line, code)

    def refuse(self, sentence: str, line: int) -> None:
        """Raise KernelCrash for the learner's line."""
        frame = sys._getframe(2)
        while frame.f_code.co_filename == __file__:
            frame = frame.f_back
        raise KernelCrash(sentence, place_of(frame.f_code, line, self.memory.program))


@dataclass
class Entry:
    """What a loop's variables were before it, and the lines that gave them their values."""

    values: dict[str, Any]
    starts: dict[str, int]


HALF = (tl.float16, tl.bfloat16)


def _changed(
    name: str, types: tuple[tl.dtype, tl.dtype], loop: int, lines: tuple[int | None, int]
) -> tuple[str, int]:
    """What is said of a variable that another type leaves the loop with, and of which line.

    If it is a sum in fp32 that begins in half precision, its beginning is what is wrong.
    """
    one, other = types
    first, last = lines
    seen = (
        f"`{name}` enters the loop in line {loop} as {words(one)} and leaves it as {words(other)}. A "
        "GPU's compiler refuses that, since a variable keeps one shape and dtype through a loop."
    )
    shapes = [kind.shape if kind.is_block() else () for kind in types]
    half = one.scalar in HALF and other.scalar == tl.float32 and shapes[0] == shapes[1]
    if half and first is not None:
        return f"{seen} Let it begin in fp32, in line {first}: line {last} computes in fp32.", first
    if one.scalar.is_ptr() and not other.scalar.is_ptr():
        return f"{seen} It holds addresses at first: add to them what moves them, in line {last}.", last
    if one.is_block() and not other.is_block():
        return f"{seen} Line {last} puts a single number in the place of its lanes.", last
    sums = ", fp32 for a sum," if one.scalar.is_floating() or other.scalar.is_floating() else ""
    advice = (
        f"Decide on one{sums} for the value before the loop (`tl.full`, `tl.zeros`), and convert "
        "what is assigned inside to it with `.to(...)`."
    )
    return f"{seen} {advice}", last


@dataclass
class Branch:
    """An `if` under way: `value` is what it tests."""

    carries: Carries
    value: Any
    dynamic: bool
    before: dict[str, Any]
    line: int
    code: Any

    def leave(self, side: str, values: dict[str, Any], fresh: tuple[str, ...]) -> None:
        """One side ends: what was there keeps its type, what is new has the other side's."""
        if not self.dynamic:
            return
        for name, value in self.before.items():
            one, other = type_of(value), type_of(values.get(name))
            if one is not None and other is not None and one != other:
                self._refuse(name, f"is {words(one)} before this `if` and {words(other)} after it")
        if self.code is not self.carries.kernel:
            return
        for name in fresh:
            mine = type_of(values.get(name))
            known, theirs = self.carries.sides.setdefault((self.line, name), (side, mine))
            if known != side and None not in (mine, theirs) and mine != theirs:
                self._refuse(name, f"is {words(theirs)} on one side of this `if`, {words(mine)} on the other")

    def _refuse(self, name: str, what: str) -> None:
        self.carries.refuse(
            f"`{name}` {what}. A GPU's compiler refuses that, since the lines below are compiled "
            "once for both: convert with `.to(...)`.",
            self.line,
        )


def _may_be_constant(value: Any, any_number: bool) -> bool:
    """True for an integer 1: as an argument it is compiled into the kernel, and an `if` on it is settled.

    With `any_number` for every integer.
    """
    if not isinstance(value, tl.tensor) or value.type.is_block() or not value.type.is_int():
        return False
    return any_number or value.handle.data.item() == 1


def type_of(value: Any) -> tl.dtype | None:
    """The compiled type of an interpreted value; None where that is not sure."""
    if isinstance(value, tl.tensor):
        return value.type
    if isinstance(value, bool):
        return tl.int1
    if isinstance(value, int) and -(2**31) <= value < 2**31:
        return tl.int32
    return tl.float32 if isinstance(value, float) else None


def words(kind: tl.dtype) -> str:
    """A type in words: fp32, fp32 (64, 32), a pointer to fp16."""
    if kind.is_block():
        sizes = ", ".join(str(size) for size in kind.shape)
        element = words(kind.element_ty).replace("a pointer", "pointers")
        return f"{element} ({sizes}{',' * (len(kind.shape) == 1)})"
    return f"a pointer to {kind.element_ty}" if kind.is_ptr() else str(kind)
