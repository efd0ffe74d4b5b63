# label: wrong
# title: lse stride and guard
# says: two: lse is loaded from `lse_ptr + i` without its stride lse_row, and rows whose lse is −inf give
#   exp(−inf + inf) = NaN.
# names: out_of_bounds; −inf minus −inf

from torch import Tensor


@triton.jit
def recompute_probabilities_kernel(
    s_ptr, lse_ptr, p_ptr, M, N, s_row, s_col, lse_row, p_row, p_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    # a tile of P from a tile of S and BLOCK_M numbers: no program sees a whole row
    i = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)  # [BLOCK_M] rows
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)  # [BLOCK_N] columns
    ok_i = i < M
    ok = ok_i[:, None] & (j[None, :] < N)
    s = tl.load(s_ptr + i[:, None] * s_row + j[None, :] * s_col, mask=ok, other=float("-inf")).to(tl.float32)
    lse = tl.load(lse_ptr + i, mask=ok_i, other=0.0)
    p = tl.exp(s - lse[:, None])
    tl.store(p_ptr + i[:, None] * p_row + j[None, :] * p_col, p, mask=ok)


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
