# label: wrong
# title: turn ^= 0 gl.store
# says: The consumer's phase never turns.
# names: phase is off; deadlock; K's phase never turns; V's phase never turns
# base: right_one_consumer_three_slots_with_counters_own_finite

# --- replace
            turn ^= 1
    gl.store(lse_ptr + (b * H + h) * S_q + rows, gl.where(l > 0, (m + gl.log2(l)) / 1.4426950408889634, -float("inf")), mask=rows < S_q)
# --- with
            turn ^= 0
    gl.store(lse_ptr + (b * H + h) * S_q + rows, gl.where(l > 0, (m + gl.log2(l)) / 1.4426950408889634, -float("inf")), mask=rows < S_q)
