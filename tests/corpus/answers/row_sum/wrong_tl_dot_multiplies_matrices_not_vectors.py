# label: wrong
# title: tl.dot(x, x)
# says: tl.dot multiplies matrices, not vectors.
# names: crashed
# base: _sum

# --- replace
    tl.store(s_ptr + i, tl.sum(x, axis=0))
# --- with
    tl.store(s_ptr + i, tl.dot(x, x))
