"""Answers to lesson 03, written without a look at what the grader knows: the fourteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "attention_dv_dp",
    "line `dP`: uses P ∘ (dO Vᵀ), already the worth weighted by P",
    "dP multiplied by P",
)(
    written(
        """
def attention_dv_dp(p: sp.Matrix, v: sp.Matrix, do: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    dV = p.T * do
    dP = p.multiply_elementwise(do * v.T)
    return dV, dP
""",
        title="elementwise dp",
    )
)

wrong(
    "delta_identity",
    "line `o_id`: the sum over j runs to S_k inclusive, one key too many",
    "index range",
)(
    written(
        """
def delta_identity(P, V, dO, i, d, S_k, D) -> tuple[sp.Expr, sp.Expr]:
    j = sp.Symbol("j", integer=True)
    o_id = sp.Sum(P[i, j] * V[j, d], (j, 0, S_k))
    delta_i = sp.Sum(dO[i, d] * o_id, (d, 0, D - 1))
    return o_id, delta_i
""",
        title="bound one too far",
    )
)

wrong(
    "lse_gradient",
    "line `return`: the path through LSE is added as dlse itself, without the factor p",
    "dLSE without p",
)(
    written(
        """
def lse_gradient(p: sp.Matrix, dp: sp.Matrix, dlse: sp.Expr) -> sp.Matrix:
    d = sum(p[j] * dp[j] for j in range(p.rows))
    return sp.Matrix([p[j] * (dp[j] - d) + dlse for j in range(p.rows)])
""",
        title="dlse without p, once more",
    )
)

wrong(
    "attention_dq_dk",
    "line `return`: dK is divided by alpha instead of multiplied",
    "factor",
)(
    written(
        """
from flashlearn.lessons.lesson_03_attention_backward.one_walk import dq


def attention_dq_dk(q: sp.Matrix, k: sp.Matrix, ds: sp.Matrix, alpha: sp.Expr) -> tuple[sp.Matrix, sp.Matrix]:
    dq = (ds * alpha) * k
    dk = ds.T * q / alpha
    return dq, dk
""",
        title="alpha divided",
    )
)

wrong(
    "dq_in_one_walk",
    "line `out +=`: subtracts the delta known so far inside the loop, although it is complete "
    "only after the last tile",
    "delta so far",
)(
    written(
        """
from torch import Tensor


def dq_in_one_walk(q: Tensor, do: Tensor, lse: Tensor, tiles, alpha: float) -> Tensor:
    out = torch.zeros_like(q)
    delta = q.new_zeros(q.shape[0], 1)
    for kt, vt in tiles:
        p = torch.exp(alpha * (q @ kt.mT) - lse.unsqueeze(1))
        dp = do @ vt.mT
        delta = delta + (p * dp).sum(1, keepdim=True)
        out += (p * (dp - delta)) @ kt
    return alpha * out
""",
        title="running delta, once more",
    )
)

wrong(
    "attention_backward",
    "line `p`: softmax over dim 0, the queries; everything below is consistent with it",
    "softmax over the queries",
)(
    written(
        """
from torch import Tensor


def attention_backward(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float):
    scores = alpha * (q @ k.T)
    p = scores.softmax(dim=0)
    dv = p.T @ do
    dp = do @ v.T
    ds = p * (dp - (p * dp).sum(dim=1, keepdim=True))
    return alpha * (ds @ k), alpha * (ds.T @ q), dv
""",
        title="softmax over queries",
    )
)

wrong(
    "attention_backward",
    "line `delta`: keepdim forgotten, so delta is subtracted along the keys (or does not broadcast)",
    "crashed",
)(
    written(
        """
from torch import Tensor
from flashlearn.lessons.lesson_03_attention_backward.one_walk import dq


def attention_backward(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float):
    p = torch.softmax(q @ k.T * alpha, -1)
    o = p @ v
    dv = p.T @ do
    delta = (do * o).sum(-1)
    ds = p * (do @ v.T - delta)
    dq = alpha * ds @ k
    dk = alpha * ds.T @ q
    return dq, dk, dv
""",
        title="ds in k order",
    )
)

wrong(
    "delta_preprocess",
    "line `tl.store`: index (h * B + b) * S, so the output is laid out [H, B, S] instead of [B, H, S]",
    "permuted heads",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def delta_preprocess_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D,
    o_b, o_h, o_s, o_d,  # strides of o, counted in elements
    do_b, do_h, do_s, do_d,  # strides of do: its own
    BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # reads 2 · BLOCK_S · D, writes BLOCK_S numbers
    h = tl.program_id(1).to(tl.int64)  # which head, of which sequence; 64 bits: h · o_h may pass 2³¹
    b = tl.program_id(2).to(tl.int64)
    i = tl.program_id(0) * BLOCK_S + tl.arange(0, BLOCK_S)  # [BLOCK_S] queries; from S on, none
    d = tl.arange(0, BLOCK_D)  # [BLOCK_D] components; from D on, none
    in_queries = i < S
    in_tile = in_queries[:, None] & (d < D)[None, :]
    o_ptrs = o_ptr + b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d
    do_ptrs = do_ptr + b * do_b + h * do_h + i[:, None] * do_s + d[None, :] * do_d
    # padding holds 0 · 0, which adds nothing to the sum
    o = tl.load(o_ptrs, mask=in_tile, other=0.0).to(tl.float32)  # [BLOCK_S, BLOCK_D]
    do = tl.load(do_ptrs, mask=in_tile, other=0.0).to(tl.float32)
    delta = tl.sum(o * do, axis=1)  # [BLOCK_S]
    tl.store(delta_ptr + (h * tl.num_programs(2) + b) * S + i, delta, mask=in_queries)


def delta_preprocess(o: Tensor, do: Tensor) -> Tensor:
    """delta = Σ_d do ∘ o in fp32: [B, H, S, D] twice, of any strides → [B, H, S] contiguous."""
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    BLOCK_S, BLOCK_D = 16, triton.next_power_of_2(D)
    delta_preprocess_kernel[(triton.cdiv(S, BLOCK_S), H, B)](
        o, do, delta, H, S, D, *o.stride(), *do.stride(), BLOCK_S=BLOCK_S, BLOCK_D=BLOCK_D,
        num_warps=1,  # one warp's threads add up a row without waiting for other warps
    )
    return delta
''',
        title="head from H S swapped",
    )
)

wrong(
    "delta_preprocess",
    "line `do_ptrs`: do is addressed by the row stride of o",
    "out_of_bounds",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def delta_preprocess_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D,
    o_b, o_h, o_s, o_d,
    do_b, do_h, do_s, do_d,
    BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
):
  
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    i = tl.program_id(0) * BLOCK_S + tl.arange(0, BLOCK_S)
    d = tl.arange(0, BLOCK_D)
    in_queries = i < S
    in_tile = in_queries[:, None] & (d < D)[None, :]
    o_ptrs = o_ptr + b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d
    do_ptrs = do_ptr + b * do_b + h * do_h + i[:, None] * o_s + d[None, :] * do_d
  
    o = tl.load(o_ptrs, mask=in_tile, other=0.0).to(tl.float32)
    do = tl.load(do_ptrs, mask=in_tile, other=0.0).to(tl.float32)
    delta = tl.sum(o * do, axis=1)
    tl.store(delta_ptr + (b * H + h) * S + i, delta, mask=in_queries)


def delta_preprocess(o: Tensor, do: Tensor) -> Tensor:
    """delta = Σ_d do ∘ o in fp32: [B, H, S, D] twice, of any strides → [B, H, S] contiguous."""
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    BLOCK_S, BLOCK_D = 16, triton.next_power_of_2(D)
    delta_preprocess_kernel[(triton.cdiv(S, BLOCK_S), H, B)](
        o, do, delta, H, S, D, *o.stride(), *do.stride(), BLOCK_S=BLOCK_S, BLOCK_D=BLOCK_D,
        num_warps=1,
    )
    return delta
''',
        title="do strides of o",
    )
)
