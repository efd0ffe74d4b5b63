"""A running kernel's text and the values of its names: `Scope` computes what an expression of integers is."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import triton.language as tl

from flashlearn.interpreter.learner_code import LEARNER_CODE, Program

PASSED_ON = ("to", "multiple_of", "max_contiguous", "cast", "to_tensor")
"""Calls whose value is that of their first argument, or of what they are methods of."""

KERNELS = Path(__file__).parents[2] / "kernels"
"""Where the kernels are that launchers may import."""

UNTIL = 3
"""How many functions up a pointer is followed."""


@dataclass(frozen=True)
class Definition:
    """A statement that gives a name its value, or adds to it; `sign` is -1 for `-=`."""

    value: ast.expr | None
    line: int
    adds: bool = False
    sign: int = 1
    in_loop: bool = False


@dataclass
class Scope:
    """A learner's function at work: its syntax tree, its definitions, and the values of its names."""

    tree: ast.FunctionDef
    definitions: dict[str, list[Definition]]
    values: dict[str, Any]
    call: ast.Call
    program: Program
    parent: Scope | None = None

    @property
    def parameters(self) -> list[str]:
        """The names of the function's parameters."""
        return [argument.arg for argument in (*self.tree.args.posonlyargs, *self.tree.args.args)]

    @property
    def runtime_parameters(self) -> list[str]:
        """The parameters that are numbers of a launch, and no constants of the compiled kernel."""
        return [name for name in self.parameters if isinstance(self.values.get(name), tl.tensor)]

    def only_value(self, name: str) -> Definition | None:
        """The statement that gives a name its value, if none adds to it; of several the one that holds."""
        known = self.definitions.get(name, ())
        if name in self.parameters or any(d.adds or d.value is None for d in known):
            return None
        if len(known) > 1:
            now = as_numbers(self.values.get(name))
            known = [d for d in known if _same(self.numbers(d.value), now)]
        return known[0] if len(known) == 1 else None

    def origin(self, node: ast.expr, line: int) -> tuple[ast.expr, int]:
        """What a name was computed as, and in which line, where that still holds; else the name itself."""
        for _ in range(UNTIL):
            definition = self.only_value(node.id) if isinstance(node, ast.Name) else None
            if definition is None or not _same(self.numbers(definition.value), self.numbers(node)):
                break
            node, line = definition.value, definition.line
        return node, line

    def argument(self, name: str) -> ast.expr | None:
        """What the calling function gave for a parameter."""
        if self.parent is None or name not in self.parameters:
            return None
        call, number = self.parent.call, self.parameters.index(name)
        given = next((k.value for k in call.keywords if k.arg == name), None)
        return given or (call.args[number] if number < len(call.args) else None)

    def numbers(self, node: ast.AST | None) -> np.ndarray | None:
        """The integers, or conditions, that an expression stands for; None if that is not sure."""
        try:
            return self._numbers(node)
        except (TypeError, ValueError, IndexError, AttributeError, KeyError, ZeroDivisionError):
            return None

    def _numbers(self, node: ast.AST | None) -> np.ndarray | None:
        match node:
            case ast.Constant(value=bool() | int()):
                return np.asarray(node.value)
            case ast.Name():
                return as_numbers(self.values.get(node.id))
            case ast.BinOp():
                parts = self._numbers(node.left), self._numbers(node.right)
                operation = OPERATIONS.get(type(node.op))
                return None if operation is None or any(p is None for p in parts) else operation(*parts)
            case ast.UnaryOp(op=ast.USub()):
                inner = self._numbers(node.operand)
                return None if inner is None else -inner
            case ast.Compare(ops=[op]):
                parts = self._numbers(node.left), self._numbers(node.comparators[0])
                operation = COMPARISONS.get(type(op))
                return None if operation is None or any(p is None for p in parts) else operation(*parts)
            case ast.Subscript():
                inner = self._numbers(node.value)
                return None if inner is None else reshaped(inner, node.slice)
            case ast.Call():
                return self._called(node)
        return None

    def _called(self, node: ast.Call) -> np.ndarray | None:
        name = called(node)
        if name in PASSED_ON:
            return self._numbers(passed_on(node))
        if name == "program_id":
            axis = self._numbers(node.args[0] if node.args else node.keywords[0].value)
            return None if axis is None else np.asarray(self.program[int(axis)], np.int64)
        if name == "full":
            return self._numbers(node.args[1]) if not node.args[0].elts else None
        parts = [self._numbers(argument) for argument in node.args]
        if name == "arange" and len(parts) >= 2 and all(p is not None for p in parts[:2]):
            return np.arange(int(parts[0]), int(parts[1]), dtype=np.int64)
        function = FUNCTIONS.get(name)
        known = function is not None and len(parts) == 2 and all(p is not None for p in parts)
        return function(*parts) if known else None


