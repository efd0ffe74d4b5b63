# label: wrong
# title: tl.atomic_add(dv_ptr + dkv_tile, dk_share, mask=in_tile, sem="relaxed") / tl.atomic_add(dk_ptr +
#   dkv_tile, dv_share, mask=in_tile, sem="relaxed")
# says: Each of the two shares goes to the other one's sum.
# names: dK and dV exchanged; outputs exchanged
# base: _course_solution

# --- replace
        tl.atomic_add(dv_ptr + dkv_tile, dv_share, mask=in_tile, sem="relaxed")
        tl.atomic_add(dk_ptr + dkv_tile, dk_share, mask=in_tile, sem="relaxed")
# --- with
        tl.atomic_add(dv_ptr + dkv_tile, dk_share, mask=in_tile, sem="relaxed")
        tl.atomic_add(dk_ptr + dkv_tile, dv_share, mask=in_tile, sem="relaxed")
