# label: wrong
# title: atomics on empty, once more
# says: the launcher allocates the buffer that tl.atomic_add adds to with torch.empty instead of torch.zeros
#   (line `total = ...`)
# names: uninitialised memory

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
