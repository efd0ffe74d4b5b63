"""Answers to lesson 03, written without a look at what the grader knows: the sixteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "attention_dv_dp",
    "the line `dP = p.multiply_elementwise(…)` goes on through the softmax, so what is returned as dP is dS",
    "dS in place of dP",
)(
    written(
        '''
def attention_dv_dp(p: sp.Matrix, v: sp.Matrix, do: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """(dV, dP) of O = P V: [S_q, S_k], [S_k, D], [S_q, D] → [S_k, D], [S_q, S_k]."""
    dV = p.T * do
    dA = do * v.T
    ones = sp.ones(p.cols, 1)
    delta = p.multiply_elementwise(dA) * ones
    dP = p.multiply_elementwise(dA - delta * ones.T)
    return dV, dP
''',
        title="one step too far",
    )
)

wrong(
    "delta_identity",
    "both sums run as in a paper from 1 to S_k and from 1 to D, where indices are counted from 0 "
    "to S_k − 1 and D − 1",
    "counted from one",
)(
    written(
        '''
def delta_identity(P, V, dO, i, d, S_k, D) -> tuple[sp.Expr, sp.Expr]:
    """(o_id, delta_i): a sum over j with a free d, and a sum over d."""
    j = sp.Symbol("j", integer=True)
    o_id = sp.Sum(P[i, j] * V[j, d], (j, 1, S_k))
    delta_i = sp.Sum(o_id * dO[i, d], (d, 1, D))
    return o_id, delta_i
''',
        title="count from one",
    )
)

wrong(
    "lse_gradient",
    "the line `g = …` adds dlse to dp before the softmax formula, where it enters the inner "
    "product as well and cancels: the path through LSE contributes nothing",
    "dLSE forgotten",
)(
    written(
        '''
def lse_gradient(p: sp.Matrix, dp: sp.Matrix, dlse: sp.Expr) -> sp.Matrix:
    """ds of one query, by way of p and by way of LSE: two columns [N, 1] and a number → a column [N, 1]."""
    one = sp.ones(p.rows, 1)
    g = dp + dlse * one  # the two gradients add
    return p.multiply_elementwise(g - p.dot(g) * one)
''',
        title="dlse into dp, once more",
    )
)

wrong(
    "attention_dq_dk",
    "the line `raw = ds / alpha` undoes the scaling on the way back, where the gradient has to be"
    " multiplied by alpha",
    "divided by alpha",
)(
    written(
        '''
def attention_dq_dk(q: sp.Matrix, k: sp.Matrix, ds: sp.Matrix, alpha: sp.Expr) -> tuple[sp.Matrix, sp.Matrix]:
    """(dQ, dK) of S = alpha Q Kᵀ: [S_q, D], [S_k, D], [S_q, S_k], a number → [S_q, D], [S_k, D]."""
    raw = ds / alpha  # gradient of the unscaled scores q k^T
    return raw * k, raw.T * q
''',
        title="undo the scale",
    )
)

wrong(
    "dq_in_one_walk",
    "two: the line `ds = …` subtracts the delta of the tiles seen so far instead of the whole "
    "row's, and `p = …` forgets alpha in the scores",
    "delta so far",
    "scores without alpha",
)(
    written(
        '''
from torch import Tensor


def dq_in_one_walk(q: Tensor, do: Tensor, lse: Tensor, tiles, alpha: float) -> Tensor:
    """dQ [S_q, D] from one walk over tiles (k, v) of the keys and values."""
    dq = torch.zeros_like(q)
    delta = torch.zeros_like(lse)
    for k, v in tiles:
        p = torch.exp(q @ k.T - lse[:, None])
        dp = do @ v.T
        delta = delta + (p * dp).sum(dim=1)
        ds = p * (dp - delta[:, None])
        dq = dq + ds @ k
    return alpha * dq
''',
        title="delta so far, once more",
    )
)

wrong(
    "attention_backward",
    "`q = q * alpha` scales q once and for all, and the line for dk multiplies by alpha again, so"
    " dK comes out with alpha squared",
    "alpha applied twice",
)(
    written(
        '''
from torch import Tensor


def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(dQ, dK, dV) of O = softmax(alpha Q Kᵀ) V, given dO: matrices [S, D]."""
    q = q * alpha  # cheaper than scaling S_q x S_k scores
    attn = (q @ k.mT).softmax(dim=-1)
    out = attn @ v

    dv = attn.mT @ do
    d_attn = do @ v.mT
    delta = (out * do).sum(dim=-1, keepdim=True)
    d_scores = attn * (d_attn - delta)
    dq = alpha * (d_scores @ k)
    dk = alpha * (d_scores.mT @ q)
    return dq, dk, dv
''',
        title="scaled q reused",
    )
)

wrong(
    "delta_preprocess",
    "two: the load of do takes its last stride from o (`d[None, :] * o_d`), and the line `head = "
    "…` takes the head's length in delta to be rounded up to whole blocks (num_programs · "
    "BLOCK_S) instead of S",
    "out_of_bounds",
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
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    i = tl.program_id(0) * BLOCK_S + tl.arange(0, BLOCK_S)
    d = tl.arange(0, BLOCK_D)
    keep = (i < S)[:, None] & (d < D)[None, :]
    o = tl.load(o_ptr + b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d, mask=keep, other=0.0)
    do = tl.load(do_ptr + b * do_b + h * do_h + i[:, None] * do_s + d[None, :] * o_d, mask=keep, other=0.0)
    row = tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)
    head = (b * H + h) * (tl.num_programs(0) * BLOCK_S)
    tl.store(delta_ptr + head + i, row, mask=i < S)


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
        title="padded heads",
    )
)
