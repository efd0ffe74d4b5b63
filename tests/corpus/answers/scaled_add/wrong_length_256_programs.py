# label: wrong
# title: length // 256 programs
# says: The grid is rounded down: the elements after the last whole block are never written.
# names: tail without a program; never written; last tile missing
# base: right_two_dimensional_tiles_a_fused_multiply_add

# --- replace
    axpy[(triton.cdiv(length, 256),)](x, y, out, a, length, x.stride(0), y.stride(0), ROWS=8, COLS=32)
# --- with
    axpy[(max(length // 256, 1),)](x, y, out, a, length, x.stride(0), y.stride(0), ROWS=8, COLS=32)
