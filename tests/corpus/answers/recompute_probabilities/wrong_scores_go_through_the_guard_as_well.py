# label: wrong
# title: scores go through the guard as well
# says: The helper puts 0 in the place of −inf in the scores too: a masked key gets exp(−lse) and not 0.
# names: one edit

@triton.jit
def finite(x):
    return tl.where(x == -float("inf"), 0.0, x)


@triton.jit
def p_kernel(s_ptr, lse_ptr, p_ptr, M, N, s_r, s_c, l_r, p_r, p_c, BR: tl.constexpr, BC: tl.constexpr):
    r = tl.program_id(0).to(tl.int64) * BR + tl.arange(0, BR)
    c = tl.program_id(1).to(tl.int64) * BC + tl.arange(0, BC)
    inside = (r < M)[:, None] & (c < N)[None, :]
    score = tl.load(s_ptr + r[:, None] * s_r + c[None, :] * s_c, mask=inside, other=0.0).to(tl.float32)
    norm = finite(tl.load(lse_ptr + r * l_r, mask=r < M, other=0.0))
    tl.store(p_ptr + r[:, None] * p_r + c[None, :] * p_c, tl.exp(finite(score) - norm[:, None]), mask=inside)


def recompute_probabilities(s, lse):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 64))
    p_kernel[grid](s, lse, p, M, N, *s.stride(), lse.stride(0), *p.stride(), BR=16, BC=64)
    return p
