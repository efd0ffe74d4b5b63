# label: wrong
# title: stride of lse ignored
# says: `lse_ptr + i` takes lse to be contiguous; it has a stride of its own, lse_row. For lse = column of a
#   matrix, or lse[::2], other rows' numbers (or foreign ones) are subtracted.
# names: stride of lse ignored

@triton.jit
def recompute_probabilities_kernel(
    s_ptr, lse_ptr, p_ptr, M, N, s_row, s_col, lse_row, p_row, p_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    r = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    c = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    r_ok = r < M
    ok = r_ok[:, None] & (c < N)[None, :]
    scores = tl.load(s_ptr + r[:, None] * s_row + c[None, :] * s_col, mask=ok, other=-float("inf"))
    row_lse = tl.load(lse_ptr + r, mask=r_ok, other=0.0)
    empty = row_lse == -float("inf")
    p = tl.where(empty[:, None], 0.0, tl.exp(scores.to(tl.float32) - row_lse[:, None]))
    tl.store(p_ptr + r[:, None] * p_row + c[None, :] * p_col, p, mask=ok)

def recompute_probabilities(s, lse):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK_M, BLOCK_N = 32, 32
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    recompute_probabilities_kernel[grid](
        s, lse, p, M, N, *s.stride(), *lse.stride(), *p.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return p
