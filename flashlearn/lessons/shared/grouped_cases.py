"""Cases, inputs, work and twins of attention with groups of heads and a flag for the mask: lessons 12 and 13.

>>> case = flagged(attention_case(33, 48, 16, H=4, seed=8), causal=True, H_k=2)
>>> forward_inputs(case, case.generator())            # q, k, v, causal, alpha
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend

from flashlearn.exercise import Case, Grade, Inputs, Work
from flashlearn.kernels import torch_attention
from flashlearn.lessons.shared import backward_cases, grouped, quantities, reference, tiled_twins
from flashlearn.lessons.shared.attention_cases import (
    ZERO_QUERIES,
    by_heads,
    heads_innermost,
    products_work,
)
from flashlearn.report.units import plural

LAYOUTS = "three layouts"
"""Each of q, k, v and do is laid out in its own way."""
FORWARD_GRADES = (
    Grade("bronze", 0.5, "sdpa_flash"),
    Grade("silver", 1.0, "sdpa_flash"),
    Grade("gold", 0.9, "sdpa_cudnn"),
)
BACKWARD_GRADES = (*FORWARD_GRADES[:2], Grade("gold", 0.75, "sdpa_cudnn"))


def flagged(case: Case, causal: bool, H_k: int = 0) -> Case:
    """The case with the flag and the number of K's heads among its sizes, and in its name."""
    groups = f", {plural(H_k, 'head')} of K" if H_k and H_k != case.sizes["H"] else ""
    name = f"{case.name}{groups}, {'causal' if causal else 'all keys'}"
    sizes = {**case.sizes, "H_k": H_k or case.sizes["H"], "causal": int(causal)}
    return dataclasses.replace(case, name=name, sizes=sizes)


def forward_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q [B, H, S_q, D], k and v [B, H_k, S_k, D], causal, alpha; in LAYOUTS each laid out its own way."""
    sizes = case.sizes
    q, k, v = (
        _draw(case, (sizes["B"], sizes[H], sizes[S], sizes["D"]), generator)
        for H, S in (("H", "S_q"), ("H_k", "S_k"), ("H_k", "S_k"))
    )
    if case.data == LAYOUTS:
        k, v = heads_innermost(k), v.mT.contiguous().mT
    if case.data == ZERO_QUERIES:
        q = torch.zeros_like(q)
    signs = {"negative alpha": -1.0, "alpha 0": 0.0}
    alpha = signs.get(case.data, 1.0) / math.sqrt(sizes["D"])
    return {"q": q, "k": k, "v": v, "causal": bool(sizes["causal"]), "alpha": alpha}


def _draw(case: Case, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    values = (case.magnitude * torch.randn(shape, generator=generator)).to(case.dtype)
    if case.layout == "strided":  # [B, S, H, D] in memory, as a projection leaves it
        return values.transpose(1, 2).contiguous().transpose(1, 2)
    return values


def forward_work(inputs: Inputs) -> Work:
    """Two products over the visible pairs; Q, K, V read once, O and the fp32 LSE written once."""
    q, given = inputs["q"], {name: inputs[name] for name in "qkv"}
    least = products_work(given, 2, ("q",), inputs["causal"])
    return Work(least.operations, least.bytes + 4.0 * q.shape[0] * q.shape[1] * q.shape[2])


def forward_quantities(given: Inputs) -> quantities.Quantities:
    """What a right kernel's tiles hold, K and V as each query head sees them."""
    H = given["q"].shape[1]
    many = {name: grouped.for_heads(given[name], H) for name in "kv"}
    rest = {"q": given["q"], **many, "alpha": given["alpha"]}
    return (quantities.causal_forward if given["causal"] else quantities.attention_forward)(rest)


def forward_reversed_in_d(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, causal: bool = False
) -> tuple[Tensor, Tensor]:
    """A twin whose scores are summed over D from the other end."""
    return tiled_twins.forward_in_tiles(q.flip(-1), k.flip(-1), v, alpha, causal)


FORWARD_TWINS = (
    reference.attention_forward_rounded,
    reference.attention_forward_base2,
    tiled_twins.forward_in_tiles,
    forward_reversed_in_d,
    *tiled_twins.ORDERS,
)


def backward_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, k, v, o, do, lse, causal, alpha: the forward pass's results, and the loss's derivative by O."""
    given = forward_inputs(case, generator)
    do = _draw(case, tuple(given["q"].shape), generator)
    if case.data == LAYOUTS:
        do = do.permute(3, 2, 0, 1).contiguous().permute(2, 3, 1, 0)
    wide = {name: given[name].float() for name in "qkv"}
    attend = functools.partial(by_heads, reference.attention_forward)
    o, lse = grouped.forward(attend)(**wide, causal=given["causal"], alpha=given["alpha"])
    tensors = {name: given[name] for name in "qkv"} | {"o": o.to(case.dtype), "do": do, "lse": lse}
    return {**tensors, "causal": given["causal"], "alpha": given["alpha"]}


def backward_work(inputs: Inputs) -> Work:
    """Five products over the visible pairs; everything read once, three gradients written once."""
    tensors = {name: value for name, value in inputs.items() if name != "causal"}
    return products_work(tensors, 5, ("q", "k", "v"), inputs["causal"])


def sdpa_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, causal: bool, alpha: float
) -> tuple[Tensor, ...]:
    """The peer: the backward pass of SDPA's flash backend."""
    return backward_cases.sdpa_backward(q, k, v, o, do, lse, alpha, causal)


def cudnn_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, causal: bool, alpha: float
) -> Callable[[], tuple[Tensor, ...]]:
    """The backward pass of SDPA's cuDNN backend, whose own forward pass runs here."""
    attend = torch_attention.by_backend(SDPBackend.CUDNN_ATTENTION)
    return torch_attention.gradients(attend, q, k, v, do, causal, alpha)


def backward_quantities(given: Inputs) -> quantities.Quantities | None:
    """What a right kernel's tiles hold; None where the gradients of K and V are sums over groups of heads."""
    if given["q"].shape[1] != given["k"].shape[1]:
        return None
    rest = {name: value for name, value in given.items() if name != "causal"}
    return quantities.attention_backward(rest, ("dq", "dk", "dv"), given["causal"])


BACKWARD_TWINS = (
    reference.attention_gradients_rounded,
    tiled_twins.gradients_in_tiles,
    tiled_twins.other_order(tiled_twins.gradients_in_tiles),
)
