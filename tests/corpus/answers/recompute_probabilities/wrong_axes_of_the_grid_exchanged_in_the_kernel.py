# label: wrong
# title: axes of the grid exchanged in the kernel
# says: The kernel takes its rows from program_id(1) and its columns from program_id(0), while the launcher's
#   grid is (row blocks, column blocks). Wherever the two counts differ (M = 8, N = 100), part of p is never
#   written.
# names: never written

@triton.jit
def recompute_probabilities_kernel(
    s_ptr, lse_ptr, p_ptr, M, N, s_row, s_col, lse_row, p_row, p_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    j = tl.program_id(0).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    i = tl.program_id(1).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    inside = (i < M)[:, None] & (j < N)[None, :]
    s = tl.load(s_ptr + i[:, None] * s_row + j[None, :] * s_col, mask=inside, other=-float("inf"))
    lse = tl.load(lse_ptr + i * lse_row, mask=i < M, other=0.0)
    shift = tl.where(lse == -float("inf"), 0.0, lse)
    p = tl.exp(s.to(tl.float32) - shift[:, None])
    tl.store(p_ptr + i[:, None] * p_row + j[None, :] * p_col, p, mask=inside)

def recompute_probabilities(s, lse):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK_M, BLOCK_N = (16, 32) if M * N < 1 << 16 else (32, 128)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    recompute_probabilities_kernel[grid](
        s, lse, p, M, N, *s.stride(), *lse.stride(), *p.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return p
