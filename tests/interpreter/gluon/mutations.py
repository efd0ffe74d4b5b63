"""Small wrong variants of a module with Gluon kernels: one synchronisation removed, or one number changed.

    >>> for one in mutations(specialised_matmul):
    ...     module = imported(one, tmp_path)

Each statement of the kernels that synchronises is taken away, one at a time; each phase that is waited for
is the other one, each slot's index is one further, each count one more, each number of bytes one half.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

SYNCHRONISES = (
    "mbarrier.wait",
    "mbarrier.expect",
    "mbarrier.arrive",
    "mbarrier.init",
    "fence_async_shared",
    "tma.store_wait",
    "warpgroup_mma_wait",
)
_numbers = itertools.count()


@dataclass(frozen=True)
class Mutation:
    """A module's text with one thing changed in `line`: "without mbarrier.wait(…)"."""

    module: str
    line: int
    said: str
    text: str

    def __str__(self) -> str:
        return f"{self.module}, line {self.line}: {self.said}"


def mutations(module: ModuleType) -> Iterator[Mutation]:
    """All of a module."""
    text = inspect.getsource(module)
    name = module.__name__.rsplit(".", 1)[-1]
    kernels = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and _jitted(node)]
    for kernel in kernels:
        for node in ast.walk(kernel):
            if isinstance(node, ast.Expr | ast.Assign) and isinstance(node.value, ast.Call):
                called = ast.unparse(node.value.func)
                if called not in SYNCHRONISES:
                    continue
                said = ast.unparse(node)
                yield Mutation(name, node.lineno, f"without {said}", _replaced(text, node, "pass"))
                for what, old, new in _changes(called, node.value):
                    yield Mutation(name, old.lineno, f"{what} in {said}", _replaced(text, old, new))


def _changes(called: str, call: ast.Call) -> Iterator[tuple[str, ast.expr, str]]:
    """What else can be wrong with a call: what is said of it, what to exchange, by what."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    second = call.args[1] if len(call.args) > 1 else named.get("phase") or named.get("count")
    if called == "mbarrier.wait" and second is not None:
        yield "the other phase", second, f"({ast.unparse(second)}) ^ 1"
        if not isinstance(second, ast.Constant):
            yield "phase 0 always", second, "0"
    if called in ("mbarrier.arrive", "mbarrier.init") and second is not None:
        yield "a count more by 1", second, f"({ast.unparse(second)}) + 1"
    if called == "mbarrier.expect":
        yield "half of the bytes", second, f"({ast.unparse(second)}) // 2"
    if called in ("warpgroup_mma_wait", "tma.store_wait") and call.args:
        yield "one more left", call.args[0], f"({ast.unparse(call.args[0])}) + 1"
    for index in [n for n in ast.walk(call) if _is_index(n) and called != "mbarrier.init"]:
        yield "the next slot", index.args[0], f"({ast.unparse(index.args[0])} + 1) % STAGES"


def _is_index(node: ast.AST) -> bool:
    dynamic = (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "index"
    )
    return dynamic and not isinstance(node.args[0], ast.Constant)


def _jitted(node: ast.FunctionDef) -> bool:
    return any("jit" in ast.unparse(decorator) for decorator in node.decorator_list)


def _replaced(text: str, node: ast.AST, new: str) -> str:
    """The text with a node exchanged; a long one keeps its number of lines, so that places stay true."""
    lines = text.splitlines(keepends=True)
    first, last = node.lineno - 1, node.end_lineno - 1
    before = lines[first].encode()[: node.col_offset].decode()
    after = lines[last].encode()[node.end_col_offset :].decode()
    return "".join([*lines[:first], before + new + after, *["\n"] * (last - first), *lines[last + 1 :]])


def imported(mutation: Mutation, folder: Path) -> ModuleType:
    """The mutated module, from a file in `folder`: the interpreter reads a kernel's text."""
    name = f"mutated_{mutation.module}_{next(_numbers)}"
    path = folder / f"{name}.py"
    path.write_text(mutation.text, encoding="utf-8")
    found = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    try:
        found.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module
