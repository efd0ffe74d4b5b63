# label: wrong
# title: load, add, store instead of an atomic add
# says: Programs of the same row load, add and store: what one adds in between is lost.
# names: race
# base: right_program_per_piece_row_added_atomically_in_fp32

# --- replace
    tl.atomic_add(acc_ptr + i, tl.sum(x, 0))
# --- with
    tl.store(acc_ptr + i, tl.load(acc_ptr + i) + tl.sum(x, 0))
