# label: wrong
# title: Every tile replaces the sum.
# says: Every tile replaces the sum.
# names: only the last tile; one edit
# base: right_a_single_slot_one_sum_at_the_end

# --- replace
        acc += buf.load(layout).to(gl.float32)
# --- with
        acc = buf.load(layout).to(gl.float32)
