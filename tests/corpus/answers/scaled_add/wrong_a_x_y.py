# label: wrong
# title: a + x + y
# says: a is added to x, where it is a factor.
# names: a is added
# base: _add

# --- replace
    tl.store(z_ptr + offsets, a * x + y, mask=mask)
# --- with
    tl.store(z_ptr + offsets, a + x + y, mask=mask)
