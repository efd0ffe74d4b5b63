"""A launched kernel as plain data: its source, what it refers to, its arguments' types.

    >>> job = pack(launch)          # {"functions": [{"name": "softmax_kernel", "source": …}, …], …}
    >>> json.dumps(job)             # travels to a process that knows nothing of the learner's notebook

Nothing is evaluated on arrival: triton compiles from source text, so the learner's function is shipped
as text with the values of the names it mentions. What cannot be shipped (a tensor, a torch module) is
listed under "foreign", so that an error about it can say why.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import re
import sys
import textwrap
import types
import typing
from types import FunctionType, ModuleType
from typing import Any

from triton import language as tl

from flashlearn.interpreter.specialization import is_gluon
from flashlearn.observation import Launch

GLUON = "triton.experimental.gluon."
TUPLE = "tuple"
"""The type of an argument that is one; triton compiles these."""
Packed = Any
"""Something that JSON can carry: a constant, or a one-entry dict such as {"module": "triton.language"}."""


class PackingError(Exception):
    """A kernel whose source cannot be read; the message is a sentence for the learner."""


class PackedFunctions(list):
    """The packed functions of a job, and the aggregates that they name."""

    def __init__(self) -> None:
        super().__init__()
        self.aggregates: list[dict[str, Packed]] = []
        self.known: dict[int, int] = {}


class UnsupportedValue(Exception):
    """A value that compiled code cannot use; the message says what it is."""


def pack(launch: Launch) -> dict[str, Packed]:
    """The job that `worker.py` compiles. Raises `PackingError` where source or a value is missing."""
    if launch.job is not None:
        return launch.job
    if launch.unshippable:
        raise PackingError(launch.unshippable)
    taken = next((name for name, kind in launch.signature.items() if kind == TUPLE), "")
    if taken and launch.specialised is None:
        raise PackingError(
            f"{taken} of {launch.name} is a tuple: no figures are available for such launches."
        )
    functions = PackedFunctions()
    seen: dict[int, int] = {}
    jitted = innermost(launch.kernel)
    kernel = add_function(jitted, functions, seen)
    constexprs: dict[str, Packed] = {}
    for parameter in inspect.signature(jitted.fn).parameters.values():
        name = parameter.name
        if name in launch.signature and name not in launch.constexprs:
            continue
        value = launch.constexprs.get(name, parameter.default)
        if value is parameter.empty:
            raise PackingError(f"The launch of {launch.name} gave its parameter {name} no value.")
        try:
            constexprs[name] = packed_value(value, functions, seen)
        except UnsupportedValue as error:
            raise PackingError(
                f"The argument {name} of {launch.name} is {error}; a compiled kernel takes numbers, dtypes "
                "and jitted functions as compile-time constants."
            ) from None
    return {
        "gluon": is_gluon(jitted),
        "kernel": kernel,
        "functions": list(functions),
        "aggregates": functions.aggregates,
        "signature": dict(launch.signature),
        "constexprs": constexprs,
        "options": {k: v for k, v in launch.options.items() if isinstance(v, bool | int | float | str)},
        "divisible": sorted(getattr(launch, "divisible", ())),
        "tuples": {name: _tuple(launch, name, functions, seen) for name in _tuples_of(launch)},
    }


def _tuples_of(launch: Launch) -> list[str]:
    """The parameters that were given a tuple; the rest of a launch is known by name alone."""
    return [name for name, kind in launch.signature.items() if kind == TUPLE]


def _tuple(launch: Launch, name: str, functions: PackedFunctions, seen: dict[int, int]) -> dict[str, Packed]:
    """The types inside a tuple as triton binds them, and, by their paths in it, its constants and what is
    divisible by 16."""
    bound = launch.specialised
    index = list(bound.signature).index(name)
    constants = [
        [path[1:], packed_value(value, functions, seen)]
        for path, value in bound.constexprs.items()
        if path[0] == index
    ]
    divisible = [path[1:] for path, found in bound.attributes.items() if path[0] == index and found]
    return {"types": bound.signature[name], "constants": constants, "divisible": divisible}


def describe(job: dict[str, Any]) -> dict[str, str]:
    """The types and constants for which the figures of this kernel hold."""
    pointed = (re.search(r"[*<]\W*(\w+)", kind) for kind in job["signature"].values())
    types = dict.fromkeys(found[1] for found in pointed if found)
    sizes = {n: v for n, v in (job["constexprs"] | job["options"]).items() if isinstance(v, bool | int)}
    return {"types": ", ".join(types), "constants": ", ".join(f"{n}={v}" for n, v in sizes.items())}


def innermost(kernel: Any) -> Any:
    """The jitted function inside autotune and heuristics wrappers: what holds the Python function."""
    while not isinstance(kernel.fn, FunctionType):
        kernel = kernel.fn
    return kernel


def add_function(jitted: Any, functions: PackedFunctions, seen: dict[int, int]) -> int:
    """Append a jitted function and, recursively, those it calls; returns its index in `functions`."""
    fn = jitted.fn
    if id(fn) in seen:
        return seen[id(fn)]
    index = seen[id(fn)] = len(functions)
    lines, first = _source(jitted)
    packed: dict[str, Packed] = {
        "name": fn.__name__,
        "kind": _kind(jitted),
        "file": fn.__code__.co_filename,
        "line": first,
        "source": "".join(lines),
        "noinline": bool(getattr(jitted, "noinline", False)),
        "names": {},
        "foreign": {},
    }
    functions.append(packed)
    scope = fn.__globals__ | inspect.getclosurevars(fn).nonlocals
    for name in sorted(_mentioned(packed["source"]) & scope.keys()):
        try:
            packed["names"][name] = packed_value(scope[name], functions, seen)
        except UnsupportedValue as error:
            packed["foreign"][name] = str(error)
    packed["parameters"] = [_parameter(p, functions, seen) for p in inspect.signature(fn).parameters.values()]
    return index


@functools.lru_cache(maxsize=256)
def _mentioned(source: str) -> frozenset[str]:
    """The names that a function's text mentions."""
    tree = ast.parse(textwrap.dedent(source))
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def _kind(jitted: Any) -> str:
    if type(jitted).__name__ == "ConstexprFunction":
        return "constexpr"
    if isinstance(jitted, _Plain):
        return "builtin" if isinstance(jitted, _Builtin) else "plain"
    return "gluon" if is_gluon(jitted) else "jit"


