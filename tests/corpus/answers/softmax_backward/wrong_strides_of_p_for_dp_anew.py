# label: wrong
# title: strides of p for dp, anew
# says: dp is loaded with the strides of p (`at_p` used twice) although it may be laid out differently.
# names: strides of p used for dp

from torch import Tensor


@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    # reads 2 N, writes N elements; p and dp may be laid out differently
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    valid = j < N
    at_p = i * p_row + j * p_col
    p = tl.load(p_ptr + at_p, mask=valid, other=0.0).to(tl.float32)
    g = tl.load(dp_ptr + at_p, mask=valid, other=0.0).to(tl.float32)
    mean = tl.sum(p * g, axis=0)
    tl.store(ds_ptr + i * ds_row + j * ds_col, p * (g - mean), mask=valid)


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
