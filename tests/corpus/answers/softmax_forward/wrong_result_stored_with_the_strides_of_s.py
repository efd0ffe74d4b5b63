# label: wrong
# title: result stored with the strides of s
# says: The offsets made of s_row and s_col are used for the store, too; p is contiguous and has strides of
#   its own. For a slice or a transposed s the shares land in wrong places or outside of p.
# names: strides of s used for p

@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    m = j < N
    off = i * s_row + j * s_col
    x = tl.load(s_ptr + off, mask=m, other=-float("inf")).to(tl.float32)
    x = x - tl.max(x, 0)
    num = tl.exp(x)
    den = tl.sum(num, 0)
    tl.store(p_ptr + off, num / den, mask=m)

def softmax_forward(s):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_forward_kernel[(M,)](
        s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16)
    )
    return p
