# label: wrong
# title: columns stored with the sum so far
# says: The loop adds to the inner product and stores in the same pass, so a row of several blocks has the whole
#   inner product in its last block alone: it takes two passes.
# names: stored before the sum is complete

@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    mean = 0.0
    for start in range(0, N, BLOCK):
        col = start + tl.arange(0, BLOCK)
        here = col < N
        col = col.to(tl.int64)
        p = tl.load(p_ptr + row * p_row + col * p_col, mask=here, other=0.0).to(tl.float32)
        dp = tl.load(dp_ptr + row * dp_row + col * dp_col, mask=here, other=0.0).to(tl.float32)
        mean += tl.sum(p * dp)
        tl.store(ds_ptr + row * ds_row + col * ds_col, p * dp - p * mean, mask=here)


def softmax_backward(p, dp):
    M, N = p.shape
    ds = torch.empty_like(p, memory_format=torch.contiguous_format)
    softmax_backward_kernel[(M,)](p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(), BLOCK=32)
    return ds
