# label: wrong
# title: Sums are kept in the input's dtype.
# says: Sums are kept in the input's dtype.
# names: precision; one edit
# base: right_a_single_slot_one_sum_at_the_end

# --- replace
    acc = gl.zeros([32, 32], gl.float32, layout=layout)
# --- with
    acc = gl.zeros([32, 32], src.dtype, layout=layout)

# --- replace
        acc += buf.load(layout).to(gl.float32)
# --- with
        acc += buf.load(layout)
