# label: wrong
# title: tl.arange(0, columns)
# says: A tile's size is a constant, and columns is not.
# names: crashed
# base: _sum

# --- replace
    j = tl.arange(0, BLOCK)
# --- with
    j = tl.arange(0, columns)
