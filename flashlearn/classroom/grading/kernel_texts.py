"""The texts of the course's kernels, by which they are recognised in a launcher's plan.

>>> "\n".join(earlier_texts("12")).count("def online_logsumexp_kernel")
1
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

from flashlearn.classroom.grading.child_sources import PACKAGE, earlier_kernels, solution_functions
from flashlearn.lessons import find


def function_text(packed: Mapping[str, Any]) -> str:
    """The text of a function of a plan, as the other functions here have it."""
    return textwrap.dedent(packed["source"]).strip()


@functools.cache
def course_texts() -> frozenset[str]:
    """Those of all functions of the course's kernels."""
    files = Path(PACKAGE, "kernels").rglob("*.py")
    return frozenset().union(*(_texts(file.read_text()) for file in files))


@functools.cache
def earlier_texts(lesson: str) -> frozenset[str]:
    """Those of the kernels that were the exercises of lessons before this one."""
    return frozenset().union(*(_texts(_source(module)) for module in earlier_kernels(lesson)))


@functools.cache
def solution_texts(exercise: str) -> frozenset[str]:
    """Those that the course's own solution of an exercise uses, whatever lesson they are from."""
    used = solution_functions(find(exercise))
    return frozenset().union(*(_texts(_source(module), names) for module, names in used.items()))


def _source(module: str) -> str:
    return PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py").read_text()


def _texts(source: str, names: Container[str] | None = None) -> set[str]:
    """The texts of a module's functions, or of those with these names."""
    lines = source.splitlines(keepends=True)
    return {
        textwrap.dedent("".join(inspect.getblock(lines[_first(node) - 1 :]))).strip()
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and (names is None or node.name in names)
    }


def _first(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])
