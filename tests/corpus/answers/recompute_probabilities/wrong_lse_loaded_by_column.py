# label: wrong
# title: lse loaded by column
# says: lse is loaded at `j` and subtracted along the columns; it is one number per row: load at i under the
#   rows' mask and subtract lse[:, None]. Wrong for nearly every input, and out of bounds for N > M.
# names: lse taken by column

@triton.jit
def recompute_probabilities_kernel(
    s_ptr, lse_ptr, p_ptr, M, N, s_row, s_col, lse_row, p_row, p_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (i < M)[:, None] & (j < N)[None, :]
    s = tl.load(s_ptr + i[:, None] * s_row + j[None, :] * s_col, mask=mask, other=0.0).to(tl.float32)
    lse = tl.load(lse_ptr + j * lse_row, mask=j < N, other=0.0)
    lse = tl.where(lse == -float("inf"), 0.0, lse)
    p = tl.exp(s - lse[None, :])
    tl.store(p_ptr + i[:, None] * p_row + j[None, :] * p_col, p, mask=mask)

def recompute_probabilities(s, lse):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK_M, BLOCK_N = (16, 32) if M * N < 1 << 16 else (32, 128)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    recompute_probabilities_kernel[grid](
        s, lse, p, M, N, *s.stride(), *lse.stride(), *p.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return p
