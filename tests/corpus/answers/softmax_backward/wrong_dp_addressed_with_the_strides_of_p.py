# label: wrong
# title: dp addressed with the strides of p
# says: `offsets` is made of p_row and p_col and is used for dp as well. p and dp may be laid out differently:
#   with one of them transposed or a slice, wrong (or foreign) elements of dp are read.
# names: strides of p used for dp

@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    mask = j < N
    offsets = i * p_row + j * p_col
    p = tl.load(p_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    dp = tl.load(dp_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    inner = tl.sum(p * dp, axis=0)
    tl.store(ds_ptr + i * ds_row + j * ds_col, p * (dp - inner), mask=mask)

def softmax_backward(p, dp):
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_backward_kernel[(M,)](
        p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(),
        BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16),
    )
    return ds
