"""Answers to lesson 01, written without a look at what the grader knows: the fifteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "matmul_jacobian",
    "`divmod(r, M)` unfolds the row number r = i * N + j by M instead of by N",
    "crashed",
)(
    written(
        '''
def matmul_jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    """J[Y_ij, X_ab] = ∂Y_ij/∂X_ab of Y = X W, both row by row: [M, K], [K, N] → [M N, M K]."""
    M, K = X.shape
    N = W.cols
    J = sp.zeros(M * N, M * K)
    for r in range(M * N):
        i, j = divmod(r, M)
        for c in range(M * K):
            a, b = divmod(c, K)
            if i == a:
                J[r, c] = W[b, j]
    return J
''',
        title="divmod by rows",
    )
)

wrong(
    "matmul_vjp",
    "dW is divided by X.rows, as in courses whose loss is a mean over the batch; the rule for Y ="
    " X W has no such factor",
    "dW averaged over the rows",
)(
    written(
        '''
def matmul_vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """dX [M, K] and dW [K, N] of Y = X W, from X [M, K], W [K, N] and dY [M, N]."""
    m = X.rows  # number of examples
    dW = (X.T * dY) / m
    dX = dY * W.T
    return dX, dW
''',
        title="mean over rows",
    )
)

wrong(
    "linear_backward",
    "`x.reshape(K, -1)` is taken for a transposition: it has the shape of x.T but the entries in "
    "another order",
    "one edit",
)(
    written(
        '''
from torch import Tensor


def linear_backward(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    """dx [..., M, K] and dw [K, N] of y = x w, from x [..., M, K], w [K, N] and dy [..., M, N]."""
    K, N = w.shape
    dx = torch.matmul(dy, w.transpose(0, 1))
    dw = torch.matmul(x.reshape(K, -1), dy.reshape(-1, N))
    return dx, dw
''',
        title="reshape for transpose",
    )
)

wrong(
    "reduce_and_broadcast_vjp",
    "db sums the columns of dX (already centred) instead of those of dY, as though the bias had "
    "been added before the mean was taken off",
    "one edit",
)(
    written(
        '''
def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """dX [M, N] and db [1, N] of Y_ij = X_ij − mean of row i of X + b_j, from dY [M, N]."""
    M, N = dY.shape
    dX = sp.Matrix(M, N, lambda i, j: dY[i, j] - sum(dY[i, :]) / N)
    db = sp.Matrix(1, N, lambda _, j: sum(dX[:, j]))
    return dX, db
''',
        title="db from dX",
    )
)

wrong(
    "bias_gradient",
    "the launcher allocates the buffer that tl.atomic_add adds to with torch.empty instead of "
    "torch.zeros (line `total = ...`)",
    "uninitialised memory",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    r = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    c = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    ok = (r[:, None] < M) & (c[None, :] < N)
    tile = tl.load(dy_ptr + r[:, None] * dy_row + c[None, :] * dy_col, mask=ok, other=0.0).to(tl.float32)
    tl.atomic_add(db_ptr + c, tl.sum(tile, axis=0), mask=c < N)


def bias_gradient(dy: Tensor) -> Tensor:
    """db_j = Σ_i dy_ij: one program per tile."""
    M, N = dy.shape
    total = torch.empty(N, dtype=torch.float32, device=dy.device)
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 32))
    bias_gradient_kernel[grid](dy, total, M, N, *dy.stride(), BLOCK_M=64, BLOCK_N=32)
    return total.to(dy.dtype)
''',
        title="atomics on empty, once more",
    )
)

wrong(
    "bias_gradient",
    "two mistakes: the partial sums are stored at `block * M + c` though a row of the buffer has "
    "N entries, and the buffer is in dy's dtype, which rounds every partial sum",
    "out_of_bounds",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def partial_kernel(dy_ptr, part_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    block = tl.program_id(0).to(tl.int64)
    r = block * BLOCK_M + tl.arange(0, BLOCK_M)
    c = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    tile = tl.load(
        dy_ptr + r[:, None] * dy_row + c[None, :] * dy_col,
        mask=(r < M)[:, None] & (c < N)[None, :], other=0.0,
    )
    tl.store(part_ptr + block * M + c, tl.sum(tile.to(tl.float32), axis=0), mask=c < N)


def bias_gradient(dy: Tensor) -> Tensor:
    """db_j = Σ_i dy_ij: every program stores its partial sums, torch adds them up."""
    M, N = dy.shape
    blocks = triton.cdiv(M, 32)
    partial = torch.zeros((blocks, N), dtype=dy.dtype, device=dy.device)
    partial_kernel[(blocks, triton.cdiv(N, 64))](dy, partial, M, N, *dy.stride(), BLOCK_M=32, BLOCK_N=64)
    return partial.sum(dim=0)
''',
        title="partials wrong pitch",
    )
)
