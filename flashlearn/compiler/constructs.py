"""Python constructs that a compiled kernel lacks: one sentence for each, with what to write instead.

    >>> sentence("unsupported AST node type: Break", node, tree, scope)
    'A compiled kernel has no `break`: …'

The front end of triton's compiler names the node of the syntax tree that it stopped at; where its message
says too little, the node shows what was meant.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any

import torch

from flashlearn.compiler.explain import type_in_words

_FUNCTION = "A kernel cannot define a function inside: write it above, with `@triton.jit`, and call it."
_NAMES = "give each value a name of its own, or use a tuple."
_LOADED = "Import above the kernel, not in it."
_OUTER = "A compiled kernel cannot change what is outside it: pass the value as an argument."
_BUILT = "A compiled kernel cannot build this from a loop inside brackets: write a `for` in lines of its own."

NODES = {
    "Break": "A compiled kernel has no `break`: write a `while` whose condition says when to "
    "stop, or let the "
    "loop run to its end under an `if` that leaves the values as they are.",
    "Continue": "A compiled kernel has no `continue`: put the lines below it under an `if` with the opposite "
    "condition.",
    "Try": "A compiled kernel has no `try`: nothing is raised on a GPU, so there is nothing to catch.",
    "Raise": "Nothing can be raised on a GPU. `tl.static_assert(condition, text)` checks what "
    "is known when the "
    "kernel is compiled; the rest is checked in the launcher, before the launch.",
    "Lambda": _FUNCTION,
    "Dict": f"A compiled kernel has no dictionaries: {_NAMES}",
    "Set": f"A compiled kernel has no sets: {_NAMES}",
    "NamedExpr": "A compiled kernel has no `:=`: assign in a line of its own.",
    "Delete": "A compiled kernel has no `del`, and needs none: leave the line out.",
    "Import": _LOADED,
    "ImportFrom": _LOADED,
    "Global": _OUTER,
    "Nonlocal": _OUTER,
    "Match": "A compiled kernel has no `match`: write `if` and `elif`.",
    "GeneratorExp": _BUILT,
    "DictComp": _BUILT,
    "SetComp": _BUILT,
}
"""By the name of the node's type."""

BUILTINS = {
    "sum": "`tl.sum(x, axis=0)` adds up the elements of a tile, and `+` adds tiles.",
    "abs": "Use `tl.abs`.",
    "pow": "Multiply, or use `tl.exp2` and `tl.log2`.",
    "round": "Use `tl.floor(x + 0.5)`; a constant is rounded in the launcher.",
    "any": "`tl.max` of a mask is 1 where any of it holds.",
    "all": "`tl.min` of a mask is 1 where all of it holds.",
    "bool": "Compare with `!= 0`.",
    "sorted": "Use `tl.sort`.",
    "reversed": "Count down: `range(n - 1, -1, -1)`.",
    "enumerate": "Loop over `tl.static_range(...)` and index the tuple.",
    "zip": "Loop over `tl.static_range(...)` and index both tuples.",
}
"""Replacements for Python's own functions."""

_NO_RETURN = (
    "A compiled loop has no `return` in it: keep the result in a variable, let the loop run to its end (or a "
    "`while` until its condition is false), and return below it."
)

MESSAGES: tuple[tuple[str, str], ...] = (
    (
        r"Cannot have `return` statements inside `while` or `for`|expects region #\d to have 0 or 1 blocks",
        _NO_RETURN,
    ),
    (
        r"'scf.condition' op operand",
        "`while` asks a whole tile for one answer: reduce it to one number first, with `tl.max` or `tl.sum`.",
    ),
    (
        r"maximum recursion depth exceeded",
        "The compiler recurses without end here: does a function always call itself? Write a loop.",
    ),
    (
        r"only tuple comprehensions are supported",
        "A comprehension is unrolled when the kernel is compiled, and only over a tuple that is written out: "
        "over `range(...)` write a `for` in lines of its own.",
    ),
    (
        r"(?:'tuple' object has no attribute '?|^')(append|extend|insert|pop|remove|sort)\b",
        "A list has a fixed length in a compiled kernel, so it has no `{0}`: carry a tile, or a few names, "
        "through the loop.",
    ),
    (
        r"Cannot evaluate f-string",
        'A compiled kernel cannot put numbers into text: `tl.device_print("n", n)` prints them beside it.',
    ),
    (
        r"inconsistent types (.+) and (.+)$",
        "The two sides of `… if … else …` are {0} and {1}, and a compiled one has one "
        "shape and dtype: convert "
        "one side, or choose per element with `tl.where`.",
    ),
    (
        r"must be real number, not tensor",
        "Functions of Python `math` take constants: the value here is known only when the kernel runs, so "
        "use `tl.sqrt`, `tl.exp`, `tl.log` and their like.",
    ),
    (
        r"loop of ufunc does not support|NumPy",
        "NumPy runs in Python and not on a GPU: use what `tl` offers.",
    ),
    (
        r"'tensor' object has no attribute '?(\w+)",
        "A tile has no `{0}`: `.to(tl.float32)` converts one, and everything else is in `tl`.",
    ),
    (
        r"'torch\.\w+' object has no attribute|unexpected keyword argument '_semantic'",
        "This is not a function of `tl`: PyTorch and Python run on the host, and a compiled "
        "kernel calls what `tl` "
        "offers, dtypes such as `tl.float32` included.",
    ),
)
"""Patterns of triton's messages; `{0}` is the first group."""


