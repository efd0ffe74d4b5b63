# label: wrong
# title: m + gl.log2(l)
# says: LSE is left in base 2.
# names: LSE in base 2
# base: right_one_consumer_three_slots_with_counters_own_finite

# --- replace
    gl.store(lse_ptr + (b * H + h) * S_q + rows, gl.where(l > 0, (m + gl.log2(l)) / 1.4426950408889634, -float("inf")), mask=rows < S_q)
# --- with
    gl.store(lse_ptr + (b * H + h) * S_q + rows, gl.where(l > 0, m + gl.log2(l), -float("inf")), mask=rows < S_q)
