# label: wrong
# title: without acc = acc * gl.convert_layout(old, gl.SliceLayout(1, lo))[:, None]
# says: acc is not rescaled.
# names: acc not rescaled
# base: right_one_consumer_three_slots_with_counters_own_finite

# --- replace
        acc = acc * gl.convert_layout(old, gl.SliceLayout(1, lo))[:, None]
# --- with
