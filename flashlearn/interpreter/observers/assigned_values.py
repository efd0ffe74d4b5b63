"""What a kernel's names hold: every assigned tile with its line, program and place in the loops.

Only for a replay that asks for it: the kernel's copy then hands each value that it assigns or stores to
`Values`, which keeps a copy, and may hand back another one (what if this tile had been right?).

    with observing() as (session, _):
        session.values = Values(session)
        function(*inputs.values())
    session.values.events[0].array
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import TensorHandle

from flashlearn.interpreter.access import place_of
from flashlearn.interpreter.low_precision import cast
from flashlearn.outcome import Place

if TYPE_CHECKING:
    from flashlearn.interpreter.session import Session

NOTE, ROUND, LEAVE = "__flashlearn_note__", "__flashlearn_round__", "__flashlearn_leave__"
MOST_EVENTS = 20_000
MOST_ELEMENTS = 1 << 24  # of all tiles together: 64 MiB in fp32
STORES = ("store", "atomic_add")

Scope = tuple[tuple[int, int], ...]
"""Where in its loops a program is: (loop, round) from the outermost on."""


@dataclass(frozen=True)
class Site:
    """A statement that makes a value: `kind` is "assign", "load" (inside an expression), "store" or "atomic".

    `reads` are the names in its expression.
    """

    name: str
    kind: str
    line: int
    reads: tuple[str, ...]
    function: str = ""


@dataclass(frozen=True)
class Event:
    """One execution of a site. `operands` are the events whose values it read, by number."""

    number: int
    site: Site
    file: str
    text: str
    launch: int
    program: tuple[int, int, int]
    scope: Scope
    array: np.ndarray
    operands: tuple[int, ...]

    @property
    def place(self) -> Place:
        """The learner's line, with its text and the program."""
        return Place(self.file, self.site.line, self.text, self.site.function, self.program)


@dataclass
class Values:
    """The recorder of one launcher call. `instead` gives, by an event's number, an array to go on with.

    `full` says that there was more than is kept: then the record is of no use. `sites` and `compiled` may be
    handed on from one recorder to the next.
    """

    session: Session
    instead: Mapping[int, np.ndarray] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    compiled: dict[CodeType, CodeType] = field(default_factory=dict)
    full: bool = False
    _count: int = 0
    _elements: int = 0
    _running: tuple = ()
    _scope: list[tuple[int, int]] = field(default_factory=list)
    _known: dict[int, tuple[Any, int]] = field(default_factory=dict)
    _inline: list[int] = field(default_factory=list)
    _texts: dict[tuple[str, int], tuple[str, str]] = field(default_factory=dict)

    def hooks(self) -> dict[str, Callable]:
        """What the rewritten kernel calls, by name."""
        return {NOTE: self._note, ROUND: self._round, LEAVE: self._leave}

    def annotate(self, definition: ast.FunctionDef) -> None:
        """Put the calls into a function's tree, which has the line numbers of its file."""
        definition.body = _Annotator(self.sites, definition.name).block(definition.body)

    def _note(self, index: int, value: Any) -> Any:
        if not isinstance(value, tl.tensor) or value.dtype.is_ptr() or self.full:
            return value
        if getattr(value.handle, "unfinished", False):  # a product that nobody has waited for
            return value
        self._begin()
        number = self._count
        self._count += 1
        if number in self.instead:
            value = _tensor_like(value, self.instead[number])
        site, frame = self.sites[index], sys._getframe(1)
        held = [frame.f_locals.get(name) for name in site.reads]
        operands = [self._known[id(x)][1] for x in held if id(x) in self._known] + self._inline
        data = np.asarray(value.handle.data)
        shape = tuple(int(n) for n in value.shape) or ()
        array = np.array(np.broadcast_to(data, shape) if shape else data.reshape(-1)[0])
        self._elements += array.size
        self.full = number >= MOST_EVENTS or self._elements > MOST_ELEMENTS
        launch, program = self._running
        unique = tuple(dict.fromkeys(operands))
        file, text = self._line(site, frame.f_code)
        event = Event(number, site, file, text, launch, program, tuple(self._scope), array, unique)
        self.events.append(event)
        self._known[id(value)] = (value, number)
        self._inline = [*self._inline, number] if site.kind == "load" else []
        return value

    def _line(self, site: Site, code: CodeType) -> tuple[str, str]:
        """The file of a site and its line's text, looked up once."""
        key = (code.co_filename, site.line)
        if key not in self._texts:
            place = place_of(code, site.line)
            self._texts[key] = (place.file, place.text)
        return self._texts[key]

    def _begin(self) -> None:
        running = (len(self.session.launches), self.session.memory.program)
        if running != self._running:
            self._running, self._scope, self._known, self._inline = running, [], {}, []

    def _round(self, loop: int) -> None:
        self._begin()
        for depth, (other, count) in enumerate(self._scope):
            if other == loop:
                self._scope[depth:] = [(loop, count + 1)]
                return
        self._scope.append((loop, 0))

    def _leave(self, loop: int) -> None:
        for depth, (other, _) in enumerate(self._scope):
            if other == loop:
                del self._scope[depth:]
                return


