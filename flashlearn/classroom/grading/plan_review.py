"""What a launcher's plan may hold: torch's ordinary operations, and kernels that are nothing but kernels.

    >>> objections(plan)
    ('torch.linalg_qr',)

A plan comes from a submission's own process, and is carried out in one that must stay trustworthy. Kernels
run there as Python, so their texts are read before: statements, names and members of triton's language, and
no others. Texts of the course's own kernels, which learners call, are known.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import math
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import torch
import triton.language as tl
from torch.utils._pytree import tree_leaves
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language import _core as gluon_core
from triton.experimental.gluon.language.nvidia.blackwell import tensor_memory_descriptor
from triton.experimental.gluon.language.nvidia.hopper import tma
from triton.language import core

from flashlearn.classroom.grading.kernel_texts import course_texts, function_text
from flashlearn.interpreter.launcher_watch import FORBIDDEN
from flashlearn.running.launcher_plan import (
    ConstantTensor,
    DescriptorRef,
    KernelLaunch,
    LauncherPlan,
    Operation,
    PackedValue,
    TensorRef,
)
from flashlearn.running.launcher_work import CHOOSES, MAKES, MOVES

REDUCES = frozenset({
    "_softmax", "all", "amax", "amin", "aminmax", "any", "argmax", "argmin", "bincount", "count_nonzero",
    "cummax", "cumprod", "cumsum", "linalg_vector_norm", "logcumsumexp", "logsumexp", "max", "mean", "median",
    "min", "nonzero", "norm", "prod", "sort", "std", "sum", "topk", "var",
})  # fmt: skip
COUNTS = frozenset({"bucketize", "floor_divide", "repeat_interleave", "searchsorted"})
"""What lists of tiles are made with: which sequence a block belongs to."""
MODULES = ("triton.language", "triton.experimental.gluon.language")
"""Modules whose members a kernel may name, and what is below them."""
ENTERED = {"triton": {"cdiv", "next_power_of_2", "language"}, "triton.experimental.gluon": {"language"}}
"""Modules of which it may name these members."""
HOMES = ("triton.language", "triton.experimental.gluon", "triton.runtime.jit", "triton._utils")
"""Where the functions, types and layouts that a kernel is given were made."""
WHOLE = frozenset({"softmax"})
"""Functions of the language that are an exercise themselves."""
BUILDS_IR = "triton._C.libtriton.ir"
"""A module that only the course's own extension of the language uses."""
BUILTINS = frozenset({
    "abs", "bool", "enumerate", "float", "int", "isinstance", "len", "list", "max", "min", "print", "range",
    "reversed", "sorted", "str", "sum", "tuple", "zip", "NotImplementedError", "ValueError", "pow", "round",
    "AssertionError", "RuntimeError", "TypeError", "divmod", "any", "all", "map", "slice",
})  # fmt: skip
MEMBERS_OF = (
    tl.tensor, tl.dtype, tl.constexpr, tl.tuple, tl.block_type, tl.pointer_type, core.tensor_descriptor_base,
    core.tensor_descriptor, gl.shared_memory_descriptor, tensor_memory_descriptor, tma.tensor_descriptor,
    gluon_core.distributed_type, str, tuple, list,
)  # fmt: skip
HIDDEN = frozenset({"handle", "builder", "format", "format_map", "mro"})
ALLOWED = (
    *(ast.FunctionDef, ast.arguments, ast.arg, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While),
    *(ast.If, ast.IfExp, ast.Expr, ast.Return, ast.Pass, ast.Assert, ast.Break, ast.Continue, ast.Raise),
    *(ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.BinOp, ast.UnaryOp, ast.BoolOp),
    *(ast.Compare, ast.Call, ast.keyword, ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.List),
    *(ast.Constant, ast.Name, ast.Starred, ast.JoinedStr, ast.FormattedValue, ast.Dict, ast.ListComp),
    *(ast.GeneratorExp, ast.comprehension, ast.With, ast.withitem),
)
LONGEST = 200_000
"""Characters of a kernel's text."""


def objections(plan: LauncherPlan) -> tuple[str, ...]:
    """What speaks against carrying out a plan, in words; nothing if there is nothing."""
    try:
        return tuple(dict.fromkeys(_objections(plan)))
    except Exception as error:  # invented data may fail anywhere
        return (f"something that cannot be read ({type(error).__name__})",)


