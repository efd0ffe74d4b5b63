"""The context of an exception in a kernel: the expression that raised, and the values of its operands.

    >>> context = error_context(error)                  # of tl.store(z_ptr + offsets * 0.5, y)
    >>> context.text, [is_address(value) for value in context.operands]
    ('z_ptr + offsets * 0.5', [True, False])

Rules look at this and not at the message alone: one message has many causes.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType, FrameType, TracebackType
from typing import Any

import triton.language as tl

from flashlearn.interpreter.learner_code import LEARNER_CODE

UNKNOWN = object()
"""The value of an expression that was not recorded."""

MAX_LENGTH = 60  # characters of an expression that is repeated


@dataclass(frozen=True)
class ErrorContext:
    """An exception in one of the learner's lines.

    `node` is the expression that raised, `statement` the statement around it. `operands` and `keywords` are
    its operands' values, as far as they are known; `names` are the values of the function's local names,
    `globals` of its module's, and `given` the launch's arguments by parameter. `caller` is the name of the
    calling function.
    """

    error: BaseException
    node: ast.AST
    statement: ast.stmt
    function: ast.stmt
    operands: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, Any] = field(default_factory=dict)
    globals: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)
    caller: str = ""

    @property
    def message(self) -> str:
        """The exception's own words."""
        return str(self.error)

    @property
    def text(self) -> str:
        """The expression as it is written."""
        return written(self.node)

    @property
    def called(self) -> str:
        """The function's name if the expression is a call: "tl.load", "sum"; else nothing."""
        return dotted(self.node.func) if isinstance(self.node, ast.Call) else ""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the function's parameters."""
        if not isinstance(self.function, ast.FunctionDef):
            return ()
        arguments = self.function.args
        return tuple(a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))

    def value(self, node: ast.AST | None) -> Any:
        """The value of a name, a constant or a module's member; UNKNOWN if it would have to be computed."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.names.get(node.id, self.globals.get(node.id, UNKNOWN))
        if isinstance(node, ast.Attribute):
            owner = self.value(node.value)
            return UNKNOWN if owner is UNKNOWN else inspect.getattr_static(owner, node.attr, UNKNOWN)
        return UNKNOWN

    def names_in(self, node: ast.AST) -> Iterator[ast.Name]:
        """The names that are read in an expression, from left to right."""
        found = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        yield from sorted(found, key=lambda name: (name.lineno, name.col_offset))


def error_context(error: BaseException, within: FrameType | None = None) -> ErrorContext | None:
    """The context of an exception that left a kernel, or that the launcher's frame `within` raised.

    None if its line cannot be found.
    """
    steps = list(_steps(error))
    frames = [step.tb_frame for step in steps]
    own = (i for i, f in enumerate(frames) if (f is within if within else f.f_code in LEARNER_CODE))
    last = max(own, default=None)
    if last is None:
        return None
    frame = frames[last]
    read = _text_of(frame.f_code)
    where = list(frame.f_code.co_positions())[steps[last].tb_lasti // 2]
    if read is None or None in where:
        return None
    definition, indent = read
    node, statement = _smallest_nodes(definition, where, indent if within else 0)
    operands, keywords = _operands(frames[last + 1] if last + 1 < len(frames) else None)
    callers = [f for f in frames[:last] if f.f_code.co_name != "run_program"]
    caller = callers[-1].f_code.co_name if callers else ""
    given = callers[-1].f_locals.get("values", {}) if caller == "_run_grid" else {}
    held = (frame.f_locals, frame.f_globals)
    return ErrorContext(error, node, statement, definition, operands, keywords, *held, given, caller)


def _steps(error: BaseException) -> Iterator[TracebackType]:
    step = error.__traceback__
    while step is not None:
        yield step
        step = step.tb_next


def _text_of(code: CodeType) -> tuple[ast.stmt, int] | None:
    """A function's own text, parsed, with the line numbers of its file, and how far it was indented."""
    try:
        lines, first = inspect.getsourcelines(code)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return None
    ast.increment_lineno(tree, first - 1)
    return tree.body[0], len(lines[0]) - len(lines[0].lstrip())


def _smallest_nodes(definition: ast.stmt, where: tuple, indent: int) -> tuple[ast.AST, ast.stmt]:
    """The smallest expression that covers a position, and the smallest statement."""
    line, last, begin, end = where
    begin, end = begin - indent, end - indent
    covering = [
        node
        for node in ast.walk(definition)
        if hasattr(node, "end_lineno")
        and (node.lineno, node.col_offset) <= (line, begin)
        and (node.end_lineno, node.end_col_offset) >= (last, end)
    ]
    statements = [node for node in covering if isinstance(node, ast.stmt)]
    return covering[-1], statements[-1]


def _operands(frame: FrameType | None) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """The arguments of an operation of triton, from its outermost frame."""
    if frame is None:
        return (), {}
    names = frame.f_locals
    if isinstance(names.get("args"), tuple) and isinstance(names.get("kwargs"), dict):
        return names["args"], {n: v for n, v in names["kwargs"].items() if n != "_semantic"}
    code = frame.f_code
    return tuple(names[name] for name in code.co_varnames[: code.co_argcount] if name in names), {}


def written(node: ast.AST | None) -> str:
    """An expression as text, cut where it is long."""
    text = ast.unparse(node) if node is not None else ""
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 2].rstrip() + " …"


def dotted(node: ast.AST) -> str:
    """A name with its owners, "tl.load"; of a method of something else only ".load"."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def is_tensor(value: Any) -> bool:
    """True for a number, a tile or an address of a kernel."""
    return isinstance(value, tl.tensor)


def is_tile(value: Any) -> bool:
    """True for more than one number."""
    return is_tensor(value) and value.type.is_block()


def is_address(value: Any) -> bool:
    """True for an address, or a tile of them."""
    return is_tensor(value) and value.type.scalar.is_ptr()


def is_fraction(value: Any) -> bool:
    """True for floating-point numbers, of a kernel or of Python."""
    return isinstance(value, float) or (is_tensor(value) and value.type.scalar.is_floating())


def shape(value: Any) -> list[int]:
    """A tile's extents, [] for one number."""
    return [getattr(size, "value", size) for size in value.shape] if is_tile(value) else []


def dtype(value: Any) -> str:
    """The name of a tensor's element type: fp32, int32."""
    return str(value.type.scalar) if is_tensor(value) else type(value).__name__
