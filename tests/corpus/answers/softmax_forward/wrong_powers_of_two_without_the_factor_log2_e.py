# label: wrong
# title: powers of two without the factor log2 e
# says: `tl.exp2(s - m)` computes powers of 2: shares 2^(s−m)/Σ instead of e^(s−m)/Σ. exp2 needs the argument
#   times log2(e) = 1.4427; right only where all scores are equal.
# names: powers of two

@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    live = j < N
    s = tl.load(s_ptr + i * s_row + j * s_col, mask=live, other=-float("inf")).to(tl.float32)
    e = tl.exp2(s - tl.max(s, axis=0))  # exp2 is one instruction on the GPU, faster than exp
    l_i = tl.sum(e, axis=0)
    tl.store(p_ptr + i * p_row + j * p_col, e / l_i, mask=live)

def softmax_forward(s):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_forward_kernel[(M,)](
        s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16)
    )
    return p