def _objections(plan: LauncherPlan) -> Iterator[str]:
    for step in plan.steps:
        if isinstance(step, Operation) and not _is_ordinary(step):
            yield f"torch.{step.name}"
        elif isinstance(step, Operation) and _has_tensor_for_number(step):
            yield f"a tensor as a number for torch.{step.name}"
        elif isinstance(step, KernelLaunch):
            yield from _values(step.values.values())
            if not all(type(one) in (bool, int, float, str) for one in step.options.values()):
                yield "an option of a launch that is no number"
        elif not isinstance(step, Operation | ConstantTensor):
            yield f"a {type(step).__name__} among its steps"
    members = {name for one in plan.aggregates for name in (*one["fields"], *one["members"])}
    for number, function in enumerate(plan.functions):
        yield from (f"{what} in {function['name']}" for what in _function(function, plan, members, number))
    for one in plan.aggregates:
        yield from _packed(list(one["fields"].values()))


def _is_ordinary(step: Operation) -> bool:
    """Whether an operation makes, moves, counts, computes element by element or reduces."""
    packet = getattr(torch.ops.aten, step.name, None)
    operation = getattr(packet, step.overload or "default", None)
    if operation is None or step.name in ("set_", "resize_", "_local_scalar_dense"):
        return False
    listed = MAKES | MOVES | CHOOSES | REDUCES | COUNTS | FORBIDDEN
    return step.name in listed or operation.is_view or torch.Tag.pointwise in operation.tags


def _has_tensor_for_number(step: Operation) -> bool:
    """Whether a tensor stands where a number is asked for: an index, a size. Torch would read its element."""
    schema = getattr(getattr(torch.ops.aten, step.name), step.overload or "default")._schema.arguments
    named = [(value, by_name) for by_name in schema if (value := step.named.get(by_name.name)) is not None]
    return any(
        "Tensor" not in str(argument.type) and any(isinstance(one, TensorRef) for one in tree_leaves(value))
        for value, argument in (*zip(step.args, schema, strict=False), *named)
    )


def _values(values: Any) -> Iterator[str]:
    for value in values:
        if isinstance(value, tuple):
            yield from _values(value)
        elif isinstance(value, PackedValue):
            yield from _packed(value.value)
        elif isinstance(value, DescriptorRef) and value.layout is not None:
            yield from _packed(value.layout)


def _packed(value: Any) -> Iterator[str]:
    """Objections to a packed value."""
    if isinstance(value, list):
        for part in value:
            yield from _packed(part)
        return
    if not isinstance(value, dict):
        return
    ((kind, what),) = value.items()
    if kind == "module" and not _may_name(what):
        yield f"the module {what}"
    elif kind in ("member", "record"):
        home, name = what[:2]
        if name in WHOLE:
            yield f"triton's own {name}"
        known = home.startswith(HOMES) and getattr(importlib.import_module(home), name)
        if not (known and _is_tritons(known) and (kind == "member" or dataclasses.is_dataclass(known))):
            yield f"{home}.{name}"
        if kind == "record":
            yield from _packed(list(what[2].values()))
    elif kind in ("constexpr", "tuple", "list", "union"):
        yield from _packed(what)


def _may_name(module: str) -> bool:
    return (
        module == "math"
        or module in ENTERED
        or any(module == one or module.startswith(f"{one}.") for one in MODULES)
    )


def _is_tritons(value: Any) -> bool:
    """A part of the language: a builtin, a jitted function, a type, a number."""
    if value is None or isinstance(value, bool | int | float | str | tl.constexpr | tl.dtype):
        return True
    home = getattr(value, "__module__", None) or type(value).__module__ or ""
    return home.startswith("triton.") and not isinstance(value, ModuleType)


def _function(packed: Mapping[str, Any], plan: LauncherPlan, members: set[str], number: int) -> Iterator[str]:
    """Objections to the text of a kernel or helper, and to what its names stand for."""
    text = function_text(packed)
    if len(text) > LONGEST or not 0 < packed["line"] < LONGEST:
        yield "a text that is too long"
        return
    known = text in course_texts()
    yield from _packed(
        [one for one in packed["names"].values() if not (known and one == {"module": BUILDS_IR})]
    )
    yield from _packed([one.get("default") for one in packed["parameters"]])
    if known:
        return
    (node,) = ast.parse(text).body
    if not isinstance(node, ast.FunctionDef) or node.name != packed["name"]:
        yield "a text that is no function"
        return
    made = {index for one in plan.aggregates for index in (one["init"], *one["members"].values())}
    if packed["kind"] not in ("jit", "gluon", "constexpr") and not (
        packed["kind"] == "plain" and number in made
    ):
        yield f"a function that is {packed['kind']}"
    yield from _Text(packed["names"], members).objections(node)


