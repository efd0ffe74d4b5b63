# label: wrong
# title: grid = triton.cdiv(n, 128)
# says: The grid is a tuple.
# names: crashed
# base: _add

# --- replace
    grid = (triton.cdiv(n, 128),)
# --- with
    grid = triton.cdiv(n, 128)
