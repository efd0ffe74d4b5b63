# label: wrong
# title: chunks mask without start
# says: two mistakes: the mask `lane < columns` ignores `start`, so the last chunk reads past the row, and the
#   accumulator is in the dtype of x instead of fp32
# names: out_of_bounds; out_of_bounds + summed in half precision

from torch import Tensor


@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], x_ptr.dtype.element_ty)
    for start in range(0, columns, BLOCK):
        ptrs = x_ptr + r * stride_row + (start + lane) * stride_column
        acc += tl.load(ptrs, mask=lane < columns, other=0.0)
    tl.store(s_ptr + r, tl.sum(acc, axis=0))


def row_sum(x: Tensor) -> Tensor:
    """s_i = Σ_j x_ij, in chunks of 64 so that a row may be as long as it likes."""
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=64)
    return s
