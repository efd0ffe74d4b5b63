# label: wrong
# title: only the first part writes
# says: `mask=in_keys[:, None] & (part == 0)` lets only part 0 add while every part still scans all queries:
#   the numbers are right, the work of all four remains
# names: review
# base: _clinic_3_kernel

# --- replace
):  # fmt: skip
# --- with
):

# --- replace
    tl.atomic_add(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])
    tl.atomic_add(dv_ptr + key_tile, dv, mask=in_keys[:, None])
# --- with
    tl.atomic_add(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None] & (part == 0))
    tl.atomic_add(dv_ptr + key_tile, dv, mask=in_keys[:, None] & (part == 0))
