"""Answers to lesson 01, written without a look at what the grader knows: the twelfth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "bias_gradient",
    "`db = tl.zeros([BLOCK_N], dy_ptr.dtype.element_ty)` sums in the dtype of dy, so fp16 and "
    "bf16 round in every tile.",
    "precision",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    # reads M·N, writes N elements; dy[i, j] lies at dy_ptr + i * dy_row + j * dy_col
    # tl.int64: j · dy_col may pass 2³¹, which 32 bits cannot hold
    j = (tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)  # [BLOCK_N] columns owned
    ok_cols = j < N
    db = tl.zeros([BLOCK_N], dy_ptr.dtype.element_ty)
    for m in range(0, M, BLOCK_M):
        i = (m + tl.arange(0, BLOCK_M)).to(tl.int64)
        ok = (i[:, None] < M) & ok_cols[None, :]
        tile = tl.load(dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col, mask=ok, other=0.0)
        db += tl.sum(tile, axis=0).to(db.dtype)
    tl.store(db_ptr + j, db, mask=ok_cols)


def bias_gradient(dy: Tensor) -> Tensor:
    """db_j = Σ_i dy_ij: [M, N] of any strides → [N], in the dtype of dy, summed in fp32."""
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    BLOCK_M, BLOCK_N = 32, 64
    grid = (triton.cdiv(N, BLOCK_N),)  # programs share out the columns, not the rows
    bias_gradient_kernel[grid](dy, db, M, N, *dy.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    return db
''',
        title="half accumulator",
    )
)

wrong(
    "linear_backward",
    "`dw.mean(0)` averages over the sequences; gradients of a weight that is used several times add.",
    "constant factor",
)(
    written(
        """
from torch import Tensor


def linear_backward(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    dx = torch.matmul(dy, w.T)
    dw = torch.matmul(x.transpose(-1, -2), dy)
    while dw.ndim > 2:
        dw = dw.mean(0)
    return dx, dw
""",
        title="mean over batch",
    )
)

wrong(
    "matmul_jacobian",
    "`kronecker_product(W.T, eye(M))` is the Jacobian of the column-by-column vec; the exercise "
    "flattens row by row.",
    "columns stacked instead of rows",
)(
    written(
        """
def matmul_jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    # vec(XW) = (W^T kron I) vec(X)
    return sp.Matrix(sp.kronecker_product(W.T, sp.eye(X.rows)))
""",
        title="column order",
    )
)

wrong(
    "matmul_vjp",
    "`dW = dY.T * X` is the transpose of the gradient of W: shape [N, K] instead of [K, N].",
    "dW transposed",
)(
    written(
        """
def matmul_vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    dX = dY * W.transpose()
    dW = dY.transpose() * X
    return dX, dW
""",
        title="dw transposed",
    )
)

wrong(
    "reduce_and_broadcast_vjp",
    "`col_mean` is taken over the rows of dY; the forward pass subtracted the mean of each row, "
    "so dX needs row means.",
    "mean over the wrong axis",
)(
    written(
        """
def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    M, N = dY.shape
    db = sp.Matrix(1, N, lambda _, j: sum(dY[i, j] for i in range(M)))
    col_mean = db / M
    dX = sp.Matrix(M, N, lambda i, j: dY[i, j] - col_mean[j])
    return dX, db
""",
        title="mean down the columns",
    )
)

wrong(
    "reduce_and_broadcast_vjp",
    "two: `dX = dY` forgets the path through the mean, and db is the mean of the rows of dY (`/ "
    "rows`) instead of their sum.",
    "the path through the mean forgotten + db averaged",
)(
    written(
        """
def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    rows, cols = dY.shape
    dX = dY  # x enters with factor 1
    db = sp.ones(1, rows) * dY / rows
    return dX, db
""",
        title="one path and mean",
    )
)

right("linear_backward", "einsum")(
    written(
        """
from torch import Tensor


def linear_backward(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    rows, grads = x.reshape(-1, w.shape[0]), dy.reshape(-1, w.shape[1])
    return torch.einsum("...n,kn->...k", dy, w), torch.einsum("rk,rn->kn", rows, grads)
"""
    )
)
