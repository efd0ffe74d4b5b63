# label: wrong
# title: each tile normalised by itself
# says: After the exponential the tile is divided by its own row sum. The row's sum is in lse already, and a
#   tile does not see the whole row: each tile of columns sums to 1. Wrong for every N greater than BLOCK_N =
#   32.
# names: softmax of the tile

@triton.jit
def recompute_probabilities_kernel(
    s_ptr, lse_ptr, p_ptr, M, N, s_row, s_col, lse_row, p_row, p_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    in_tile = (i < M)[:, None] & (j < N)[None, :]
    s = tl.load(
        s_ptr + i[:, None] * s_row + j[None, :] * s_col, mask=in_tile, other=-float("inf")
    ).to(tl.float32)
    lse = tl.load(lse_ptr + i * lse_row, mask=i < M, other=0.0)
    lse = tl.where(lse == -float("inf"), 0.0, lse)
    e = tl.exp(s - lse[:, None])
    total = tl.sum(e, axis=1)
    total = tl.where(total == 0.0, 1.0, total)
    p = e / total[:, None]
    tl.store(p_ptr + i[:, None] * p_row + j[None, :] * p_col, p, mask=in_tile)

def recompute_probabilities(s, lse):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK_M, BLOCK_N = (16, 32) if M * N < 1 << 16 else (32, 128)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    recompute_probabilities_kernel[grid](
        s, lse, p, M, N, *s.stride(), *lse.stride(), *p.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return p
