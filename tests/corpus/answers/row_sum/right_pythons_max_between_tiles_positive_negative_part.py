# label: right
# title: Python's max between tiles, of the positive and the negative part
# base: _sum

# --- replace
    tl.store(s_ptr + i, tl.sum(x, axis=0))
# --- with
    tl.store(s_ptr + i, tl.sum(max(x, 0.0), axis=0) + tl.sum(min(x, 0.0), axis=0))
