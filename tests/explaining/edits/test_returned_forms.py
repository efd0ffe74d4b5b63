"""Edits of the dtype of what is returned."""

from __future__ import annotations

from flashlearn.explaining.edits import edits_of

SUM = """def product(spec, *operands):
    return torch.einsum(spec, *(x.float() for x in operands))


def gradient(x, w):
    y = product("ij,jk->ik", x, w.to(torch.float32))
    return y.reshape(x.shape), y.float()
"""


def test_what_is_returned_may_be_converted_to_the_dtype_of_an_input():
    edits = {e.new for e in edits_of(SUM) if e.kind.name == "returned dtype"}
    assert "y.reshape(x.shape).to(x.dtype)" in edits


def test_a_conversion_to_fp32_is_taken_from_a_result_and_not_from_operands():
    removed = {e.old for e in edits_of(SUM) if e.kind.name in ("redundant call", "cast")}
    assert "y.float()" in removed and not removed & {"x.float()", "w.to(torch.float32)"}


def test_a_tensor_that_is_returned_twice_may_stand_for_one_that_is_not_returned():
    text = "def f(k, v):\n    dk, dv, d = torch.zeros_like(k), torch.zeros_like(v), k.sum()\n    return {}\n"
    put = [
        {(e.old, e.new) for e in edits_of(text.format(given)) if e.kind.name == "returned twice"}
        for given in ("dv.to(k.dtype), dv", "dk, dv", "dv.half()")
    ]
    assert put == [{("dv", "dk")}, set(), set()]
