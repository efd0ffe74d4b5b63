# label: wrong
# title: y without a mask
# says: y is loaded without a mask and reaches beyond its end.
# names: no mask; out_of_bounds
# base: right_two_dimensional_tiles_a_fused_multiply_add

# --- replace
    ys = tl.load(y_ptr + where * dy, mask=valid, other=0.0).to(tl.float32)
# --- with
    ys = tl.load(y_ptr + where * dy).to(tl.float32)
