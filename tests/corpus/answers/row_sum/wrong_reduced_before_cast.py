# label: wrong
# title: reduced before cast
# says: line `s = tl.sum(...)`: the sum runs in the dtype of x and only its result is converted to fp32
# names: summed in half precision

from torch import Tensor


@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
  
  
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    in_row = j < columns
  
    x = tl.load(x_ptr + i * stride_row + j * stride_column, mask=in_row, other=0.0)
    s = tl.sum(x.to(s_ptr.dtype.element_ty), axis=0, dtype=s_ptr.dtype.element_ty).to(tl.float32)
    tl.store(s_ptr + i, s)


def row_sum(x: Tensor) -> Tensor:
    """s_i = Σ_j x_ij: [rows, columns] of any strides → [rows], in the dtype of x, summed in fp32."""
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
