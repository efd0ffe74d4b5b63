# label: wrong
# title: atomics, rows // 16 programs
# says: The grid counts whole tiles of rows only; the short one at the end has no program.
# names: the last, short tile left out; last tile missing
# base: right_one_tile_per_program_atomic_adds_in_fp32

# --- replace
    r = tl.program_id(1).to(tl.int64) * BR + tl.arange(0, BR)
    c = tl.program_id(0).to(tl.int64) * BC + tl.arange(0, BC)
# --- with
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    c = tl.program_id(1) * BC + tl.arange(0, BC)

# --- replace
    grid = (triton.cdiv(cols, 32), triton.cdiv(rows, 16))
# --- with
    grid = (max(1, rows // 16), triton.cdiv(cols, 32))
