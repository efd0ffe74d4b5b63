# label: wrong
# title: dv / PARTS
# says: Only dV is divided by the number of programs.
# names: divided in dV alone; constant factor
# base: _clinic_3_kernel

# --- replace
    tl.atomic_add(dv_ptr + key_tile, dv, mask=in_keys[:, None])
# --- with
    tl.atomic_add(dv_ptr + key_tile, dv / PARTS, mask=in_keys[:, None])
