# label: wrong
# title: half accumulator
# says: `db = tl.zeros([BLOCK_N], dy_ptr.dtype.element_ty)` sums in the dtype of dy, so fp16 and bf16 round in
#   every tile.
# names: precision

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
