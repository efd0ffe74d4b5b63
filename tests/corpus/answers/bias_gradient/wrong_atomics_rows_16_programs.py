# label: wrong
# title: atomics, rows // 16 programs
# says: The grid counts whole tiles of rows only; the short one at the end has no program.
# names: the last, short tile left out; last tile missing
# base: right_one_tile_per_program_atomic_adds_in_fp32

# --- replace
    grid = (triton.cdiv(rows, 16), triton.cdiv(cols, 32))
# --- with
    grid = (max(1, rows // 16), triton.cdiv(cols, 32))
