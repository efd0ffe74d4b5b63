# label: wrong
# title: lse rounded to the scores' type and no guard
# says: Two mistakes: lse is converted to the dtype of s and subtracted there, in fp16 or bf16 an error of
#   whole percents for scores around 100; and a row of −inf gives −inf + inf = NaN instead of 0.
# names: lse in half precision + −inf minus −inf; inf minus inf + lse in half precision; −inf minus −inf +
#   precision

@triton.jit
def recompute_probabilities_kernel(
    s_ptr, lse_ptr, p_ptr, M, N, s_row, s_col, lse_row, p_row, p_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    tile = (i[:, None] < M) & (j[None, :] < N)
    s = tl.load(s_ptr + i[:, None] * s_row + j[None, :] * s_col, mask=tile, other=0.0)
    lse = tl.load(lse_ptr + i * lse_row, mask=i < M, other=0.0).to(s.dtype)
    diff = s - lse[:, None]
    p = tl.exp(diff.to(tl.float32))
    tl.store(p_ptr + i[:, None] * p_row + j[None, :] * p_col, p, mask=tile)

def recompute_probabilities(s, lse):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK_M, BLOCK_N = (16, 32) if M * N < 1 << 16 else (32, 128)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    recompute_probabilities_kernel[grid](
        s, lse, p, M, N, *s.stride(), *lse.stride(), *p.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return p
