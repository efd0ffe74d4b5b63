# label: wrong
# title: one load of two masked
# says: The first of the two loads has no mask.
# names: no mask; out_of_bounds
# base: _add_by_the_notebook

# --- replace
    x = tl.load(x_ptr + offsets * stride_x, mask=mask)
# --- with
    x = tl.load(x_ptr + offsets * stride_x)
