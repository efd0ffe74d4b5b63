# label: wrong
# title: no a, and length // 256 programs
# says: The factor a is missing, and so is a program for the tail.
# names: a is missing + tail without a program; a is missing + never written; a is missing + last tile missing
# base: right_two_dimensional_tiles_a_fused_multiply_add

# --- replace
    tl.store(out_ptr + where, tl.fma(xs, alpha, ys), mask=valid)
# --- with
    tl.store(out_ptr + where, xs + ys, mask=valid)

# --- replace
    axpy[(triton.cdiv(length, 256),)](x, y, out, a, length, x.stride(0), y.stride(0), ROWS=8, COLS=32)
# --- with
    axpy[(max(length // 256, 1),)](x, y, out, a, length, x.stride(0), y.stride(0), ROWS=8, COLS=32)
