"""Answers to lesson 03, written without a look at what the grader knows: the thirteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "delta_identity",
    "line V[d, j]: the value matrix is indexed [component, key], but V is [key, component]",
    "indices of V exchanged",
)(
    written(
        """
def delta_identity(P, V, dO, i, d, S_k, D) -> tuple[sp.Expr, sp.Expr]:
    key = sp.Symbol("key", integer=True, nonnegative=True)
    o_id = sp.Sum(P[i, key] * V[d, key], (key, 0, S_k - 1))
    return o_id, sp.Sum(o_id * dO[i, d], (d, 0, D - 1))
""",
        title="v indices swapped",
    )
)

wrong(
    "lse_gradient",
    "line + dlse * ones: the gradient of LSE is added to every score in full, not by the share p_j",
    "dLSE without p",
)(
    written(
        """
def lse_gradient(p: sp.Matrix, dp: sp.Matrix, dlse: sp.Expr) -> sp.Matrix:
    n = p.rows
    through_p = p.multiply_elementwise(dp - p.dot(dp) * sp.ones(n, 1))
    through_lse = dlse * sp.ones(n, 1)
    return through_p + through_lse
""",
        title="dlse everywhere",
    )
)

wrong(
    "attention_dq_dk",
    "second value ds.T * q: alpha stands on dQ only, although S = alpha Q Kᵀ scales both gradients",
    "alpha forgotten in dK",
)(
    written(
        """
def attention_dq_dk(q: sp.Matrix, k: sp.Matrix, ds: sp.Matrix, alpha: sp.Expr) -> tuple[sp.Matrix, sp.Matrix]:
    dscaled_q = ds * k
    return dscaled_q * alpha, ds.T * q
""",
        title="dk without alpha",
    )
)

wrong(
    "dq_in_one_walk",
    "line ds = p * (dp - delta): delta is still a partial sum when a tile uses it, only the last "
    "tile sees the whole",
    "delta so far",
)(
    written(
        """
from torch import Tensor


def dq_in_one_walk(q: Tensor, do: Tensor, lse: Tensor, tiles, alpha: float) -> Tensor:
    dq = torch.zeros_like(q)
    delta = torch.zeros(q.shape[0], 1, dtype=q.dtype, device=q.device)
    for k, v in tiles:
        p = (alpha * (q @ k.T) - lse.unsqueeze(1)).exp()
        dp = do @ v.T
        delta = delta + (p * dp).sum(1, keepdim=True)
        ds = p * (dp - delta)
        dq += ds @ k
    return alpha * dq
""",
        title="running delta",
    )
)

wrong(
    "dq_in_one_walk",
    "line p = torch.softmax(scores, 1): every tile is normalised by itself and lse is never used",
    "a softmax of each tile",
)(
    written(
        """
from torch import Tensor


def dq_in_one_walk(q: Tensor, do: Tensor, lse: Tensor, tiles, alpha: float) -> Tensor:
    a = torch.zeros_like(q)
    b = torch.zeros_like(q)
    e = q.new_zeros(len(q))
    for k, v in tiles:
        scores = alpha * q @ k.mT
        p = torch.softmax(scores, 1)
        gain = p * (do @ v.mT)
        a = a + gain @ k
        b = b + p @ k
        e = e + gain.sum(1)
    return alpha * (a - e[:, None] * b)
""",
        title="softmax of a tile",
    )
)

wrong(
    "attention_backward",
    "line delta = (p * dp).sum(-1): the sum has lost its axis, so it broadcasts along the keys "
    "(and crashes where S_q is not S_k)",
    "crashed",
)(
    written(
        """
from torch import Tensor


def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    p = torch.softmax(q @ k.T * alpha, dim=1)
    dv = p.T @ do
    dp = do @ v.T
    delta = (p * dp).sum(-1)
    ds = p * (dp - delta) * alpha
    return ds @ k, ds.T @ q, dv
""",
        title="delta without keepdim, anew",
    )
)

wrong(
    "attention_backward",
    "line dk = alpha * ds.T @ q: q has been overwritten by alpha * q, so alpha counts twice in dK",
    "alpha applied twice",
)(
    written(
        """
