"""Answers to lesson 03, written without a look at what the grader knows: the eleventh set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "attention_dv_dp",
    "`v * do.T` is dP transposed, [S_k, S_q]; it should be do * v.T",
    "transposed",
)(
    written(
        """
def attention_dv_dp(p: sp.Matrix, v: sp.Matrix, do: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    return p.T * do, v * do.T
""",
        title="dp transposed",
    )
)

wrong(
    "delta_identity",
    "the line `o_id = sp.Sum(P[i, j] * V[j, d] * dO[i, d], ...)` leaves dO inside the inner sum, "
    "and delta multiplies by it again",
    "dO inside O",
)(
    written(
        """
def delta_identity(P, V, dO, i, d, S_k, D) -> tuple[sp.Expr, sp.Expr]:
    key = sp.Symbol("key", integer=True)
    o_id = sp.Sum(P[i, key] * V[key, d] * dO[i, d], (key, 0, S_k - 1))
    delta_i = sp.Sum(dO[i, d] * o_id, (d, 0, D - 1))
    return o_id, delta_i
""",
        title="do twice",
    )
)

wrong(
    "lse_gradient",
    "the line `inner = p.dot(dp) + dlse` subtracts dlse with delta; the derivative of LSE by s_j "
    "is +p_j, so it is delta - dlse",
    "the sign of dLSE",
)(
    written(
        """
def lse_gradient(p: sp.Matrix, dp: sp.Matrix, dlse: sp.Expr) -> sp.Matrix:
    inner = p.dot(dp) + dlse
    return sp.Matrix([p_j * (dp_j - inner) for p_j, dp_j in zip(p, dp)])
""",
        title="sign of dlse",
    )
)

wrong(
    "attention_dq_dk",
    "`alpha * q.T * ds` is dK transposed, [D, S_k]; it should be alpha * ds.T * q",
    "dK transposed",
)(
    written(
        """
def attention_dq_dk(q: sp.Matrix, k: sp.Matrix, ds: sp.Matrix, alpha: sp.Expr) -> tuple[sp.Matrix, sp.Matrix]:
    dq = alpha * ds * k
    dk = alpha * q.T * ds
    return dq, dk
""",
        title="dk left transposed",
    )
)

wrong(
    "dq_in_one_walk",
    "the line `delta = (p * dp).sum(1, keepdim=True)` is the delta of one tile only and is "
    "subtracted at once, though delta needs all keys",
    "delta of the tile alone",
)(
    written(
        """
from torch import Tensor


def dq_in_one_walk(q: Tensor, do: Tensor, lse: Tensor, tiles, alpha: float) -> Tensor:
    dq = torch.zeros_like(q)
    for k, v in tiles:
        s = alpha * q @ k.T
        p = torch.exp(s - lse[:, None])
        dp = do @ v.T
        delta = (p * dp).sum(1, keepdim=True)
        ds = p * (dp - delta)
        dq += alpha * ds @ k
    return dq
""",
        title="delta of the tile",
    )
)

wrong(
    "attention_backward",
    "the line `e = torch.exp(alpha * q @ k.T)` takes exponentials without subtracting the "
    "maximum: scores beyond 88 overflow and P is inf/inf",
    "maximum not subtracted",
)(
    written(
        """
from torch import Tensor


def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    e = torch.exp(alpha * q @ k.T)
    p = e / e.sum(dim=1, keepdim=True)
    o = p @ v
    dv = p.T @ do
    delta = torch.einsum("id,id->i", do, o)
    ds = p * (do @ v.T - delta[:, None])
    return alpha * ds @ k, alpha * ds.T @ q, dv
""",
        title="softmax without maximum",
    )
)

wrong(
    "attention_backward",
    "the line `ds = alpha * p * (dp - delta)` has alpha already, and the last line multiplies dq "
    "and dk by it again",
    "alpha applied twice",
)(
    written(
        """
from torch import Tensor


def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    scores = alpha * (q @ k.mT)
    p = scores.softmax(-1)
    dp = do @ v.mT
    delta = (p * dp).sum(-1, keepdim=True)
    ds = alpha * p * (dp - delta)
    dq, dk, dv = ds @ k, ds.mT @ q, p.mT @ do
    return alpha * dq, alpha * dk, dv
""",
        title="alpha twice",
    )
)
