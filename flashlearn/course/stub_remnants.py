"""Remnants of the stub in an answer's text: a TODO that was left in place, a launch without arguments.

Reported only for an answer that does not pass, and only in addition to the check's findings.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from flashlearn.course.answer_parts import Part, parts_of
from flashlearn.outcome import Status

MAX_REMARKS = 2
COMMENT = re.compile(r"#\s*(TODO|FIXME|YOUR CODE HERE)\b.*", re.IGNORECASE)
MAX_LENGTH = 60


def stub_remnants(answer: Callable[..., Any], status: Status) -> tuple[str, ...]:
    """Remarks on an answer's text, the most important first; none for an answer that passes."""
    if status is Status.PASS:
        return ()
    with contextlib.suppress(Exception):  # a learner's function may be anything; the report must not fail
        parts = parts_of(answer)
        if status is Status.TODO:
            return tuple(sentence for part in parts if (sentence := _todo_in_place(part)))[:1]
        return tuple(sentence for part in parts for sentence in _remarks(part, parts))[:MAX_REMARKS]
    return ()


def _todo_in_place(part: Part) -> str:
    """The stub's TODO line among code of the learner's own."""
    tree = part.tree()
    if tree is None:
        return ""
    stubs = [node for node in ast.walk(tree) if _is_stub(node)]
    others = [node for node in tree.body if node not in stubs and not _is_docstring(node)]
    if not stubs or not others or "remove this line" in ast.unparse(stubs[0]):
        return ""
    return (
        f"Line {stubs[0].lineno} of {part.name} is still the TODO line, and the check stops there. Remove it "
        "when you have written that part."
    )


def _is_stub(node: ast.AST) -> bool:
    """raise NotImplementedError("TODO …"), or tl.static_assert(False, "TODO …")."""
    if isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        text = ast.unparse(node)
        return "TODO" in text and text.startswith(("raise NotImplementedError(", "tl.static_assert(False"))
    return False


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _remarks(part: Part, parts: list[Part]) -> Iterator[str]:
    tree = part.tree()
    if tree is None:
        return
    kernels = {other.name for other in parts if other.jitted}
    yield from _placeholders(part, tree)
    if part.jitted:
        if any(part.name in _launched_names(other) for other in parts if not other.jitted):
            yield from _returned_by_a_kernel(part, tree)
    else:
        yield from _incomplete_launches(tree, kernels)


def _placeholders(part: Part, tree: ast.FunctionDef) -> Iterator[str]:
    """Three dots, or a comment that says TODO."""
    for node in ast.walk(tree):
        value = getattr(node, "value", None) if isinstance(node, ast.Expr | ast.Assign) else None
        if isinstance(value, ast.Constant) and value.value is ...:
            yield (
                f"Line {node.lineno} of {part.name} is still `{_short(ast.unparse(node))}`: replace "
                "the dots with your code."
            )
    lines, first = inspect.getsourcelines(part.function)
    for number, line in enumerate(lines, first):
        if found := COMMENT.search(line):
            yield (
                f"Line {number} of {part.name} still says `{_short(found[0].strip())}`: is that part "
                "written? If so, remove the comment."
            )


def _incomplete_launches(tree: ast.FunctionDef, kernels: set[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        value = getattr(node, "value", None)
        if isinstance(node, ast.Expr) and _kernel_on_a_grid(value, kernels):
            yield (
                f"Line {node.lineno} launches nothing: {value.value.id}[…] alone only names the grid. "
                "The arguments follow in parentheses."
            )
        taken = isinstance(node, ast.Return | ast.Assign) and isinstance(value, ast.Call)
        if taken and _kernel_on_a_grid(value.func, kernels):
            yield (
                f"Line {node.lineno} uses the result of a launch, which is not a tensor. The kernel "
                "writes into a tensor that the launcher has allocated; return that one."
            )


def _kernel_on_a_grid(node: ast.AST | None, kernels: set[str]) -> bool:
    """kernel[grid]."""
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in kernels


def _launched_names(part: Part) -> set[str]:
    """The names that a launcher launches."""
    tree = part.tree()
    nodes = ast.walk(tree) if tree is not None else ()
    return {n.value.id for n in nodes if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)}


def _returned_by_a_kernel(part: Part, tree: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Return) and node.value is not None:
            yield (
                f"Line {node.lineno} of {part.name}, `{_short(ast.unparse(node))}`: a kernel's return "
                "value is lost. Its results are what it stores with tl.store."
            )


def _short(text: str) -> str:
    return text if len(text) <= MAX_LENGTH else text[: MAX_LENGTH - 2].rstrip() + " …"
