# label: wrong
# title: softmax of p
# says: the lines `e = tl.exp(p - tl.max(p, axis=0))` and `p = e / tl.sum(e)` take the input for scores and
#   apply softmax to probabilities again
# names: one edit

from torch import Tensor


@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    ok = j < N
    p = tl.load(p_ptr + i * p_row + j * p_col, mask=ok, other=-float("inf")).to(tl.float32)
    e = tl.exp(p - tl.max(p, axis=0))
    p = e / tl.sum(e, axis=0)
    dp = tl.load(dp_ptr + i * dp_row + j * dp_col, mask=ok, other=0.0).to(tl.float32)
    ds = p * (dp - tl.sum(p * dp, axis=0))
    tl.store(ds_ptr + i * ds_row + j * ds_col, ds, mask=ok)


def softmax_backward(p: Tensor, dp: Tensor) -> Tensor:
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_backward_kernel[(M,)](
        p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(), BLOCK=BLOCK, num_warps=4
    )
    return ds
