# label: wrong
# title: exponentials without the maximum
# says: `tl.exp(s)` is taken without subtracting the row's maximum: scores around 100 overflow to inf and
#   inf/inf is NaN, scores around −200 give 0/0.
# names: maximum not subtracted

@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    scores = tl.load(s_ptr + row * s_row + col * s_col, mask=col < N, other=float("-inf"))
    weights = tl.exp(scores.to(tl.float32))
    z = tl.sum(weights, axis=0)
    tl.store(p_ptr + row * p_row + col * p_col, weights / z, mask=col < N)

def softmax_forward(s):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_forward_kernel[(M,)](
        s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16)
    )
    return p
