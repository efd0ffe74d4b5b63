# label: wrong
# title: z_ptr[offsets] = a * x + y
# says: A pointer takes no index: tl.store writes.
# names: crashed
# base: _add

# --- replace
    tl.store(z_ptr + offsets, a * x + y, mask=mask)
# --- with
    z_ptr[offsets] = a * x + y
