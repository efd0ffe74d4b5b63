"""Whether a text keeps to what an answer needs, or uses what could deceive its observer.

    >>> suspicious_uses("import gc\\nfor one in gc.get_objects(): ...")
    (SuspiciousUse(line=1, what='`import gc`'),)

For answers in plain torch. Their numbers are judged in another process than the submission's; that autograd
did not make them is observed in the submission's own, where code written for the purpose can deceive the
observer. Such code has to name its means: an attribute of another module to replace, an object's internals, a
file, a thread, a text to execute. So an answer whose text names none of these was probably observed reliably,
and one that does is reviewed by a person before it counts. (What kernels computed is found out otherwise: see
flashlearn.classroom.grading.confirmation.)
"""

from __future__ import annotations

import ast
import functools
import importlib
import types
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from triton.runtime.jit import JITFunction

MODULES = frozenset({
    "__future__", "abc", "bisect", "collections", "copy", "dataclasses", "decimal", "enum", "flashlearn",
    "fractions", "functools", "heapq", "itertools", "math", "matplotlib", "numbers", "numpy", "operator",
    "random", "re", "statistics", "string", "sympy", "time", "torch", "triton", "typing", "warnings",
    "IPython", "seaborn", "ipywidgets",
})  # fmt: skip
COURSE = (
    "flashlearn.kernels", "flashlearn.lessons", "flashlearn.compiler.listing",
    "flashlearn.course.environment", "flashlearn.course.assembling", "flashlearn.machine.device",
)  # fmt: skip
"""The modules of the course that its notebooks import; the rest is the grader."""
OUTSIDE = frozenset({
    "ao", "backends", "builtins", "classes", "codecs", "compile", "compiler", "cpp", "ctypes", "ctypeslib",
    "device", "distributed", "encoding", "export", "f2py", "from_file", "fromfile", "func", "functools",
    "futures", "fx", "gc", "genfromtxt", "hub", "importlib", "inspect", "interpreter", "io", "jit", "knobs",
    "lib", "library", "linecache", "loadtxt", "memmap", "monitor", "multiprocessing", "onnx", "ops", "os",
    "overrides", "package", "pathlib", "pickle", "printing", "profiler", "runtime", "save", "serialization",
    "shutil", "signal", "socket", "storage", "subprocess", "sys", "tempfile", "testing", "threading",
    "tofile", "tokenize", "torch", "triton", "types", "utilities", "utils", "weakref",
})  # fmt: skip
"""Members of modules that an answer does not need."""
ALLOWED = frozenset({("triton", "jit"), ("triton", "testing"), ("torch", "device"), ("torch", "types")})
NOT_OF = frozenset({("torch", "load"), ("numpy", "load"), ("np", "load")})
DIFFERENTIATES = ("torch.autograd.functional", "torch.nn.grad")
"""Modules that switch autograd on where it is off, or have gradients ready."""
CHECKPOINT = frozenset({"torch.utils.checkpoint", "torch.utils.checkpoint.checkpoint"})
NAMES = frozenset({
    "eval", "exec", "compile", "__import__", "globals", "locals", "vars", "setattr", "delattr", "open",
    "input", "breakpoint", "memoryview", "__builtins__", "__loader__", "__spec__", "get_ipython", "exit",
    "quit",
})  # fmt: skip
INTERNALS = frozenset({
    "CheckpointFunction", "ForwardRef", "Formatter", "TorchDispatchMode", "TorchFunctionMode",
    "_unsafe_update_src",
    "add_pre_run_hook", "ag_frame", "as_subclass", "attrgetter", "co_code", "co_consts", "cr_frame",
    "ctypes", "data_ptr", "disable_saved_tensors_hooks", "enable_grad", "f_back", "f_builtins", "f_code",
    "f_globals", "f_locals", "forward_ad", "func_globals", "get_field", "get_type_hints", "gi_code",
    "gi_frame", "grad_mode", "import_module", "inference_mode", "lambdify", "load_library", "methodcaller",
    "modules", "mro", "parse_expr", "parsing", "pre_run_hooks", "prev", "save_on_cpu",
    "saved_tensors_hooks", "set_",
    "set_grad_enabled", "settrace", "setprofile", "singledispatch", "singledispatchmethod", "stride_tricks",
    "subclasses", "tb_frame", "tb_next", "untyped_storage", "update_wrapper",
})  # fmt: skip
"""Attributes and names that lead to the internals of objects, or switch autograd on or its observer off."""
DUNDERS = frozenset({
    "__init__", "__call__", "__post_init__", "__repr__", "__str__", "__len__", "__iter__", "__next__",
    "__enter__", "__exit__", "__getitem__", "__hash__", "__name__", "__doc__", "__version__", "__add__",
    "__mul__", "__sub__", "__future__",
})  # fmt: skip
"""Special names that a class may define and an answer may read."""
SETTABLE = frozenset({"grad", "requires_grad"})
OF_NAMED_TUPLES = frozenset({"_asdict", "_fields", "_make", "_replace"})
OWN = frozenset({"self", "ctx", "cls"})
"""Objects whose attributes an answer may set: its own, and autograd's context."""
MODULES_OF_MODULES = frozenset({
    "nn", "functional", "language", "autograd", "linalg", "special", "training", "random", "cuda", "fft",
    "instruments", "pictures", "optim", "kernels",
})  # fmt: skip


