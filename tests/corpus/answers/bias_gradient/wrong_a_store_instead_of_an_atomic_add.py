# label: wrong
# title: a store instead of an atomic add
# says: Programs above one another store into the same columns; only the last to come is left.
# names: race; the last tile overwrites
# base: right_one_tile_per_program_atomic_adds_in_fp32

# --- replace
    tl.atomic_add(out + c, part, mask=c < cols)
# --- with
    tl.store(out + c, part, mask=c < cols)
