"""The edit that moves a conversion to half precision into tl.dot."""

from __future__ import annotations

from flashlearn.explaining.edits import edits_of

KERNEL = """@triton.jit
def kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    v = tl.load(x_ptr + tl.arange(0, BLOCK))
    p = tl.exp(v).to(v.dtype)
    total = tl.sum(p, axis=0)
    y = tl.dot(p, v) + total
    q = tl.exp(v).to(v.dtype)
    tl.store(y_ptr, y + q)
"""


def test_a_conversion_is_moved_into_the_product_that_needs_it():
    edit = next(e for e in edits_of(KERNEL) if e.kind.name == "early rounding")
    text = edit.applied(KERNEL)
    assert (
        "    p = tl.exp(v)\n" in text and "tl.dot(p.to(v.dtype), v)" in text and "tl.sum(p, axis=0)" in text
    )


def test_what_is_no_operand_of_a_product_is_left_alone():
    assert [e.line for e in edits_of(KERNEL) if e.kind.name == "early rounding"] == [4]
