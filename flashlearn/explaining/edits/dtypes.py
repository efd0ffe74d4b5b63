"""Edits of the type in which a number is held: of an accumulator, and of a conversion."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, edit_kind, name_of

ROUNDING_QUESTION = "In which precision should this be computed, and where is it rounded?"

CAST = edit_kind("cast", question=ROUNDING_QUESTION, changes_values=True, changes_dtype=True)
NARROW_CAST = edit_kind(
    "narrow cast",
    question=ROUNDING_QUESTION,
    changes_values=True,
    changes_dtype=True,
    in_gluon=False,
)
DTYPE = edit_kind(
    "dtype",
    question="Which precision do the numbers held here need?",
    changes_values=True,
    changes_dtype=True,
    in_gluon=False,
    repeats_as="narrow cast",  # one type for the accumulator, and again for what is added to it
)

WITH_DTYPE_OF_ANOTHER = ("new_empty", "new_zeros", "new_full", "empty_like", "zeros_like", "full_like")
"""Allocations that take the dtype of a tensor if none is given."""


NEW = ("zeros", "empty", "ones", "full")
"""Allocations that hold torch's default dtype if none is given."""

OF_TENSOR = re.compile(r"(\w+)\.(?:shape|device|size|new_|dtype)")


def conversion_edits(text: SourceText, node: ast.Call, kernel: bool) -> Iterator[Edit]:
    """`x.to(dtype)` without the conversion, unless it is one to fp32, or to fp32."""
    if not (kernel and [text.of(argument) for argument in node.args] == ["tl.float32"]):
        yield text.edit(CAST, node, text.of(node.func.value), 1)
    for argument in node.args:
        if kernel and text.of(argument) != "tl.float32" and "int" not in text.of(argument):
            yield text.edit(NARROW_CAST, argument, "tl.float32")


def allocation_edits(text: SourceText, node: ast.Call, kernel: bool) -> Iterator[Edit]:
    """fp32 as the type of a new tensor or tile."""
    tensor = OF_TENSOR.search(text.of(node)) if not kernel else None
    for argument in [*node.args[1:], *(k.value for k in node.keywords if k.arg == "dtype")]:
        written = text.of(argument)
        full = "tl.float32" if kernel else "torch.float32"
        if written != full and ("dtype" in written or "float" in written) and "inf" not in written:
            yield text.edit(DTYPE, argument, full, 0 if kernel else 1)
        if tensor is not None and written.startswith("torch.") and "float" in written:
            yield text.edit(DTYPE, argument, f"{tensor[1]}.dtype", 1)
    own = [k.arg for k in node.keywords]
    if tensor is not None and name_of(node) in NEW and not {"dtype", None} & {*own}:
        yield text.edit(DTYPE, node, f"{text.of(node)[:-1]}, dtype={tensor[1]}.dtype)", 1)
    if name_of(node) in WITH_DTYPE_OF_ANOTHER and not any(k.arg in ("dtype", None) for k in node.keywords):
        start, end = text.span(node)
        call = text.raw[start : end - 1].decode().rstrip().removesuffix(",")
        yield text.edit(DTYPE, node, f"{call}, dtype=torch.float32)", 1)
