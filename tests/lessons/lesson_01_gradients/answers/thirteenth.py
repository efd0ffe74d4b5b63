"""Answers to lesson 01, written without a look at what the grader knows: the thirteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "matmul_jacobian",
    "the line returns W.T ⊗ I, which is the Jacobian for column-major vec; row-major asks for I ⊗ W.T",
    "columns stacked instead of rows",
)(
    written(
        """
def matmul_jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    return sp.Matrix(sp.kronecker_product(W.T, sp.eye(X.rows)))
""",
        title="kronecker other way",
    )
)

wrong(
    "matmul_vjp",
    "line dW = X.T * dY / X.rows: the weight gradient is divided by the number of rows, as in a "
    "mean loss, which is not in the formula",
    "dW averaged over the rows",
)(
    written(
        """
def matmul_vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    batch = X.rows
    dX = (W * dY.T).T
    dW = X.T * dY / batch
    return dX, dW
""",
        title="averaged dw",
    )
)

wrong(
    "linear_backward",
    "lines x = x.float() ...: computed in fp32 and never converted back, so dx and dw have not "
    "the dtype of the inputs when those are half",
    "shape",
)(
    written(
        """
from torch import Tensor


def linear_backward(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    x, w, dy = x.float(), w.float(), dy.float()
    K, N = w.shape
    dx = torch.einsum("...n,kn->...k", dy, w)
    dw = torch.einsum("ik,in->kn", x.reshape(-1, K), dy.reshape(-1, N))
    return dx, dw
""",
        title="fp32 out",
    )
)

wrong(
    "linear_backward",
    "line x.reshape(K, -1) @ dy.reshape(-1, N): reshape is taken for a transpose, so dw mixes up "
    "the entries of x",
    "one edit",
)(
    written(
        """
from torch import Tensor


def linear_backward(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    K, N = w.shape
    dw = x.reshape(K, -1) @ dy.reshape(-1, N)
    dx = dy @ w.T
    return dx, dw
""",
        title="flatten all rows first",
    )
)

wrong(
    "reduce_and_broadcast_vjp",
    "line dX = dY * (1 - 1/N): each entry keeps only the derivative of the mean by itself and "
    "loses what the other columns of the row feel",
    "the row's own entry only",
)(
    written(
        """
def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    M, N = dY.shape
    dX = dY * (1 - sp.Rational(1, N))
    db = sp.Matrix(1, N, lambda _, j: sum(dY[i, j] for i in range(M)))
    return dX, db
""",
        title="own share only",
    )
)

wrong(
    "bias_gradient",
    "line db = torch.zeros(N, dtype=dy.dtype): the tiles are added atomically into a buffer of "
    "the dtype of dy, so half-precision inputs are accumulated in half and not in fp32",
    "precision",
)(
    written(
        """
from torch import Tensor


@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    r = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    c = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    tile = tl.load(
        dy_ptr + r[:, None] * dy_row + c[None, :] * dy_col, mask=(r < M)[:, None] & (c < N)[None, :], other=0.0
    )
    part = tl.sum(tile.to(tl.float32), axis=0)
    tl.atomic_add(db_ptr + c, part.to(db_ptr.dtype.element_ty), mask=c < N)


def bias_gradient(dy: Tensor) -> Tensor:
    M, N = dy.shape
    db = torch.zeros(N, dtype=dy.dtype, device=dy.device)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 64))
    bias_gradient_kernel[grid](dy, db, M, N, dy.stride(0), dy.stride(1), BLOCK_M=16, BLOCK_N=64)
    return db
""",
        title="half atomics",
    )
)

wrong(
    "bias_gradient",
    "line for t in range(M // BLOCK_M): the last, partly filled tile of rows is never visited",
    "the last, short tile left out",
)(
    written(
        """
from torch import Tensor


@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    cols = (tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    rows = tl.arange(0, BLOCK_M).to(tl.int64)
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for t in range(M // BLOCK_M):
        r = t * BLOCK_M + rows
        ok = (r < M)[:, None] & (cols < N)[None, :]
        acc += tl.load(dy_ptr + r[:, None] * dy_row + cols[None, :] * dy_col, mask=ok, other=0.0).to(tl.float32)
    tl.store(db_ptr + cols, tl.sum(acc, axis=0), mask=cols < N)


def bias_gradient(dy: Tensor) -> Tensor:
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    bias_gradient_kernel[(triton.cdiv(N, 32),)](dy, db, M, N, *dy.stride(), BLOCK_M=16, BLOCK_N=32)
    return db
""",
        title="partials of full tiles",
    )
)

right("bias_gradient", "partial sums then torch")(
    written(
        """
from torch import Tensor


@triton.jit
def partial_sums_kernel(dy_ptr, part_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    i = t * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    ok = (i < M)[:, None] & (j < N)[None, :]
    tile = tl.load(dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col, mask=ok, other=0.0)
    tl.store(part_ptr + t * N + j, tl.sum(tile.to(tl.float32), axis=0), mask=j < N)


def bias_gradient(dy: Tensor) -> Tensor:
    M, N = dy.shape
    tiles = triton.cdiv(M, 64)
    part = torch.empty((tiles, N), dtype=torch.float32, device=dy.device)
    partial_sums_kernel[(tiles, triton.cdiv(N, 32))](dy, part, M, N, *dy.stride(), BLOCK_M=64, BLOCK_N=32)
    return part.sum(dim=0).to(dy.dtype)
"""
    )
)
