# label: wrong
# title: maximum of the current block only
# says: `m_new` is the block's own maximum and forgets m_i. Right in exact arithmetic, but where the scores
#   fall by more than 88 along the row, exp(m_i − m_new) overflows and the result is inf (and a last block of
#   −inf loses everything).
# names: one edit; the block's own maximum

@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), -float("inf"), tl.float32)
    l_i = tl.full((), 0.0, tl.float32)
    for start in tl.range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        in_row = j < N
        s = tl.load(x_ptr + i * x_row + j * x_col, mask=in_row, other=-float("inf")).to(tl.float32)
        m_new = tl.max(s, axis=0)
        m_safe = tl.where(m_new == -float("inf"), 0.0, m_new)
        p = tl.exp(s - m_safe)
        l_i = tl.exp(m_i - m_safe) * l_i + tl.sum(p, axis=0)
        m_i = m_new
    tl.store(lse_ptr + i, m_i + tl.log(l_i))

def online_logsumexp(x):
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
