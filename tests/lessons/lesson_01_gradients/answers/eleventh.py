"""Answers to lesson 01, written without a look at what the grader knows: the eleventh set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "matmul_jacobian",
    "the line `return sp.kronecker_product(W.T, sp.eye(X.rows))` is the Jacobian for vec taken "
    "column by column (as textbooks have it); row by row it is eye ⊗ W.T",
    "columns stacked instead of rows",
)(
    written(
        """
def matmul_jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    # vec(A X B) = (B^T kron A) vec(X) with A the identity
    return sp.kronecker_product(W.T, sp.eye(X.rows))
""",
        title="column major vec",
    )
)

wrong(
    "matmul_vjp",
    "the line `dX = W * dY.T` is dX transposed, [K, M]: the last .T is missing",
    "transposed",
)(
    written(
        """
def matmul_vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    dX = W * dY.T
    dW = X.T * dY
    return dX, dW
""",
        title="dx left transposed",
    )
)

wrong(
    "reduce_and_broadcast_vjp",
    "the line `dX = dY * (1 - 1/N)` lets the mean of a row depend on X_ij only where the same "
    "Y_ij is meant: the mean goes to all N outputs of the row, so the row mean of dY must be "
    "subtracted",
    "the row's own entry only",
)(
    written(
        """
def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    N = dY.cols
    # dY_ij/dX_ij = 1 - 1/N
    dX = dY * (1 - sp.Rational(1, N))
    db = sp.Matrix(1, N, lambda _, j: sum(dY[i, j] for i in range(dY.rows)))
    return dX, db
""",
        title="mean touches own entry",
    )
)

wrong(
    "bias_gradient",
    "one program per tile with atomics, but `total = torch.empty(N, ...)`: the sums begin at "
    "whatever the memory holds instead of at 0",
    "uninitialised memory",
)(
    written(
        """
from torch import Tensor


@triton.jit
def column_part(dy_ptr, total_ptr, M, N, dy_row, dy_col, TM: tl.constexpr, TN: tl.constexpr):
    r = (tl.program_id(0) * TM + tl.arange(0, TM)).to(tl.int64)
    c = (tl.program_id(1) * TN + tl.arange(0, TN)).to(tl.int64)
    ok = (r < M)[:, None] & (c < N)[None, :]
    tile = tl.load(dy_ptr + r[:, None] * dy_row + c[None, :] * dy_col, mask=ok, other=0.0)
    part = tl.sum(tile.to(tl.float32), axis=0)
    tl.atomic_add(total_ptr + c, part, mask=c < N)


def bias_gradient(dy: Tensor) -> Tensor:
    M, N = dy.shape
    total = torch.empty(N, dtype=torch.float32, device=dy.device)
    column_part[(triton.cdiv(M, 64), triton.cdiv(N, 32))](dy, total, M, N, *dy.stride(), TM=64, TN=32)
    return total.to(dy.dtype)
""",
        title="atomics on empty",
    )
)

right("bias_gradient", "atomic tiles")(
    written(
        """
from torch import Tensor


@triton.jit
def tile_into_total(dy_ptr, total_ptr, M, N, dy_row, dy_col, TM: tl.constexpr, TN: tl.constexpr):
    r = (tl.program_id(1) * TM + tl.arange(0, TM)).to(tl.int64)
    c = (tl.program_id(0) * TN + tl.arange(0, TN)).to(tl.int64)
    tile = tl.load(
        dy_ptr + c[:, None] * dy_col + r[None, :] * dy_row,
        mask=(c[:, None] < N) & (r[None, :] < M), other=0.0,
    )
    tl.atomic_add(total_ptr + c, tl.sum(tile.to(tl.float32), axis=1), mask=c < N)


def bias_gradient(dy: Tensor) -> Tensor:
    M, N = dy.shape
    total = torch.zeros(N, dtype=torch.float32, device=dy.device)
    tile_into_total[(triton.cdiv(N, 16), triton.cdiv(M, 64))](dy, total, M, N, *dy.stride(), TM=64, TN=16)
    return total.to(dy.dtype)
"""
    )
)