@dataclass(frozen=True)
class SuspiciousUse:
    """A suspicious use, and its line."""

    line: int
    what: str


@functools.cache
def suspicious_uses(text: str) -> tuple[SuspiciousUse, ...]:
    """Everything in a text that an answer does not need, in order; a text that is not Python has none."""
    try:
        tree = ast.parse(text)
    except (RecursionError, MemoryError):
        return (SuspiciousUse(1, "a text that is too deep to be read"),)
    except (SyntaxError, ValueError):
        return ()
    scan = _Scan(tree)
    found = {
        SuspiciousUse(getattr(node, "lineno", 0), what) for node in ast.walk(tree) for what in scan.uses(node)
    }
    return tuple(sorted(found, key=lambda one: (one.line, one.what)))


class _Scan:
    """One text: its imported names, and those of them that are modules."""

    def __init__(self, tree: ast.AST):
        self.imported: dict[str, str] = {}
        self.modules: set[str] = set()
        self.called: set[int] = set()
        self.entered: set[int] = set()
        self.own: set[int] = set()
        self.named: set[int] = set()
        self.bound: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                self.own |= _own(node)
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                self.bound.add(node.id)
            if isinstance(node, ast.Import):
                for one in node.names:
                    name = one.asname or one.name.partition(".")[0]
                    self.imported[name] = one.name if one.asname else name
                    self.modules.add(name)
            elif isinstance(node, ast.ImportFrom):
                for one in node.names:
                    self.imported[one.asname or one.name] = f"{node.module}.{one.name}"
                    if one.name in MODULES_OF_MODULES:
                        self.modules.add(one.asname or one.name)
            elif isinstance(node, ast.Attribute):
                self.entered.add(id(node.value))
            elif isinstance(node, ast.Call):
                self.called.add(id(node.func))
        self.bound |= self.imported.keys()
        for name in ("torch", "triton", "tl", "np", "numpy", "sp", "math", "F"):  # of another cell
            self.imported.setdefault(
                name, {"tl": "triton.language", "np": "numpy", "sp": "sympy"}.get(name, name)
            )
            self.modules.add(name)
        self._name_modules(tree)

    def _name_modules(self, tree: ast.AST) -> None:
        """`F = torch.nn.functional` is another import."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute):
                (target, *others), root = node.targets, _root(node.value)
                if others or not isinstance(target, ast.Name) or root not in self.imported:
                    continue
                if self._is_module(node.value):
                    path = ast.unparse(node.value).partition(".")[2]
                    self.imported[target.id] = f"{self.imported[root]}.{path}"
                    self.modules.add(target.id)
                    self.named.add(id(node.value))

    def uses(self, node: ast.AST) -> Iterator[str]:
        """What a node does that an answer does not need."""
        if isinstance(node, ast.Import):
            yield from (f"`import {one.name}`" for one in node.names if not _may_import(one.name))
        elif isinstance(node, ast.ImportFrom):
            names = [one.name for one in node.names if not _may_import(f"{node.module}.{one.name}")]
            yield from (f"`from {node.module} import {name}`" for name in names)
        elif isinstance(node, ast.Name):
            yield from self._name(node)
        elif isinstance(node, ast.Attribute):
            yield from self._attribute(node)
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            if isinstance(node.value, ast.Attribute) and _root(node.value) in self.imported:
                yield f"`{ast.unparse(node):.60} = …`"
        elif isinstance(node, ast.Call):
            yield from _call(node)
        elif isinstance(node, ast.MatchClass) and node.kwd_attrs:
            yield f"`case {ast.unparse(node):.60}`"
        elif isinstance(node, ast.ClassDef):
            inner = [one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
            yield from (f"`def {one.name}`" for one in inner if _is_special(one.name))
            yield from ("`metaclass=`" for one in node.keywords if one.arg == "metaclass")

    def _name(self, node: ast.Name) -> Iterator[str]:
        is_read = isinstance(node.ctx, ast.Load)
        if node.id in NAMES or _is_special(node.id):
            yield f"`{node.id}`"
        elif is_read and node.id == "getattr" and id(node) not in self.called:
            yield "`getattr` as a value"
        elif is_read and node.id in self.modules and id(node) not in self.entered | self.own:
            yield f"the module `{node.id}` as a value"

    def _attribute(self, node: ast.Attribute) -> Iterator[str]:
        root, name = _root(node), node.attr
        module = self.imported.get(root, "").partition(".")[0]
        direct = isinstance(node.value, ast.Name)
        if name in INTERNALS or _is_special(name):
            yield f"`.{name}`"
        elif _is_private(name) and root not in OWN | self.modules:
            yield f"`.{name}` of another object"
        elif root in self.modules and (
            name.startswith("_")
            or (name in OUTSIDE and not (direct and (self.imported[root], name) in ALLOWED))
        ):
            yield f"`{ast.unparse(node):.60}`"
        elif root in self.modules and direct and _is_other_module(self.imported[root], name):
            yield f"the module `{root}.{name}`"
        elif f"{self.imported.get(root, root)}.{ast.unparse(node).partition('.')[2]}" in DIFFERENTIATES:
            yield f"`{ast.unparse(node):.60}`"
        elif root in self.modules and id(node) not in self.entered | self.named and self._is_module(node):
            yield f"the module `{ast.unparse(node):.60}` as a value"
        elif direct and (module, name) in NOT_OF and self.imported.get(root) == module:
            yield f"`{root}.{name}`"
        elif not isinstance(node.ctx, ast.Load):
            own = direct and root in OWN - self.bound and not _is_library_attribute(name)
            if not own and (name not in SETTABLE or root in self.imported):
                yield f"`{ast.unparse(node):.60} = …`"

    def _is_module(self, node: ast.Attribute) -> bool:
        """Whether a path of members from an imported name ends in a module, as `torch.nn.functional` does."""
        path = f"{self.imported[_root(node)]}.{ast.unparse(node).partition('.')[2]}".split(".")
        try:
            found = functools.reduce(getattr, path[1:], importlib.import_module(path[0]))
        except (ImportError, AttributeError):
            return False
        return isinstance(found, types.ModuleType)


def _may_import(name: str) -> bool:
    first, *rest = name.split(".")
    if first not in MODULES or name.endswith(".*"):
        return first == "flashlearn" and name.startswith(COURSE)
    if first == "flashlearn":
        return len(rest) < 2 or name.startswith(COURSE)
    if name.startswith("triton.tools.tensor_descriptor") or name in CHECKPOINT:
        return True
    if name.startswith(DIFFERENTIATES):
        return False
    return not any(
        one in INTERNALS or one.startswith("_") or (one in OUTSIDE and (above, one) not in ALLOWED)
        for above, one in zip([first, *[""] * len(rest)], rest, strict=False)
    )


@functools.cache
def _is_other_module(module: str, name: str) -> bool:
    """Whether a member of a module is a module of another package, as `enum.bltns` is, or the grader's."""
    if name in MODULES_OF_MODULES or (module, name) in ALLOWED:
        return False
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError:
        return False
    first = module.partition(".")[0]
    other = isinstance(found, types.ModuleType) and found.__name__.partition(".")[0] != first
    return other or (isinstance(found, types.ModuleType) and first == "flashlearn")


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in DUNDERS


