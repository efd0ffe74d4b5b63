# label: wrong
# title: rows, reduced over the whole tile
# says: One maximum and one sum for both rows of the tile.
# names: rows do not sum to 1
# base: right_two_rows_per_program_powers_of_two

# --- replace
    top = tl.max(x, axis=1)[:, None]
    num = tl.exp2(x - top)
    den = tl.sum(num, axis=1)[:, None]
# --- with
    top = tl.max(x)
    num = tl.exp2(x - top)
    den = tl.sum(tl.where(keep, num, 0.0))
