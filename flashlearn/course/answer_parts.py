"""The learner's functions that make up an answer: the launcher, and the kernels and helpers that it uses."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from flashlearn.running.answer_source import names_used


@dataclass(frozen=True)
class Part:
    """A function of an answer: its name in the namespace, the object of that name, and the plain function."""

    name: str
    value: Any
    function: FunctionType

    @property
    def jitted(self) -> bool:
        """True for a kernel, or a helper of one."""
        return hasattr(self.value, "fn")

    def tree(self) -> ast.FunctionDef | None:
        """Its source, parsed, with the line numbers of its cell; None if there is no source to read."""
        try:
            lines, first = inspect.getsourcelines(self.function)
            tree = ast.parse(textwrap.dedent("".join(lines)))
        except (OSError, TypeError, SyntaxError):
            return None
        ast.increment_lineno(tree, first - 1)
        return next((node for node in tree.body if isinstance(node, ast.FunctionDef)), None)


def parts_of(answer: Callable[..., Any]) -> list[Part]:
    """The answer itself first, then the functions of the same namespace that it uses, each once."""
    first = _plain(answer)
    if first is None:
        return []
    found = {first.__name__: Part(first.__name__, answer, first)}
    waiting = [first]
    while waiting:
        one = waiting.pop()
        for name in names_used(one.__code__):
            value = one.__globals__.get(name)
            inner = _plain(value)
            if inner is not None and name not in found and inner.__globals__ is first.__globals__:
                found[name] = Part(name, value, inner)
                waiting.append(inner)
    return list(found.values())


def _plain(value: Any) -> FunctionType | None:
    """The function under decorators, @triton.jit among them."""
    while hasattr(value, "fn") or hasattr(value, "__wrapped__"):
        value = value.fn if hasattr(value, "fn") else value.__wrapped__
    return value if isinstance(value, FunctionType) else None