OPERATIONS = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod,
    ast.BitAnd: np.bitwise_and,
    ast.BitOr: np.bitwise_or,
}
COMPARISONS = {ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater, ast.GtE: np.greater_equal}
FUNCTIONS = {
    "cdiv": lambda a, b: -(-a // b),
    "minimum": np.minimum,
    "maximum": np.maximum,
    "min": np.minimum,
    "max": np.maximum,
}


def _same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    return one is not None and other is not None and np.array_equal(one, other)


def called(node: ast.Call) -> str:
    """The name of what a call calls, without what it belongs to."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def passed_on(node: ast.Call) -> ast.expr:
    """What a call of PASSED_ON passes on."""
    method = isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") not in ("tl", "gl")
    return node.func.value if method else node.args[0]


def as_numbers(value: Any) -> np.ndarray | None:
    """A name's value as integers, or conditions, of 64 bits; None for anything else."""
    if isinstance(value, tl.constexpr):
        value = value.value
    if isinstance(value, bool | int):
        return np.asarray(value)
    if not isinstance(value, tl.tensor) or value.dtype.is_ptr() or not value.dtype.is_int():
        return None
    data = np.asarray(value.handle.data)
    data = data if value.type.is_block() else data.reshape(-1)[0]
    return np.asarray(data, bool if value.dtype.is_int1() else np.int64)


def reshaped(numbers: np.ndarray, spec: ast.expr) -> np.ndarray | None:
    """`x[:, None]` and the like; a number stays what it is."""
    if numbers.ndim == 0:
        return numbers
    parts = spec.elts if isinstance(spec, ast.Tuple) else [spec]
    index: list[Any] = []
    for part in parts:
        whole = isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None
        if not whole and not (isinstance(part, ast.Constant) and part.value is None):
            return None
        index.append(slice(None) if whole else None)
    return numbers[tuple(index)]


def running_scope(program: Program) -> Scope | None:
    """The learner's function that makes the access under way."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code not in LEARNER_CODE:
        frame = frame.f_back
    if frame is None or Path(frame.f_code.co_filename).is_relative_to(KERNELS):
        return None  # lines of the course's own kernels would be taken for lines of the answer
    return _scope(frame, program, UNTIL)


def _scope(frame: FrameType | None, program: Program, depth: int) -> Scope | None:
    while frame is not None and frame.f_code not in LEARNER_CODE:
        frame = frame.f_back
    if frame is None or depth == 0:
        return None
    tree = _tree(frame.f_code)
    call = _call_at(tree, frame) if tree is not None else None
    if call is None:
        return None
    parent = _scope(frame.f_back, program, depth - 1)
    values = {**frame.f_globals, **frame.f_locals}
    return Scope(tree, _definitions(frame.f_code), values, call, program, parent)


POSITION = ("lineno", "end_lineno", "col_offset", "end_col_offset")


@functools.lru_cache(maxsize=256)
def _tree(code: CodeType) -> ast.FunctionDef | None:
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    try:
        text = textwrap.dedent("".join(inspect.getblock(lines)))
        tree = ast.parse("\n" * (code.co_firstlineno - 1) + text).body[0]
    except (SyntaxError, IndexError, ValueError):
        return None
    return tree if isinstance(tree, ast.FunctionDef) and tree.name == code.co_name else None


def _call_at(tree: ast.FunctionDef, frame: FrameType) -> ast.Call | None:
    """The call that a frame is in, by its place in the text."""
    where = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    for node in ast.walk(tree):
        place = (getattr(node, key, None) for key in POSITION)
        if isinstance(node, ast.Call) and tuple(place) == where:
            return node
    return None


@functools.lru_cache(maxsize=256)
def _definitions(code: CodeType) -> dict[str, list[Definition]]:
    found: dict[str, list[Definition]] = {}
    tree = _tree(code)
    for name, definition in _defined(tree.body, False) if tree is not None else ():
        found.setdefault(name, []).append(definition)
    return found


def _defined(statements: list[ast.stmt], in_loop: bool) -> Iterator[tuple[str, Definition]]:
    for node in statements:
        loops = isinstance(node, ast.For | ast.While)
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            yield node.target.id, Definition(None, node.lineno, in_loop=True)
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            for one, value in _pairs(target, node.value):
                if isinstance(one, ast.Name):
                    yield one.id, Definition(value, node.lineno, in_loop=in_loop)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            sign = {ast.Add: 1, ast.Sub: -1}.get(type(node.op))
            value = node.value if sign else None
            yield node.target.id, Definition(value, node.lineno, True, sign or 1, in_loop)
        for part in ("body", "orelse"):
            yield from _defined(getattr(node, part, None) or [], in_loop or loops)


def _pairs(target: ast.expr, value: ast.expr | None) -> list[tuple[ast.expr, ast.expr | None]]:
    if not isinstance(target, ast.Tuple):
        return [(target, value)]
    if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(one, None) for one in target.elts]
