# label: wrong
# title: scales by columns and no magnitude
# says: two faults: `top = tl.max(x)` ignores negative numbers, and `scales_ptr + j * tl.num_programs(0) + i`
#   stores the grid of scales column by column.
# names: largest without its sign forgotten; scales laid out by columns

from torch import Tensor


@triton.jit
def quantize_blocks_kernel(
    x_ptr, values_ptr, scales_ptr, M, N, x_row, x_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    i, j = tl.program_id(0), tl.program_id(1)
    r = (i * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    c = (j * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    ok = (r < M)[:, None] & (c < N)[None, :]
    x = tl.load(x_ptr + r[:, None] * x_row + c[None, :] * x_col, mask=ok, other=0.0).to(tl.float32)
    top = tl.max(tl.max(x, axis=1), axis=0)
    s = tl.where(top > 0.0, top / 448.0, 1.0)
    y = tl.minimum(tl.maximum(x / s, -448.0), 448.0)
    tl.store(values_ptr + r[:, None] * N + c[None, :], y.to(tl.float8e4nv), mask=ok)
    tl.store(scales_ptr + j * tl.num_programs(0) + i, s)


def quantize_blocks(x: Tensor, block_m: int, block_n: int) -> tuple[Tensor, Tensor]:
    M, N = x.shape
    grid = (triton.cdiv(M, block_m), triton.cdiv(N, block_n))
    values = torch.empty((M, N), dtype=torch.float8_e4m3fn, device=x.device)
    scales = torch.empty(grid, dtype=torch.float32, device=x.device)
    quantize_blocks_kernel[grid](x, values, scales, M, N, *x.stride(), BLOCK_M=block_m, BLOCK_N=block_n)
    return values, scales