class _Text:
    """One kernel's text, with what its names stand for."""

    def __init__(self, names: Mapping[str, Any], members: set[str]):
        self.names, self.members = names, members

    def objections(self, node: ast.FunctionDef) -> Iterator[str]:
        """Everything in a function's body that a kernel does not need."""
        arguments = node.args
        given = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        own = {one.arg for one in given}
        own |= {one.arg for one in (arguments.vararg, arguments.kwarg) if one is not None}
        body = [one for statement in node.body for one in ast.walk(statement)]
        inside = _in_comprehensions(body)
        own |= {
            one.id
            for one in body
            if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load) and id(one) not in inside
        }
        inner = {id(one.value) for one in body if isinstance(one, ast.Attribute)}
        for one in body:
            if not isinstance(one, ALLOWED) or isinstance(one, ast.FunctionDef):
                yield f"`{type(one).__name__}`"
            elif (
                isinstance(one, ast.Name)
                and isinstance(one.ctx, ast.Load)
                and one.id not in own | inside.get(id(one), set())
            ):
                yield from self._name(one, id(one) in inner)
            elif isinstance(one, ast.Name) and one.id.startswith("__"):
                yield f"`{one.id}`"
            elif isinstance(one, ast.Attribute):
                yield from self._attribute(one, own)

    def _name(self, node: ast.Name, followed: bool) -> Iterator[str]:
        packed = self.names.get(node.id)
        if node.id in self.names:
            if isinstance(packed, dict) and "module" in packed and not followed:
                yield f"the module `{node.id}` as a value"
        elif node.id not in BUILTINS:
            yield f"`{node.id}`"

    def _attribute(self, node: ast.Attribute, own: set[str]) -> Iterator[str]:
        path, root = [node.attr], node.value
        while isinstance(root, ast.Attribute):
            path.insert(0, root.attr)
            root = root.value
        packed = self.names.get(root.id) if isinstance(root, ast.Name) and root.id not in own else None
        if isinstance(packed, dict) and "module" in packed:
            if path[-1] in WHOLE or not _leads_to_language(packed["module"], path):
                yield f"`{ast.unparse(node):.60}`"
        elif node.attr not in _value_members() | self.members:
            yield f"`.{node.attr}`"
        elif not isinstance(node.ctx, ast.Load) and node.attr not in self.members:
            yield f"`.{node.attr} = …`"


def _in_comprehensions(body: Sequence[ast.AST]) -> dict[int, set[str]]:
    """The names that are a comprehension's own, by the uses inside it: outside they are what they were."""
    inside: dict[int, set[str]] = {}
    for node in body:
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            outside = {id(one) for one in ast.walk(node.generators[0].iter)}
            names = {one.id for part in node.generators for one in ast.walk(part.target) if _is_name(one)}
            for one in ast.walk(node):
                if isinstance(one, ast.Name) and id(one) not in outside:
                    inside.setdefault(id(one), set()).update(names)
    return inside


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)


def _leads_to_language(module: str, path: Sequence[str]) -> bool:
    """Whether members of a module, one after the other, lead to a part of triton's language."""
    if module == "math":
        return len(path) == 1 and hasattr(math, path[0]) and not path[0].startswith("_")
    if path[0] not in ENTERED.get(module, path):
        return False
    value = importlib.import_module(module)
    for name in path:
        if name.startswith("_") or not isinstance(value, ModuleType):
            return not name.startswith("_") and name not in HIDDEN and isinstance(value, type)
        value = getattr(value, name, None)
        if isinstance(value, ModuleType):
            if not _may_name(value.__name__):
                return False
        elif value is None or not _is_tritons(value):
            return False
    return True


@functools.cache
def _value_members() -> frozenset[str]:
    """Members of what a kernel computes with."""
    found = {name for kind in MEMBERS_OF for name in dir(kind) if not name.startswith("_")}
    fields = {name for kind in MEMBERS_OF for name in getattr(kind, "__annotations__", ())}
    layouts = {name for name in dir(gl) if isinstance(getattr(gl, name), type)}
    inside = {name for kind in layouts for name in getattr(getattr(gl, kind), "__annotations__", ())}
    extra = {
        "block_type",
        "element_ty",
        "layout",
        "nbytes",
        "nbytes_per_cta",
        "shape",
        "value",
        "_reinterpret",
        "T",
        "type",
    }
    return frozenset((found | fields | inside | extra) - HIDDEN)
