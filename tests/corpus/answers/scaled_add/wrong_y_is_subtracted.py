# label: wrong
# title: a * x - y
# says: y is subtracted.
# names: y is subtracted
# base: _add

# --- replace
    tl.store(z_ptr + offsets, a * x + y, mask=mask)
# --- with
    tl.store(z_ptr + offsets, a * x - y, mask=mask)
