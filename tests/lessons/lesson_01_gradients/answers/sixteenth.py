"""Answers to lesson 01, written without a look at what the grader knows: the sixteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "matmul_jacobian",
    "the return line uses the textbook formula Wᵀ ⊗ I for a column-by-column vec, where the "
    "exercise orders rows and columns row by row (I ⊗ Wᵀ)",
    "columns stacked instead of rows",
)(
    written(
        '''
def matmul_jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    """J[Y_ij, X_ab] = ∂Y_ij/∂X_ab of Y = X W, both row by row: [M, K], [K, N] → [M N, M K]."""
    # vec(A X B) = (B^T kron A) vec(X), with A = I and B = W
    m = X.rows
    return sp.Matrix(sp.kronecker_product(W.T, sp.eye(m)))
''',
        title="column vec",
    )
)

wrong(
    "linear_backward",
    "in the dw line `x.reshape(K, -1)` is meant as the transpose of the flattened x, but a "
    "reshape only re-reads the numbers row by row in another shape",
    "one edit",
)(
    written(
        '''
from torch import Tensor


def linear_backward(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    """dx [..., M, K] and dw [K, N] of y = x w, from x [..., M, K], w [K, N] and dy [..., M, N]."""
    K, N = w.shape
    dx = dy @ w.T
    dw = x.reshape(K, -1) @ dy.reshape(-1, N)  # [K, B*M] @ [B*M, N]
    return dx, dw
''',
        title="reshape for transpose, once more",
    )
)

wrong(
    "reduce_and_broadcast_vjp",
    "the line for db sums the columns of the centred dX instead of those of dY, as if the bias "
    "had been added before the mean was subtracted",
    "one edit",
)(
    written(
        '''
def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """dX [M, N] and db [1, N] of Y_ij = X_ij − mean of row i of X + b_j, from dY [M, N]."""
    M, N = dY.shape
    row_sums = dY * sp.ones(N, 1)
    dX = dY - row_sums * sp.ones(1, N) / N
    db = sp.ones(1, M) * dX
    return dX, db
''',
        title="bias through centring",
    )
)

right("matmul_vjp", "differentiates a trace")(
    written(
        '''
def matmul_vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """dX [M, K] and dW [K, N] of Y = X W, from X [M, K], W [K, N] and dY [M, N]."""
    x = sp.Matrix(X.rows, X.cols, lambda i, j: sp.Dummy(f"x{i}{j}"))
    w = sp.Matrix(W.rows, W.cols, lambda i, j: sp.Dummy(f"w{i}{j}"))
    y = x * w
    loss = sum(dY[i, j] * y[i, j] for i in range(dY.rows) for j in range(dY.cols))
    given = dict(zip(list(x) + list(w), list(X) + list(W)))
    dX = x.applyfunc(lambda entry: sp.diff(loss, entry).xreplace(given))
    dW = w.applyfunc(lambda entry: sp.diff(loss, entry).xreplace(given))
    return dX, dW
'''
    )
)

right("bias_gradient", "partial sums")(
    written(
        '''
from torch import Tensor


@triton.jit
def partial_column_sums(dy_ptr, part_ptr, M, N, dy_row, dy_col, TM: tl.constexpr, TN: tl.constexpr):
    t = tl.program_id(1).to(tl.int64)
    r = t * TM + tl.arange(0, TM)
    c = tl.program_id(0).to(tl.int64) * TN + tl.arange(0, TN)
    live = (c[:, None] < N) & (r[None, :] < M)  # [TN, TM]: the tile lies on its side
    tile = tl.load(dy_ptr + c[:, None] * dy_col + r[None, :] * dy_row, mask=live, other=0.0)
    tl.store(part_ptr + t * N + c, tl.sum(tile.to(tl.float32), axis=1), mask=c < N)


def bias_gradient(dy: Tensor) -> Tensor:
    """db_j = Σ_i dy_ij: [M, N] of any strides → [N], in the dtype of dy, summed in fp32."""
    M, N = dy.shape
    TM, TN = 64, 32
    tiles = triton.cdiv(M, TM)
    part = torch.empty((tiles, N), dtype=torch.float32, device=dy.device)
    partial_column_sums[(triton.cdiv(N, TN), tiles)](dy, part, M, N, dy.stride(0), dy.stride(1), TM=TM, TN=TN)
    return part.sum(dim=0).to(dy.dtype)
'''
    )
)
