"""Answers to lesson 03, written without a look at what the grader knows: the fifteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "attention_dv_dp",
    "dP is multiplied by P entry by entry, the first half of the softmax's backward pass, which "
    "does not belong to O = P V",
    "dP multiplied by P",
)(
    written(
        '''
def attention_dv_dp(p: sp.Matrix, v: sp.Matrix, do: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """(dV, dP) of O = P V: [S_q, S_k], [S_k, D], [S_q, D] → [S_k, D], [S_q, S_k]."""
    dv = p.T * do
    dp = p.multiply_elementwise(do * v.T)
    return dv, dp
''',
        title="softmax too early",
    )
)

wrong(
    "delta_identity",
    "both sums run from 1 to S_k and from 1 to D, as in papers, though keys and components are "
    "counted from 0",
    "counted from one",
)(
    written(
        '''
def delta_identity(P, V, dO, i, d, S_k, D) -> tuple[sp.Expr, sp.Expr]:
    """(o_id, delta_i): a sum over j with a free d, and a sum over d."""
    key = sp.Symbol("key", integer=True)
    o_id = sp.Sum(P[i, key] * V[key, d], (key, 1, S_k))
    delta_i = sp.Sum(o_id * dO[i, d], (d, 1, D))
    return o_id, delta_i
''',
        title="counted from one",
    )
)

wrong(
    "lse_gradient",
    "dlse is added to every entry of dp before the softmax rule (line `g = ...`), where the inner"
    " product takes it off again: LSE's path has no effect",
    "dLSE forgotten",
)(
    written(
        '''
def lse_gradient(p: sp.Matrix, dp: sp.Matrix, dlse: sp.Expr) -> sp.Matrix:
    """ds of one query, by way of p and by way of LSE: two columns [N, 1] and a number → a column [N, 1]."""
    one = sp.ones(p.rows, 1)
    g = dp + dlse * one  # two paths: their gradients add
    return p.multiply_elementwise(g - one * p.dot(g))
''',
        title="dlse into dp",
    )
)

wrong(
    "attention_dq_dk",
    "dK is computed with the scaled query `qs` and multiplied by alpha again: alpha squared",
    "alpha twice in dK",
)(
    written(
        '''
def attention_dq_dk(q: sp.Matrix, k: sp.Matrix, ds: sp.Matrix, alpha: sp.Expr) -> tuple[sp.Matrix, sp.Matrix]:
    """(dQ, dK) of S = alpha Q Kᵀ: [S_q, D], [S_k, D], [S_q, S_k], a number → [S_q, D], [S_k, D]."""
    qs = alpha * q  # S = qs Kᵀ
    dq = alpha * ds * k
    dk = alpha * ds.T * qs
    return dq, dk
''',
        title="alpha twice on dk",
    )
)

wrong(
    "dq_in_one_walk",
    "delta is used inside the loop while it is still growing (line `dq = dq + ...`), so all tiles"
    " but the last subtract an incomplete delta",
    "delta so far",
)(
    written(
        '''
from torch import Tensor


def dq_in_one_walk(q: Tensor, do: Tensor, lse: Tensor, tiles, alpha: float) -> Tensor:
    """dQ [S_q, D] from one walk over tiles (k, v) of the keys and values."""
    dq = torch.zeros_like(q)
    delta = q.new_zeros(q.shape[0], 1)
    for k, v in tiles:
        s = alpha * (q @ k.mT)
        p = (s - lse.unsqueeze(1)).exp()
        dp = do @ v.mT
        delta = delta + (p * dp).sum(-1, keepdim=True)
        dq = dq + (p * (dp - delta)) @ k
    return alpha * dq
''',
        title="running delta, once more, once more",
    )
)

wrong(
    "attention_backward",
    "the row's maximum is taken of Q Kᵀ before alpha is applied (line `e = ...`): with a negative"
    " alpha the exponent is positive and overflows",
    "maximum before alpha",
)(
    written(
        '''
from torch import Tensor


def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(dQ, dK, dV) of O = softmax(alpha Q Kᵀ) V, given dO: matrices [S, D]."""
    qk = q @ k.T
    e = torch.exp(alpha * (qk - qk.max(dim=1, keepdim=True).values))
    p = e / e.sum(dim=1, keepdim=True)
    o = p @ v
    dv = p.T @ do
    dp = do @ v.T
    ds = p * (dp - (o * do).sum(dim=1, keepdim=True))
    dq = alpha * (ds @ k)
    dk = alpha * (ds.T @ q)
    return dq, dk, dv
''',
        title="maximum before alpha",
    )
)

wrong(
    "delta_preprocess",
    "two mistakes: delta is stored at `(h * H + b) * S`, batch and head exchanged, and o * do is "
    "multiplied in half precision before the conversion to fp32",
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
    # reads 2 · BLOCK_S · D, writes BLOCK_S numbers
    h = tl.program_id(1).to(tl.int64)  # which head, of which sequence; 64 bits: h · o_h may pass 2³¹
    b = tl.program_id(2).to(tl.int64)
    i = tl.program_id(0) * BLOCK_S + tl.arange(0, BLOCK_S)  # [BLOCK_S] queries; from S on, none
    d = tl.arange(0, BLOCK_D)  # [BLOCK_D] components; from D on, none
    rows_ok = i < S
    ok = rows_ok[:, None] & (d[None, :] < D)
    o = tl.load(o_ptr + b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d, mask=ok, other=0.0)
    g = tl.load(do_ptr + b * do_b + h * do_h + i[:, None] * do_s + d[None, :] * do_d, mask=ok, other=0.0)
    prod = (o * g).to(tl.float32)
    tl.store(delta_ptr + (h * H + b) * S + i, tl.sum(prod, axis=1), mask=rows_ok)


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
        title="batch and head swapped",
    )
)

right("attention_backward", "einsum and logsumexp")(
    written(
        '''
from torch import Tensor


def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(dQ, dK, dV) of O = softmax(alpha Q Kᵀ) V, given dO: matrices [S, D]."""
    s = alpha * torch.einsum("id,jd->ij", q, k)
    p = torch.exp(s - torch.logsumexp(s, dim=1, keepdim=True))
    dp = torch.einsum("id,jd->ij", do, v)
    ds = alpha * p * (dp - torch.einsum("ij,ij->i", p, dp)[:, None])
    return (
        torch.einsum("ij,jd->id", ds, k),
        torch.einsum("ij,id->jd", ds, q),
        torch.einsum("ij,id->jd", p, do),
    )
'''
    )
)
