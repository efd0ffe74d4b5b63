# label: wrong
# title: tile without other
# says: The lanes beyond the row are undefined: the masked load has no other=.
# names: masked load without other
# base: right_four_rows_per_program_the_sum_in_a_helper

# --- replace
    tile = tl.load(x + r[:, None] * sr + c[None, :] * sc, mask=ok, other=0.0)
# --- with
    tile = tl.load(x + r[:, None] * sr + c[None, :] * sc, mask=ok)