def _tensor_like(value: tl.tensor, array: np.ndarray) -> tl.tensor:
    data = np.asarray(value.handle.data)
    changed = cast(np.broadcast_to(array, data.shape).astype(np.float64), data.dtype)
    return tl.tensor(TensorHandle(np.ascontiguousarray(changed), value.handle.dtype), value.type)


class _Annotator(ast.NodeTransformer):
    """Wraps what is assigned, loaded inside an expression and stored; counts the rounds of loops."""

    def __init__(self, sites: list[Site], function: str):
        self.sites, self.function, self.loops = sites, function, 0

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements with their calls."""
        out: list[ast.stmt] = []
        for statement in body:
            new = self.visit(statement)
            out += new if isinstance(new, list) else [new]
        return out

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node  # a function inside a kernel is left alone

    visit_AsyncFunctionDef = visit_Lambda = visit_ListComp = visit_GeneratorExp = visit_FunctionDef

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        reads = _names(node.value)
        target = node.targets[0]
        node.value = self.within(node.value)
        if isinstance(target, ast.Name):
            node.value = self.note(target.id, "assign", node, reads, node.value)
            return node
        after = [
            ast.copy_location(
                ast.Assign([name], self.note(name.id, "assign", node, reads, _read(name))), node
            )
            for name in getattr(target, "elts", ())
            if isinstance(name, ast.Name)
        ]
        return [node, *after]

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        if not isinstance(node.target, ast.Name):
            return node
        reads = (node.target.id, *_names(node.value))
        total = ast.copy_location(ast.BinOp(_read(node.target), node.op, self.within(node.value)), node)
        value = self.note(node.target.id, "assign", node, reads, total)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_For(self, node: ast.For | ast.While) -> list[ast.stmt]:
        self.loops += 1
        loop = len(self.sites) * 1000 + self.loops  # sites are shared by all functions of a call
        node.body = [self.call(ROUND, node, loop), *self.block(node.body)]
        node.orelse = self.block(node.orelse)
        return [node, self.call(LEAVE, node, loop)]

    visit_While = visit_For

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in STORES and len(node.args) > 1:
            kind = "store" if name == "store" else "atomic"
            stored = node.args[1]
            node.args[1] = self.note(_title(stored), kind, node, _names(stored), stored)
        elif name == "load" and node is not getattr(self, "outermost", None):
            return self.note("", "load", node, _names(node), node)
        return node

    def within(self, value: ast.expr) -> ast.expr:
        """The expression of an assignment; a load that is all of it needs no note of its own."""
        self.outermost = value
        while _wraps(self.outermost):
            self.outermost = self.outermost.args[0]
        return self.visit(value)

    def note(self, name: str, kind: str, node: ast.AST, reads: tuple, value: ast.expr) -> ast.Call:
        self.sites.append(Site(name, kind, node.lineno, reads, self.function))
        arguments = [ast.Constant(len(self.sites) - 1), value]
        return ast.copy_location(ast.Call(ast.Name(NOTE, ast.Load()), arguments, []), node)

    def call(self, name: str, node: ast.AST, loop: int) -> ast.stmt:
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Constant(loop)], [])
        return ast.copy_location(ast.Expr(call), node)


def _wraps(node: ast.expr) -> bool:
    """True for the call that makes a tensor of whatever is assigned."""
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "to_tensor" and len(node.args) > 0


def _names(node: ast.AST) -> tuple[str, ...]:
    """Names that an expression reads, in order."""
    found = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    return tuple(name for name in dict.fromkeys(found) if name != "interpreter_semantic")


def _read(name: ast.Name) -> ast.Name:
    return ast.copy_location(ast.Name(name.id, ast.Load()), name)


def _title(node: ast.expr) -> str:
    """What to call a stored value: the one name in it, else nothing."""
    inner = node
    while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "to":
        inner = inner.func.value
    return inner.id if isinstance(inner, ast.Name) else ""
