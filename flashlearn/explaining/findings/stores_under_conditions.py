"""Whether a kernel stores an output only where a condition of its programs holds, or several times."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from flashlearn.explaining.edits.edit import names_in
from flashlearn.observation import Launch

STORES = {"store", "atomic_add"}


def condition_of_stores(name: str, launch: Launch) -> str:
    """The condition under which each store to the output lies; "" if there is none, or it is not sure.

    A condition of constants is the same in all programs and does not count. It is not sure where an address
    does not name what it points into, or a helper stores.
    """
    pointers = {name, f"{name}_ptr", f"{name}_desc"} & {*launch.signature}
    source = _source(launch)
    if len(pointers) != 1 or not source:
        return ""
    tree = ast.parse(textwrap.dedent(source))
    found = set()
    for store, conditions in _stores(tree, ()):
        into = set().union(*(names_in(node) for node in (store.func, *store.args[:1])))
        if not into & {*launch.signature}:
            return ""
        if into & pointers:
            found.add(tuple(c for c in conditions if not names_in(c) <= {*launch.constexprs}))
    alone = next(iter(found)) if len(found) == 1 else ()
    return ast.unparse(alone[0]) if len(alone) == 1 else ""


def stores_in_a_loop(launch: Launch) -> bool:
    """True if a program may store more than one block: a store lies in a loop, or where that is not seen."""
    source = _source(launch)
    loops = (
        one for one in ast.walk(ast.parse(textwrap.dedent(source))) if isinstance(one, ast.For | ast.While)
    )
    return not source or any(True for loop in loops for _ in _stores(loop, ()))


def _source(launch: Launch) -> str:
    """The kernel's text; "" where it is not known, or other functions that it calls store as well."""
    if launch.job is not None:
        own, *others = (launch.job["functions"][i] for i in _kernel_first(launch.job))
        return "" if any("store" in one["source"] for one in others) else own["source"]
    return "".join(getattr(launch.kernel, "raw_src", ()))


def _kernel_first(job: Mapping[str, Any]) -> list[int]:
    return sorted(range(len(job["functions"])), key=lambda i: i != job["kernel"])


def _stores(
    node: ast.AST, conditions: tuple[ast.expr, ...]
) -> Iterator[tuple[ast.Call, tuple[ast.expr, ...]]]:
    """Calls that store, each with the conditions of the `if` statements around it."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in STORES:
        yield node, conditions
    if isinstance(node, ast.If):
        for branch, more in ((node.body, (node.test,)), (node.orelse, (ast.UnaryOp(ast.Not(), node.test),))):
            for child in branch:
                yield from _stores(child, (*conditions, *more))
        return
    for child in ast.iter_child_nodes(node):
        yield from _stores(child, conditions)
