# label: wrong
# title: store by stride
# says: the store uses `s_ptr + row * stride_row`, the stride of x, although s is contiguous with one element
#   per row
# names: out_of_bounds
# base: wrong_stride_off_by_name

# --- replace
    x = tl.load(x_ptr + row * stride_column + cols * stride_row, mask=cols < columns, other=0.0)
    tl.store(s_ptr + row, tl.sum(x.to(tl.float32), axis=0))
# --- with
    valid = cols < columns
    values = tl.load(x_ptr + row * stride_row + cols * stride_column, mask=valid, other=0.0)
    total = tl.sum(values.to(tl.float32), axis=0)
    tl.store(s_ptr + row * stride_row, total)
