# label: wrong
# title: last tile dropped
# says: line `for start`: the loop walks M // BLOCK_M whole tiles only and drops the short last one
# names: the last, short tile left out

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
