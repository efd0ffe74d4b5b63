# label: wrong
# title: 2-D grid, number = row + col
# says: Programs (0, 1) and (1, 0) get the same number and write the same block; the last blocks are nobody's.
# names: race; never written
# base: right_a_two_dimensional_grid

# --- replace
    which = row * 2 + col
# --- with
    which = row + col