def _source(jitted: Any) -> tuple[list[str], int]:
    """Source lines and the first one's number, as they were when the function was decorated."""
    if hasattr(jitted, "raw_src"):
        return list(jitted.raw_src), jitted.starting_line_number
    try:
        return inspect.getsourcelines(jitted.fn)
    except OSError:
        raise PackingError(
            f"The source of {jitted.fn.__name__} cannot be read, so it cannot be compiled: define it in a "
            "notebook cell or in a file."
        ) from None


def _parameter(
    parameter: inspect.Parameter, functions: PackedFunctions, seen: dict[int, int]
) -> dict[str, Packed]:
    """Name, annotation as text (all that triton reads of it) and default of one parameter."""
    annotation = parameter.annotation
    if annotation is parameter.empty:
        annotation = ""
    elif not isinstance(annotation, str):
        annotation = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    packed: dict[str, Packed] = {"name": parameter.name, "annotation": annotation}
    if parameter.default is not parameter.empty:
        try:
            packed["default"] = packed_value(parameter.default, functions, seen)
        except UnsupportedValue:
            packed["default"] = None
    return packed


def packed_value(value: Any, functions: PackedFunctions, seen: dict[int, int]) -> Packed:
    """One value as data. Raises `UnsupportedValue` for what a compiled kernel could not use anyway."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tl.constexpr):
        return {"constexpr": packed_value(value.value, functions, seen)}
    if isinstance(value, tl.dtype):
        return {"dtype": str(value)}
    if type(value) is tuple or type(value) is list:
        return {type(value).__name__: [packed_value(item, functions, seen) for item in value]}
    if isinstance(value, ModuleType):
        return _module(value)
    if isinstance(value, type) and getattr(value, "__triton_aggregate__", False):
        return {"aggregate": _aggregate(value, functions, seen)}
    if isinstance(value, types.UnionType) or typing.get_origin(value) is typing.Union:
        return {"union": [packed_value(part, functions, seen) for part in typing.get_args(value)]}
    home = getattr(value, "__module__", None) or ""
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and home.startswith(GLUON):
        fields = {
            f.name: packed_value(getattr(value, f.name), functions, seen) for f in dataclasses.fields(value)
        }
        return {"record": [home, type(value).__name__, fields]}
    name = getattr(value, "__name__", "")
    if home.startswith("triton.") and name and hasattr(sys.modules.get(home), name):
        return {"member": [home, name]}
    if isinstance(value, FunctionType) and tl.core.is_builtin(value):
        return {"function": add_function(_Builtin(inspect.unwrap(value)), functions, seen)}
    if hasattr(value, "fn") and isinstance(innermost_or_none(value), FunctionType):
        return {"function": add_function(innermost(value), functions, seen)}
    raise UnsupportedValue(f"a {type(value).__name__}")


def _aggregate(kind: type, functions: PackedFunctions, seen: dict[int, int]) -> int:
    """An aggregate class by its index: its fields, its constructor, its methods."""
    if id(kind) in functions.known:
        return functions.known[id(kind)]
    index = functions.known[id(kind)] = len(functions.aggregates)
    packed: dict[str, Packed] = {"name": kind.__name__}
    functions.aggregates.append(packed)
    written = inspect.getclosurevars(kind.__new__).nonlocals.get("cls")
    if written is None:
        raise PackingError(f"The class {kind.__name__} cannot be read, so it cannot be compiled.")
    members = {name: value for name, value in vars(written).items() if hasattr(value, "fn")}
    made = vars(written)["__init__"]
    if isinstance(made, FunctionType):
        made = _Plain(made)
    packed["fields"] = {
        name: packed_value(what, functions, seen) for name, what in written.__annotations__.items()
    }
    packed["init"] = add_function(made, functions, seen)
    packed["members"] = {
        name: add_function(value, functions, seen) for name, value in members.items() if name != "__init__"
    }
    return index


@dataclasses.dataclass(frozen=True)
class _Plain:
    """A function that runs in Python as it is."""

    fn: FunctionType


class _Builtin(_Plain):
    """A user-defined extension of the language: a function that the compiler calls while it builds code."""


def innermost_or_none(value: Any) -> FunctionType | None:
    """The Python function at the bottom of a chain of `.fn`, if that is what there is."""
    while hasattr(value, "fn"):
        value = value.fn
    return value if isinstance(value, FunctionType) else None


def _module(module: ModuleType) -> Packed:
    top = module.__name__.split(".")[0]
    if top == "triton" or top in sys.stdlib_module_names:
        return {"module": module.__name__}
    raise UnsupportedValue(f"the module {module.__name__}")
