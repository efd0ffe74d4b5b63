# label: wrong
# title: There is no `continue` in a compiled loop.
# says: There is no `continue` in a compiled loop.
# names: crashed
# base: right_a_global_that_is_a_constexpr

# --- replace
        part = tl.load(row + columns * column_stride, mask=columns < width, other=0.0)
# --- with
        if start >= width:
            continue
        part = tl.load(row + columns * column_stride, mask=columns < width, other=0.0)