def sentence(message: str, node: ast.AST | None, tree: ast.AST | None, scope: Mapping[str, Any]) -> str:
    """The sentence for a construct that the front end stopped at; nothing if it is none of these.

    `message` is the compiler's, of one line, `tree` the function's, `scope` the names around it.
    """
    if found := re.search(r"unsupported AST node type: (\w+)", message):
        return NODES.get(found[1], "")
    if found := re.match(r"Cannot access global variable (\w+)", message):
        return outside_value(found[1], scope.get(found[1]))
    if found := re.match(r"(\w+) is not defined", message):
        return _undefined(found[1], tree)
    if words := _by_node(message, node):
        return words
    for pattern, answer in MESSAGES:
        if found := re.search(pattern, message):
            return answer.format(*map(type_in_words, found.groups()))
    return ""


def outside_value(name: str, value: Any) -> str:
    """Advice on a value from outside the kernel that compiled code cannot use."""
    home = (getattr(value, "__module__", None) or "").split(".")[0]
    if name.startswith(("torch.", "np.", "numpy.")) or home in ("torch", "numpy"):
        return f"`{name}` runs in Python and not on a GPU: use what `tl` offers."
    if isinstance(value, FunctionType):
        return f"The kernel calls `{name}`, a Python function: decorate it with `@triton.jit` too."
    if callable(value):
        return f"`{name}` is Python's, and a compiled kernel cannot call it: use what `tl` offers."
    if isinstance(value, torch.Tensor):
        return f"`{name}` is a tensor from outside the kernel: pass it as an argument, and load from it."
    if isinstance(value, bool | int | float | str):
        return (
            f"The kernel reads `{name}` from outside, a plain Python value, which may change "
            "after the kernel "
            f"was compiled: pass it as an argument, or write `{name} = tl.constexpr({value!r})`."
        )
    kind = "module" if isinstance(value, ModuleType) else type(value).__name__
    return (
        f"The kernel reads `{name}` from outside, a {kind}, which compiled code cannot hold: pass what it "
        "needs."
    )


def _undefined(name: str, tree: ast.AST | None) -> str:
    """An undefined name: assigned only in a branch or a loop, or one of Python's functions."""
    nodes = list(ast.walk(tree)) if tree is not None else []
    if any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in nodes):
        return (
            f"`{name}` gets its value only inside an `if` or a loop, and this line is compiled for the case "
            "that it was not entered, too: give it a value before."
        )
    if hasattr(builtins, name):
        return f"`{name}` is Python's, which compiled kernels do not have. {BUILTINS.get(name, '')}".rstrip()
    return ""


def _by_node(message: str, node: ast.AST | None) -> str:
    """A sentence from the node, for messages about the compiler's internals."""
    if message.startswith(("We use SCF", "AssertionError()")) and _returns_in_a_loop(node):
        return _NO_RETURN
    if isinstance(node, ast.While) and "has no attribute 'handle'" in message:
        return (
            "The condition of this `while` is settled when the kernel is compiled, so that "
            "the loop never ends "
            "or never begins: it has to depend on a value that the loop changes."
        )
    if isinstance(node, ast.With):
        return "A compiled kernel has no `with`: its lines run in order, and no context is entered on a GPU."
    if isinstance(node, ast.For | ast.While) and node.orelse and ("else" in message or "Not impl" in message):
        return "A compiled loop has no `else`: write those lines below the loop, they run after it anyway."
    if isinstance(node, ast.For) and ("has no attribute 'func'" in message or "iterators are" in message):
        return (
            "A compiled loop counts: `for i in range(...)`, or `tl.static_range(...)`, which "
            "is unrolled. The "
            "entries of a tuple are reached by index: `values[i]` with an `i` of `tl.static_range`."
        )
    if "nested function def" in message or (isinstance(node, ast.arg) and "StopIteration" in message):
        return _FUNCTION
    if isinstance(node, ast.Compare):
        return _comparison(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return "`@` is not compiled: `tl.dot(a, b)` multiplies two tiles."
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return "`**` is not compiled for what is known only when the kernel runs: multiply, `x * x`."
    if isinstance(node, ast.Assign):
        return _assignment(node)
    if isinstance(node, ast.Call) and f".{ast.unparse(node.func)}__" in message:
        return "A kernel cannot call itself: write a loop."
    return ""


def _returns_in_a_loop(node: ast.AST | None) -> bool:
    """True for a loop with a `return` in it, or for a function with such a loop."""
    loops = [part for part in ast.walk(node) if isinstance(part, ast.For | ast.While)] if node else []
    return any(isinstance(part, ast.Return) for loop in loops for part in ast.walk(loop))


def _comparison(node: ast.Compare) -> str:
    if len(node.ops) > 1:
        sides = [ast.unparse(side) for side in (node.left, *node.comparators)]
        signs = [ast.unparse(ast.Compare(ast.Name("x"), [op], [ast.Name("y")]))[2:-2] for op in node.ops]
        parts = [f"({sides[i]} {sign} {sides[i + 1]})" for i, sign in enumerate(signs)]
        return f"Two comparisons in one are not compiled: write `{' & '.join(parts)}`."
    if isinstance(node.ops[0], ast.In | ast.NotIn):
        return "`in` is not compiled: compare with each value, `N == 16 or N == 32`."
    return ""


def _assignment(node: ast.Assign) -> str:
    if len(node.targets) > 1:
        return "Two names in one assignment, `a = b = …`, are not compiled: write two lines."
    if any(isinstance(part, ast.Starred) for part in ast.walk(node.targets[0])):
        return "`*` on the left of `=` is not compiled: name each value, or index the tuple."
    return ""
