# label: wrong
# title: range(tl.cdiv(Nk, BLOCK) - 1, 0, -1)
# says: The first tile of keys is skipped in the second pass.
# names: first tile missing
# base: right_two_passes_q_scaled_beforehand_minus_1e30_as_filler

# --- replace
    for t in range(tl.cdiv(Nk, BLOCK) - 1, -1, -1):  # and back again
# --- with
    for t in range(tl.cdiv(Nk, BLOCK) - 1, 0, -1):  # and back again
