# label: wrong
# title: The list of strides cannot be an argument.
# says: The list of strides cannot be an argument.
# names: crashed
# base: right_a_global_that_is_a_constexpr

# --- replace
def sum_rows(x_ptr, out_ptr, width, row_stride, column_stride, BLOCK: tl.constexpr):
    row = x_ptr + tl.program_id(0) * row_stride
# --- with
def sum_rows(x_ptr, out_ptr, width, strides, BLOCK: tl.constexpr):
    row = x_ptr + tl.program_id(0) * strides[0]

# --- replace
        part = tl.load(row + columns * column_stride, mask=columns < width, other=0.0)
# --- with
        part = tl.load(row + columns * strides[1], mask=columns < width, other=0.0)

# --- replace
    sum_rows[(x.shape[0],)](x, out, x.shape[1], x.stride(0), x.stride(1), BLOCK=64)
# --- with
    sum_rows[(x.shape[0],)](x, out, x.shape[1], [x.stride(0), x.stride(1)], BLOCK=64)
