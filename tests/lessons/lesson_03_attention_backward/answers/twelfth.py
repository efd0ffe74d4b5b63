"""Answers to lesson 03, written without a look at what the grader knows: the twelfth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "attention_backward",
    "`ds = p * dp - delta`: delta is subtracted outside the product instead of from dP.",
    "one edit",
)(
    written(
        """
from torch import Tensor


def attention_backward(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
    P = (q @ k.mT * alpha).softmax(-1)
    O = P @ v
    dV = P.mT @ do
    dP = do @ v.mT
    delta = torch.sum(O * do, -1, keepdim=True)
    dS = P * dP - delta
    return alpha * (dS @ k), alpha * (dS.mT @ q), dV
""",
        title="delta outside the product",
    )
)

wrong(
    "attention_dq_dk",
    "`dK = ds.T * q` lacks the factor alpha.",
    "alpha forgotten in dK",
)(
    written(
        """
def attention_dq_dk(q: sp.Matrix, k: sp.Matrix, ds: sp.Matrix, alpha: sp.Expr) -> tuple[sp.Matrix, sp.Matrix]:
    dQ = (ds * k) * alpha
    dK = ds.T * q
    return dQ, dK
""",
        title="alpha only in dq",
    )
)

wrong(
    "delta_identity",
    "the limits `(j, 0, S_k)` and `(d, 0, D)` are half-open in Python but inclusive in sp.Sum: "
    "one term too many in each sum.",
    "one term too many",
)(
    written(
        """
def delta_identity(P, V, dO, i, d, S_k, D) -> tuple[sp.Expr, sp.Expr]:
    key = sp.symbols("key", integer=True)
    o_id = sp.Sum(P[i, key] * V[key, d], (key, 0, S_k))
    delta_i = sp.Sum(dO[i, d] * o_id, (d, 0, D))
    return o_id, delta_i
""",
        title="range like python",
    )
)

wrong(
    "delta_preprocess",
    "the store index `(h * B_ + b) * S` takes batch and head in the wrong order (and needs B, for"
    " which num_programs(2) is asked).",
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
    ok = (i < S)[:, None] & (d < D)[None, :]
    o = tl.load(o_ptr + b * o_b + h * o_h + i[:, None] * o_s + d[None, :] * o_d, mask=ok, other=0.0)
    g = tl.load(do_ptr + b * do_b + h * do_h + i[:, None] * do_s + d[None, :] * do_d, mask=ok, other=0.0)
    row = tl.sum(o.to(tl.float32) * g.to(tl.float32), axis=1)
    B_ = tl.num_programs(2)
    tl.store(delta_ptr + (h * B_ + b) * S + i, row, mask=i < S)


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
        title="head and batch swapped",
    )
)

wrong(
    "dq_in_one_walk",
    "dS is made inside the loop with the delta of the tiles seen so far (`ds = p * (dp - "
    "delta)`): only the last tile gets the whole delta.",
    "delta so far",
)(
    written(
        """
from torch import Tensor


def dq_in_one_walk(q: Tensor, do: Tensor, lse: Tensor, tiles, alpha: float) -> Tensor:
    dq = torch.zeros_like(q)
    delta = q.new_zeros(q.shape[0], 1)
    for k, v in tiles:
        p = (alpha * (q @ k.mT) - lse[:, None]).exp()
        dp = do @ v.mT
        delta = delta + (p * dp).sum(-1, keepdim=True)
        ds = p * (dp - delta)
        dq += ds @ k
    return alpha * dq
""",
        title="delta so far",
    )
)

wrong(
    "dq_in_one_walk",
    "walks `tiles` twice: the second `for` finds the generator exhausted, so dq stays zero.",
    "crashed",
)(
    written(
        """
from torch import Tensor


def dq_in_one_walk(q: Tensor, do: Tensor, lse: Tensor, tiles, alpha: float) -> Tensor:
    def probabilities(k):
        return torch.exp(alpha * q @ k.T - lse.unsqueeze(1))

    delta = torch.zeros(q.shape[0], dtype=q.dtype, device=q.device)
    for k, v in tiles:
        delta += (probabilities(k) * (do @ v.T)).sum(1)
    dq = torch.zeros_like(q)
    for k, v in tiles:
        dq += probabilities(k) * (do @ v.T - delta[:, None]) @ k
    return alpha * dq
""",
        title="two walks",
    )
)

wrong(
    "lse_gradient",
    "dLSE is added to every score as it is (`+ dlse * ones`), without the factor p_j = ∂LSE/∂s_j.",
    "dLSE without p",
)(
    written(
        """
def lse_gradient(p: sp.Matrix, dp: sp.Matrix, dlse: sp.Expr) -> sp.Matrix:
    one = sp.ones(p.rows, 1)
    through_p = p.multiply_elementwise(dp - p.dot(dp) * one)
    return through_p + dlse * one
""",
        title="dlse without p",
    )
)

right("attention_backward", "covariance form")(
    written(
        """
from torch import Tensor


def attention_backward(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
    s = torch.einsum("id,jd->ij", q, k) * alpha
    p = (s - s.logsumexp(1, keepdim=True)).exp()
    dp = torch.einsum("id,jd->ij", do, v)
    centred = dp - torch.einsum("ij,ij->i", p, dp)[:, None]
    ds = alpha * p * centred
    return torch.einsum("ij,jd->id", ds, k), torch.einsum("ij,id->jd", ds, q), torch.einsum("ij,id->jd", p, do)
"""
    )
)
