# label: right
# title: the same; a tile of queries that sees nothing visits no block
# base: right_one_consumer_three_slots_with_counters_own_finite

# --- replace
    gl.warp_specialize([
# --- with
    if CAUSAL:
        n = gl.maximum(gl.cdiv(gl.minimum(S_k, row + 64 + S_k - S_q), BLOCK), 0)
    gl.warp_specialize([
