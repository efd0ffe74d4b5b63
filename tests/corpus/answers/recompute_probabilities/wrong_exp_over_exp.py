# label: wrong
# title: exp over exp
# says: line p = tl.exp(s) / tl.exp(lse): the quotient of exponentials overflows or underflows where the
#   difference in the exponent would not (and an empty row is 0 / 0)
# names: exponentials apart

from torch import Tensor


@triton.jit
def recompute_probabilities_kernel(
    s_ptr, lse_ptr, p_ptr, M, N, s_row, s_col, lse_row, p_row, p_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    r = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    c = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    ok = (r < M)[:, None] & (c < N)[None, :]
    s = tl.load(s_ptr + r[:, None] * s_row + c[None, :] * s_col, mask=ok, other=-float("inf")).to(tl.float32)
    lse = tl.load(lse_ptr + r * lse_row, mask=r < M, other=0.0)
    p = tl.exp(s) / tl.exp(lse)[:, None]
    tl.store(p_ptr + r[:, None] * p_row + c[None, :] * p_col, p, mask=ok)


def recompute_probabilities(s: Tensor, lse: Tensor) -> Tensor:
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK_M, BLOCK_N = 16, 64
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    recompute_probabilities_kernel[grid](
        s, lse, p, M, N, *s.stride(), *lse.stride(), *p.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return p
