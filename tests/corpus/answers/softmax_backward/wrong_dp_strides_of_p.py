# label: wrong
# title: dp strides of p
# says: line `dp = tl.load`: dp is read with the strides of p
# names: strides of p used for dp

from torch import Tensor


@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    # reads 2 N, writes N elements; p and dp may be laid out differently
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    in_row = j < N
    # padding holds p = 0 and dp = 0, which adds nothing to the inner product
    p = tl.load(p_ptr + i * p_row + j * p_col, mask=in_row, other=0.0).to(tl.float32)
    dp = tl.load(dp_ptr + i * p_row + j * p_col, mask=in_row, other=0.0).to(tl.float32)
    inner = tl.sum(p * dp, axis=0)  # E_p[dp]: one number for the row
    ds = p * (dp - inner)
    tl.store(ds_ptr + i * ds_row + j * ds_col, ds, mask=in_row)


def softmax_backward(p: Tensor, dp: Tensor) -> Tensor:
    """ds = p ∘ (dp − ⟨p, dp⟩) row by row: [M, N] of any strides → [M, N] contiguous, in p's dtype."""
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_backward_kernel[(M,)](
        p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(),
        BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16),
    )
    return ds
