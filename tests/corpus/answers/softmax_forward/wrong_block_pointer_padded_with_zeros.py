# label: wrong
# title: block pointer padded with zeros
# says: The block pointer pads with "zero", so every idle lane is a score of 0: it takes part in the maximum
#   and adds exp(0 − m) to the sum. Rows of 3, 37, … do not sum to 1; the padding must be −inf (e.g. by
#   tl.where).
# names: padding enters the sum

@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    src = tl.make_block_ptr(
        base=s_ptr + i * s_row, shape=(N,), strides=(s_col,), offsets=(0,), block_shape=(BLOCK,), order=(0,)
    )
    dst = tl.make_block_ptr(
        base=p_ptr + i * p_row, shape=(N,), strides=(p_col,), offsets=(0,), block_shape=(BLOCK,), order=(0,)
    )
    s = tl.load(src, boundary_check=(0,), padding_option="zero").to(tl.float32)
    e = tl.exp(s - tl.max(s, axis=0))
    p = e / tl.sum(e, axis=0)
    tl.store(dst, p.to(p_ptr.dtype.element_ty), boundary_check=(0,))

def softmax_forward(s):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    softmax_forward_kernel[(M,)](s, p, N, *s.stride(), *p.stride(), BLOCK=triton.next_power_of_2(N))
    return p