def _is_private(name: str) -> bool:
    """Whether a name is an object's own business; those of named tuples are not."""
    return name.startswith("_") and not name.startswith("__") and name not in OF_NAMED_TUPLES


def _is_library_attribute(name: str) -> bool:
    """Whether torch's tensors or triton's kernels have an attribute of this name."""
    return name not in SETTABLE and (hasattr(torch.Tensor, name) or hasattr(JITFunction, name))


def _own(function: ast.FunctionDef) -> set[int]:
    """The uses of a function's local names, whatever these mean outside: `np` for a padded length.

    A function with inner functions or imports has none: their names are not its own.
    """
    inside = [n for statement in function.body for n in ast.walk(statement)]
    others = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | ast.Import | ast.ImportFrom
    if any(isinstance(n, others) for n in inside):
        return set()
    shared = {name for n in inside if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
    given = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    bound = {n.arg for n in given}
    bound |= {
        target.id
        for n in inside
        if isinstance(n, ast.Assign)
        for target in n.targets
        if isinstance(target, ast.Name)
    }
    return {id(n) for n in inside if isinstance(n, ast.Name) and n.id in bound - shared}


def _call(node: ast.Call) -> Iterator[str]:
    called = node.func
    if isinstance(called, ast.Name) and called.id in ("getattr", "hasattr"):
        name = node.args[1] if len(node.args) > 1 else None
        if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
            yield f"`{called.id}` with a name that is computed"
        elif name.value in INTERNALS or name.value.startswith("_"):
            yield f"`{called.id}(…, {name.value!r})`"
    elif _last(called) == "wraps" and (len(node.args) > 1 or node.keywords):
        yield f"`{ast.unparse(node):.60}`"
    elif isinstance(called, ast.Name) and called.id == "type" and len(node.args) > 1:
        yield "`type` that makes a class"


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
