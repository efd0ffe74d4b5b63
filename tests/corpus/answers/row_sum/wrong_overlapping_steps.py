# label: wrong
# title: overlapping steps
# says: the loop `range(0, columns, 16)` advances by 16 while each turn loads BLOCK lanes, so every row longer
#   than 16 counts elements several times
# names: one edit

from torch import Tensor


@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    row_ptr = x_ptr + row * stride_row
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, 16):
        cols = start + tl.arange(0, BLOCK)
        vals = tl.load(row_ptr + cols * stride_column, mask=cols < columns, other=0.0)
        acc += vals.to(tl.float32)
    tl.store(s_ptr + row, tl.sum(acc, axis=0))


def row_sum(x: Tensor) -> Tensor:
    """s_i = Σ_j x_ij: [rows, columns] of any strides → [rows], in the dtype of x, summed in fp32."""
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)  # the whole row in one block
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
