# label: wrong
# title: strides of x and y exchanged
# says: The strides of x and y have changed places in the launch.
# names: out_of_bounds
# base: right_two_dimensional_tiles_a_fused_multiply_add

# --- replace
    axpy[(triton.cdiv(length, 256),)](x, y, out, a, length, x.stride(0), y.stride(0), ROWS=8, COLS=32)
# --- with
    axpy[(triton.cdiv(length, 256),)](x, y, out, a, length, y.stride(0), x.stride(0), ROWS=8, COLS=32)
