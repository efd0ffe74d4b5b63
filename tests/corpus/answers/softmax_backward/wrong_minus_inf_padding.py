# label: wrong
# title: minus inf padding
# says: dp is loaded with other=-inf as in the forward kernel: 0 * -inf is NaN in the inner product of every
#   ragged row
# names: zero times inf

from torch import Tensor


@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    valid = col < N
    p = tl.load(p_ptr + row * p_row + col * p_col, mask=valid, other=0.0).to(tl.float32)
    g = tl.load(dp_ptr + row * dp_row + col * dp_col, mask=valid, other=-float("inf")).to(tl.float32)
    pg = p * g
    ds = pg - p * tl.sum(pg, axis=0)
    tl.store(ds_ptr + row * ds_row + col * ds_col, ds, mask=valid)


def softmax_backward(p: Tensor, dp: Tensor) -> Tensor:
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    softmax_backward_kernel[(M,)](
        p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(), BLOCK=triton.next_power_of_2(N)
    )
    return ds