from torch import Tensor


def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    q = alpha * q
    w = torch.softmax(q @ k.T, dim=-1)
    dw = do @ v.T
    o = w @ v
    ds = w * (dw - (o * do).sum(1, keepdim=True))
    dq = alpha * ds @ k
    dk = alpha * ds.T @ q
    dv = w.T @ do
    return dq, dk, dv
""",
        title="alpha into q twice",
    )
)

wrong(
    "delta_preprocess",
    "line prod = o * do: the product is taken in half precision and only the sum is in fp32",
    "precision",
)(
    written(
        """
from torch import Tensor


@triton.jit
def delta_preprocess_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D,
    o_b, o_h, o_s, o_d, do_b, do_h, do_s, do_d,
    BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    r = tl.program_id(0) * BLOCK_S + tl.arange(0, BLOCK_S)
    c = tl.arange(0, BLOCK_D)
    ok = (r[:, None] < S) & (c[None, :] < D)
    o = tl.load(o_ptr + b * o_b + h * o_h + r[:, None] * o_s + c[None, :] * o_d, mask=ok, other=0.0)
    do = tl.load(do_ptr + b * do_b + h * do_h + r[:, None] * do_s + c[None, :] * do_d, mask=ok, other=0.0)
    prod = o * do
    tl.store(delta_ptr + (b * H + h) * S + r, tl.sum(prod.to(tl.float32), axis=1), mask=r < S)


def delta_preprocess(o: Tensor, do: Tensor) -> Tensor:
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    delta_preprocess_kernel[(triton.cdiv(S, 32), H, B)](
        o, do, delta, H, S, D, *o.stride(), *do.stride(), BLOCK_S=32, BLOCK_D=triton.next_power_of_2(D)
    )
    return delta
""",
        title="product in half",
    )
)

wrong(
    "delta_preprocess",
    "line base = (b * H + h) * tl.num_programs(0) * BLOCK_S: heads are taken to be padded to "
    "whole blocks, but delta is dense with S numbers per head",
    "out_of_bounds",
)(
    written(
        """
from torch import Tensor


@triton.jit
def delta_preprocess_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D,
    o_b, o_h, o_s, o_d, do_b, do_h, do_s, do_d,
    BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    i = tl.program_id(0) * BLOCK_S + tl.arange(0, BLOCK_S)
    d = tl.arange(0, BLOCK_D)
    o_ptr += b * o_b + h * o_h
    do_ptr += b * do_b + h * do_h
    ok = (i < S)[:, None] & (d < D)[None, :]
    x = tl.load(o_ptr + i[:, None] * o_s + d[None, :] * o_d, mask=ok, other=0.0).to(tl.float32)
    y = tl.load(do_ptr + i[:, None] * do_s + d[None, :] * do_d, mask=ok, other=0.0).to(tl.float32)
    base = (b * H + h) * tl.num_programs(0) * BLOCK_S
    tl.store(delta_ptr + base + i, tl.sum(x * y, axis=1), mask=i < S)


def delta_preprocess(o: Tensor, do: Tensor) -> Tensor:
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    BLOCK_S, BLOCK_D = 16, triton.next_power_of_2(D)
    delta_preprocess_kernel[(triton.cdiv(S, BLOCK_S), H, B)](
        o, do, delta, H, S, D, *o.stride(), *do.stride(), BLOCK_S=BLOCK_S, BLOCK_D=BLOCK_D
    )
    return delta
""",
        title="padded length",
    )
)

right("attention_backward", "jacobian by einsum")(
    written(
        """
from torch import Tensor


def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    p = torch.softmax(alpha * (q @ k.T), dim=-1)
    jacobian = torch.diag_embed(p) - torch.einsum("ij,ik->ijk", p, p)
    dp = torch.einsum("id,jd->ij", do, v)
    ds = torch.einsum("ijk,ik->ij", jacobian, dp)
    dq = alpha * torch.einsum("ij,jd->id", ds, k)
    dk = alpha * torch.einsum("ij,id->jd", ds, q)
    dv = torch.einsum("ij,id->jd", p, do)
    return dq, dk, dv
"""
    )
)
