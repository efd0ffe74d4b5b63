# label: right
# title: partial sums then torch

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
