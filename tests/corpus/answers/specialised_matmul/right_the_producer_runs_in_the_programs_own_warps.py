# label: right
# title: the producer runs in the program's own warps
# base: right_one_consumer_slot_and_parity_by_counters

# --- replace
    gl.warp_specialize([(multiply, (cd, at, bt, ct, full, empty, K, S)), (fetch, (ad, bd, at, bt, full, empty, K, S))], [1], [24])
# --- with
    gl.warp_specialize([(fetch, (ad, bd, at, bt, full, empty, K, S)), (multiply, (cd, at, bt, ct, full, empty, K, S))], [4], [232])
