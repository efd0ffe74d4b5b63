# label: wrong
# title: The last step is left out.
# says: The last step is left out.
# names: the last step is left out; last tile missing; copy never waited for; one edit
# base: right_barrier_for_one_for_b_copies_asked_for_behind

# --- replace
    steps = gl.cdiv(K, 32)
# --- with
    steps = K // 32
