"""Answers to lesson 01, written without a look at what the grader knows: the fourteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "matmul_jacobian",
    "line `return`: Kronecker product in column-major order, kron(Wᵀ, I) instead of kron(I, Wᵀ)",
    "columns stacked instead of rows",
)(
    written(
        """
def matmul_jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    n_rows = X.shape[0]
    return sp.Matrix(sp.kronecker_product(W.T, sp.eye(n_rows)))
""",
        title="kron other way",
    )
)

wrong(
    "matmul_vjp",
    "line `dW = dY.T * X`: that is dW transposed, [N, K] instead of [K, N]",
    "dW transposed",
)(
    written(
        """
def matmul_vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    dX = (W * dY.T).T
    dW = dY.T * X
    return dX, dW
""",
        title="factors from right",
    )
)

wrong(
    "linear_backward",
    "line `dw = ...mean`: averages over the batch as a loss would, instead of adding the gradients",
    "constant factor",
)(
    written(
        """
from torch import Tensor


def linear_backward(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    dx = torch.einsum("...mn,kn->...mk", dy, w)
    per_sample = torch.einsum("...mk,...mn->...kn", x, dy)
    dw = per_sample.reshape(-1, *w.shape).mean(0)
    return dx, dw
""",
        title="only leading batch summed",
    )
)

wrong(
    "reduce_and_broadcast_vjp",
    "line `mean`: takes the mean over the rows of dY (NumPy axis=0) instead of over each row",
    "mean over the wrong axis",
)(
    written(
        """
def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    M, N = dY.shape
    mean = sp.ones(1, M) * dY / M
    dX = sp.Matrix(M, N, lambda i, j: dY[i, j] - mean[j])
    db = sp.Matrix(1, N, lambda _, j: sum(dY[i, j] for i in range(M)))
    return dX, db
""",
        title="columns mean",
    )
)

wrong(
    "bias_gradient",
    "line `for start`: the loop walks M // BLOCK_M whole tiles only and drops the short last one",
    "the last, short tile left out",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
  
  
    j = (tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    in_columns = j < N
    db = tl.zeros([BLOCK_N], tl.float32)
    for start in range(0, M // BLOCK_M * BLOCK_M, BLOCK_M):
        i = (start + tl.arange(0, BLOCK_M)).to(tl.int64)
        in_tile = (i < M)[:, None] & in_columns[None, :]
      
        dy = tl.load(dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col, mask=in_tile, other=0.0)
        db += tl.sum(dy.to(tl.float32), axis=0)
    tl.store(db_ptr + j, db, mask=in_columns)


def bias_gradient(dy: Tensor) -> Tensor:
    """db_j = Σ_i dy_ij: [M, N] of any strides → [N], in the dtype of dy, summed in fp32."""
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    BLOCK_M, BLOCK_N = 32, 64
    grid = (triton.cdiv(N, BLOCK_N),)
    bias_gradient_kernel[grid](dy, db, M, N, *dy.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    return db
''',
        title="last tile dropped",
    )
)

wrong(
    "bias_gradient",
    "line `db += tl.sum`: converts the running sum back to the dtype of dy after each tile",
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
    in_columns = j < N
    db = tl.zeros([BLOCK_N], tl.float32)
    for start in range(0, M, BLOCK_M):
        i = (start + tl.arange(0, BLOCK_M)).to(tl.int64)  # [BLOCK_M] rows; the last tile may be short
        in_tile = (i < M)[:, None] & in_columns[None, :]
        # padding is 0, which adds nothing to a sum
        dy = tl.load(dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col, mask=in_tile, other=0.0)
        db = (db + tl.sum(dy.to(tl.float32), axis=0)).to(dy.dtype).to(tl.float32)  # [BLOCK_M, BLOCK_N] → [BLOCK_N]
    tl.store(db_ptr + j, db, mask=in_columns)


def bias_gradient(dy: Tensor) -> Tensor:
    """db_j = Σ_i dy_ij: [M, N] of any strides → [N], in the dtype of dy, summed in fp32."""
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    BLOCK_M, BLOCK_N = 32, 64
    grid = (triton.cdiv(N, BLOCK_N),)  # programs share out the columns, not the rows
    bias_gradient_kernel[grid](dy, db, M, N, *dy.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    return db
''',
        title="fp16 partial",
    )
)
