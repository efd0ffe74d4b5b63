# label: wrong
# title: Both consumers multiply the first half of a.
# says: Both consumers multiply the first half of a.
# names: both consumers take the same rows; one edit
# base: right_halves_of_one_tile_of_a_ordinary_stores

# --- replace
        rows = at.index(i & 1).slice(64 * HALF, 64, 0)
# --- with
        rows = at.index(i & 1).slice(0, 64, 0)
