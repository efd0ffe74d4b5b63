# label: wrong
# title: partials wrong pitch
# says: two mistakes: the partial sums are stored at `block * M + c` though a row of the buffer has N entries,
#   and the buffer is in dy's dtype, which rounds every partial sum
# names: out_of_bounds

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
