"""A kernel as triton's compiler takes it: Triton's own source, or Gluon's."""

from __future__ import annotations

from typing import Any

from triton.compiler import ASTSource

GLUON_ONLY = (90,)
"""Compute capabilities that a Gluon kernel is compiled for: it names a Hopper GPU's own instructions."""


def is_gluon(kernel: Any) -> bool:
    """True for a kernel that is written in Gluon."""
    return bool(getattr(kernel, "is_gluon", bool)())


def source_of(kernel: Any, signature: Any, constexprs: Any, attributes: Any) -> ASTSource:
    """The source of a kernel that is launched with these types and constants."""
    if not is_gluon(kernel):
        return ASTSource(kernel, signature, constexprs, attributes)
    from triton.experimental.gluon._runtime import GluonASTSource

    return GluonASTSource(kernel, signature, constexprs, attributes)
