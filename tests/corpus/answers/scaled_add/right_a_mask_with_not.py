# label: right
# title: a mask with `not`
# base: _add

# --- replace
    mask = offsets < n
# --- with
    mask = not (offsets >= n)
