# label: wrong
# title: sum then cast
# says: `tl.sum(x, axis=0).to(tl.float32)` adds in the dtype of x (fp16) and converts only the finished sum.
# names: summed in half precision
# base: wrong_stride_off_by_name

# --- replace
    x = tl.load(x_ptr + row * stride_column + cols * stride_row, mask=cols < columns, other=0.0)
    tl.store(s_ptr + row, tl.sum(x.to(tl.float32), axis=0))
# --- with
    x = tl.load(x_ptr + row * stride_row + cols * stride_column, mask=cols < columns, other=0)
    total = tl.sum(x, axis=0).to(tl.float32)
    tl.store(s_ptr + row, total)
