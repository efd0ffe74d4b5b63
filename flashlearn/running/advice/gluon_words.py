"""Advice in the language of the kernel: gl.load for tl.load in a Gluon kernel."""

from __future__ import annotations

import ast
import re

from triton.experimental.gluon import language as gluon

from flashlearn.running.advice.error_context import ErrorContext

OF_TRITON = re.compile(r"\btl\.(?=([a-z]\w*))")


def in_own_language(sentence: str, context: ErrorContext) -> str:
    """The sentence with what Gluon's language has as well under the name by which the function calls it."""
    used = {node.id for node in ast.walk(context.function) if isinstance(node, ast.Name)}
    modules = {name: getattr(context.globals.get(name), "__name__", "") for name in used}
    own = next((name for name, module in modules.items() if module == gluon.__name__), "")
    if not own or "tl" in used:
        return sentence
    return OF_TRITON.sub(lambda found: f"{own}." if hasattr(gluon, found[1]) else found[0], sentence)
