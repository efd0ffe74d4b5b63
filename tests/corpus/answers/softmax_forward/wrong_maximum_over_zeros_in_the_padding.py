# label: wrong
# title: maximum over zeros in the padding
# says: The padding is loaded as 0 and excluded from the sum, but not from the maximum: in a row of scores
#   around −200 that does not fill its block, m is 0, every exponential is 0, and 0/0 is NaN. The filler must
#   be −inf.
# names: padding enters the maximum

@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    valid = j < N
    s = tl.load(s_ptr + i * s_row + j * s_col, mask=valid, other=0.0).to(tl.float32)
    m_i = tl.max(s, axis=0)
    e = tl.where(valid, tl.exp(s - m_i), 0.0)  # padding must not count
    p = e / tl.sum(e, axis=0)
    tl.store(p_ptr + i * p_row + j * p_col, p, mask=valid)

def softmax_forward(s):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_forward_kernel[(M,)](
        s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16)
    )
    return p
