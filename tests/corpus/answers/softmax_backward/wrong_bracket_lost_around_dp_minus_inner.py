# label: wrong
# title: bracket lost around dp minus inner
# says: `p * dp - inner` subtracts the mean with weight 1 in every lane; it has to be inside the bracket, p *
#   (dp - inner). Wrong for any row of more than one share with inner ≠ 0.
# names: p on dp alone

@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    keep = j < N
    p = tl.load(p_ptr + i * p_row + j * p_col, mask=keep, other=0.0).to(tl.float32)
    dp = tl.load(dp_ptr + i * dp_row + j * dp_col, mask=keep, other=0.0).to(tl.float32)
    weighted = p * dp
    ds = weighted - tl.sum(weighted, axis=0)
    tl.store(ds_ptr + i * ds_row + j * ds_col, ds, mask=keep)

def softmax_backward(p, dp):
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_backward_kernel[(M,)](
        p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(),
        BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16),
    )
    return ds
