# label: wrong
# title: lse stride and half
# says: two: the load of lse ignores lse_row (`lse_ptr + i`), and the line `x = …` rounds lse to the dtype of
#   s and subtracts in half precision
# names: out_of_bounds

from torch import Tensor


@triton.jit
def recompute_probabilities_kernel(
    s_ptr, lse_ptr, p_ptr, M, N, s_row, s_col, lse_row, p_row, p_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    row_ok = rows < M
    ok = row_ok[:, None] & (cols < N)[None, :]
    s = tl.load(s_ptr + rows[:, None] * s_row + cols[None, :] * s_col, mask=ok, other=-float("inf"))
    lse = tl.load(lse_ptr + rows, mask=row_ok, other=0.0)
    lse = tl.where(lse == -float("inf"), 0.0, lse)  # an empty row: exp(-inf - 0) = 0
    x = s - lse.to(s.dtype)[:, None]
    p = tl.exp(x.to(tl.float32))
    tl.store(p_ptr + rows[:, None] * p_row + cols[None, :] * p_col, p, mask=ok)


def recompute_probabilities(s: Tensor, lse: Tensor) -> Tensor:
    """p = exp(s − lse): [M, N] and [M] (fp32), any strides → [M, N] contiguous, in the dtype of s."""
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK_M, BLOCK_N = (16, 32) if M * N < 1 << 16 else (32, 128)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    recompute_probabilities_kernel[grid](
        s, lse, p, M, N, *s.stride(), *lse.stride(), *p.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return p
