# label: wrong
# title: inverse scale and scales by columns
# says: the stored scale is `448 / largest`, the reciprocal of what multiplies back, and `scales_ptr + i + j *
#   tl.num_programs(0)` lays the scales out by columns
# names: the inverse scale is returned + scales laid out by columns

from torch import Tensor


@triton.jit
def quantize_blocks_kernel(
    x_ptr, values_ptr, scales_ptr, M, N, x_row, x_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    # program (i, j) owns block (i, j); values and scales are contiguous
    i, j = tl.program_id(0), tl.program_id(1)
    rows = (i * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    columns = (j * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    x = tl.load(x_ptr + rows[:, None] * x_row + columns[None, :] * x_col, mask=inside, other=0.0).to(tl.float32)
    largest = tl.max(tl.abs(x))
    scale = tl.where(largest > 0.0, 448.0 / largest, 1.0)
    q = tl.clamp(x * scale, -448.0, 448.0)
    tl.store(values_ptr + rows[:, None] * N + columns[None, :], q.to(tl.float8e4nv), mask=inside)
    tl.store(scales_ptr + i + j * tl.num_programs(0), scale)


def quantize_blocks(x: Tensor, block_m: int, block_n: int) -> tuple[Tensor, Tensor]:
    """e4m3 values [M, N] and fp32 scales [⌈M/block_m⌉, ⌈N/block_n⌉] with x ≈ values · scale, block by block.

    x [M, N] in fp32, fp16 or bf16 with any strides; both sides of a block are powers of two. A block of
    zeros has the scale 1.
    """
    M, N = x.shape
    grid = (triton.cdiv(M, block_m), triton.cdiv(N, block_n))
    values = torch.empty((M, N), dtype=torch.float8_e4m3fn, device=x.device)
    scales = torch.empty(grid, dtype=torch.float32, device=x.device)
    quantize_blocks_kernel[grid](x, values, scales, M, N, *x.stride(), BLOCK_M=block_m, BLOCK_N=block_n)
    return values, scales
