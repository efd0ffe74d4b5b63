# label: wrong
# title: quotient of exponentials
# says: p is computed as exp(s) / exp(lse) instead of exp(s - lse): it overflows for large scores, and an
#   empty row or very low scores give 0 / 0
# names: exponentials apart

from torch import Tensor


@triton.jit
def recompute_probabilities_kernel(
    s_ptr, lse_ptr, p_ptr, M, N, s_row, s_col, lse_row, p_row, p_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    # a tile of P from a tile of S and BLOCK_M numbers: no program sees a whole row
    i = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)  # [BLOCK_M] rows
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)  # [BLOCK_N] columns
    rows_ok = i < M
    cols_ok = j < N
    ok = rows_ok[:, None] & cols_ok[None, :]
    scores = tl.load(s_ptr + i[:, None] * s_row + j[None, :] * s_col, mask=ok, other=0.0).to(tl.float32)
    log_z = tl.load(lse_ptr + i * lse_row, mask=rows_ok, other=0.0)
    z = tl.exp(log_z)
    prob = tl.exp(scores) / z[:, None]
    tl.store(p_ptr + i[:, None] * p_row + j[None, :] * p_col, prob, mask=ok)


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
