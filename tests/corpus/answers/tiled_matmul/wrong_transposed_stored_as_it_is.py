# label: wrong
# title: transposed, stored as it is
# says: The tile is stored without turning it back.
# names: tiles not turned back
# base: right_three_persistent_programs_transposed_tiles

# --- replace
        tl.store(c_ptr + m[:, None] * c0 + n[None, :] * c1, tl.trans(accT), mask=keep)
# --- with
        tl.store(c_ptr + m[:, None] * c0 + n[None, :] * c1, accT, mask=keep)
