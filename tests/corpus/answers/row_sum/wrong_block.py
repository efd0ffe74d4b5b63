# label: wrong
# title: BLOCK
# says: BLOCK must be a tl.constexpr.
# names: crashed
# base: _sum

# --- replace
def sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
# --- with
def sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK):
