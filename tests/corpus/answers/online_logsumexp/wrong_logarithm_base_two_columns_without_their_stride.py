# label: wrong
# title: logarithm to base two and columns without their stride
# says: Two mistakes: `tl.log2(l_i)` mixes base two with natural exponentials (tl.log is needed, or a factor
#   ln 2), wrong whenever l ≠ 1; and x_col is missing from the address, wrong for a transposed x or x[:, ::2].
# names: base-2 logarithm + columns one apart; columns one apart

@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), -float("inf"), tl.float32)
    l_i = tl.full((), 0.0, tl.float32)
    row_ptr = x_ptr + i * x_row
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(row_ptr + j, mask=j < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)
        l_i = l_i * tl.exp(m_i - shift) + tl.sum(tl.exp(x - shift), axis=0)
        m_i = m_new
    tl.store(lse_ptr + i, m_i + tl.log2(l_i))

def online_logsumexp(x):
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
