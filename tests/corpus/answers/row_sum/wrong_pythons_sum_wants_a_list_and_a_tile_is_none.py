# label: wrong
# title: sum(x)
# says: Python's sum wants a list, and a tile is none.
# names: crashed
# base: _sum

# --- replace
    tl.store(s_ptr + i, tl.sum(x, axis=0))
# --- with
    tl.store(s_ptr + i, sum(x))
