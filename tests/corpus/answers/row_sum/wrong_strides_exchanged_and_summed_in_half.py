# label: wrong
# title: strides exchanged and summed in half
# says: Two mistakes. The address multiplies the row by stride_column and the columns by stride_row, so
#   columns are walked (wrong for any matrix that is not square and symmetric). And the sum is taken in the
#   dtype of x: fp16 and bf16 rows lose digits, `.to(tl.float32)` is missing.
# names: strides swapped; strides swapped + summed in half precision

@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    p = x_ptr + j * stride_row + i * stride_column
    block = tl.load(p, mask=j < columns, other=0.0)
    acc = tl.sum(block, axis=0)
    tl.store(s_ptr + i, acc)

def row_sum(x):
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
