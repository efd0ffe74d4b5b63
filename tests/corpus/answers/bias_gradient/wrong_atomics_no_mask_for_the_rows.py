# label: wrong
# title: atomics, no mask for the rows
# says: The mask looks at columns only: rows below the matrix are read.
# names: rows below the matrix; out_of_bounds
# base: right_one_tile_per_program_atomic_adds_in_fp32

# --- replace
    inside = (r < rows)[:, None] & (c < cols)[None, :]
# --- with
    inside = (c < cols)[None, :]
