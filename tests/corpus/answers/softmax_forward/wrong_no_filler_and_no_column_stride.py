# label: wrong
# title: no filler and no column stride
# says: Two mistakes: the load has no `other=`, so the idle lanes hold nothing in particular and enter maximum
#   and sum (it must be −inf); and s_col is missing from the address, wrong for a transposed s or every second
#   column.
# names: masked load without other; masked load without other + out_of_bounds

@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    s = tl.load(s_ptr + i * s_row + j, mask=j < N)
    s = s.to(tl.float32)
    s_minus_max = s - tl.max(s, axis=0)
    numerator = tl.exp(s_minus_max)
    denominator = tl.sum(numerator, axis=0)
    softmax_output = numerator / denominator
    tl.store(p_ptr + i * p_row + j * p_col, softmax_output, mask=j < N)

def softmax_forward(s):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_forward_kernel[(M,)](
        s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16)
    )
    return p
