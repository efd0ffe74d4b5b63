# label: wrong
# title: filler of the forward kernel and store by p's strides
# says: Two mistakes: the filler −inf is copied from the forward kernel; here p·dp of the padding is +inf and
#   spoils the inner product (it must be 0) for every N that is no power of two. And ds is stored with p_row
#   and p_col, wrong if p is a view.
# names: out_of_bounds; padding of −inf + out_of_bounds

@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    in_row = j < N
    p = tl.load(p_ptr + i * p_row + j * p_col, mask=in_row, other=-float("inf")).to(tl.float32)
    dp = tl.load(dp_ptr + i * dp_row + j * dp_col, mask=in_row, other=-float("inf")).to(tl.float32)
    delta_i = tl.sum(p * dp, axis=0)
    ds = p * (dp - delta_i)
    tl.store(ds_ptr + i * p_row + j * p_col, ds, mask=in_row)

def softmax_backward(p, dp):
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_backward_kernel[(M,)](
        p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(),
        BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16),
    )
    return ds
