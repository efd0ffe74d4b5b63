# label: wrong
# title: inner product of each chunk by itself
# says: The loop computes `inner` for each chunk of 128 columns and uses it at once; ⟨p, dp⟩ runs over the
#   whole row. Wrong for every N > 128: it takes a loop for the sum, then a second one for ds (or a block as
#   long as the row).
# names: first divergence

@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        p = tl.load(p_ptr + i * p_row + j * p_col, mask=j < N, other=0.0).to(tl.float32)
        dp = tl.load(dp_ptr + i * dp_row + j * dp_col, mask=j < N, other=0.0).to(tl.float32)
        inner = tl.sum(p * dp, axis=0)
        tl.store(ds_ptr + i * ds_row + j * ds_col, p * (dp - inner), mask=j < N)

def softmax_backward(p, dp):
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    softmax_backward_kernel[(M,)](p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(), BLOCK=128)
    return ds
