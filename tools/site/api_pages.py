"""The reference of what users call: signatures and docstrings, with the shapes that these give."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import flashlearn
from flashlearn.lessons import all_exercises
from tools.site.text import markdown

SHAPES = """In shapes, `B` is the batch, `H` the heads, `S_q` and `S_k` the lengths of queries and keys,
`D` the width of a head. `lse` and `delta` are fp32 whatever the inputs' dtype; `alpha` is any number, of
either sign; a causal mask is aligned bottom-right. Tensors come first, then scalars."""

FURTHER = (
    *("attention", "fast_attention", "gluon.fa3_attention", "torch_attention"),
    "model_attention.attention",
)
"""Modules of kernels besides those that an exercise's solution is in; other modules are their tools."""

FOR_LEARNERS = ("check", "trace", "hint", "solution", "status", "reset", "recall", "use", "observing")
REPORT = ("passed", "status", "outcomes", "finding", "sentence", "timing")
REPORT_CALLS = ("show", "dump", "text", "to_dict", "to_verdict")


def pages() -> dict[str, str]:
    """The pages by their path in the site's sources."""
    return {"api/check-and-trace.md": _calls(), "api/kernels.md": _kernels()}


def _calls() -> str:
    parts = [
        "# Check and trace",
        "What a notebook calls. Each name is an attribute of `flashlearn`, loaded at its first use.",
    ]
    for name in FOR_LEARNERS:
        parts.append(_function(f"flashlearn.{name}", getattr(flashlearn, name)))
    parts.append(_report())
    return "\n\n".join(parts)


def _kernels() -> str:
    parts = ["# Kernels", "What can be imported and used in your own code.", SHAPES]
    for module in _modules():
        functions = dict(_functions(module))
        if functions:
            parts += [f"## {module.__name__}", documentation(module.__doc__ or "")]
            parts += [_function(name, function, level=3) for name, function in functions.items()]
    return "\n\n".join(parts)


def _modules() -> Iterator[ModuleType]:
    """The modules with kernels for users, attention first: the public door."""
    solved = {e.solution.partition(":")[0] for e in all_exercises().values()}
    names = {f"flashlearn.kernels.{name}": None for name in FURTHER}
    names |= dict.fromkeys(sorted(name for name in solved if name.startswith("flashlearn.kernels.")))
    return map(importlib.import_module, names)


def _functions(module: ModuleType) -> Iterator[tuple[str, Callable]]:
    """The functions that a module defines for its users; kernels themselves are launched by these."""
    for name in getattr(module, "__all__", vars(module)):
        value = getattr(module, name)
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_"):
            yield name, value


def _function(name: str, function: Callable, level: int = 2) -> str:
    call = f"{name.rpartition('.')[2]}{signature(function)}"
    return "\n\n".join(
        [f"{'#' * level} `{name}`", _code(call), documentation(inspect.getdoc(function) or "")]
    )


def _report() -> str:
    """The class `Report`: what it knows, and what it can be asked."""
    parts = ["## `flashlearn.Report`", documentation(inspect.getdoc(flashlearn.Report) or "")]
    for name in REPORT:
        value = getattr(flashlearn.Report, name, None)
        parts.append(
            f"- `.{name}` {_first(getattr(value, 'fget', None) or value) if value is not None else ''}"
        )
    for name in REPORT_CALLS:
        value = getattr(flashlearn.Report, name)
        parts += [f"### `Report.{name}`", _code(f"{name}{signature(value, drop=1)}")]
        parts.append(documentation(inspect.getdoc(value) or ""))
    return "\n\n".join(parts)


def _first(function: Any) -> str:
    """The first paragraph of a docstring."""
    return documentation((inspect.getdoc(function) or "").partition("\n\n")[0])


class _Bare:
    """An annotation that is shown as it is written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def signature(function: Callable, drop: int = 0) -> str:
    """A function's signature as it is written in its source, without the first `drop` parameters."""
    found = inspect.signature(function)
    shown = [_annotated(parameter) for parameter in list(found.parameters.values())[drop:]]
    returned = found.return_annotation
    if isinstance(returned, str):
        returned = _Bare(returned)
    return str(found.replace(parameters=shown, return_annotation=returned))


def _annotated(parameter: inspect.Parameter) -> inspect.Parameter:
    written = parameter.annotation
    return parameter.replace(annotation=_Bare(written)) if isinstance(written, str) else parameter


def documentation(text: str) -> str:
    """A docstring as Markdown: sessions as code, lists as lists, all else as paragraphs."""
    blocks = re.split(r"\n\s*\n", inspect.cleandoc(text))
    return "\n\n".join(_block(block) for block in blocks if block.strip())


def _block(block: str) -> str:
    lines = block.splitlines()
    if lines[0].lstrip().startswith(">>>") or all(line.startswith("    ") for line in lines):
        return _code(inspect.cleandoc(block))
    if lines[0].lstrip().startswith("- "):
        items = re.split(r"^\s*- ", block, flags=re.MULTILINE)[1:]
        return "\n".join(f"- {markdown(item)}" for item in items)
    return markdown(block)


def _code(text: str) -> str:
    return f"```python\n{text}\n```"
